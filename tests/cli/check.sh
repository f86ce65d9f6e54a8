#!/usr/bin/env bash
# lanewise check: names a fault's kind and line, and has nothing to say of its corrected twin.
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"
faults=$here/../simulator/faults

run check "$faults/race_reuse.comp" --subgroup-size 4,64 --workgroups 1 --output 1
check "status of a shader with a race" same "$status" 1
check "kind and line" grep -qE 'race_reuse.comp:1[57]: race' "$work/out"
run check "$faults/race_reuse.comp" -D FIXED --subgroup-size 4,64,128 --workgroups 1 --output 1 --quiet
expect_good
check "silent" same "$out$err" ""

run check "$faults/division_by_zero.comp" --subgroup-size 32 --json
check "status of a division by zero" same "$status" 1
check "valid JSON" valid_json
check "the fault" json 'j["runs"][0]["faults"][0]["kind"] == "division_by_zero"'

run check "$faults/lane_is_index.comp" --subgroup-size 32 --compare
check "status where lanes are told apart" same "$status" 1
check "differences" holds "$out" different_results

# SPIR-V assembly, as Dawn prints it: with a line before, and an offset after each instruction.
{
    printf '/* Dumped generated SPIRV disassembly */\n'
    cat "$here/race.spvasm"
} >"$work/race.spvasm"
run check "$work/race.spvasm" --subgroup-size 16 --workgroups 1
check "status of assembly with a race" same "$status" 1
check "the race" grep -q 'main() OpLoad: race: read of workgroup memory sh_row' "$work/out"
sed 's/^; FIXED: //' "$here/race.spvasm" >"$work/fixed.spvasm"
run check "$work/fixed.spvasm" --subgroup-size 16 --workgroups 1 --quiet
expect_good
check "silent" same "$out$err" ""
printf 'OpCapability Shader\nOpNonsense\n' >"$work/broken.spvasm"
run check "$work/broken.spvasm"
expect_refused broken.spvasm "line 2" OpNonsense
printf 'no module' >"$work/broken.spv"
run check "$work/broken.spv"
expect_refused broken.spv "9 bytes"
printf 'no module  at all..\n' >"$work/broken.spv"
run check "$work/broken.spv"
expect_refused broken.spv "magic number"

# WGSL needs naga, which not every system has. Without it the message says so.
mkdir "$work/empty"
without_naga() { PATH=$work/empty "$tool" check "$here/race.wgsl" >"$work/out" 2>"$work/err"; }
last="check race.wgsl, with nothing on the PATH"
without_naga
status=$?
out=$(cat "$work/out")
err=$(cat "$work/err")
expect_refused naga "cannot be run" "give SPIR-V"
if command -v naga >"$work/naga"; then
    run check "$here/race.wgsl" --subgroup-size 4,64 --workgroups 1 --output 1
    check "status of WGSL with a race" same "$status" 1
    fault=$(grep -n '// fault' "$here/race.wgsl" | cut -d: -f1)
    check "kind and line" grep -qE "race.wgsl:$fault: race: read of workgroup memory sh_row" "$work/out"
    sed 's|// FIXED: ||' "$here/race.wgsl" >"$work/fixed.wgsl"
    run check "$work/fixed.wgsl" --subgroup-size 4,64,128 --workgroups 1 --output 1 --quiet
    expect_good
    check "silent" same "$out$err" ""

    run check "$here/subgroups.wgsl" --subgroup-size 4,32 --uniform-operations --workgroups 1
    check "status of a subgroup operation that not all reach" same "$status" 1
    fault=$(grep -n '// fault' "$here/subgroups.wgsl" | cut -d: -f1)
    check "kind and line of it" \
        grep -qE "subgroups.wgsl:$fault: divergent_subgroup_operation" "$work/out"
    run check "$here/subgroups.wgsl" --subgroup-size 4,32 --workgroups 1 --quiet
    expect_good

    printf 'fn main( {\n' >"$work/broken.wgsl"
    run check "$work/broken.wgsl"
    expect_refused broken.wgsl "does not compile" "error: " "broken.wgsl:1:10"
else
    echo "skipped: WGSL, as naga is not on the PATH"
fi

run check "$work/none.comp"
expect_refused none.comp
run check "$here/common.bash"
expect_refused common.bash
run check "$faults/race_reuse.comp" --subgroup-size 3
expect_refused subgroup_size
finish
