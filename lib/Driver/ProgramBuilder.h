//===- ProgramBuilder.h - assembling a Program ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_DRIVER_PROGRAMBUILDER_H
#define FUSEC_LIB_DRIVER_PROGRAMBUILDER_H

#include "ChainPlan.h"
#include "fusec/Dialect/Simt/IR/Simt.h"
#include "fusec/Driver/Compile.h"
#include "fusec/Target/CUDA/CudaEmitter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringMap.h"

namespace fusec::driver {

/// Gives values of a planned function their buffers and regions their
/// launches.
class ProgramBuilder {
public:
  explicit ProgramBuilder(runtime::Program &program) : program(program) {}

  /// Inputs, outputs, constants and temporaries of `function`.
  llvm::Error begin(mlir::func::FuncOp function);
  /// Adds a kernel unless one of equal text is there; returns its index.
  uint32_t addKernel(runtime::Kernel kernel);
  /// Adds the launch of `fusion` by kernel `index` with the grid and extents
  /// of `kernel`, and with the vendor's call of `decision`, if there is one.
  void addLaunch(graph::FusionOp fusion, simt::KernelOp kernel, uint32_t index,
                 uint32_t dynamicSharedBytes,
                 const std::optional<ScheduleDecision> &decision,
                 const cuda::RowBuffers &rows);
  /// Adds the launch of several regions by kernel `index`, made by
  /// `emitJointKernel` of `kernels`, which are parallel to `fusions`, or by
  /// `emitChainKernel` with the form of `chain`.
  void addJointLaunch(llvm::ArrayRef<graph::FusionOp> fusions,
                      llvm::ArrayRef<simt::KernelOp> kernels,
                      const cuda::JointKernel &joint, uint32_t index,
                      const ChainPlan *chain,
                      llvm::ArrayRef<cuda::RowBuffers> rows);
  /// Lets a result that is an output be the memory of `argument`.
  void addAlias(mlir::BlockArgument argument, mlir::Value result);
  /// Copies for results that no launch writes in place; plans the workspace.
  llvm::Error finish(mlir::func::FuncOp function);

private:
  llvm::Error addConstant(graph::ConstantOp op);
  /// Adds the buffers, extents and sizes of the grid of program `part`.
  void addEntry(runtime::TableArg &table, graph::FusionOp fusion,
                simt::KernelOp kernel, bool usesGrid, const ChainPlan *chain,
                unsigned part);
  /// The rows among the buffers of `fusion`, if there are any.
  void addRows(runtime::Launch &launch, graph::FusionOp fusion,
               const cuda::RowBuffers &rows);
  /// The buffers of inputs and results, in order.
  llvm::SmallVector<runtime::BufferRef> buffersOf(graph::FusionOp fusion);
  /// Those and new temporaries for the scratch of `kernel`.
  llvm::SmallVector<runtime::BufferRef> buffersOf(graph::FusionOp fusion,
                                                  simt::KernelOp kernel);

  runtime::Program &program;
  llvm::DenseMap<mlir::Value, runtime::BufferRef> buffers;
  llvm::StringMap<uint32_t> kernelsByText;
};

/// The report entry of a region.
KernelSummary summarize(graph::FusionOp fusion,
                        const analysis::RegionForm &form,
                        analysis::FactTable &facts, const TargetInfo &target);

/// The spec of a tensor type; dynamic dimensions are an error.
llvm::Expected<runtime::TensorSpec> tensorSpec(mlir::Type type,
                                               std::string name);

} // namespace fusec::driver

#endif // FUSEC_LIB_DRIVER_PROGRAMBUILDER_H
