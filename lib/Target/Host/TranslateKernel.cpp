//===- TranslateKernel.cpp - built kernels to LLVM IR text ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//  1. tiles become vectors, math and narrow floats expand;
//  2. scf to branches, everything to the LLVM dialect;
//  3. to text.
//===----------------------------------------------------------------------===//
#include "KernelBuilder.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::host;

void host::registerDialects(DialectRegistry &registry) {
  registry
      .insert<arith::ArithDialect, cf::ControlFlowDialect, func::FuncDialect,
              graph::GraphDialect, LLVM::LLVMDialect, math::MathDialect,
              scf::SCFDialect, tensor::TensorDialect, vector::VectorDialect>();
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

static Type vectorOf(Type type) {
  auto tile = dyn_cast<RankedTensorType>(type);
  return tile ? VectorType::get(tile.getShape(), tile.getElementType()) : type;
}

static void retype(Operation *op) {
  for (Value result : op->getResults())
    result.setType(vectorOf(result.getType()));
  for (Region &region : op->getRegions())
    for (Block &block : region)
      for (BlockArgument argument : block.getArguments())
        argument.setType(vectorOf(argument.getType()));
  auto constant = dyn_cast<arith::ConstantOp>(op);
  if (!constant)
    return;
  auto dense = dyn_cast<DenseElementsAttr>(constant.getValue());
  auto tile =
      dense ? dyn_cast<RankedTensorType>(dense.getType()) : RankedTensorType();
  if (!tile)
    return;
  auto type = cast<ShapedType>(vectorOf(tile));
  SmallVector<Attribute> values(dense.getValues<Attribute>());
  constant.setValueAttr(DenseElementsAttr::get(type, values));
}

void host::tilesToVectors(ModuleOp module) {
  SmallVector<Operation *> replaced;
  module.walk([&](Operation *op) {
    retype(op);
    if (isa<tensor::SplatOp>(op)) {
      OpBuilder builder(op);
      Value vector = vector::BroadcastOp::create(
          builder, op->getLoc(), op->getResult(0).getType(), op->getOperand(0));
      op->getResult(0).replaceAllUsesWith(vector);
      replaced.push_back(op);
    }
  });
  // Casts between tiles and vectors have become casts of a type to itself.
  module.walk([&](UnrealizedConversionCastOp cast) {
    cast.getResult(0).replaceAllUsesWith(cast.getOperand(0));
    replaced.push_back(cast);
  });
  for (Operation *op : replaced)
    op->erase();
}

//===----------------------------------------------------------------------===//
// To LLVM
//===----------------------------------------------------------------------===//

static LogicalResult convertToLlvm(ModuleOp module) {
  MLIRContext *context = module.getContext();
  LLVMTypeConverter types(context);
  RewritePatternSet patterns(context);
  arith::populateArithToLLVMConversionPatterns(types, patterns);
  cf::populateControlFlowToLLVMConversionPatterns(types, patterns);
  populateMathToLLVMConversionPatterns(types, patterns);
  populateVectorToLLVMConversionPatterns(types, patterns);
  LLVMConversionTarget target(*context);
  target.addLegalOp<ModuleOp>();
  return applyFullConversion(module, target, std::move(patterns));
}

FailureOr<std::string> host::translateKernel(ModuleOp module) {
  tilesToVectors(module);
  PassManager early(module.getContext());
  early.enableVerifier(true);
  early.addPass(createCSEPass());
  early.addPass(createLoopInvariantCodeMotionPass());
  if (failed(early.run(module)))
    return failure();
  expandMath(module);
  if (failed(expandNarrowFloats(module)))
    return failure();
  PassManager late(module.getContext());
  late.addPass(createSCFToControlFlowPass());
  if (failed(late.run(module)) || failed(convertToLlvm(module)))
    return failure();
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> translated =
      translateModuleToLLVMIR(module, context, "kernel");
  if (!translated)
    return failure();
  std::string text;
  llvm::raw_string_ostream stream(text);
  translated->print(stream, nullptr);
  return text;
}
