#!/usr/bin/env bash
# Help, version, and usage that cannot be meant.
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"

run --version
expect_good
check "prints a version" holds "$out" "lanewise "
check "one line" one_line "$out"

run --help
expect_good
for verb in info reduce scan sort segmented-sort split select partition plan bench; do
    check "names $verb" holds "$out" "$verb"
    run "$verb" --help
    expect_good
    check "help goes to standard output" test -n "$out"
    run --help
done

run
expect_refused
run frobnicate
expect_refused frobnicate
run reduce
expect_refused
run reduce --frobnicate x.npy
expect_refused frobnicate
run scan
expect_refused
run scan x.npy --frobnicate -o y.npy
expect_refused frobnicate
run sort
expect_refused
run sort x.npy --frobnicate -o y.npy
expect_refused frobnicate
run reduce "$work/none.npy"
expect_refused none.npy
run reduce "$work"
expect_refused "$work"

npy "$work/a.npy" '<u4' 'range(10)'
run reduce "$work/a.npy" extra
expect_refused extra
run reduce "$work/a.npy" --op average
expect_refused average sum argmax
run reduce "$work/a.npy" --op
expect_refused op
run reduce "$work/a.npy" --accumulate u65
expect_refused u65
run reduce "$work/a.npy" --accumulate f64
expect_refused f64
run reduce "$work/a.npy" --tier warp
expect_refused warp pinned portable barrier
run reduce "$work/a.npy" --device "no such device"
expect_refused "no such device"
run reduce "$work/a.npy" --device 99
expect_refused 99
run info --device "no such device"
expect_refused "no such device"
run reduce "$work/a.npy" --api metal
expect_refused metal

# The environment is read, and an option wins over it.
export LANEWISE_DEVICE="no such device"
run reduce "$work/a.npy"
expect_refused "no such device"
run reduce "$work/a.npy" --device 0
expect_value 45
unset LANEWISE_DEVICE

# Standard output that takes nothing is a failure, not a success.
if [ -e /dev/full ]; then
    last="reduce a.npy > /dev/full"
    "$tool" reduce "$work/a.npy" >/dev/full 2>"$work/err"
    status=$?
    out=""
    err=$(cat "$work/err")
    check "a full disk gives status 1" same "$status" 1
    check "and one line" one_line "$err"
fi
finish
