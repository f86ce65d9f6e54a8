# What the scripts of this folder share. Each runs with the tool's path as its argument, sources this,
# and ends with `finish`.

set -u
tool=$1
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset LANEWISE_DEVICE LANEWISE_TIER
checks=0
failures=0

# run ARGUMENTS...: runs the tool; leaves $status, and $out and $err with what it wrote.
run() {
    last="$*"
    "$tool" "$@" >"$work/out" 2>"$work/err"
    status=$?
    out=$(cat "$work/out")
    err=$(cat "$work/err")
}

fail() {
    failures=$((failures + 1))
    printf 'FAILED: %s\n  command: lanewise %s\n  status: %s\n  stdout: %s\n  stderr: %s\n' \
        "$1" "$last" "$status" "${out:0:2000}" "${err:0:2000}"
}

# check WHAT COMMAND...: the command must succeed.
check() {
    checks=$((checks + 1))
    local what=$1
    shift
    "$@" || fail "$what"
}

same() { [ "$1" = "$2" ]; }
holds() { [[ "$1" == *"$2"* ]]; }
one_line() { [ -n "$1" ] && [ "$(printf '%s\n' "$1" | wc -l)" -eq 1 ]; }

# good: status 0 and nothing but what was asked for on standard output.
expect_good() { check "status 0" same "$status" 0; }

# expect_value VALUE: that alone on standard output, nothing on standard error.
expect_value() {
    expect_good
    check "prints $1" same "$out" "$1"
    check "standard error is empty" same "$err" ""
}

# expect_refused WORDS...: status 2, one line on standard error with these words, nothing on
# standard output.
expect_refused() {
    check "status 2" same "$status" 2
    check "standard output is empty" same "$out" ""
    check "one line on standard error" one_line "$err"
    check "the line begins with the tool's name" same "${err:0:10}" "lanewise: "
    local word
    for word in "$@"; do
        check "the message has '$word'" holds "$err" "$word"
    done
}

# json EXPRESSION: the expression about j, the JSON on standard output, is true.
json() {
    python3 -c '
import json, sys
j = json.load(open(sys.argv[1]))
sys.exit(0 if eval(sys.argv[2]) else 1)' "$work/out" "$1"
}

valid_json() { python3 -m json.tool "$work/out" >"$work/json" 2>&1; }

npy() { python3 "$here/make_npy.py" "$@" || exit 99; }

finish() {
    printf '%d checks, %d failed\n' "$checks" "$failures"
    [ "$checks" -gt 0 ] && [ "$failures" -eq 0 ]
    exit
}
