/*===- fusec.h - the C API of fusec ----------------------------------*- C -*-===*\
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                      *|
|*                                                                              *|
|*   graph.h, builder.h  ->  fusec_compile  ->  execution contexts -> runs      *|
|*                                                                              *|
|* base.h states the conventions: errors, handles, structs, threads. The C++    *|
|* API (fusec/fusec.hpp) is a layer of inline code over these functions; the    *|
|* library exports nothing else. docs/library.md is the tutorial.               *|
\*===------------------------------------------------------------------------===*/
#ifndef FUSEC_C_FUSEC_H
#define FUSEC_C_FUSEC_H

#include "fusec-c/base.h"
#include "fusec-c/builder.h"
#include "fusec-c/compile.h"
#include "fusec-c/dlpack.h"
#include "fusec-c/graph.h"
#include "fusec-c/run.h"

#endif /* FUSEC_C_FUSEC_H */
