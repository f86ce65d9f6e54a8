#!/usr/bin/env bash
# lanewise segmented-reduce: segments, operators, accumulators, files, --json, --verify, tiers.
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"

o=$work/out.npy
# Python that the expectations share: v, the items, s, the offsets.
python='import struct
v = [(i * 2654435761 >> 7) % 1000 - 500 for i in range(3000)]
s = [4, 4, 40, 41, 300, 2000, 2000, 2990]
def each(f, v=v, s=s):
    return [f(v[b:e], b) for b, e in zip(s, s[1:])]'
# same_array PATH TYPE EXPRESSION
same_array() { python3 "$here/read_npy.py" "$1" "$2" "$3" "$python"; }
# expect_array TYPE EXPRESSION: status 0, nothing on standard output, and that in $o.
expect_array() {
    expect_good
    check "standard output is empty" same "$out" ""
    check "standard error is empty" same "$err" ""
    check "results" same_array "$o" "$1" "$2"
    rm -f "$o"
}

npy "$work/i4.npy" '<i4' '[(i * 2654435761 >> 7) % 1000 - 500 for i in range(3000)]'
npy "$work/s.npy" '<u4' '[4, 4, 40, 41, 300, 2000, 2000, 2990]'
run segmented-reduce "$work/i4.npy" --offsets "$work/s.npy" -o "$o"
expect_array '<i4' 'each(lambda x, b: sum(x))'
run segmented-reduce "$work/i4.npy" --offsets "$work/s.npy" -o "$o" --op max
expect_array '<i4' 'each(lambda x, b: max(x, default=-2**31))'
run segmented-reduce "$work/i4.npy" --offsets "$work/s.npy" -o "$o" --op argmin
expect_array '<u4' 'each(lambda x, b: b + x.index(min(x)) if x else 2**32 - 1)'
run segmented-reduce "$work/i4.npy" --offsets "$work/s.npy" -o "$o" --accumulate i64
expect_array '<i8' 'each(lambda x, b: sum(x))'
npy "$work/i8.npy" '<i8' '[i * 2**33 - 2**40 for i in range(3000)]'
run segmented-reduce "$work/i8.npy" --offsets "$work/s.npy" -o "$o" --op argmax
expect_array '<u8' 'each(lambda x, b: b + len(x) - 1 if x else 2**64 - 1)'
# Offsets of NumPy's own type.
npy "$work/s8.npy" '<i8' '[4, 4, 40, 41, 300, 2000, 2000, 2990]'
npy "$work/u1.npy" '|u1' '[i * 37 % 101 for i in range(3000)]'
run segmented-reduce "$work/u1.npy" --offsets "$work/s8.npy" -o "$o" --accumulate u64 --verify --quiet
expect_array '<u8' 'each(lambda x, b: sum(x), v=[i * 37 % 101 for i in range(3000)])'
npy "$work/f4.npy" '<f4' '[i / 7 for i in range(3000)]'
run segmented-reduce "$work/f4.npy" --offsets "$work/s.npy" -o "$o" --verify --quiet
expect_good

# No segments, and no items.
npy "$work/empty.npy" '<i4' '[]'
npy "$work/zeros.npy" '<u4' '[0, 0, 0]'
run segmented-reduce "$work/i4.npy" --offsets "$work/empty.npy" -o "$o"
expect_array '<i4' '[]'
run segmented-reduce "$work/empty.npy" --offsets "$work/zeros.npy" -o "$o" --op product --verify --quiet
expect_array '<i4' '[1, 1]'

# What cannot be done leaves an old file as it was.
printf 'before' >"$work/old.npy"
refused() {
    run segmented-reduce "$@" -o "$work/old.npy"
    expect_refused
    check "the old file is as it was" same "$(cat "$work/old.npy")" before
}
refused "$work/i4.npy"
check "names the option" holds "$err" --offsets
npy "$work/falls.npy" '<u4' '[0, 7, 5, 9]'
refused "$work/i4.npy" --offsets "$work/falls.npy"
check "says which" holds "$err" "offset 2 is 5"
npy "$work/far.npy" '<u4' '[0, 3001]'
refused "$work/i4.npy" --offsets "$work/far.npy"
check "says how far" holds "$err" "3001, past the 3000 items"
refused "$work/i4.npy" --offsets "$work/s.npy" --op mean
refused "$work/f4.npy" --offsets "$work/s.npy" --op xor
check "names the operator" holds "$err" xor
refused "$work/i4.npy" --offsets "$work/s.npy" --accumulate f64

# JSON, and each tier that info says is possible.
run segmented-reduce "$work/i4.npy" --offsets "$work/s.npy" -o "$o" --json --verify
expect_good
check "valid JSON" valid_json
check "what was asked" json 'j["op"] == "sum" and j["segments"] == 7 and j["count"] == 3000'
check "the file" json "j['output'] == '$o' and j['verified'] is True"
check "passes" json 'any(p["name"] == "segmented_reduce_tiles" for p in j["passes"])'
tiers=0
for tier in pinned portable barrier; do
    run segmented-reduce "$work/i4.npy" --offsets "$work/s.npy" -o "$o" --tier "$tier" --verify
    if [ "$status" -eq 2 ]; then
        check "a refused tier is named" holds "$err" "$tier"
        continue
    fi
    tiers=$((tiers + 1))
    expect_good
    check "says verified" holds "$err" "verified: sum of 7 segments of 3000 i32"
    check "results in tier $tier" same_array "$o" '<i4' 'each(lambda x, b: sum(x))'
done
check "portable and barrier run" test "$tiers" -ge 2
rm -f "$o"
run segmented-reduce "$work/i4.npy" --offsets "$work/s.npy" -o "$o" --api simulator --subgroup-size 32 --verify --quiet
expect_array '<i4' 'each(lambda x, b: sum(x))'

# Its plan.
run plan segmented-reduce --count 2^24 --type u8 --accumulate u64 --segments 1000 --json
check "valid JSON" valid_json
check "the passes" json '[p["name"] for p in j["passes"]] == ["count_to_groups", "segmented_reduce_tiles", "segmented_reduce_partials"]'
check "the offsets" json 'any(a["role"] == "offsets" and a["access"] == "read" for a in j["arguments"])'
check "the results" json 'any(a["role"] == "output" and a["bytes"] == 8000 for a in j["arguments"])'
finish
