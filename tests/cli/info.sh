#!/usr/bin/env bash
# lanewise info: devices, subgroup facts, the tier that each primitive would take and why.
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"

run info
expect_good
check "standard error is empty" same "$err" ""
check "names reduce" holds "$out" reduce
check "names scan" holds "$out" scan
check "names sort" holds "$out" sort
check "names a tier" holds "$out" "$(printf '%s' "$out" | grep -oE 'pinned|portable|barrier' | head -n 1)"
check "a tier is there" grep -qE 'pinned|portable|barrier' "$work/out"
check "names subgroup operations" holds "$out" shuffle

run info --json
expect_good
check "valid JSON" valid_json
check "devices" json '"llvmpipe" in str(j) or "SwiftShader" in str(j)'
for primitive in reduce scan sort segmented_sort split select top_k histogram segmented_reduce; do
    check "the tier of $primitive" json "j['devices'][0]['primitives']['$primitive']['tier'] in ('pinned', 'portable', 'barrier')"
    check "its tiers" json "[t['tier'] for t in j['devices'][0]['primitives']['$primitive']['tiers']] == ['pinned', 'portable', 'barrier']"
done

run info --device 0
expect_good
if [ "${LANEWISE_TEST_DEVICE-}" != "" ]; then
    size=$(printf '%s' "$LANEWISE_TEST_DEVICE" | grep -oE '[0-9]+')
    run info --json
    check "the subgroup size of $LANEWISE_TEST_DEVICE" json "'$size' in str(j)"
fi
finish
