#!/usr/bin/env bash
# --api webgpu: the verbs that run on a device, on each implementation that lies beside the tool.
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"

values='[(i * 2654435761 >> 7) % 1000 - 500 for i in range(5000)]'
expected() { python3 -c "v = $values; print($1)"; }
npy "$work/a.npy" '<i4' "$values"
npy "$work/s.npy" '<i8' '[7, 7, 30, 900, 4000]'
sum=$(expected 'sum(v)')

implementations=0
for library in libwgpu_native.so libwebgpu_dawn.so; do
    [ -e "$(dirname "$tool")/$library" ] || continue
    implementations=$((implementations + 1))
    export LANEWISE_WEBGPU_LIBRARY=$library
    if [ $library = libwebgpu_dawn.so ] && [[ "${LANEWISE_TEST_DEVICE-}" == lavapipe* ]]; then
        # Dawn finds that Mesa 22.3 lacks something, and gives a device that runs nothing.
        run reduce "$work/a.npy" --api webgpu
        check "status 2" same "$status" 2
        check "says why" holds "$err" "Null backend"
        continue
    fi

    for tier in barrier portable; do
        run reduce "$work/a.npy" --api webgpu --tier $tier --verify --quiet
        expect_value "$sum"
        run reduce "$work/a.npy" --api webgpu --tier $tier --op argmax --verify --quiet
        expect_value "$(expected 'v.index(max(v))')"
        run reduce "$work/a.npy" --api webgpu --tier $tier --accumulate i64 --verify --quiet
        expect_value "$sum"
        run scan "$work/a.npy" -o "$work/out.npy" --api webgpu --tier $tier --verify --quiet
        expect_value ""
        check "the prefixes" python3 "$here/read_npy.py" "$work/out.npy" '<i4' \
            "accumulate($values)" "from itertools import accumulate"
        run scan "$work/a.npy" -o "$work/out.npy" --api webgpu --tier $tier --op max --exclusive --reverse --verify --quiet
        expect_value ""
        run sort "$work/a.npy" -o "$work/out.npy" --api webgpu --tier $tier --verify --quiet
        expect_value ""
        check "the keys in order" python3 "$here/read_npy.py" "$work/out.npy" '<i4' "sorted($values)"
        run sort "$work/a.npy" -o "$work/out.npy" --api webgpu --tier $tier --argsort --bits 3:31 --verify --quiet
        expect_value ""
        run segmented-sort "$work/a.npy" --offsets "$work/s.npy" -o "$work/out.npy" --api webgpu --tier $tier --verify --quiet
        expect_value ""
        # Ranges of offsets that are no whole vectors.
        for numbers in '[0, 301]' '[7, 20, 250]' '[0, 0, 100, 200, 290]'; do
            npy "$work/few.npy" '<u4' "$numbers"
            run segmented-sort "$work/a.npy" --offsets "$work/few.npy" -o "$work/out.npy" --api webgpu --tier $tier --verify --quiet
            expect_value ""
        done
        # The expression is WGSL.
        run select "$work/a.npy" -o "$work/out.npy" --where "select(x, -x, x < 0) > 15" --api webgpu --tier $tier --verify --quiet
        expect_value "$(expected 'sum(abs(x) > 15 for x in v)')"
        check "what is kept" python3 "$here/read_npy.py" "$work/out.npy" '<i4' "[x for x in $values if abs(x) > 15]"
        run partition "$work/a.npy" -o "$work/out.npy" --where "x > 15" --api webgpu --tier $tier --quiet
        expect_value "$(expected 'sum(x > 15 for x in v)')"
        run select "$work/a.npy" -o "$work/out.npy" --where "mystery > 15" --api webgpu --tier $tier
        expect_refused mystery
        run split "$work/a.npy" -o "$work/out.npy" --offsets-out "$work/starts.npy" --bits 28:32 --api webgpu --tier $tier --verify --quiet
        expect_value ""
        run histogram "$work/a.npy" -o "$work/out.npy" --bins 100 --api webgpu --tier $tier --verify --quiet
        expect_value ""
    done
    npy "$work/u1.npy" '|u1' '[255] * 301'
    run reduce "$work/u1.npy" --api webgpu --verify --quiet
    expect_value 76755
    npy "$work/none.npy" '<u4' '[]'
    run reduce "$work/none.npy" --api webgpu --verify --quiet
    expect_value 0
    npy "$work/f8.npy" '<f8' '[0.5, 0.25]'
    run reduce "$work/f8.npy" --api webgpu
    expect_refused f64

    run reduce "$work/a.npy" --api webgpu --json
    expect_good
    check "valid JSON" valid_json
    check "the tier" json 'j["tier"] == "portable" and "subgroup-size-control" in j["reason"]'
    check "timed" json 'j["passes"][0]["nanoseconds"] > 0'
    run reduce "$work/a.npy" --api webgpu --tier pinned
    expect_refused pinned subgroup-size-control

    run info --api webgpu
    expect_good
    check "names the API" holds "$out" WebGPU
    check "and not the other" test "${out/Vulkan)/}" = "$out"
    run info --api webgpu --json
    expect_good
    check "valid JSON" valid_json
    check "the API" json '[d["api"] for d in j["devices"]] == ["webgpu"]'
    check "scan's tier" json 'j["devices"][0]["primitives"]["scan"]["tier"] == "portable"'
    run info --json
    expect_good
    check "both APIs" json '{d["api"] for d in j["devices"]} == {"vulkan", "webgpu"} and "missing" not in j'
    run info --api webgpu --caps-json
    expect_good
    mv "$work/out" "$work/caps.json"
    run plan scan --api webgpu --count 2^20
    expect_good
    planned=$out
    run plan scan --caps "$work/caps.json" --count 2^20
    check "the same plan by the device's capabilities" same "$out" "$planned"
    run plan scan --api webgpu --emit wgsl --pass scan_tiles
    expect_good
    check "WGSL" holds "$out" "@compute"

    run reduce "$work/a.npy" --api webgpu --device 0 --quiet
    expect_value "$sum"
    run reduce "$work/a.npy" --api webgpu --device 1
    expect_refused "'1'"
    run reduce "$work/a.npy" --api webgpu --device "no such device"
    expect_refused "no such device"

    run bench --api webgpu --sizes 10:10 --tier barrier --json
    expect_good
    check "valid JSON" valid_json
    check "on WebGPU" json 'j["machine"]["api"] == "webgpu"'
    check "verified" json 'all(s["rows"][0]["verified"] for s in j["sections"])'
    check "limits" json 'all("read" in s["limits"][0] and "copy" in s["limits"][0] for s in j["sections"])'
    run bench reduce --api webgpu --sizes 10:10 --tier barrier
    expect_good
    check "names the API" holds "$out" "WebGPU"
    run bench --textbook --api webgpu
    expect_refused textbook
