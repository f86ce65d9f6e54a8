#!/usr/bin/env bash
# lanewise scan: values, kinds, directions, types, empty arrays, files, --json, --verify, tiers.
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"

o=$work/out.npy
# Python that the expectations share: v, the values, and prefixes of a sequence.
python='from itertools import accumulate as acc
import operator as op
def wrap(x, bits=32): return ((x + 2**(bits-1)) % 2**bits) - 2**(bits-1)
def exclusive(s, first): return [first] + list(s)[:-1]
def backwards(s): return list(s)[::-1]
v = [(i * 2654435761 >> 7) % 1000 - 500 for i in range(5000)]'
# same_array PATH TYPE EXPRESSION
same_array() { python3 "$here/read_npy.py" "$1" "$2" "$3" "$python"; }
# expect_array TYPE EXPRESSION: status 0, nothing on standard output, and that in $o.
expect_array() {
    expect_good
    check "standard output is empty" same "$out" ""
    check "standard error is empty" same "$err" ""
    check "values" same_array "$o" "$1" "$2"
    rm -f "$o"
}

npy "$work/i4.npy" '<i4' '[(i * 2654435761 >> 7) % 1000 - 500 for i in range(5000)]'
run scan "$work/i4.npy" -o "$o"
expect_array '<i4' 'acc(v)'
run scan "$work/i4.npy" --output "$o" --op sum
expect_array '<i4' 'acc(v)'
run scan "$work/i4.npy" -o "$o" --op product
expect_array '<i4' 'acc(v, lambda a, b: wrap(a * b))'
run scan "$work/i4.npy" -o "$o" --op min
expect_array '<i4' 'acc(v, min)'
run scan "$work/i4.npy" -o "$o" --op max
expect_array '<i4' 'acc(v, max)'
run scan "$work/i4.npy" -o "$o" --op and
expect_array '<i4' 'acc(v, op.and_)'
run scan "$work/i4.npy" -o "$o" --op or
expect_array '<i4' 'acc(v, op.or_)'
run scan "$work/i4.npy" -o "$o" --op xor
expect_array '<i4' 'acc(v, op.xor)'
# Indices alone, of the first such element so far.
run scan "$work/i4.npy" -o "$o" --op argmin
expect_array '<u4' 'acc(range(5000), lambda a, b: a if v[a] <= v[b] else b)'
run scan "$work/i4.npy" -o "$o" --op argmax
expect_array '<u4' 'acc(range(5000), lambda a, b: a if v[a] >= v[b] else b)'

# Exclusive, reverse, an initial value.
run scan "$work/i4.npy" -o "$o" --exclusive
expect_array '<i4' 'exclusive(acc(v), 0)'
run scan "$work/i4.npy" -o "$o" --exclusive --op min
expect_array '<i4' 'exclusive(acc(v, min), 2**31 - 1)'
run scan "$work/i4.npy" -o "$o" --exclusive --op argmax
expect_array '<u4' 'exclusive(acc(range(5000), lambda a, b: a if v[a] >= v[b] else b), 2**32 - 1)'
run scan "$work/i4.npy" -o "$o" --reverse
expect_array '<i4' 'backwards(acc(v[::-1]))'
run scan "$work/i4.npy" -o "$o" --reverse --exclusive --op max
expect_array '<i4' 'backwards(exclusive(acc(v[::-1], max), -2**31))'
# Ties still go to the lowest index.
run scan "$work/i4.npy" -o "$o" --reverse --op argmin
expect_array '<u4' 'backwards(acc(range(4999, -1, -1), lambda a, b: a if v[a] < v[b] else b))'
run scan "$work/i4.npy" -o "$o" --initial 1000
expect_array '<i4' '(x + 1000 for x in acc(v))'
run scan "$work/i4.npy" -o "$o" --initial -7 --exclusive
expect_array '<i4' '(x - 7 for x in exclusive(acc(v), 0))'
run scan "$work/i4.npy" -o "$o" --initial=-498 --exclusive --op min --reverse
expect_array '<i4' 'backwards(exclusive(acc([-498] + v[::-1], min), 0)[1:])'

