#!/usr/bin/env bash
# lanewise reduce: values, types, empty arrays, --json, --verify, tiers.
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"

values='[(i * 2654435761 >> 7) % 1000 - 500 for i in range(5000)]'
expected() { python3 -c "v = $values; print($1)"; }
npy "$work/i4.npy" '<i4' "$values"
run reduce "$work/i4.npy"
expect_value "$(expected 'sum(v)')"
run reduce "$work/i4.npy" --op sum
expect_value "$(expected 'sum(v)')"
run reduce "$work/i4.npy" --op min
expect_value "$(expected 'min(v)')"
run reduce "$work/i4.npy" --op max
expect_value "$(expected 'max(v)')"
run reduce "$work/i4.npy" --op argmin
expect_value "$(expected 'v.index(min(v))')"
run reduce "$work/i4.npy" --op argmax
expect_value "$(expected 'v.index(max(v))')"
run reduce "$work/i4.npy" --op xor
expect_value "$(expected '__import__("functools").reduce(lambda a, b: a ^ b, v)')"
run reduce "$work/i4.npy" --op or
expect_value "$(expected '__import__("functools").reduce(lambda a, b: a | b, v)')"
run reduce "$work/i4.npy" --op and
expect_value "$(expected '__import__("functools").reduce(lambda a, b: a & b, v)')"

# Wraps in 32 bits, not in 64.
npy "$work/big.npy" '<u4' '[4000000000] * 3'
run reduce "$work/big.npy"
expect_value "$(python3 -c 'print(12000000000 % 2**32)')"
run reduce "$work/big.npy" --accumulate u64
expect_value 12000000000
run reduce "$work/big.npy" --op product --accumulate u64
expect_value "$(python3 -c 'print(4000000000**3 % 2**64)')"

# Every element type that .npy and Lanewise share.
for type in u1 i1 u2 i2 u4 i4 u8 i8; do
    npy "$work/of_$type.npy" "<$type" '[i % 100 for i in range(1234)]'
    run reduce "$work/of_$type.npy" --verify
    if [ "$status" -eq 2 ] && holds "$err" lacks; then continue; fi
    expect_good
    check "sum of $type" same "$out" "$(python3 -c 'print(sum(i % 100 for i in range(1234)))')"
done
npy "$work/u1b.npy" '|u1' '[255] * 300'
run reduce "$work/u1b.npy"
expect_value 76500
npy "$work/f4.npy" '<f4' '[0.5 * i for i in range(1000)]'
run reduce "$work/f4.npy"
expect_value 249750
npy "$work/f4nan.npy" '<f4' '[3.0, float("nan"), -2.5]'
run reduce "$work/f4nan.npy" --op min
expect_value -2.5
run reduce "$work/f4nan.npy"
expect_value nan
npy "$work/f4inf.npy" '<f4' '[float("-inf")] * 3'
run reduce "$work/f4inf.npy" --op max
expect_value -inf
run reduce "$work/f4inf.npy" --op argmax
expect_value 0

# Operators that floats do not have.
run reduce "$work/f4.npy" --op xor
expect_refused xor

# Empty arrays give the identity.
npy "$work/empty.npy" '<u4' '[]'
run reduce "$work/empty.npy"
expect_value 0
run reduce "$work/empty.npy" --op product
expect_value 1
run reduce "$work/empty.npy" --op min
expect_value 4294967295
run reduce "$work/empty.npy" --verify --quiet
expect_value 0
run reduce "$work/empty.npy" --json
check "valid JSON" valid_json
check "value 0" json 'j["value"] == 0 and j["count"] == 0'

# JSON.
run reduce "$work/i4.npy" --json
expect_good
check "valid JSON" valid_json
check "value" json "j['value'] == $(expected 'sum(v)')"
check "device" json 'isinstance(j["device"], str) and j["device"] != ""'
check "tier" json 'j["tier"] in ("pinned", "portable", "barrier")'
check "passes" json 'len(j["passes"]) >= 1 and all(p["name"].startswith("reduce") for p in j["passes"])'
check "times" json 'all(p["nanoseconds"] > 0 for p in j["passes"])'
run reduce "$work/i4.npy" --op argmax --json
check "value and index" json "j['index'] == $(expected 'v.index(max(v))') and j['value'] == $(expected 'max(v)')"
run reduce "$work/f4nan.npy" --json
check "NaN is no invalid JSON" valid_json

# Each tier that info says is possible, with the same answer; --verify says so on standard error.
tiers=0
for tier in pinned portable barrier; do
    run reduce "$work/i4.npy" --tier "$tier" --verify
    if [ "$status" -eq 2 ]; then
        check "a refused tier is named" holds "$err" "$tier"
        continue
    fi
    tiers=$((tiers + 1))
    expect_good
    check "value in tier $tier" same "$out" "$(expected 'sum(v)')"
    check "says verified" holds "$err" verified
    run reduce "$work/i4.npy" --tier "$tier" --json
    check "tier $tier is what ran" json "j['tier'] == '$tier'"
done
check "portable and barrier run" test "$tiers" -ge 2
export LANEWISE_TIER=barrier
run reduce "$work/i4.npy" --json
check "LANEWISE_TIER is read" json 'j["tier"] == "barrier"'
run reduce "$work/i4.npy" --json --tier portable
check "--tier wins" json 'j["tier"] == "portable"'
unset LANEWISE_TIER
run reduce "$work/i4.npy" --verify --quiet
expect_value "$(expected 'sum(v)')"
finish
