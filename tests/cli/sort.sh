#!/usr/bin/env bash
# lanewise sort: keys, values, indices, orders, bits, types, files, --json, --verify, tiers.
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"

o=$work/out.npy
w=$work/values_out.npy
# Python that the expectations share: v, the keys, x, what travels with them.
python='import struct
v = [(i * 2654435761 >> 7) % 1000 - 500 for i in range(5000)]
x = [i * 7 for i in range(5000)]
def order(keys, part=lambda key: key, down=False):
    return sorted(range(len(keys)), key=lambda i: -part(keys[i]) if down else part(keys[i]))'
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
run sort "$work/i4.npy" -o "$o"
expect_array '<i4' 'sorted(v)'
run sort "$work/i4.npy" --output "$o" --descending
expect_array '<i4' 'sorted(v, reverse=True)'
# Stable, both ways.
run sort "$work/i4.npy" -o "$o" --argsort
expect_array '<u4' 'order(v)'
run sort "$work/i4.npy" -o "$o" --argsort --descending
expect_array '<u4' 'order(v, down=True)'

# Values: elements, and rows.
run sort "$work/i4.npy" -o "$o" --values "$work/x4.npy" --values-out "$w"
expect_array '<i4' 'sorted(v)'
expect_values '<u4' '[x[i] for i in order(v)]'
npy "$work/x8.npy" '<f8' '[i * 0.5 for i in range(5000)]'
run sort "$work/i4.npy" -o "$o" --values "$work/x8.npy" --values-out "$w" --descending
expect_array '<i4' 'sorted(v, reverse=True)'
expect_values '<f8' '[i * 0.5 for i in order(v, down=True)]'
npy "$work/rows.npy" '<f4' '[float(i) for i in range(15000)]' --shape '(5000, 3)'
run sort "$work/i4.npy" -o "$o" --values "$work/rows.npy" --values-out "$w"
expect_array '<i4' 'sorted(v)'
expect_values '<f4' '[(3.0 * i, 3.0 * i + 1, 3.0 * i + 2) for i in order(v)]'
npy "$work/bytes.npy" '|u1' '[i * 31 % 251 for i in range(80000)]' --shape '(5000, 16)'
run sort "$work/i4.npy" -o "$o" --values "$work/bytes.npy" --values-out "$w" --verify --quiet
expect_array '<i4' 'sorted(v)'
expect_values '|u1' '[tuple((16 * i + k) * 31 % 251 for k in range(16)) for i in order(v)]'

# Bits: of the key as a number that is in the keys' order.
npy "$work/b.npy" '<u4' '[0x00100003, 0x00100001, 0xFFF00000, 2, 9, 0x80000007]'
run sort "$work/b.npy" -o "$o" --argsort --bits 20:32
expect_array '<u4' '[3, 4, 0, 1, 5, 2]'
run sort "$work/b.npy" -o "$o" --argsort --bits 0:8
expect_array '<u4' '[2, 1, 3, 0, 5, 4]'
run sort "$work/b.npy" -o "$o" --bits 7:7 --descending
expect_array '<u4' '[0x00100003, 0x00100001, 0xFFF00000, 2, 9, 0x80000007]'
run sort "$work/i4.npy" -o "$o" --argsort --bits 31:32
expect_array '<u4' 'order(v, lambda key: key >= 0)'

# Every type that .npy and Lanewise share.
for type in u1 i1 u2 i2 u4 i4 u8 i8 f4 f8; do
    npy "$work/of_$type.npy" "<$type" '[i * 37 % 101 for i in range(1234)]'
    run sort "$work/of_$type.npy" -o "$o" --verify --quiet
    kind="<$type"
    case $type in u1 | i1) kind="|$type" ;; esac
    expect_array "$kind" 'sorted(i * 37 % 101 for i in range(1234))'
done
npy "$work/f2.npy" '<f2' '[0.5 * (i * 5 % 16) - 4 for i in range(1000)]'
run sort "$work/f2.npy" -o "$o" --descending
expect_array '<f2' 'sorted((0.5 * (i * 5 % 16) - 4 for i in range(1000)), reverse=True)'
# B3: the total order, zeros and NaN included.
npy "$work/f4.npy" '<f4' '[3.0, float("nan"), -0.0, 0.0, float("-inf"), 2.0**-149, -2.0**-149, float("inf"), -2.5]'
run sort "$work/f4.npy" -o "$o" --argsort
expect_array '<u4' '[4, 8, 6, 2, 3, 5, 0, 7, 1]'
run sort "$work/f4.npy" -o "$o"
expect_array '<f4' '[float("-inf"), -2.5, -2.0**-149, -0.0, 0.0, 2.0**-149, 3.0, float("inf"), float("nan")]'

