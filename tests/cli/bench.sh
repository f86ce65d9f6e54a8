#!/usr/bin/env bash
# lanewise bench with sizes that take no time.
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"

run bench reduce --sizes 10:11
expect_good
check "names reduce" holds "$out" reduce
check "names a tier" grep -qE 'pinned|portable|barrier' "$work/out"

run bench reduce --sizes 10:10 --json
expect_good
check "valid JSON" valid_json
check "names the device" json '"llvmpipe" in str(j) or "SwiftShader" in str(j)'

run bench reduce --sizes ten
expect_refused ten
run bench reduce --sizes 12:10
expect_refused 12
run bench no_such_primitive
expect_refused no_such_primitive
run bench reduce --sizes 10:10 --device "no such device"
expect_refused "no such device"

# A report appears whole or not at all.
run bench reduce --sizes 10:10 --report "$work/report"
expect_good
check "the report has files" test -n "$(ls -A "$work/report")"
touch "$work/a_file"
run bench reduce --sizes 10:10 --report "$work/a_file/report"
check "a folder that cannot be made fails" test "$status" -ne 0
finish
