//===- Kernel.h - how the evaluator computes one kind of op -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One function per op class, registered by op type. A family of ops is one
// file with a register function named in Registry.cpp. Kernels are written
// from the ops' documentation, never by way of buildElement or a
// decomposition.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_REFERENCE_KERNEL_H
#define FUSEC_LIB_REFERENCE_KERNEL_H

#include "Tensor.h"
#include "fusec/Reference/Evaluate.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/Twine.h"

namespace fusec::reference {

/// What a kernel may ask of the evaluator.
class Context {
public:
  virtual ~Context() = default;

  const EvaluateOptions &options() const { return limits; }

  /// Fails once more than maxSteps steps were charged. Operands and results
  /// are charged by the evaluator; kernels charge inner loops before running
  /// them. A product of loop sizes should be formed by `steps`.
  llvm::Error charge(int64_t steps);

  /// The product of loop sizes, saturating.
  static int64_t steps(llvm::ArrayRef<int64_t> sizes);

  /// Zeros of the element type of `result` in `shape`.
  llvm::Expected<Tensor> create(mlir::Value result,
                                llvm::ArrayRef<int64_t> shape);
  /// Zeros of the shape of `result`, whose type must be static.
  llvm::Expected<Tensor> create(mlir::Value result);

  /// The largest tensor that may be made now.
  int64_t bytesLeft() const;

  /// Runs the only block of `region` and gives what its terminator takes.
  /// Values from outside the region are visible.
  virtual llvm::Expected<std::vector<Tensor>>
  runRegion(mlir::Region &region, std::vector<Tensor> arguments) = 0;

protected:
  explicit Context(const EvaluateOptions &options) : limits(options) {}

  /// Bytes of the tensors that running blocks hold.
  int64_t live = 0;

private:
  EvaluateOptions limits;
  int64_t used = 0;
};

/// Computes the results of an op, one tensor each. They need not be rounded or
/// wrapped: the evaluator normalises them. Floats are plain f64 arithmetic, so
/// that the one rounding is to the result's type; state in a kernel's comment
/// where more are meant. Errors need not name the op.
using Kernel = llvm::Expected<std::vector<Tensor>> (*)(
    mlir::Operation *op, llvm::ArrayRef<const Tensor *> operands,
    Context &context);

/// The kernels by op type.
class Registry {
public:
  template <typename OpT>
  void add(Kernel kernel) {
    kernels[mlir::TypeID::get<OpT>()] = kernel;
  }
  /// Null for an op without a kernel.
  Kernel lookup(mlir::Operation *op) const {
    return kernels.lookup(op->getName().getTypeID());
  }
  /// All kernels.
  static const Registry &get();

private:
  llvm::DenseMap<mlir::TypeID, Kernel> kernels;
};

/// One result.
inline std::vector<Tensor> single(Tensor tensor) {
  std::vector<Tensor> results;
  results.push_back(std::move(tensor));
  return results;
}

// Families, each in the file of its name.
void registerBinaryKernels(Registry &registry);
void registerCompositeKernels(Registry &registry);
void registerContractionKernels(Registry &registry);
void registerControlKernels(Registry &registry);
void registerConvertKernels(Registry &registry);
void registerGatherKernels(Registry &registry);
void registerMovementKernels(Registry &registry);
void registerReductionKernels(Registry &registry);
void registerScatterKernels(Registry &registry);
void registerUnaryKernels(Registry &registry);

} // namespace fusec::reference

#endif // FUSEC_LIB_REFERENCE_KERNEL_H