# One key, and none.
npy "$work/one.npy" '<u4' '[7]'
run sort "$work/one.npy" -o "$o"
expect_array '<u4' '[7]'
npy "$work/empty.npy" '<u4' '[]'
for options in "" "--argsort" "--descending" "--tier barrier" "--bits 3:9"; do
    # shellcheck disable=SC2086
    run sort "$work/empty.npy" -o "$o" $options --verify --quiet
    expect_array '<u4' '[]'
done
run sort "$work/empty.npy" -o "$o" --values "$work/empty.npy" --values-out "$w"
expect_array '<u4' '[]'
expect_values '<u4' '[]'

# An output may be an input, or what is no file.
cp "$work/i4.npy" "$work/self.npy"
cp "$work/x4.npy" "$work/self_x.npy"
run sort "$work/self.npy" -o "$work/self.npy" --values "$work/self_x.npy" --values-out "$work/self_x.npy"
expect_good
check "keys over the input" same_array "$work/self.npy" '<i4' 'sorted(v)'
check "values over the input" same_array "$work/self_x.npy" '<u4' '[x[i] for i in order(v)]'
"$tool" sort "$work/one.npy" -o /dev/stdout >"$o" 2>"$work/err"
check "to standard output" same_array "$o" '<u4' '[7]'
rm -f "$o"

# What cannot be done leaves no file, and an old one as it was.
printf 'before' >"$work/old.npy"
printf 'before, too' >"$work/old_x.npy"
refused() {
    run sort "$@" -o "$work/old.npy"
    expect_refused
    check "the old file is as it was" same "$(cat "$work/old.npy")" before
}
refused "$work/none.npy"
check "names the file" holds "$err" none.npy
npy "$work/two.npy" '<u4' 'range(6)' --shape '(2, 3)'
refused "$work/two.npy"
check "names the dimensions" holds "$err" "2 dimensions"
refused "$work/i4.npy" --bits 9
check "says what is meant" holds "$err" 8:24
refused "$work/i4.npy" --bits 9:5
check "names both" holds "$err" 9
refused "$work/i4.npy" --bits 0:33
check "names the end" holds "$err" 33
refused "$work/i4.npy" --bits=-1:5
refused "$work/i4.npy" --bits ""
refused "$work/i4.npy" --argsort --values "$work/x4.npy" --values-out "$work/old_x.npy"
check "names both" holds "$err" --values
refused "$work/i4.npy" --values "$work/x4.npy"
check "asks for the other" holds "$err" --values-out
refused "$work/i4.npy" --values-out "$work/old_x.npy"
refused "$work/i4.npy" --values "$work/x4.npy" --values-out "$work/old.npy"
check "says why" holds "$err" "same file"
refused "$work/i4.npy" --values "$work/none.npy" --values-out "$work/old_x.npy"
check "names the file" holds "$err" none.npy
refused "$work/i4.npy" --values "$work/one.npy" --values-out "$work/old_x.npy"
check "names both numbers" holds "$err" "one.npy has 1 elements"
check "and files" holds "$err" "i4.npy has 5000 keys"
npy "$work/x2.npy" '<u2' 'range(5000)'
refused "$work/i4.npy" --values "$work/x2.npy" --values-out "$work/old_x.npy"
check "names the bytes" holds "$err" "2 bytes"
npy "$work/wide.npy" '<u4' 'range(25000)' --shape '(5000, 5)'
refused "$work/i4.npy" --values "$work/wide.npy" --values-out "$work/old_x.npy"
check "names the bytes" holds "$err" "rows of 20 bytes"
npy "$work/cube.npy" '<u4' 'range(10000)' --shape '(5000, 2, 1)'
refused "$work/i4.npy" --values "$work/cube.npy" --values-out "$work/old_x.npy"
check "names the dimensions" holds "$err" "3 dimensions"
npy "$work/flat.npy" '<u4' '[]' --shape '(5000, 0)'
refused "$work/i4.npy" --values "$work/flat.npy" --values-out "$work/old_x.npy"
npy "$work/short.npy" '<u4' 'range(10)' --shape '(5000, 2)'
refused "$work/i4.npy" --values "$work/short.npy" --values-out "$work/old_x.npy"
check "says that it is truncated" holds "$err" "truncated"
npy "$work/huge.npy" '<u4' 'range(10)' --shape '(4, 4611686018427387905)'
refused "$work/i4.npy" --values "$work/huge.npy" --values-out "$work/old_x.npy"
refused "$work/i4.npy" extra
printf 'no array' >"$work/bad.npy"
refused "$work/bad.npy"
check "names the file" holds "$err" bad.npy
check "the old values are as they were" same "$(cat "$work/old_x.npy")" "before, too"
run sort "$work/i4.npy"
expect_refused output
run sort "$work/i4.npy" -o "$work/no/such/folder/out.npy"
check "an unwritable path fails" same "$status" 1
check "in one line" one_line "$err"
# Both files, or none.
run sort "$work/i4.npy" -o "$work/old.npy" --values "$work/x4.npy" --values-out "$work/no/such/x.npy"
check "an unwritable path fails" same "$status" 1
check "in one line" one_line "$err"
check "the old keys are as they were" same "$(cat "$work/old.npy")" before
check "nothing is left beside" same "$(find "$work" -name '*.partial' | wc -l)" 0

