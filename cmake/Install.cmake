# Install rules, and the package that find_package(lanewise) reads.
include(CMakePackageConfigHelpers)

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/lanewise)

install(TARGETS lanewise lanewise_core lanewise_kernels lanewise_vulkan lanewise_gpu EXPORT lanewise)
if(TARGET lanewise_jit)
    install(TARGETS lanewise_jit EXPORT lanewise)
endif()
if(TARGET lanewise_simulator)
    install(TARGETS lanewise_spirv lanewise_simulator EXPORT lanewise)
endif()
if(TARGET lanewise_webgpu)
    install(TARGETS lanewise_wgsl lanewise_webgpu EXPORT lanewise)
endif()
install(EXPORT lanewise NAMESPACE lanewise:: FILE lanewise-targets.cmake DESTINATION ${package})
if(TARGET lanewise_cli)
    install(TARGETS lanewise_cli)
endif()
install(DIRECTORY include/lanewise DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

# For shaders that include ours: kernels/ is the root of their #include paths.
set(shaders ${CMAKE_INSTALL_DATADIR}/lanewise/shaders)
set(shader_files FILES_MATCHING PATTERN *.glsl PATTERN *.comp PATTERN *.wgsl)
install(DIRECTORY kernels/ DESTINATION ${shaders} ${shader_files})
install(DIRECTORY primitives/ DESTINATION ${shaders}/primitives ${shader_files})

configure_package_config_file(cmake/lanewise-config.cmake.in
    ${PROJECT_BINARY_DIR}/lanewise-config.cmake INSTALL_DESTINATION ${package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/lanewise-config-version.cmake
    COMPATIBILITY SameMinorVersion)
install(FILES
    ${PROJECT_BINARY_DIR}/lanewise-config.cmake
    ${PROJECT_BINARY_DIR}/lanewise-config-version.cmake
    DESTINATION ${package})
