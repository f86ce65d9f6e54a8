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

run bench scan --sizes 10:11
expect_good
check "names what is measured" holds "$out" "scan: exclusive sum of u32 into u32"
run bench scan --sizes 10:10 --inclusive --type u8 --op max --strategies --tier barrier --json
expect_good
check "valid JSON" valid_json
check "the kind" json 'j["sections"][0]["kind"] == "inclusive"'
check "an item moves its own bytes and an output's" json 'j["sections"][0]["rows"][0]["bytes"] == 1024 * (1 + 4)'
check "the planner's choice first" json '"asked_strategy" not in j["sections"][0]["rows"][0]'
check "strategies" json '{"one_workgroup", "reduce_then_scan", "look_back", "reduce_ahead"} == {r["asked_strategy"] for r in j["sections"][0]["rows"][1:]}'
check "verified" json 'j["sections"][0]["rows"][0]["verified"]'

run bench sort --sizes 10:11
expect_good
check "names what is measured" holds "$out" "sort: ascending keys of u32 into u32"
run bench sort --sizes 10:10 --type i64 --value-bytes 8 --strategies --tier barrier --json
expect_good
check "pairs" json 'j["sections"][0]["op"] == "pairs"'
check "one reading, then a reading and a writing for each digit" \
    json 'j["sections"][0]["rows"][0]["bytes"] == 1024 * (8 + 8 * 2 * (8 + 8))'
check "strategies" json '{"one_workgroup", "count_then_scatter", "look_back", "bitonic"} == {r["asked_strategy"] for r in j["sections"][0]["rows"][1:]}'
check "verified" json 'j["sections"][0]["rows"][0]["verified"]'
run bench sort --sizes 10:10 --value-bytes 5
expect_refused 5

run bench top_k --sizes 10:12:2 -k 70
expect_good
check "names what is measured" holds "$out" "top_k: descending 70 keys of u32 into u32 and indices"
run bench top_k --sizes 12:12 --type f32 --strategies --tier barrier --json
expect_good
check "three readings to count, one for the sums, one to gather" \
    json 'j["sections"][0]["rows"][0]["bytes"] == 4096 * 4 * 5'
check "strategies" json '{"one_workgroup", "select"} == {r["asked_strategy"] for r in j["sections"][0]["rows"][1:]}'
check "verified" json 'j["sections"][0]["rows"][0]["verified"]'
run bench top_k -k some
expect_refused some

run bench histogram --sizes 10:12:2 --type u8
expect_good
check "names what is measured" holds "$out" "histogram: uniform 256 bins of u8 into u32"
run bench histogram --sizes 12:12 --type f32 --data one_bin --strategies --tier barrier --json
expect_good
check "one reading" json 'j["sections"][0]["rows"][0]["bytes"] == 4096 * 4'
check "all in one bin" json 'j["sections"][0]["kind"] == "one_bin"'
check "strategies" json '{"one_workgroup", "last_workgroup", "two_pass", "global"} == {r["asked_strategy"] for r in j["sections"][0]["rows"][1:]}'
check "verified" json 'all(r["verified"] for r in j["sections"][0]["rows"])'
run bench histogram --data some
expect_refused some

run bench select --sizes 10:12:2 --tier barrier
expect_good
check "names what is measured" holds "$out" "select: half kept of u32 into u32"
run bench select --sizes 12:12 --strategies --json
expect_good
check "verified" json 'all(r["verified"] for r in j["sections"][0]["rows"] if not r.get("note"))'
run bench select --type f32 --sizes 10:10
expect_refused u32
# A primitive that has no such items does not stop the others.
run bench --type u64 --sizes 10:10 --tier barrier --json
expect_good
check "the rest is measured" json '[s["rows"][0].get("verified") for s in j["sections"] if s["primitive"] == "reduce"] == [True]'

# Another library's rows stand beside those of the same primitive, kind, operator and type.
cat >"$work/peer.json" <<'PEER'
{"peer": "Other 1.0", "rows": [
  {"primitive": "scan", "kind": "inclusive", "op": "sum", "element": "u32", "count": 1024, "nanoseconds": 1.0},
  {"primitive": "scan", "kind": "exclusive", "op": "sum", "element": "u32", "count": 1024, "nanoseconds": 5e6},
  {"primitive": "reduce", "op": "sum", "element": "u32", "count": 1024, "nanoseconds": 7e6}]}
PEER
run bench --sizes 10:10 --tier barrier --peer "$work/peer.json"
expect_good
check "reduce's row" holds "$out" 7000
check "scan's row" holds "$out" 5000
run bench --sizes 10:10 --tier barrier --peer "$work/peer.json" --json
check "by kind" json '[s["rows"][0].get("peer_nanoseconds") for s in j["sections"]] == [7e6, 5e6, None, None, None, None]'
printf '{"peer": "Other", "rows": [{"primitive": "scan", "kind": 1}]}' >"$work/peer.json"
run bench scan --sizes 10:10 --peer "$work/peer.json"
expect_refused peer.json

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
