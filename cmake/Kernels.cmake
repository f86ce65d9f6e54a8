# Compiles the kernels of lists (format: tools/kernels.py) to SPIR-V and embeds them in a target, as
# lanewise::detail::kernel_catalogue() of src/core/kernel_catalogue.hpp. Beside them it leaves the sources
# of the kernels of custom operators, for lanewise::jit to compile: kernel_sources.inc.

find_package(Python3 3.9 REQUIRED COMPONENTS Interpreter)
find_program(LANEWISE_GLSLANG NAMES glslangValidator glslang REQUIRED)
find_program(LANEWISE_SPIRV_OPT spirv-opt REQUIRED)
find_program(LANEWISE_SPIRV_VAL spirv-val REQUIRED)

# lanewise_embed_kernels(<target> <list>...)
function(lanewise_embed_kernels target)
    set(tool ${PROJECT_SOURCE_DIR}/tools/kernels.py)
    set(out ${PROJECT_BINARY_DIR}/kernels)

    set(all_stems)
    foreach(list IN LISTS ARGN)
        # The set of stems is known when configuring; what is compiled of them, when building.
        set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${list})
        execute_process(
            COMMAND ${Python3_EXECUTABLE} ${tool} stems ${list}
            OUTPUT_VARIABLE stems OUTPUT_STRIP_TRAILING_WHITESPACE
            COMMAND_ERROR_IS_FATAL ANY)
        string(REPLACE "\n" ";" stems "${stems}")
        foreach(stem IN LISTS stems)
            add_custom_command(
                OUTPUT ${out}/${stem}.cpp ${out}/${stem}.inc
                COMMAND ${Python3_EXECUTABLE} ${tool} build --list ${list} --stem ${stem}
                    --include ${PROJECT_SOURCE_DIR}/kernels --out ${out}
                    --glslang ${LANEWISE_GLSLANG}
                    --spirv-opt ${LANEWISE_SPIRV_OPT}
                    --spirv-val ${LANEWISE_SPIRV_VAL}
                DEPENDS ${list} ${tool}
                DEPFILE ${out}/${stem}.d
                COMMENT "Compiling the kernels of ${stem}"
                VERBATIM)
            target_sources(${target} PRIVATE ${out}/${stem}.cpp ${out}/${stem}.inc)
        endforeach()
        list(APPEND all_stems ${stems})
    endforeach()

    # Writes both only when they change.
    add_custom_command(
        OUTPUT ${out}/kernel_sources.inc ${out}/kernel_interface.inc
        COMMAND ${Python3_EXECUTABLE} ${tool} sources --include ${PROJECT_SOURCE_DIR}/kernels --out ${out}
            ${ARGN}
        DEPENDS ${ARGN} ${tool}
        DEPFILE ${out}/kernel_sources.d
        COMMENT "Gathering the sources of custom kernels"
        VERBATIM)
    target_sources(${target} PRIVATE ${out}/kernel_interface.inc ${out}/kernel_sources.inc)
    set_property(TARGET ${target} APPEND PROPERTY INCLUDE_DIRECTORIES ${out})

    # Stems in order make the whole table sorted by name: '.' is below every other letter of a name.
    list(SORT all_stems)
    list(TRANSFORM all_stems REPLACE "(.+)" "#include \"\\1.inc\"" OUTPUT_VARIABLE LANEWISE_TABLES)
    list(JOIN LANEWISE_TABLES "\n" LANEWISE_TABLES)
    configure_file(${PROJECT_SOURCE_DIR}/cmake/kernel_catalogue.cpp.in ${out}/kernel_catalogue.cpp @ONLY)
    target_sources(${target} PRIVATE ${out}/kernel_catalogue.cpp)
endfunction()

# lanewise_embed_wgsl(<target> <list>...): the twins in WGSL of the lists' kernels, as wgsl_sources.inc.
function(lanewise_embed_wgsl target)
    set(tool ${PROJECT_SOURCE_DIR}/tools/kernels.py)
    set(out ${PROJECT_BINARY_DIR}/kernels)
    lanewise_glob(files kernels/*/*.wgsl primitives/*/*.wgsl bench/*.wgsl)
    add_custom_command(
        OUTPUT ${out}/wgsl_sources.inc
        COMMAND ${Python3_EXECUTABLE} ${tool} wgsl --include ${PROJECT_SOURCE_DIR}/kernels --out ${out} ${ARGN}
        DEPENDS ${ARGN} ${tool} ${files}
        COMMENT "Gathering the kernels in WGSL"
        VERBATIM)
    target_sources(${target} PRIVATE ${out}/wgsl_sources.inc)
    set_property(TARGET ${target} APPEND PROPERTY INCLUDE_DIRECTORIES ${out})
endfunction()
