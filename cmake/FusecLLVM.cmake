#===-- FusecLLVM.cmake - the only file that talks to LLVM's packages -----===#
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Finds LLVM and MLIR 22 and includes their CMake modules. The version is
# checked here because MLIR's version file accepts only an equal major.minor.

set(MLIR_DIR /usr/lib/llvm-22/lib/cmake/mlir CACHE PATH "MLIR's CMake package")
find_package(MLIR REQUIRED CONFIG)
if(NOT LLVM_VERSION_MAJOR EQUAL 22)
  message(FATAL_ERROR "fusec needs LLVM and MLIR 22, found ${LLVM_PACKAGE_VERSION} in ${LLVM_DIR}")
endif()

set(MLIR_LINK_MLIR_DYLIB ${FUSEC_LINK_MLIR_DYLIB})
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
find_program(LLVM_EXTERNAL_LIT NAMES llvm-lit lit lit-22 HINTS ${LLVM_TOOLS_BINARY_DIR})

include(TableGen)
include(AddLLVM)
include(AddMLIR)
include(HandleLLVMOptions)

include_directories(SYSTEM ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})

# LLVM by file, for what must not bring the shared one along: libfusec.so always
# and, without the shared libMLIR, the tools. Libraries of fusec then link no
# MLIR target at all: the exported MLIR targets carry the shared libLLVM in their
# link interface. The linker takes from the archives what is used.
find_program(FUSEC_LLVM_CONFIG llvm-config-22 llvm-config HINTS ${LLVM_TOOLS_BINARY_DIR} REQUIRED)
execute_process(COMMAND ${FUSEC_LLVM_CONFIG} --link-static --system-libs all
  OUTPUT_VARIABLE libs OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
separate_arguments(libs UNIX_COMMAND "${libs}")
file(GLOB archives ${LLVM_LIBRARY_DIR}/libMLIR*.a ${LLVM_LIBRARY_DIR}/libLLVM*.a)
list(FILTER archives EXCLUDE REGEX "libMLIR.*(Test|CAPI|Runner|ExecutionEngine)")
add_library(FusecStaticMLIR INTERFACE)
target_link_options(FusecStaticMLIR INTERFACE
  -Wl,--gc-sections -Wl,--icf=all -Wl,--as-needed -Wl,--exclude-libs,ALL -static-libstdc++ -static-libgcc)
target_link_libraries(FusecStaticMLIR INTERFACE -Wl,--start-group ${archives} -Wl,--end-group ${libs})
