#===-- EmbedFile.cmake - text files as constants -------------------------===#
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#   fusec_embed_file(<header> <symbol> <files...>)
#
# Makes build/include/<header> with
#   namespace fusec::embedded { inline constexpr char <symbol>[] = ...; }
# holding the files one after the other. It is made at build time, again when a
# file changes, and before every library (through fusec-headers).
#
# As a script (cmake -P) this file does the writing.

if(CMAKE_SCRIPT_MODE_FILE)
  set(text)
  foreach(file ${FILES})
    file(READ ${file} part)
    # Pieces below the 64 KB that every C++ compiler takes in one literal.
    string(LENGTH "${part}" left)
    set(from 0)
    while(from LESS left)
      string(SUBSTRING "${part}" ${from} 16000 piece)
      string(APPEND text "R\"fusec-text(${piece})fusec-text\"\n")
      math(EXPR from "${from} + 16000")
    endwhile()
  endforeach()
  file(WRITE ${OUT} "// Generated from text files by EmbedFile.cmake.
#pragma once
namespace fusec::embedded {
inline constexpr char ${SYMBOL}[] =
${text};
} // namespace fusec::embedded
")
  return()
endif()

set(FUSEC_EMBED_SCRIPT ${CMAKE_CURRENT_LIST_FILE})

function(fusec_embed_file header symbol)
  set(out ${PROJECT_BINARY_DIR}/include/${header})
  set(files)
  foreach(file ${ARGN})
    get_filename_component(file ${file} ABSOLUTE)
    list(APPEND files ${file})
  endforeach()
  add_custom_command(OUTPUT ${out}
    COMMAND ${CMAKE_COMMAND} -DOUT=${out} -DSYMBOL=${symbol} "-DFILES=${files}"
            -P ${FUSEC_EMBED_SCRIPT}
    DEPENDS ${files} ${FUSEC_EMBED_SCRIPT}
    COMMENT "Embedding ${symbol}"
    VERBATIM)
  add_custom_target(fusec-embed-${symbol} DEPENDS ${out})
  add_dependencies(fusec-headers fusec-embed-${symbol})
endfunction()
