#!/usr/bin/env bash
# lanewise topk: keys, values, indices, both orders, k, types, files, --json, --verify, tiers.
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"

o=$work/out.npy
w=$work/values_out.npy
# Python that the expectations share: v, the keys, x, what travels with them.
python='v = [(i * 2654435761 >> 7) % 1000 - 500 for i in range(5000)]
x = [i * 7 for i in range(5000)]
def order(keys, down=True):
    return sorted(range(len(keys)), key=lambda i: -keys[i] if down else keys[i])'
# same_array PATH TYPE EXPRESSION
same_array() { python3 "$here/read_npy.py" "$1" "$2" "$3" "$python"; }
# expect_array TYPE EXPRESSION: status 0, nothing on standard output, and that in $o.
expect_array() {
    expect_good
    check "standard output is empty" same "$out" ""
    check "standard error is empty" same "$err" ""
    check "keys" same_array "$o" "$1" "$2"
    rm -f "$o"
}
# expect_values TYPE EXPRESSION: that in $w.
expect_values() {
    check "values" same_array "$w" "$1" "$2"
    rm -f "$w"
}

npy "$work/i4.npy" '<i4' '[(i * 2654435761 >> 7) % 1000 - 500 for i in range(5000)]'
npy "$work/x4.npy" '<u4' '[i * 7 for i in range(5000)]'
run topk "$work/i4.npy" -k 100 -o "$o"
expect_array '<i4' 'sorted(v, reverse=True)[:100]'
run topk "$work/i4.npy" -k 2^6 --output "$o" --smallest
expect_array '<i4' 'sorted(v)[:64]'
# Of equal keys the lowest index, both ways.
run topk "$work/i4.npy" -k 333 -o "$o" --indices "$w"
expect_array '<i4' 'sorted(v, reverse=True)[:333]'
expect_values '<u4' 'order(v)[:333]'
run topk "$work/i4.npy" -k 333 -o "$o" --indices "$w" --smallest
expect_array '<i4' 'sorted(v)[:333]'
expect_values '<u4' 'order(v, False)[:333]'

# Values: elements, and rows.
run topk "$work/i4.npy" -k 50 -o "$o" --values "$work/x4.npy" --values-out "$w"
expect_array '<i4' 'sorted(v, reverse=True)[:50]'
expect_values '<u4' '[x[i] for i in order(v)[:50]]'
npy "$work/rows.npy" '<f4' '[float(i) for i in range(15000)]' --shape '(5000, 3)'
run topk "$work/i4.npy" -k 20 -o "$o" --values "$work/rows.npy" --values-out "$w" --verify --quiet
expect_array '<i4' 'sorted(v, reverse=True)[:20]'
expect_values '<f4' '[(3.0 * i, 3.0 * i + 1, 3.0 * i + 2) for i in order(v)[:20]]'

# k: none, all, more than there are.
run topk "$work/i4.npy" -k 0 -o "$o" --verify --quiet
expect_array '<i4' '[]'
for k in 5000 5001 2^40; do
    run topk "$work/i4.npy" -k $k -o "$o"
    expect_array '<i4' 'sorted(v, reverse=True)'
done
npy "$work/empty.npy" '<u4' '[]'
run topk "$work/empty.npy" -k 3 -o "$o" --indices "$w" --verify --quiet
expect_array '<u4' '[]'
expect_values '<u4' '[]'

# Every tier here, and every type that .npy and Lanewise share.
for tier in auto barrier; do
    run topk "$work/i4.npy" -k 700 -o "$o" --tier $tier --verify --quiet
    expect_array '<i4' 'sorted(v, reverse=True)[:700]'
done
for type in u1 i1 u2 i2 u4 i4 u8 i8 f4 f8; do
    npy "$work/of_$type.npy" "<$type" '[i * 37 % 101 for i in range(1234)]'
    run topk "$work/of_$type.npy" -k 77 -o "$o" --verify --quiet
    kind="<$type"
    case $type in u1 | i1) kind="|$type" ;; esac
    expect_array "$kind" 'sorted((i * 37 % 101 for i in range(1234)), reverse=True)[:77]'
done
# The total order, zeros and NaN included.
npy "$work/f4.npy" '<f4' '[3.0, float("nan"), -0.0, 0.0, float("-inf"), float("inf"), -2.5]'
run topk "$work/f4.npy" -k 5 -o "$o" --indices "$w"
expect_good
expect_values '<u4' '[1, 5, 0, 3, 2]'

# What cannot be done leaves no file, and an old one as it was.
printf 'before' >"$work/old.npy"
refused() {
    run topk "$@" -o "$work/old.npy"
    expect_refused
    check "the old file is as it was" same "$(cat "$work/old.npy")" before
}
refused "$work/i4.npy"
check "asks for k" holds "$err" "-k"
refused "$work/i4.npy" -k many
check "names it" holds "$err" many
refused "$work/i4.npy" -k -1
refused "$work/none.npy" -k 1
check "names the file" holds "$err" none.npy
refused "$work/i4.npy" -k 1 --indices "$work/old.npy"
check "says why" holds "$err" "two outputs"
refused "$work/i4.npy" -k 1 --indices "$work/../$(basename "$work")/./old.npy"
check "says why" holds "$err" "two outputs"
refused "$work/i4.npy" -k 1 --indices "$w" --values "$work/x4.npy" --values-out "$work/w.npy"
check "names both" holds "$err" --values
refused "$work/i4.npy" -k 1 --values "$work/x4.npy"
check "asks for the other" holds "$err" --values-out

# JSON.
run topk "$work/i4.npy" -k 10 -o "$o" --indices "$w" --json --verify
expect_good
check "valid JSON" valid_json
check "what was asked" json 'j["key"] == "i32" and j["k"] == 10 and j["order"] == "descending"'
check "files" json "j['output'] == '$o' and j['indices_output'] == '$w'"
check "passes" json 'len(j["passes"]) >= 1'
check "verified" json 'j["verified"] is True'

finish