# Wraps in 32 bits, not in 64.
npy "$work/big.npy" '<u4' '[4000000000] * 300'
run scan "$work/big.npy" -o "$o"
expect_array '<u4' '((i + 1) * 4000000000 % 2**32 for i in range(300))'
run scan "$work/big.npy" -o "$o" --accumulate u64
expect_array '<u8' '((i + 1) * 4000000000 for i in range(300))'
run scan "$work/big.npy" -o "$o" --accumulate u64 --initial 18446744073709551615 --exclusive
expect_array '<u8' '((i * 4000000000 - 1) % 2**64 for i in range(300))'

# Every element type that .npy and Lanewise share, into what it adds up in.
while read -r type into; do
    npy "$work/of_$type.npy" "<$type" '[i % 100 for i in range(1234)]'
    run scan "$work/of_$type.npy" -o "$o" --verify --quiet
    if [ "$status" -eq 2 ] && holds "$err" lacks; then continue; fi
    expect_array "<$into" 'acc(i % 100 for i in range(1234))'
done <<'TYPES'
u1 u4
i1 i4
u2 u4
i2 i4
u4 u4
i4 i4
u8 u8
i8 i8
f4 f4
TYPES
npy "$work/f2.npy" '<f2' '[0.5 * (i % 8) for i in range(1000)]'
run scan "$work/f2.npy" -o "$o"
expect_array '<f4' 'acc(0.5 * (i % 8) for i in range(1000))'
npy "$work/u8.npy" '<u8' '[(i * 7919) % 1009 + 2**40 for i in range(1000)]'
run scan "$work/u8.npy" -o "$o" --op argmin
expect_array '<u8' 'acc(range(1000), lambda a, b: a if (a * 7919) % 1009 <= (b * 7919) % 1009 else b)'
npy "$work/f4.npy" '<f4' '[3.0, float("nan"), -2.5, float("inf")]'
run scan "$work/f4.npy" -o "$o" --op min
expect_array '<f4' '[3.0, 3.0, -2.5, -2.5]'
run scan "$work/f4.npy" -o "$o"
expect_array '<f4' '[3.0] + [float("nan")] * 3'
run scan "$work/f4.npy" -o "$o" --op max --exclusive
expect_array '<f4' '[float("-inf"), 3.0, 3.0, 3.0]'
run scan "$work/f4.npy" -o "$o" --exclusive --initial 0.25 --determinism unordered
expect_array '<f4' '[0.25, 3.25] + [float("nan")] * 2'
run scan "$work/f4.npy" -o "$o" --op max --initial inf
expect_array '<f4' '[float("inf")] * 4'

# One item, and none.
npy "$work/one.npy" '<u4' '[7]'
run scan "$work/one.npy" -o "$o"
expect_array '<u4' '[7]'
run scan "$work/one.npy" -o "$o" --exclusive --op product
expect_array '<u4' '[1]'
npy "$work/empty.npy" '<u4' '[]'
for options in "" "--exclusive" "--op argmin" "--initial 3 --reverse" "--tier barrier"; do
    # shellcheck disable=SC2086
    run scan "$work/empty.npy" -o "$o" $options --verify --quiet
    expect_array '<u4' '[]'
done

# The output may be the input, or what is no file.
cp "$work/i4.npy" "$work/self.npy"
run scan "$work/self.npy" -o "$work/self.npy"
expect_good
check "values over the input" same_array "$work/self.npy" '<i4' 'acc(v)'
"$tool" scan "$work/one.npy" -o /dev/stdout >"$o" 2>"$work/err"
check "to standard output" same_array "$o" '<u4' '[7]'
rm -f "$o"

# What cannot be done leaves no file, and an old one as it was.
npy "$work/f4s.npy" '<f4' '[0.5] * 10'
printf 'before' >"$work/old.npy"
refused() {
    run scan "$@" -o "$work/old.npy"
    expect_refused
    check "the old file is as it was" same "$(cat "$work/old.npy")" before
}
refused "$work/none.npy"
check "names the file" holds "$err" none.npy
refused "$work/f4s.npy" --op xor
check "names the operator" holds "$err" xor
refused "$work/i4.npy" --op median
refused "$work/i4.npy" --accumulate f64
refused "$work/i4.npy" --initial 1.5
check "names the value and the type" holds "$err" 1.5
check "and the type" holds "$err" i32
refused "$work/i4.npy" --initial 2147483648
refused "$work/i4.npy" --initial -2147483649
refused "$work/big.npy" --initial -1
refused "$work/f4s.npy" --initial half
refused "$work/f4s.npy" --initial 1e99
refused "$work/i4.npy" --initial ""
refused "$work/i4.npy" --op argmin --initial 3
refused "$work/i4.npy" --strategy guess
check "names the strategies" holds "$err" look_back
refused "$work/i4.npy" --determinism never
refused "$work/i4.npy" extra
printf 'no array' >"$work/bad.npy"
refused "$work/bad.npy"
check "names the file" holds "$err" bad.npy
run scan "$work/i4.npy"
expect_refused output
run scan "$work/i4.npy" -o "$work/no/such/folder/out.npy"
check "an unwritable path fails" same "$status" 1
check "in one line" one_line "$err"
run scan "$work/i4.npy" -o "$work"
check "a folder fails" same "$status" 1
check "nothing is left beside" same "$(find "$work" -name '*.partial' | wc -l)" 0

