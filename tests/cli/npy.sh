#!/usr/bin/env bash
# Which .npy files are read, and that all others are refused in one line with status 2.
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"

for version in 1 2 3; do
    npy "$work/v$version.npy" '<u4' 'range(100)' --version "$version"
    run reduce "$work/v$version.npy"
    expect_value 4950
done

refused() {
    local words=$1
    shift
    npy "$work/bad.npy" "$@"
    run reduce "$work/bad.npy"
    # shellcheck disable=SC2086
    expect_refused bad.npy $words
}
refused "" '<u4' 'range(10)' --drop 1         # truncated data
refused "" '<u4' 'range(10)' --drop 40        # no data at all
refused "" '<u4' 'range(10)' --drop 60        # truncated header
refused "" '<u4' '[]' --drop 120              # truncated before the header's length
refused "" '<u4' 'range(10)' --shape '(11,)'
refused "" '<u4' 'range(10)' --shape '(4611686018427387905,)'  # bytes wrap to 4
refused "" '<u4' 'range(10)' --shape '(99999999999999999999999,)'
refused "" '<u4' 'range(10)' --shape '(-1,)'
refused "" '<u4' 'range(10)' --magic 'PK'
refused "version" '<u4' 'range(10)' --version 4
refused "" '<u4' 'range(10)' --header '{'
refused "" '<u4' 'range(10)' --header ' '
refused "" '<u4' 'range(10)' --header "{'descr': '<u4', 'fortran_order': False}"
refused ">u4" '>u4' 'range(10)'               # big-endian
refused "b1" '|b1' '[True] * 4'
refused "c16" '<u4' 'range(8)' --header "{'descr': '<c16', 'fortran_order': False, 'shape': (2,), }"
refused "" '<u4' 'range(8)' --header "{'descr': [('x', '<u4')], 'fortran_order': False, 'shape': (8,), }"
refused "" '<u4' 'range(6)' --shape '(2, 3)'
refused "" '<u4' '[7]' --shape '()'
: >"$work/bad.npy"
run reduce "$work/bad.npy"
expect_refused bad.npy
head -c 100000 /dev/zero >"$work/bad.npy"
run reduce "$work/bad.npy"
expect_refused bad.npy

# The order of one dimension is no order.
npy "$work/fortran.npy" '<u4' 'range(10)' --fortran
run reduce "$work/fortran.npy"
if [ "$status" -eq 0 ]; then expect_value 45; else expect_refused fortran; fi
finish
