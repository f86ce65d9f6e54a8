#!/usr/bin/env bash
# Runs every primitive on real data on this machine's best device, on every tier that the device has,
# each result verified against a serial reference; then what it costs, beside the machine's limits.
#
#   examples/demo.sh build/release        (or: ./dev demo)
#
# The data: ETOPO5, the relief of the Earth, 9.3 million heights in metres, from Debian's package
# ferret-datasets, which ./dev installs; elsewhere set LANEWISE_DEMO_RELIEF to a copy of etopo5.cdf.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

tool=${1:?usage: examples/demo.sh BUILD_FOLDER}/bin/lanewise
data=build/demo-data
installed=/usr/share/ferret-vis/data/etopo5.cdf
heights=9335520
columns=4320  # heights in a row of the grid, from 0 E eastward; rows from 90 S northward

if [ ! -x "$tool" ]; then
    printf 'demo: no %s: run ./dev build first\n' "$tool" >&2
    exit 2
fi

# Prints the path of etopo5.cdf.
find_relief() {
    if [ -n "${LANEWISE_DEMO_RELIEF-}" ]; then
        printf '%s\n' "$LANEWISE_DEMO_RELIEF"
        return
    fi
    if [ -r $installed ]; then
        printf '%s\n' $installed
        return
    fi
    printf 'demo: the data is in the Debian package ferret-datasets; elsewhere set LANEWISE_DEMO_RELIEF to a copy of etopo5.cdf\n' >&2
    return 2
}

converter=examples/relief_to_npy.py
i16=$data/relief_i16.npy f32=$data/relief_f32.npy
if [ ! -r $i16 ] || [ ! -r $f32 ] || [ $i16 -ot $converter ]; then
    relief=$(find_relief)
    python3 $converter "$relief" $data >/dev/null
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

tiers=(barrier portable pinned)
declare -A missing=()  # what tiers lack, as keys

# on_every_tier LABEL SHOW ARGUMENTS...: runs the tool on every tier; one line with what SHOW prints
# of it, or with what a tier lacks. Ends the demo when a result is wrong.
on_every_tier() {
    local label=$1 show=$2 tier status seen='' cells=''
    shift 2
    for tier in "${tiers[@]}"; do
        status=0
        "$tool" "$@" --tier "$tier" --verify --quiet >"$work/printed" 2>"$work/error" || status=$?
        case $status in
            0)
                cells+='ok         '
                # Float sums may differ in their last digits from tier to tier.
                seen=${seen:-$($show)}
                ;;
            2)
                cells+='-          '
                missing[$(sed 's/^lanewise: //' "$work/error")]=1
                ;;
            *)
                cat "$work/error" >&2
                printf 'demo: %s failed on tier %s\n' "$label" "$tier" >&2
                exit 1
                ;;
        esac
    done
    printf '%-33s%14s   %s\n' "$label" "${seen:--}" "${cells%"${cells##*[! ]}"}"
    value=$seen
}

printed() { cat "$work/printed"; }
reduce() {
    local label=$1
    shift
    on_every_tier "$label" printed reduce "$@"
}

# What a scan wrote: its last output, or its first.
last_i64() { tail -c 8 "$work/scanned.npy" | od -An -td8 | tr -d ' '; }
last_i32() { tail -c 4 "$work/scanned.npy" | od -An -td4 | tr -d ' '; }
last_u32() { tail -c 4 "$work/scanned.npy" | od -An -tu4 | tr -d ' '; }
first_i32() {
    local size
    size=$(wc -c <"$work/scanned.npy")
    od -An -td4 -j $((size - 4 * heights)) -N 4 "$work/scanned.npy" | tr -d ' '
}
# scan LABEL SHOW ARGUMENTS...
scan() {
    local label=$1 show=$2
    shift 2
    on_every_tier "$label" "$show" scan "$@" -o "$work/scanned.npy"
}

# What a sort wrote: its last key, or its first index.
sorted_i16() { tail -c 2 "$work/sorted.npy" | od -An -td2 | tr -d ' '; }
sorted_f32() { tail -c 4 "$work/sorted.npy" | od -An -tf4 | tr -d ' '; }
median_i16() { od -An -td2 -j $(($(wc -c <"$work/sorted.npy") - heights)) -N 2 "$work/sorted.npy" | tr -d ' '; }
first_index() {
    local size
    size=$(wc -c <"$work/sorted.npy")
    od -An -tu4 -j $((size - 4 * heights)) -N 4 "$work/sorted.npy" | tr -d ' '
}
# sort_heights LABEL SHOW ARGUMENTS...
sort_heights() {
    local label=$1 show=$2
    shift 2
    on_every_tier "$label" "$show" sort "$@" -o "$work/sorted.npy"
}

