//===- headers.cpp - the public headers as C++17 --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/fusec.hpp"
