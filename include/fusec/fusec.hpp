//===- fusec.hpp - the C++ API of fusec -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A thin layer of inline C++17 over the C API (fusec-c/fusec.h): handles that
// free themselves, values instead of pointers to results, and errors that must
// be looked at. It needs no LLVM and throws nothing; the library has no other
// C++ interface, so a program may be built with any compiler and standard
// library. docs/library.md is the tutorial.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_FUSEC_HPP
#define FUSEC_FUSEC_HPP

#include "fusec/api/Builder.hpp"
#include "fusec/api/Error.hpp"
#include "fusec/api/Executable.hpp"
#include "fusec/api/Graph.hpp"

#endif // FUSEC_FUSEC_HPP
