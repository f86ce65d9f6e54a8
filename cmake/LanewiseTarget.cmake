# What the targets of this project have in common.

find_program(LANEWISE_CCACHE ccache)

# Files of the repository that match, noticed when they come and go.
function(lanewise_glob result)
    list(TRANSFORM ARGN PREPEND ${PROJECT_SOURCE_DIR}/)
    file(GLOB files CONFIGURE_DEPENDS ${ARGN})
    set(${result} ${files} PARENT_SCOPE)
endfunction()

function(lanewise_target_defaults target)
    set_target_properties(${target} PROPERTIES
        CXX_STANDARD 23 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF)
    if(LANEWISE_CCACHE)
        set_target_properties(${target} PROPERTIES CXX_COMPILER_LAUNCHER ${LANEWISE_CCACHE})
    endif()
    # src/ is included from the root, as "src/core/...".
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
    # Used inside only. As headers alone, they leave no trace in an installed library.
    target_link_libraries(${target} PRIVATE
        $<IF:$<BOOL:${LANEWISE_FMT_HEADER_ONLY}>,$<BUILD_INTERFACE:fmt::fmt-header-only>,fmt::fmt>
        $<BUILD_INTERFACE:nlohmann_json::nlohmann_json>)
    # Vulkan's structures are filled by name, the rest of them zero: no warning for that. -Wrestrict
    # cries wolf on "x" + string in GCC 12 (its bug 105651).
    target_compile_options(${target} PRIVATE
        -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wno-missing-field-initializers
        $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
        $<$<BOOL:${LANEWISE_WERROR}>:-Werror>)
    target_compile_definitions(${target} PRIVATE $<$<BOOL:${LANEWISE_ASSERTIONS}>:_GLIBCXX_ASSERTIONS>)
    get_target_property(type ${target} TYPE)
    if(type STREQUAL EXECUTABLE AND UNIX AND NOT APPLE)
        # Where implementations of WebGPU lie.
        set_target_properties(${target} PROPERTIES BUILD_RPATH "$ORIGIN")
        if(LANEWISE_SANITIZE)
            # Sanitizers open libraries in the program's place, for which only the older tag of a search
            # path counts.
            target_link_options(${target} PRIVATE -Wl,--disable-new-dtags)
        endif()
    endif()
    if(LANEWISE_SANITIZE)
        target_compile_options(${target} PRIVATE
            -fsanitize=${LANEWISE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
        target_link_options(${target} PRIVATE -fsanitize=${LANEWISE_SANITIZE})
        if(type STREQUAL EXECUTABLE)
            target_sources(${target} PRIVATE ${PROJECT_SOURCE_DIR}/cmake/keep_drivers_loaded.cpp)
            target_link_options(${target} PRIVATE -Wl,--export-dynamic-symbol=dlclose)
        endif()
    endif()
endfunction()

# lanewise_add_library(<name> SOURCES ...): the static library lanewise_<name>, lanewise::<name>.
function(lanewise_add_library name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES")
    add_library(lanewise_${name} STATIC ${arg_SOURCES})
    add_library(lanewise::${name} ALIAS lanewise_${name})
    set_target_properties(lanewise_${name} PROPERTIES EXPORT_NAME ${name})
    lanewise_target_defaults(lanewise_${name})
    target_compile_features(lanewise_${name} PUBLIC cxx_std_20)
    target_include_directories(lanewise_${name} PUBLIC
        $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
endfunction()
