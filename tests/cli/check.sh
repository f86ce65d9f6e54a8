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

run check "$work/none.comp"
expect_refused none.comp
run check "$here/common.bash"
expect_refused common.bash
run check "$faults/race_reuse.comp" --subgroup-size 3
expect_refused subgroup_size
finish
