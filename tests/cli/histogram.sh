#!/usr/bin/env bash
# lanewise histogram: bins, ranges, channels, types, files, --json, --verify, tiers.
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"

o=$work/out.npy
# same_array PATH TYPE EXPRESSION
same_array() { python3 "$here/read_npy.py" "$1" "$2" "$3" "$python"; }
python='import struct
v = [i * 37 % 251 for i in range(3000)]
def counts(values, bins, lower, upper):
    return [sum(lower <= x < upper and (x - lower) * bins // (upper - lower) == b for x in values) for b in range(bins)]'

npy "$work/u1.npy" '|u1' '[i * 37 % 251 for i in range(3000)]'
run histogram "$work/u1.npy" -o "$o"
expect_good
check "standard output is empty" same "$out" ""
check "standard error is empty" same "$err" ""
check "256 bins of bytes" same_array "$o" '<u4' 'counts(v, 256, 0, 256)'
run histogram "$work/u1.npy" -o "$o" --bins 7 --range 3:103 --verify --quiet
expect_good
check "seven bins" same_array "$o" '<u4' 'counts(v, 7, 3, 103)'

# A line for each bin.
npy "$work/ten.npy" '<i4' 'range(10)'
run histogram "$work/ten.npy" --bins 3 --range 0:10
expect_value $'4\n3\n3'
npy "$work/some.npy" '<i2' '[-32768,-32767,-8192,-1,0,1,8191,8192,32766]'
run histogram "$work/some.npy" --bins 4 --range -32768:32767
expect_value $'2\n2\n4\n1'
npy "$work/f4.npy" '<f4' '[-0.0, 0.1, 0.3, 0.7, 1.0, float("nan"), float("inf"), -1.0]'
run histogram "$work/f4.npy" --bins 10 --range 0:1
expect_value $'1\n1\n0\n1\n0\n0\n1\n0\n0\n0'
npy "$work/empty.npy" '<u4' '[]'
run histogram "$work/empty.npy" --bins 2 --verify --quiet
expect_value $'0\n0'

# Rows are items, and so are elements side by side.
npy "$work/rgb.npy" '|u1' '[1, 2, 3, 1, 7, 3]' --shape '(2, 3)'
run histogram "$work/rgb.npy" --bins 4 --range 0:4
expect_value $'0 0 0\n2 0 0\n0 1 0\n0 0 2'
run histogram "$work/rgb.npy" --bins 4 --range 0:4 -o "$o"
expect_good
check "a row for each channel" same_array "$o" '<u4' '[(0, 2, 0, 0), (0, 0, 1, 0), (0, 0, 0, 2)]'
npy "$work/flat.npy" '|u1' '[1, 2, 3, 1, 7, 3]'
run histogram "$work/flat.npy" --bins 4 --range 0:4 --channels 3
expect_value $'0 0 0\n2 0 0\n0 1 0\n0 0 2'

# What cannot be done leaves old files as they were.
printf 'before' >"$work/old.npy"
refused() {
    run histogram "$@" -o "$work/old.npy"
    expect_refused
    check "the old file is as it was" same "$(cat "$work/old.npy")" before
}
refused "$work/f4.npy"
check "asks for a range" holds "$err" range
refused "$work/u1.npy" --range 5
check "shows one" holds "$err" "-1.5:2"
refused "$work/u1.npy" --range 5:5
refused "$work/u1.npy" --range 0.5:5
refused "$work/u1.npy" --bins 0
refused "$work/u1.npy" --bins 1048577
check "says how many bins" holds "$err" "2^20"
refused "$work/flat.npy" --channels 4
check "says what is left over" holds "$err" "6 elements"
refused "$work/flat.npy" --channels 5
refused "$work/rgb.npy" --channels 2
npy "$work/rows.npy" '|u1' 'range(10)' --shape '(2, 5)'
refused "$work/rows.npy"
check "says how many channels" holds "$err" "up to 4"
npy "$work/f8.npy" '<f8' '[1.0]'
refused "$work/f8.npy" --range 0:1
check "names the type" holds "$err" f64

# JSON, and each tier that info says is possible.
run histogram "$work/ten.npy" --bins 3 --range 0:10 --json --verify
expect_good
check "valid JSON" valid_json
check "what was asked" json 'j["sample"] == "i32" and j["bins"] == 3 and j["range"] == [0, 10] and j["count"] == 10'
check "the counts" json 'j["counts"] == [4, 3, 3] and j["verified"] is True'
check "passes" json 'j["passes"][-1]["name"] == "histogram_tiles"'
run histogram "$work/rgb.npy" --bins 4 --range 0:4 --json
check "counts of channels" json 'j["counts"] == [[0, 2, 0, 0], [0, 0, 1, 0], [0, 0, 0, 2]] and j["channels"] == 3'
run histogram "$work/u1.npy" -o "$o" --json
check "the file" json "j['output'] == '$o' and 'counts' not in j"
tiers=0
for tier in pinned portable barrier; do
    run histogram "$work/u1.npy" -o "$o" --tier "$tier" --verify
    if [ "$status" -eq 2 ]; then
        check "a refused tier is named" holds "$err" "$tier"
        continue
    fi
    tiers=$((tiers + 1))
    expect_good
    check "says verified" holds "$err" "verified: 256 bins of 3000 u8"
    check "counts in tier $tier" same_array "$o" '<u4' 'counts(v, 256, 0, 256)'
done
check "portable and barrier run" test "$tiers" -ge 2
run histogram "$work/u1.npy" -o "$o" --api simulator --subgroup-size 32 --verify --quiet
expect_good
check "counts" same_array "$o" '<u4' 'counts(v, 256, 0, 256)'

# Its plan.
run plan histogram --type f32 --range -1:1 --bins 100000 --channels 2 --json
check "valid JSON" valid_json
check "the passes" json 'j["primitive"] == "histogram" and [p["name"] for p in j["passes"]][-2:] == ["histogram_zeros", "histogram_tiles"]'
finish
