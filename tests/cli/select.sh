#!/usr/bin/env bash
# lanewise select and partition: expressions, flags, values, indices, rejected items, capacities,
# orders, types, files, --json, --verify, tiers, and what is refused.
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"

o=$work/out.npy
r=$work/rejected.npy
w=$work/values_out.npy
# Python that the expectations share: v, the items, x, what travels with them.
python='v = [(i * 2654435761 >> 7) % 1000 - 500 for i in range(5000)]
x = [i * 7 for i in range(5000)]
kept = [i for i in range(5000) if v[i] > 15]
others = [i for i in range(5000) if v[i] <= 15]'
# same_array PATH TYPE EXPRESSION
same_array() { python3 "$here/read_npy.py" "$1" "$2" "$3" "$python"; }
many() { python3 -c "$python
print(len($1))"; }
# expect_array TYPE EXPRESSION: that in $o, and how many are kept on standard output ($count).
expect_array() {
    expect_value "$count"
    check "items" same_array "$o" "$1" "$2"
    rm -f "$o"
}
# expect_file PATH TYPE EXPRESSION: that there.
expect_file() {
    check "$(basename "$1")" same_array "$1" "$2" "$3"
    rm -f "$1"
}

npy "$work/i4.npy" '<i4' '[(i * 2654435761 >> 7) % 1000 - 500 for i in range(5000)]'
npy "$work/x4.npy" '<u4' '[i * 7 for i in range(5000)]'
count=$(many kept)
run select "$work/i4.npy" -o "$o" --where "x > 15"
expect_array '<i4' '[v[i] for i in kept]'
run select "$work/i4.npy" --output "$o" --where "x > 15" --rejected "$r" --verify --quiet
expect_array '<i4' '[v[i] for i in kept]'
expect_file "$r" '<i4' '[v[i] for i in others]'
run select "$work/i4.npy" -o "$o" --where "x > 15" --indices "$w" --rejected "$r" --verify --quiet
expect_array '<i4' '[v[i] for i in kept]'
expect_file "$w" '<u4' kept
expect_file "$r" '<i4' '[v[i] for i in others]'
# Indices alone, values alone.
run select "$work/i4.npy" --where "x > 15" --indices "$w" --verify --quiet
expect_value "$count"
expect_file "$w" '<u4' kept
run select "$work/i4.npy" --where "x > 15" --values "$work/x4.npy" --values-out "$w"
expect_value "$count"
expect_file "$w" '<u4' '[x[i] for i in kept]'

# Values: elements, and rows.
run select "$work/i4.npy" -o "$o" --where "x > 15" --values "$work/x4.npy" --values-out "$w" --verify --quiet
expect_array '<i4' '[v[i] for i in kept]'
expect_file "$w" '<u4' '[x[i] for i in kept]'
npy "$work/rows.npy" '<f4' '[float(i) for i in range(15000)]' --shape '(5000, 3)'
run select "$work/i4.npy" -o "$o" --where "x > 15" --values "$work/rows.npy" --values-out "$w"
expect_array '<i4' '[v[i] for i in kept]'
expect_file "$w" '<f4' '[(3.0 * i, 3.0 * i + 1, 3.0 * i + 2) for i in kept]'

# Partitions.
run partition "$work/i4.npy" -o "$o" --where "x > 15" --verify --quiet
expect_array '<i4' '[v[i] for i in kept + others]'
run partition "$work/i4.npy" -o "$o" --where "x > 15" --indices "$w"
expect_array '<i4' '[v[i] for i in kept + others]'
expect_file "$w" '<u4' 'kept + others'

# Flags of every type, bools too.
for type in u1 i2 u4 b1; do
    kind="<$type"
    case $type in u1 | b1) kind="|$type" ;; esac
    npy "$work/flags.npy" "$kind" '[((i * 2654435761 >> 7) % 1000 - 500 > 15) * (i % 100 + 1) for i in range(5000)]'
    run select "$work/i4.npy" -o "$o" --flags "$work/flags.npy" --verify --quiet
    expect_array '<i4' '[v[i] for i in kept]'
done
run partition "$work/i4.npy" -o "$o" --flags "$work/flags.npy" --values "$work/x4.npy" --values-out "$w" --verify --quiet
expect_array '<i4' '[v[i] for i in kept + others]'
expect_file "$w" '<u4' '[x[i] for i in kept + others]'
run select "$work/i4.npy" --indices "$w" --flags "$work/flags.npy" --verify --quiet
expect_value "$count"
expect_file "$w" '<u4' kept

