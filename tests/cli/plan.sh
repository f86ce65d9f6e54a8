#!/usr/bin/env bash
# lanewise plan: for this device and for described ones.
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"
devices=$(dirname "$here")/devices

run plan reduce
expect_good
check "prints the passes" holds "$out" reduce_tiles
check "standard error is empty" same "$err" ""

for device in "$devices"/*.json; do
    run plan reduce --caps "$device" --count 2^20
    expect_good
    check "prints a tier for $(basename "$device")" grep -qE 'pinned|portable|barrier' "$work/out"
    run plan reduce --caps "$device" --json
    expect_good
    check "valid JSON for $(basename "$device")" valid_json
    check "passes" json 'len(j["passes"]) >= 1 and j["primitive"] == "reduce"'
done
for device in "$devices"/*.json; do
    for tier in portable barrier; do
        run plan scan --caps "$device" --count 2^20 --exclusive --tier $tier --json
        if [ "$tier" = portable ] && [ "$status" -eq 2 ]; then continue; fi
        expect_good
        check "valid JSON for $(basename "$device")" valid_json
        check "a scan" json 'j["primitive"] == "scan" and len(j["passes"]) >= 1'
        check "the tier" json "j['tier'] == '$tier'"
    done
done
run plan scan
expect_good
check "names scan" holds "$out" "scan: "
check "standard error is empty" same "$err" ""
run plan scan --caps "$devices/nvidia.json" --type u8 --accumulate u64 --op max --reverse --exclusive
expect_good
check "what is computed" holds "$out" max
run plan scan --caps "$devices/nvidia.json" --strategy reduce_then_scan
expect_good
check "the strategy" holds "$out" "reduce_then_scan"
run plan scan --caps "$devices/nvidia.json" --initial 1.5
expect_refused 1.5 u32
run plan scan --caps "$devices/nvidia.json" --initial 1.5 --type f32
expect_good
run plan scan --caps "$devices/none.json" --tier pinned
expect_refused pinned
run plan scan --strategy guess
expect_refused guess reduce_ahead
run plan reduce --exclusive
expect_refused exclusive

for device in "$devices"/*.json; do
    run plan sort --caps "$device" --count 2^20 --type f32 --value-bytes 12 --tier barrier --json
    if [ "$(basename "$device")" = none.json ]; then
        expect_refused max_storage_buffers
        continue
    fi
    expect_good
    check "valid JSON for $(basename "$device")" valid_json
    check "a sort" json 'j["primitive"] == "sort" and j["value_bytes"] == 12 and len(j["passes"]) >= 1'
done
run plan sort
expect_good
check "names sort" holds "$out" "sort: "
check "standard error is empty" same "$err" ""
run plan sort --caps "$devices/nvidia.json" --type i16 --argsort --descending --bits 3:9
expect_good
check "what is computed" holds "$out" i16
run plan sort --caps "$devices/nvidia.json" --ping-pong
expect_good
run plan sort --caps "$devices/nvidia.json" --ping-pong --type u8
expect_refused ping_pong u8
run plan sort --caps "$devices/nvidia.json" --value-bytes 5
expect_refused value_bytes 5
run plan sort --caps "$devices/nvidia.json" --bits 9:5
expect_refused 9 5
run plan sort --caps "$devices/nvidia.json" --bits 5
expect_refused 8:24
run plan sort --caps "$devices/nvidia.json" --count 2^32
expect_refused 4294967296
run plan sort --caps "$devices/none.json" --tier pinned
expect_refused pinned
run plan sort --op sum
expect_refused op

for device in "$devices"/*.json; do
    run plan select --caps "$device" --count 2^20 --type f32 --where "x > 1.5" --indices --tier barrier --json
    if [ "$(basename "$device")" = none.json ]; then
        expect_refused max_storage_buffers
        continue
    fi
    expect_good
    check "valid JSON for $(basename "$device")" valid_json
    check "a select" json 'j["primitive"] == "select" and j["value_bytes"] == 4 and len(j["passes"]) >= 1'
done
run plan select
expect_good
check "names select" holds "$out" "select: "
check "flags decide" holds "$out" flags
check "standard error is empty" same "$err" ""
run plan select --caps "$devices/nvidia.json" --flag-bits 1 --rest rejected --capacity 2^10 --value-bytes 12 --type u8
expect_good
check "a buffer for the others" holds "$out" rejected
check "the capacity" holds "$out" "up to 1024 results"
run plan select --caps "$devices/nvidia.json" --rest after
expect_good
run plan select --caps "$devices/nvidia.json" --unordered
expect_good
run plan select --caps "$devices/nvidia.json" --unordered --rest after
expect_refused after
run plan select --caps "$devices/nvidia.json" --rest away
expect_refused away rejected
run plan select --caps "$devices/nvidia.json" --flag-bits 3
expect_refused flag_bits 3
run plan select --caps "$devices/nvidia.json" --flag-bits 8 --where "x > 1"
expect_refused --where
run plan select --caps "$devices/nvidia.json" --capacity many
expect_refused many
run plan select --caps "$devices/nvidia.json" --type f64 --where "x > 1.0" --count 2^33
expect_refused 8589934592
run plan select --caps "$devices/webgpu-minimum.json" --where "x > 1u" --count 2^20 --emit wgsl --pass select_tiles
expect_good
check "the expression is in the kernel" holds "$out" "x > 1u"
run plan select --caps "$devices/nvidia.json" --where "x > 1u" --emit spirv --pass 1 -o "$work/k.spv"
expect_refused wgsl

run plan reduce --caps "$devices/nvidia.json" --count 1000 --op argmin --type f32
check "summary" holds "$out" "argmin of f32"
run plan reduce --caps "$devices/none.json" --tier pinned
expect_refused pinned
run plan reduce --caps "$devices/none.json" --type f64
expect_refused f64
run plan reduce --caps "$devices/none.json" --op xor --type f32
expect_refused xor

printf '{"subgroup": {"sizes": 3}}' >"$work/caps.json"
run plan reduce --caps "$work/caps.json"
expect_refused caps.json sizes
printf 'no json' >"$work/caps.json"
run plan reduce --caps "$work/caps.json"
expect_refused caps.json
run plan reduce --caps "$work/none.json"
expect_refused none.json
run plan reduce --count many
expect_refused many
run plan reduce --type u33
expect_refused u33
run plan
expect_refused

# What info writes, plan reads.
run info --caps-json
if [ "$status" -eq 0 ]; then
    cp "$work/out" "$work/this.json"
    run plan reduce
    plan=$out
    run plan reduce --caps "$work/this.json"
    expect_good
    check "the same plan from saved caps" same "$out" "$plan"
fi

# A kernel appears whole, or not at all.
run plan reduce --caps "$devices/webgpu-minimum.json" --emit wgsl --pass reduce_tiles
expect_good
check "prints WGSL" holds "$out" "fn main("
check "with the plan's constants" holds "$out" "const kWorkgroupSize = 128u;"
run plan reduce --caps "$devices/webgpu-minimum.json" --emit wgsl --pass reduce_tiles -o "$work/k.wgsl"
expect_good
check "writes it" grep -q "fn main(" "$work/k.wgsl"
run plan sort --caps "$devices/webgpu-minimum.json" --emit wgsl --pass 6
expect_good
check "of the pass with that number" holds "$out" "const kShift = 4u;"
run plan reduce --caps "$devices/nvidia.json" --emit wgsl --pass reduce_tiles
expect_refused WGSL "tier portable"
run plan reduce --caps "$devices/nvidia.json" --emit spirv --pass reduce_tiles -o "$work/k.spv"
expect_good
check "SPIR-V" same "$(head -c 4 "$work/k.spv" | od -An -tx4 | tr -d ' ')" 07230203
check "nothing is left beside it" same "$(find "$work" -name 'k.spv*' | wc -l)" 1
printf 'before' >"$work/old.spv"
run plan reduce --caps "$devices/nvidia.json" --emit spirv --pass no_such_pass -o "$work/old.spv"
expect_refused no_such_pass
check "the old file is as it was" same "$(cat "$work/old.spv")" before
run plan reduce --caps "$devices/nvidia.json" --emit spirv --pass reduce_tiles -o "$work/no/such/folder/k.spv"
check "an unwritable path fails" test "$status" -ne 0
check "in one line" one_line "$err"
run plan reduce --caps "$devices/nvidia.json" --emit spirv --pass reduce_tiles
expect_refused
finish