# JSON.
run sort "$work/i4.npy" -o "$o" --json
expect_good
check "valid JSON" valid_json
check "what was asked" json 'j["key"] == "i32" and j["order"] == "ascending" and j["argsort"] is False'
check "bits" json 'j["begin_bit"] == 0 and j["end_bit"] == 32 and j["value_bytes"] == 0'
check "the file" json "j['output'] == '$o' and j['output_type'] == 'i32' and 'values_output' not in j"
check "count" json 'j["count"] == 5000'
check "device" json 'isinstance(j["device"], str) and j["device"] != ""'
check "tier" json 'j["tier"] in ("pinned", "portable", "barrier")'
check "passes" json 'len(j["passes"]) >= 1 and all(p["name"].startswith("sort") for p in j["passes"])'
check "keys" same_array "$o" '<i4' 'sorted(v)'
run sort "$work/i4.npy" -o "$o" --values "$work/rows.npy" --values-out "$w" --json --verify --bits 4:12
expect_good
check "values" json "j['value_bytes'] == 12 and j['values_output'] == '$w'"
check "bits" json 'j["begin_bit"] == 4 and j["end_bit"] == 12'
check "verified" json 'j["verified"] is True'
run sort "$work/i4.npy" -o "$o" --argsort --descending --json
check "indices" json 'j["argsort"] is True and j["output_type"] == "u32" and j["order"] == "descending"'
run sort "$work/empty.npy" -o "$o" --json
check "valid JSON" valid_json
check "count 0" json 'j["count"] == 0'

# Each tier that info says is possible, with the same answer; --verify says so on standard error.
tiers=0
for tier in pinned portable barrier; do
    run sort "$work/i4.npy" -o "$o" --values "$work/x4.npy" --values-out "$w" --tier "$tier" --verify
    if [ "$status" -eq 2 ]; then
        check "a refused tier is named" holds "$err" "$tier"
        continue
    fi
    tiers=$((tiers + 1))
    expect_good
    check "says verified" holds "$err" "verified: ascending 5000 i32 with 4 bytes each"
    check "in one line" one_line "$err"
    check "keys in tier $tier" same_array "$o" '<i4' 'sorted(v)'
    check "values in tier $tier" same_array "$w" '<u4' '[x[i] for i in order(v)]'
    run sort "$work/i4.npy" -o "$o" --tier "$tier" --json
    check "tier $tier is what ran" json "j['tier'] == '$tier'"
done
check "portable and barrier run" test "$tiers" -ge 2
export LANEWISE_TIER=barrier
run sort "$work/i4.npy" -o "$o" --json
check "LANEWISE_TIER is read" json 'j["tier"] == "barrier"'
unset LANEWISE_TIER

# The simulator.
rm -f "$o" "$w"
for size in 4 32; do
    run sort "$work/i4.npy" -o "$o" --api simulator --subgroup-size $size --descending --verify --quiet
    expect_array '<i4' 'sorted(v, reverse=True)'
done
finish
