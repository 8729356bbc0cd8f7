# Configures, builds and runs an example against a staged install.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE ${BUILD})
foreach(command
    "${CMAKE_COMMAND};-S;${SOURCE};-B;${BUILD};-G;${GENERATOR};-DCMAKE_PREFIX_PATH=${STAGE};-DCMAKE_C_COMPILER=${CC};-DCMAKE_CXX_COMPILER=${CXX}"
    "${CMAKE_COMMAND};--build;${BUILD}"
    "${BUILD}/${PROGRAM}")
  execute_process(COMMAND ${command} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
