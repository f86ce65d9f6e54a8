# The CPU drivers and simulated machines that tests of devices run on, and how a test is registered on
# each.

find_file(LANEWISE_SWIFTSHADER_LIBRARY libvk_swiftshader.so
    PATHS /usr/lib/chromium /usr/lib/chromium-browser NO_DEFAULT_PATH)
file(GLOB lavapipe_icd /usr/share/vulkan/icd.d/lvp_icd*.json)
if(NOT lavapipe_icd)
    message(FATAL_ERROR "Mesa's lavapipe is missing: install mesa-vulkan-drivers")
endif()
list(GET lavapipe_icd 0 lavapipe_icd)
if(NOT LANEWISE_SWIFTSHADER_LIBRARY)
    message(FATAL_ERROR "SwiftShader is missing: install chromium, whose package holds it")
endif()

# Chromium's own file names the library relative to its folder, which the loader does not accept here.
set(swiftshader_icd ${PROJECT_BINARY_DIR}/icd/swiftshader_icd.json)
file(CONFIGURE OUTPUT ${swiftshader_icd} @ONLY CONTENT
[[{"file_format_version": "1.0.0",
 "ICD": {"library_path": "@LANEWISE_SWIFTSHADER_LIBRARY@", "api_version": "1.1.0"}}
]])

# The number is the subgroup size that the device reports. lavapipe takes it from the width in bits of
# the vectors that it makes; above 512 only the first 16 lanes really run (Mesa 22.3): devices that
# lie, for the tests of the probe.
set(lanewise_device_lavapipe4 ${lavapipe_icd} LP_NATIVE_VECTOR_WIDTH=128)
set(lanewise_device_lavapipe8 ${lavapipe_icd} LP_NATIVE_VECTOR_WIDTH=256)
set(lanewise_device_lavapipe16 ${lavapipe_icd} LP_NATIVE_VECTOR_WIDTH=512)
set(lanewise_device_lavapipe32lie ${lavapipe_icd} LP_NATIVE_VECTOR_WIDTH=1024)
set(lanewise_device_lavapipe64lie ${lavapipe_icd} LP_NATIVE_VECTOR_WIDTH=2048)
set(lanewise_device_swiftshader4 ${swiftshader_icd})

# WebGPU: the implementation, the driver below it, and what is lesser about the device
# (tests/support/webgpu_test.hpp). Dawn does not take lavapipe of Mesa 22.3. The short list has each
# implementation, and each tier.
set(LANEWISE_WEBGPU_LIBRARY_DIR ${PROJECT_SOURCE_DIR}/build/webgpu/lib CACHE PATH
    "Folder of libwgpu_native.so and libwebgpu_dawn.so, for tests")
set(lanewise_library_wgpu ${LANEWISE_WEBGPU_LIBRARY_DIR}/libwgpu_native.so)
set(lanewise_library_dawn ${LANEWISE_WEBGPU_LIBRARY_DIR}/libwebgpu_dawn.so)
set(LANEWISE_WEBGPU_DEVICES wgpu_lavapipe8 dawn_swiftshader4 dawn_swiftshader4_barrier)
set(LANEWISE_WEBGPU_DEVICES_ALL ${LANEWISE_WEBGPU_DEVICES} wgpu_lavapipe4 wgpu_lavapipe16
    wgpu_lavapipe8_barrier wgpu_swiftshader4 dawn_swiftshader4_least)
if(NOT TARGET lanewise_webgpu)
    set(LANEWISE_WEBGPU_DEVICES "")
    set(LANEWISE_WEBGPU_DEVICES_ALL "")
endif()

set(LANEWISE_HONEST_DEVICES lavapipe4 lavapipe8 lavapipe16 swiftshader4)
set(LANEWISE_LYING_DEVICES lavapipe32lie lavapipe64lie)

# Machines of the simulator, by size and what is hostile about them: tests/support/simulated_device.hpp.
# The shorter list has each size and each kind once.
set(LANEWISE_SIMULATED_DEVICES simulator4_partial simulator8_striped simulator16_permuted
    simulator32 simulator64_hostile simulator128_partial)
set(LANEWISE_SIMULATED_DEVICES_ALL)
foreach(size 4 8 16 32 64 128)
    foreach(kind "" _permuted _hostile _partial _striped)
        list(APPEND LANEWISE_SIMULATED_DEVICES_ALL simulator${size}${kind})
    endforeach()
endforeach()

set(LANEWISE_TEST_DEVICES "" CACHE STRING "Devices that GPU tests run on; empty: all that a test names")

# Tests that are SHARED_OUT run each case on one device of three: the first of the drivers, simulated
# machines and WebGPU devices that a test names take cases 0, 3, 6..., the second ones 1, 4, 7..., and so
# on. So a case runs on one lavapipe at least, on two machines (one with small subgroups, one with large
# ones) and on one WebGPU device. tests/conformance/coverage.py looks after it.
set(lanewise_shares 3)
# Pipelines are most of what tests cost on drivers: builds have lavapipe's in common.
set(LANEWISE_TEST_SHADER_CACHE ${PROJECT_BINARY_DIR}/shader_cache CACHE PATH
    "Folder where Mesa keeps what it compiled for tests")

