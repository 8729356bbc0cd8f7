#===-- AddFusec.cmake - target helpers -----------------------------------===#
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#   add_fusec_tablegen(<target> <file.td> <gen-flag> <out> ...)
#   add_fusec_library(<name> <sources...> [LINK_LIBS libs...] [MLIR_LIBS libs...] [NO_PCH])
#   fusec_link_llvm(<library>)
#   fusec_link_closed(<target> <libraries...>)
#   add_fusec_tool(<name> <sources...> [LINK_LIBS libs...])
#   add_fusec_unittest(<name> <sources...> [LINK_LIBS libs...])
#
# LINK_LIBS of a library is its allowed set of lower layers (docs/architecture.md).
# MLIR_LIBS collapse to libMLIR.so when FUSEC_LINK_MLIR_DYLIB is on. A library
# without MLIR_LIBS sees no MLIR link dependency and gets no precompiled header.

# Every TableGen target feeds this one, so no source can race a generated header.
add_custom_target(fusec-headers)

function(add_fusec_tablegen target td)
  set(LLVM_TARGET_DEFINITIONS ${td})
  set(args ${ARGN})
  while(args)
    list(POP_FRONT args out)
    set(flags)
    while(args)
      list(GET args 0 next)
      if(NOT next MATCHES "^-")
        break()
      endif()
      list(POP_FRONT args)
      list(APPEND flags ${next})
    endwhile()
    mlir_tablegen(${out} ${flags} EXTRA_INCLUDES ${PROJECT_SOURCE_DIR}/include)
  endwhile()
  add_public_tablegen_target(${target})
  add_dependencies(fusec-headers ${target})
endfunction()

function(fusec_target_options target)
  llvm_update_compile_flags(${target})
  target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR}/include ${PROJECT_BINARY_DIR}/include)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wno-unused-parameter)
  if(FUSEC_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  if(FUSEC_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${FUSEC_SANITIZE} -fno-omit-frame-pointer)
    target_link_options(${target} PRIVATE -fsanitize=${FUSEC_SANITIZE})
  endif()
endfunction()

# One precompiled header, made once, reused by every MLIR library. Made here, at
# the root, so that its place does not depend on which library comes first.
if(FUSEC_USE_PCH)
  file(WRITE ${PROJECT_BINARY_DIR}/pch.cpp "")
  add_library(FusecPCH OBJECT ${PROJECT_BINARY_DIR}/pch.cpp)
  fusec_target_options(FusecPCH)
  target_precompile_headers(FusecPCH PRIVATE ${PROJECT_SOURCE_DIR}/cmake/Pch.h)
  if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
    target_compile_options(FusecPCH PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
  endif()
endif()

function(fusec_target_pch target)
  if(FUSEC_USE_PCH)
    target_precompile_headers(${target} REUSE_FROM FusecPCH)
  endif()
endfunction()

function(add_fusec_library name)
  cmake_parse_arguments(ARG "NO_PCH" "" "LINK_LIBS;MLIR_LIBS" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  fusec_target_options(${name})
  add_dependencies(${name} fusec-headers)
  target_link_libraries(${name} PUBLIC ${ARG_LINK_LIBS})
  if(ARG_MLIR_LIBS)
    if(FUSEC_LINK_MLIR_DYLIB)
      mlir_target_link_libraries(${name} PUBLIC ${ARG_MLIR_LIBS})
    endif()
    if(NOT ARG_NO_PCH)
      fusec_target_pch(${name})
    endif()
  endif()
  set_property(GLOBAL APPEND PROPERTY FUSEC_LIBS ${name})
endfunction()

# LLVM for a library without MLIR_LIBS. Static tools get it from
# FusecStaticMLIR: the exported target LLVM is the shared library.
function(fusec_link_llvm name)
  if(FUSEC_LINK_MLIR_DYLIB)
    target_link_libraries(${name} PUBLIC LLVM)
  endif()
endfunction()

# Libraries of fusec and all they stand on, by file and with LLVM from archives:
# the target gets none of their other link dependencies.
function(fusec_link_closed target)
  set(todo ${ARGN})
  set(done)
  while(todo)
    list(POP_FRONT todo lib)
    get_property(known GLOBAL PROPERTY FUSEC_LIBS)
    if(lib IN_LIST done OR NOT lib IN_LIST known)
      continue()
    endif()
    list(APPEND done ${lib})
    get_target_property(below ${lib} LINK_LIBRARIES)
    if(below)
      list(APPEND todo ${below})
    endif()
  endwhile()
  set(files)
  foreach(lib ${done})
    list(APPEND files $<TARGET_FILE:${lib}>)
  endforeach()
  add_dependencies(${target} ${done})
  target_link_libraries(${target} PRIVATE
    -Wl,--start-group ${files} -Wl,--end-group FusecStaticMLIR Threads::Threads ${CMAKE_DL_LIBS})
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${files})
endfunction()

function(add_fusec_tool name)
  cmake_parse_arguments(ARG "" "" "LINK_LIBS" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  fusec_target_options(${name})
  add_dependencies(${name} fusec-headers)
  target_link_libraries(${name} PRIVATE ${ARG_LINK_LIBS})
  if(NOT FUSEC_LINK_MLIR_DYLIB)
    target_link_libraries(${name} PRIVATE FusecStaticMLIR)
  endif()
endfunction()

function(add_fusec_unittest name)
  cmake_parse_arguments(ARG "PCH" "" "LINK_LIBS" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  fusec_target_options(${name})
  add_dependencies(${name} fusec-headers)
  target_link_libraries(${name} PRIVATE ${ARG_LINK_LIBS} GTest::gtest GTest::gtest_main)
  if(ARG_PCH)
    # The header is compiled as for libraries: -fPIC, where CMake gives
    # executables -fPIE.
    set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${name} PRIVATE -fPIC)
    fusec_target_pch(${name})
  endif()
  add_dependencies(fusec-unit-tests ${name})
  # Tests neither read nor write the user's kernel cache.
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 120
    PROPERTIES TIMEOUT 300 ENVIRONMENT FUSEC_CACHE=off)
endfunction()
