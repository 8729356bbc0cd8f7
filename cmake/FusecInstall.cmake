#===-- FusecInstall.cmake - what `cmake --install` puts where ------------===#
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Component "library": libfusec, its headers, the CMake package, pkg-config and
# the Python package. Component "tools": the command line tools.

include(CMakePackageConfigHelpers)
set(cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/fusec)

install(TARGETS libfusec EXPORT fusecTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library)
install(DIRECTORY include/fusec-c DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT library)
install(DIRECTORY include/fusec/api DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/fusec COMPONENT library)
install(FILES include/fusec/fusec.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/fusec COMPONENT library)

install(EXPORT fusecTargets NAMESPACE fusec:: DESTINATION ${cmake_dir} COMPONENT library)
configure_package_config_file(cmake/fusecConfig.cmake.in ${PROJECT_BINARY_DIR}/fusecConfig.cmake
  INSTALL_DESTINATION ${cmake_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/fusecConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/fusecConfig.cmake ${PROJECT_BINARY_DIR}/fusecConfigVersion.cmake
  DESTINATION ${cmake_dir} COMPONENT library)
configure_file(cmake/fusec.pc.in fusec.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/fusec.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT library)
install(DIRECTORY python/fusec DESTINATION ${CMAKE_INSTALL_LIBDIR}/python COMPONENT library
  FILES_MATCHING PATTERN "*.py")

install(TARGETS fusec RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tools)
if(FUSEC_LINK_MLIR_DYLIB)
  # For those who extend fusec: installed where they were built.
  install(TARGETS fusec-opt fusec-lsp-server RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR}
    COMPONENT tools OPTIONAL)
else()
  # One program that looks at its name (tools/fusec/fusec.cpp).
  install(CODE "foreach(name fusec-opt fusec-lsp-server)
    file(CREATE_LINK fusec \$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}/\${name} SYMBOLIC)
  endforeach()" COMPONENT tools)
endif()