# Mesa wants a private XDG_RUNTIME_DIR and warns without one.
set(runtime_dir ${PROJECT_BINARY_DIR}/runtime)
file(MAKE_DIRECTORY ${runtime_dir})
file(CHMOD ${runtime_dir} DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)

set(common_environment XDG_RUNTIME_DIR=${runtime_dir})
set(test_suffix "")
if(LANEWISE_SANITIZE)
    set(test_suffix "+sanitized")
    list(APPEND common_environment
        # Short stacks: drivers that compile shaders allocate a great deal.
        ASAN_OPTIONS=detect_stack_use_after_return=1:malloc_context_size=10
        LSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/cmake/leaks_of_drivers.txt
        UBSAN_OPTIONS=print_stacktrace=1)
endif()

# lanewise_add_test(<name> COMMAND ... [LABELS ...] [ENVIRONMENT ...] [TIMEOUT seconds] [COST seconds])
# COST: about how long it takes; ctest begins with the longest.
function(lanewise_add_test name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT;COST" "COMMAND;LABELS;ENVIRONMENT")
    if(NOT arg_TIMEOUT)
        set(arg_TIMEOUT 2400)
    endif()
    if(NOT arg_COST)
        set(arg_COST 1)
    endif()
    if(LANEWISE_SANITIZE)  # behind the other build's, which leave pipelines compiled
        math(EXPR arg_COST "${arg_COST} / 2")
    endif()
    add_test(NAME ${name}${test_suffix} COMMAND ${arg_COMMAND})
    set_tests_properties(${name}${test_suffix} PROPERTIES
        ENVIRONMENT "${common_environment};${arg_ENVIRONMENT}"
        LABELS "${arg_LABELS}"
        COST ${arg_COST}
        TIMEOUT ${arg_TIMEOUT})
endfunction()

# lanewise_add_gpu_test(<name> DEVICES ... COMMAND ... [SHARED_OUT] [LABELS ...] [ENVIRONMENT ...]
#                       [TIMEOUT seconds] [COST seconds])
# makes a test <name>@<device> of every device.
function(lanewise_add_gpu_test name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "SHARED_OUT" "TIMEOUT;COST" "DEVICES;COMMAND;LABELS;ENVIRONMENT")
    foreach(kind driver simulated webgpu)
        set(${kind}_number 0)
    endforeach()
    foreach(device IN LISTS arg_DEVICES)
        if(LANEWISE_TEST_DEVICES AND NOT device IN_LIST LANEWISE_TEST_DEVICES)
            continue()
        endif()
        set(environment LANEWISE_TEST_DEVICE=${device} ${arg_ENVIRONMENT})
        if(arg_SHARED_OUT)
            set(kind driver)
            if(device MATCHES "^simulator")
                set(kind simulated)
            elseif(device MATCHES "^(wgpu|dawn)_")
                set(kind webgpu)
            endif()
            math(EXPR share "${${kind}_number} % ${lanewise_shares}")
            math(EXPR ${kind}_number "${${kind}_number} + 1")
            list(APPEND environment GTEST_TOTAL_SHARDS=${lanewise_shares} GTEST_SHARD_INDEX=${share}
                GTEST_OUTPUT=json:${PROJECT_BINARY_DIR}/${name}/${device}.json)
        endif()
        if(device MATCHES "^simulator")
            lanewise_add_test(${name}@${device}
                COMMAND ${arg_COMMAND}
                LABELS ${arg_LABELS}
                TIMEOUT ${arg_TIMEOUT}
                COST ${arg_COST}
                ENVIRONMENT ${environment})
            continue()
        endif()
        set(driver ${device})
        set(library_setting)
        if(device MATCHES "^(wgpu|dawn)_([a-z0-9]+)")
            set(driver ${CMAKE_MATCH_2})
            set(library_setting LANEWISE_TEST_WEBGPU_LIBRARY=${lanewise_library_${CMAKE_MATCH_1}})
        endif()
        set(settings ${lanewise_device_${driver}})
        list(POP_FRONT settings icd)
        set(shader_cache ${LANEWISE_TEST_SHADER_CACHE}/${driver})
        file(MAKE_DIRECTORY ${shader_cache})  # Mesa makes the last folder of a path only
        lanewise_add_test(${name}@${device}
            COMMAND ${arg_COMMAND}
            LABELS ${arg_LABELS}
            TIMEOUT ${arg_TIMEOUT}
            COST ${arg_COST}
            ENVIRONMENT
                # The loader reads one of these two, by its version.
                VK_DRIVER_FILES=${icd} VK_ICD_FILENAMES=${icd}
                # A cache for each driver: no vector width may meet the code of another.
                MESA_SHADER_CACHE_DIR=${shader_cache}
                ${library_setting} ${settings} ${environment})
    endforeach()
endfunction()