# A capacity: the number is that of all that are kept.
run select "$work/i4.npy" -o "$o" --where "x > 15" --capacity 100 --verify --quiet
expect_array '<i4' '[v[i] for i in kept[:100]]'
run select "$work/i4.npy" -o "$o" --where "x > 15" --capacity 2^6
expect_good
check "prints how many would have been" same "$out" "$count"
check "says how many are there" holds "$err" "64 of them are written"
expect_file "$o" '<i4' '[v[i] for i in kept[:64]]'
for capacity in 0 "$count" 2^40; do
    run select "$work/i4.npy" -o "$o" --where "x > 15" --capacity $capacity --verify --quiet
    expect_value "$count"
    rm -f "$o"
done

# Any order.
run select "$work/i4.npy" -o "$o" --where "x > 15" --unordered --verify --quiet
expect_value "$count"
run sort "$o" -o "$o"
expect_good
expect_file "$o" '<i4' 'sorted(v[i] for i in kept)'

# All, none, and what has no items.
count=5000
run select "$work/i4.npy" -o "$o" --where true --verify --quiet
expect_array '<i4' v
count=0
run select "$work/i4.npy" -o "$o" --where "x > 1000" --rejected "$r" --verify --quiet
expect_array '<i4' '[]'
expect_file "$r" '<i4' v
npy "$work/empty.npy" '<u4' '[]'
run select "$work/empty.npy" -o "$o" --where "x > 3" --indices "$w" --rejected "$r" --verify --quiet
expect_array '<u4' '[]'
expect_file "$w" '<u4' '[]'
expect_file "$r" '<u4' '[]'

# The index, and statements.
count=$(many 'v[::3]')
run select "$work/i4.npy" -o "$o" --where "index % 3u == 0u"
expect_array '<i4' 'v[::3]'
count=$(many '[a for a in v if abs(a) < 10]')
run select "$work/i4.npy" -o "$o" --where "if (x < 0) { return -x < 10 ? 1u : 0u; } return x < 10 ? 1u : 0u;"
expect_array '<i4' '[a for a in v if abs(a) < 10]'

# Every tier here, and every type that .npy and Lanewise share.
count=$(many kept)
for tier in auto barrier; do
    run select "$work/i4.npy" -o "$o" --where "x > 15" --tier $tier --verify --quiet
    expect_array '<i4' '[v[i] for i in kept]'
done
count=$(many '[i for i in range(1234) if i * 37 % 101 > 15]')
for type in u1 i1 u2 f2 u4 f4 i8 f8; do
    npy "$work/of_$type.npy" "<$type" '[i * 37 % 101 for i in range(1234)]'
    run select "$work/of_$type.npy" -o "$o" --where "x > 15"
    if [ "$status" -eq 2 ]; then
        check "only 64 bits need what devices may lack" same "${type:1}" 8
        continue
    fi
    kind="<$type"
    case $type in u1 | i1) kind="|$type" ;; esac
    expect_array "$kind" '[i * 37 % 101 for i in range(1234) if i * 37 % 101 > 15]'
done
# NaN is greater than nothing; bits stay as they are.
npy "$work/f4.npy" '<f4' '[3.0, float("nan"), -0.0, 0.0, float("-inf"), float("inf"), -2.5]'
count=3
run select "$work/f4.npy" -o "$o" --where "x >= 0.0 && index != 2u"
expect_array '<f4' '[3.0, 0.0, float("inf")]'