done
check "an implementation lies beside the tool" test $implementations -gt 0

# No library: an error of what needs it, and of nothing else.
export LANEWISE_WEBGPU_LIBRARY=/nonexistent/libwebgpu.so
run reduce "$work/a.npy" --api webgpu
expect_refused /nonexistent/libwebgpu.so LANEWISE_WEBGPU_LIBRARY
run info --api webgpu
check "status 1" same "$status" 1
check "one line" one_line "$err"
check "why" holds "$err" /nonexistent/libwebgpu.so
run info
expect_good
check "Vulkan's device is there" holds "$out" "Vulkan)"
check "a line says what is not" grep -q '^-  none of webgpu: .*/nonexistent/libwebgpu.so' "$work/out"
run info --json
expect_good
check "why" json '"/nonexistent/libwebgpu.so" in j["missing"]["webgpu"]'
run reduce "$work/a.npy"
expect_value "$sum"
# A library that is another one.
export LANEWISE_WEBGPU_LIBRARY=libm.so.6
run reduce "$work/a.npy" --api webgpu
expect_refused libm.so.6 wgpu

# Nothing at all.
export LANEWISE_WEBGPU_LIBRARY=/nonexistent/libwebgpu.so
export VK_DRIVER_FILES=/nonexistent VK_ICD_FILENAMES=/nonexistent
run info
check "status 1" same "$status" 1
check "one line" one_line "$err"
check "Vulkan's reason" holds "$err" "no Vulkan device here"
finish
