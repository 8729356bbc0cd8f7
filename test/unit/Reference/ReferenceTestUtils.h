//===- ReferenceTestUtils.h - graphs and tensors for tests ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_TEST_UNIT_REFERENCE_REFERENCETESTUTILS_H
#define FUSEC_TEST_UNIT_REFERENCE_REFERENCETESTUTILS_H

#include "fusec/Reference/Evaluate.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <string>
#include <vector>

namespace fusec::reference::test {

/// Every element type, and the parts of that list.
inline constexpr DType kFloats[] = {DType::F64,  DType::F32,    DType::F16,
                                    DType::BF16, DType::F8E4M3, DType::F8E5M2};
inline constexpr DType kIntegers[] = {
    DType::I64, DType::I32, DType::I16, DType::I8, DType::I4,
    DType::U64, DType::U32, DType::U16, DType::U8, DType::U4};

/// A function parsed from text, with the context that it lives in.
class Graph {
public:
  /// `text` is a module with a function @f; anything else fails the test.
  explicit Graph(const std::string &text);
  /// @f with one op: `results` are its types, `body` the op without its result
  /// name, with operands %0, %1, ... of `arguments`.
  Graph(llvm::ArrayRef<std::string> arguments, llvm::StringRef result,
        llvm::StringRef body);

  mlir::func::FuncOp function();
  /// The first op of the function.
  mlir::Operation *op();

private:
  void parse(const std::string &text);
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

/// "tensor<2x3xui8>".
std::string typeText(DType dtype, llvm::ArrayRef<int64_t> shape);

/// A tensor of the values, converted as `graph.cast` from f64 does for floats
/// and wrapped for integers.
HostTensor reals(DType dtype, llvm::ArrayRef<int64_t> shape,
                 llvm::ArrayRef<double> values);
HostTensor wholes(DType dtype, llvm::ArrayRef<int64_t> shape,
                  llvm::ArrayRef<int64_t> values);

/// Zeros, denormals, ones, extremes, infinities, NaN, and some plain values of
/// a type: a rank-1 tensor.
HostTensor specialValues(DType dtype);

/// Every pair of two rank-1 tensors as two tensors of n * m elements.
std::pair<HostTensor, HostTensor> allPairs(const HostTensor &lhs,
                                           const HostTensor &rhs);

/// Evaluates; an error fails the test and gives no results.
std::vector<HostTensor> run(Graph &graph, llvm::ArrayRef<HostTensor> arguments,
                            const EvaluateOptions &options = {});

std::vector<double> asReals(const HostTensor &tensor);
std::vector<int64_t> asWholes(const HostTensor &tensor);

/// Expects equal type and shape, and each element equal: NaN to NaN, zeros by
/// sign, other floats within `ulps` steps of their type.
void expectSame(const HostTensor &actual, const HostTensor &expected,
                const std::string &what, int64_t ulps = 0);

} // namespace fusec::reference::test

#endif // FUSEC_TEST_UNIT_REFERENCE_REFERENCETESTUTILS_H