# What cannot be done leaves no file, and an old one as it was.
printf 'before' >"$work/old.npy"
refused() {
    run "$@" -o "$work/old.npy"
    expect_refused
    check "the old file is as it was" same "$(cat "$work/old.npy")" before
}
for verb in select partition; do
    refused $verb
    refused $verb "$work/i4.npy"
    check "asks for what keeps" holds "$err" "--where or --flags"
    refused $verb "$work/i4.npy" --where ""
    check "asks for what keeps" holds "$err" "--where or --flags"
    refused $verb "$work/none.npy" --where "x > 1"
    check "names the file" holds "$err" none.npy
    refused $verb "$work/i4.npy" --where "x > 1" --flags "$work/flags.npy"
    check "names both" holds "$err" --flags
    # The compiler's words, with the word that it does not know.
    refused $verb "$work/i4.npy" --where "y > 15"
    check "the first message" holds "$err" "'y'"
    refused $verb "$work/i4.npy" --where "x >"
    check "the expression" holds "$err" keep
    refused $verb "$work/i4.npy" --where "x > 1) || (x"
    refused $verb "$work/i4.npy" --where "}"
    refused $verb "$work/i4.npy" --where "x > 1; }"
    # Flags.
    npy "$work/short.npy" '|u1' '[1] * 4999'
    refused $verb "$work/i4.npy" --flags "$work/short.npy"
    check "both numbers" holds "$err" "4999 flags"
    npy "$work/long.npy" '<u8' '[1] * 5000'
    refused $verb "$work/i4.npy" --flags "$work/long.npy"
    check "which types" holds "$err" "8, 16 or 32 bits"
    npy "$work/float.npy" '<f4' '[1.0] * 5000'
    refused $verb "$work/i4.npy" --flags "$work/float.npy"
    check "which types" holds "$err" f32
    refused $verb "$work/i4.npy" --flags "$work/rows.npy"
    refused $verb "$work/i4.npy" --flags "$work/none.npy"
    check "names the file" holds "$err" none.npy
    # Values and indices.
    refused $verb "$work/i4.npy" --where "x > 1" --values "$work/x4.npy"
    check "asks for the other" holds "$err" --values-out
    refused $verb "$work/i4.npy" --where "x > 1" --values-out "$w"
    check "asks for the other" holds "$err" --values
    npy "$work/few.npy" '<u4' '[1] * 4999'
    refused $verb "$work/i4.npy" --where "x > 1" --values "$work/few.npy" --values-out "$w"
    check "says what is wanted" holds "$err" "one value for each item"
    refused $verb "$work/i4.npy" --where "x > 1" --values "$work/of_u2.npy" --values-out "$w"
    refused $verb "$work/i4.npy" --where "x > 1" --values "$work/x4.npy" --values-out "$w" --indices "$r"
    check "names both" holds "$err" --indices
    refused $verb "$work/i4.npy" --where "x > 1" --indices "$work/old.npy"
    check "says why" holds "$err" "two outputs"
    refused $verb "$work/i4.npy" --where "x > 1" --indices "$work/../$(basename "$work")/./old.npy"
    check "says why" holds "$err" "two outputs"
    refused $verb "$work/rows.npy" --where "x > 1.0"
    refused $verb "$work/i4.npy" --where "x > 1" --tier warp
    check "names the tiers" holds "$err" barrier
    run $verb "$work/i4.npy" --where "x > 1"
    expect_refused -o --indices --values-out
done
refused select "$work/i4.npy" --where "x > 1" --rejected "$work/old.npy"
check "says why" holds "$err" "two outputs"
refused select "$work/i4.npy" --where "x > 1" --capacity many
check "names it" holds "$err" many
refused select "$work/i4.npy" --where "x > 1" --capacity -1
refused select "$work/i4.npy" --where "x > 1" --unordered --rejected "$r"
check "says why" holds "$err" rejected
refused partition "$work/i4.npy" --where "x > 1" --capacity 5
refused partition "$work/i4.npy" --where "x > 1" --rejected "$r"
refused partition "$work/i4.npy" --where "x > 1" --unordered

# In place of its own input.
cp "$work/i4.npy" "$work/own.npy"
count=$(many kept)
run select "$work/own.npy" -o "$work/own.npy" --where "x > 15"
expect_value "$count"
expect_file "$work/own.npy" '<i4' '[v[i] for i in kept]'

# JSON.
run select "$work/i4.npy" -o "$o" --where "x > 15" --rejected "$r" --capacity 10 --json --verify --quiet
expect_good
check "valid JSON" valid_json
check "what was asked" json 'j["element"] == "i32" and j["where"] == "x > 15" and j["rest"] == "rejected"'
check "what was kept" json "j['kept'] == $count and j['capacity'] == 10 and j['count'] == 5000"
check "files" json "j['output'] == '$o' and j['rejected_output'] == '$r'"
check "passes" json 'len(j["passes"]) >= 1'
check "verified" json 'j["verified"] is True'
run partition "$work/i4.npy" -o "$o" --flags "$work/flags.npy" --json
expect_good
check "valid JSON" valid_json
check "what was asked" json 'j["flag_bits"] == 8 and j["rest"] == "after" and j["order"] == "input"'

# Verifying says what.
run select "$work/i4.npy" -o "$o" --where "x > 15" --verify
expect_good
check "says so" holds "$err" "$count of 5000 i32"

finish
