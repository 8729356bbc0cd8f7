//===- NodeOrder.h - the order in which nodes are imported ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The format asks for nodes in topological order; files of real tools do not
// always have it, and other readers accept them.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_FRONTEND_ONNX_NODEORDER_H
#define FUSEC_LIB_FRONTEND_ONNX_NODEORDER_H

#include "fusec/Frontend/Onnx/Model.h"
#include "llvm/ADT/ArrayRef.h"

namespace fusec::onnx::importer {

/// A permutation of the nodes' positions with each node behind the nodes that
/// make its inputs, branches included; the file's order wherever that allows.
/// Nodes on a cycle, and those behind one, come last in the file's order.
std::vector<size_t> nodeOrder(llvm::ArrayRef<Node> nodes);

} // namespace fusec::onnx::importer

#endif // FUSEC_LIB_FRONTEND_ONNX_NODEORDER_H
