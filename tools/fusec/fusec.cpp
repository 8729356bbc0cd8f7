//===- fusec.cpp - the command line tool ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Tool/Tool.h"

int main(int argc, char **argv) { return fusec::tool::fusecMain(argc, argv); }