# JSON.
run scan "$work/i4.npy" -o "$o" --json
expect_good
check "valid JSON" valid_json
check "what was asked" json 'j["op"] == "sum" and j["kind"] == "inclusive" and j["direction"] == "forward"'
check "types" json 'j["element"] == "i32" and j["accumulator"] == "i32" and j["output_type"] == "i32"'
check "count" json 'j["count"] == 5000 and "initial" not in j'
check "the file" json "j['output'] == '$o'"
check "device" json 'isinstance(j["device"], str) and j["device"] != ""'
check "tier" json 'j["tier"] in ("pinned", "portable", "barrier")'
check "passes" json 'len(j["passes"]) >= 1 and all(p["name"].startswith("scan") for p in j["passes"])'
check "times" json 'all(p["nanoseconds"] > 0 for p in j["passes"])'
check "values" same_array "$o" '<i4' 'acc(v)'
run scan "$work/u8.npy" -o "$o" --op argmax --exclusive --reverse --json --verify
check "kinds" json 'j["op"] == "argmax" and j["kind"] == "exclusive" and j["direction"] == "reverse"'
check "types of indices" json 'j["accumulator"] == "u64" and j["output_type"] == "u64"'
check "verified" json 'j["verified"] is True'
run scan "$work/f4s.npy" -o "$o" --initial -0.5 --json
check "initial" json 'j["initial"] == -0.5'
run scan "$work/empty.npy" -o "$o" --json
check "valid JSON" valid_json
check "count 0" json 'j["count"] == 0'

# Each tier that info says is possible, with the same answer; --verify says so on standard error.
tiers=0
for tier in pinned portable barrier; do
    run scan "$work/i4.npy" -o "$o" --tier "$tier" --verify
    if [ "$status" -eq 2 ]; then
        check "a refused tier is named" holds "$err" "$tier"
        continue
    fi
    tiers=$((tiers + 1))
    expect_good
    check "says verified" holds "$err" "verified: inclusive sum of 5000 i32"
    check "in one line" one_line "$err"
    check "values in tier $tier" same_array "$o" '<i4' 'acc(v)'
    run scan "$work/i4.npy" -o "$o" --tier "$tier" --json
    check "tier $tier is what ran" json "j['tier'] == '$tier'"
done
check "portable and barrier run" test "$tiers" -ge 2
export LANEWISE_TIER=barrier
run scan "$work/i4.npy" -o "$o" --json
check "LANEWISE_TIER is read" json 'j["tier"] == "barrier"'
unset LANEWISE_TIER

# Each strategy, as far as the device has it.
strategies=0
for strategy in one_workgroup reduce_then_scan look_back reduce_ahead; do
    rm -f "$o"
    run scan "$work/i4.npy" -o "$o" --strategy "$strategy" --verify --json
    if [ "$status" -eq 2 ]; then
        check "no file" test ! -e "$o"
        continue
    fi
    strategies=$((strategies + 1))
    expect_good
    check "values with $strategy" same_array "$o" '<i4' 'acc(v)'
    check "$strategy is what ran" json "'$strategy' in j['policy']"
done
check "the strategies that need nothing run" test "$strategies" -ge 2

# The simulator.
rm -f "$o"
for size in 4 32; do
    run scan "$work/i4.npy" -o "$o" --api simulator --subgroup-size $size --reverse --verify --quiet
    expect_array '<i4' 'backwards(acc(v[::-1]))'
done
finish