# Where on Earth the height of an index stands.
place() {
    local row=$(($1 / columns)) column=$(($1 % columns))
    local latitude=$((row * 5 - 90 * 60)) longitude=$((column * 5)) north=N east=E
    if [ $latitude -lt 0 ]; then latitude=$((-latitude)) north=S; fi
    if [ $longitude -gt $((180 * 60)) ]; then longitude=$((360 * 60 - longitude)) east=W; fi
    printf '%d.%02d %s, %d.%02d %s' $((latitude / 60)) $((latitude % 60 * 100 / 60)) $north \
        $((longitude / 60)) $((longitude % 60 * 100 / 60)) $east
}

"$tool" info | grep -E '^[0-9]|^  (driver|subgroup size|self-test) '

printf '\nreduce, %d heights of the Earth in metres (ok: verified on that tier)\n' $heights
printf '%-33s%14s   %-10s %-10s %s\n' '' 'value' "${tiers[@]}"
reduce 'the highest, max of f32' $f32 --op max
reduce '  its index, argmax of f32' $f32 --op argmax
highest=$value
reduce 'the deepest, min of i16' $i16 --op min
reduce '  its index, argmin of i16' $i16 --op argmin
deepest=$value
reduce 'the sum, i16 in i64' $i16 --op sum --accumulate i64
total=$value
reduce 'the sum, f32 in f64' $f32 --op sum --accumulate f64
reduce 'the sum, f32 in f32 (rounds)' $f32 --op sum
reduce 'all bits together, or of i16' $i16 --op or
reduce 'a fingerprint, xor of i16' $i16 --op xor

printf '\nscan, as many outputs (value: the one that combines the most)\n'
printf '%-33s%14s   %-10s %-10s %s\n' '' 'value' "${tiers[@]}"
scan 'the sum so far, i16 in i64' last_i64 $i16 --op sum --accumulate i64
scan '  before each height' last_i64 $i16 --op sum --accumulate i64 --exclusive
scan 'the deepest so far, min of i16' last_i32 $i16 --op min
scan '  its index, argmin of i16' last_u32 $i16 --op argmin
scan 'the highest to come, max of i16' first_i32 $i16 --op max --reverse

printf '\nsort, as many keys\n'
printf '%-33s%14s   %-10s %-10s %s\n' '' 'value' "${tiers[@]}"
sort_heights 'the last, ascending i16' sorted_i16 $i16
sort_heights '  the one in the middle' median_i16 $i16
sort_heights 'the last, descending f32' sorted_f32 $f32 --descending
sort_heights 'the first as index, f32' first_index $f32 --argsort
sort_heights 'the same by the top 8 bits' first_index $f32 --argsort --bits 24:32
sort_heights 'i16 with the f32 as values' sorted_i16 $i16 --values $f32 --values-out "$work/values.npy"

# Where an implementation of WebGPU is: ./dev lays one beside the tool.
if "$tool" info --api webgpu >/dev/null 2>&1; then
    printf '\nsome of it through WebGPU\n'
    printf '%-33s%14s   %-10s %-10s %s\n' '' 'value' "${tiers[@]}"
    reduce 'the highest, max of f32' $f32 --op max --api webgpu
    reduce 'the sum, i16 in i64' $i16 --op sum --accumulate i64 --api webgpu
    scan 'the sum so far, i16 in i64' last_i64 $i16 --op sum --accumulate i64 --api webgpu
    scan 'the highest to come, max of i16' first_i32 $i16 --op max --reverse --api webgpu
    sort_heights 'the last, ascending i16' sorted_i16 $i16 --api webgpu
    sort_heights 'the first as index, f32' first_index $f32 --argsort --api webgpu
fi
for reason in "${!missing[@]}"; do
    printf -- '-: %s\n' "$reason"
done
if [ -n "$highest" ] && [ -n "$deepest" ]; then
    printf 'The highest is at %s, the deepest at %s.\n' "$(place "$highest")" "$(place "$deepest")"
fi
if [ -n "$total" ]; then
    printf 'The mean of the grid is %d m.\n' $((total / heights))
fi

printf '\nWhat it costs, beside what this machine can do at most\n'
"$tool" bench
printf '\n'
"$tool" bench --textbook
