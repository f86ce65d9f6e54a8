# Installs the build in BUILD beside it and builds this folder's project against that, as a stranger
# would: nothing of the source tree is in sight but the project itself.
set(work ${BUILD}/consumer)
file(REMOVE_RECURSE ${work})

execute_process(COMMAND_ERROR_IS_FATAL ANY OUTPUT_QUIET
    COMMAND ${CMAKE_COMMAND} --install ${BUILD} --prefix ${work}/prefix)
execute_process(COMMAND_ERROR_IS_FATAL ANY
    COMMAND ${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR} -B ${work}/build -G ${GENERATOR}
        -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_PREFIX_PATH=${work}/prefix
        -DWEBGPU=${WEBGPU} -DLANEWISE_WEBGPU_INCLUDE_DIR=${WEBGPU_INCLUDE})
execute_process(COMMAND_ERROR_IS_FATAL ANY
    COMMAND ${CMAKE_COMMAND} --build ${work}/build)
execute_process(COMMAND_ERROR_IS_FATAL ANY
    COMMAND ${work}/build/consumer)

file(GLOB_RECURSE shaders ${work}/prefix/share/lanewise/shaders/*.glsl)
if(NOT shaders)
    message(FATAL_ERROR "the install carries no shader modules")
endif()
