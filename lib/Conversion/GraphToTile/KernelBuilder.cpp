//===- KernelBuilder.cpp - the frame of a block program -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "KernelBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::graph_to_tile;

KernelBuilder::KernelBuilder(graph::FusionOp fusion,
                             const analysis::RegionForm &form,
                             const TileOptions &options, ModuleOp module,
                             StringRef name)
    : fusion(fusion), form(form),
      pattern(options.pattern ? *options.pattern : form),
      counted(options.counted ? *options.counted : form), options(options),
      builder(fusion.getContext()), loc(fusion.getLoc()),
      emitter(builder, loc, options), module(module), name(name) {}

void KernelBuilder::begin(int64_t threads, ArrayRef<int64_t> grid,
                          ArrayRef<int64_t> extents, ArrayRef<Scratch> scratch,
                          int64_t kept) {
  builder.setInsertionPointToEnd(module.getBody());
  unsigned inputs = fusion.getInputs().size();
  kernel =
      tile::KernelOp::create(builder, loc, name, threads, inputs, grid, extents,
                             DenseI64ArrayAttr(), IntegerAttr(), IntegerAttr());
  Block &body = kernel.getBody().emplaceBlock();
  auto addBuffer = [&](Type type) {
    Type element = RegionEmitter::storageType(
        cast<RankedTensorType>(type).getElementType());
    return body.addArgument(MemRefType::get({ShapedType::kDynamic}, element),
                            loc);
  };
  for (BlockArgument arg : fusion.getBody().getArguments())
    emitter.buffers[arg] = addBuffer(arg.getType());
  for (Type type : fusion.getResultTypes())
    addBuffer(type);
  SmallVector<int64_t> counts;
  for (const Scratch &one : scratch) {
    body.addArgument(MemRefType::get({ShapedType::kDynamic}, one.element), loc);
    counts.push_back(one.count);
  }
  if (!scratch.empty()) {
    kernel.setScratch(counts);
    kernel.setKept(kept);
  }
  for (size_t i = 0; i < extents.size(); ++i)
    body.addArgument(builder.getIndexType(), loc);
  builder.setInsertionPointToStart(&body);
}

Value KernelBuilder::outputBuffer(unsigned result) {
  return kernel.getBody().getArgument(fusion.getInputs().size() + result);
}

Value KernelBuilder::scratch(unsigned position) {
  return kernel.getBody().getArgument(fusion.getInputs().size() +
                                      fusion.getNumResults() + position);
}

Value KernelBuilder::extent(unsigned position) {
  size_t buffers = kernel.getScratch() ? kernel.getScratch()->size() : 0;
  return scratch(buffers + position);
}

Value KernelBuilder::index(int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc, value);
}
Value KernelBuilder::addIndex(Value lhs, Value rhs) {
  return arith::AddIOp::create(builder, loc, lhs, rhs);
}
Value KernelBuilder::mulIndex(Value lhs, int64_t rhs) {
  return rhs == 1
             ? lhs
             : arith::MulIOp::create(builder, loc, lhs, index(rhs)).getResult();
}
Value KernelBuilder::blockId(unsigned dimension) {
  return tile::BlockIdOp::create(builder, loc, builder.getIndexType(),
                                 dimension);
}

void KernelBuilder::enterBody(scf::ForOp loop) {
  Block *body = loop.getBody();
  // A loop that carries nothing has its yield already.
  if (!body->empty() && body->back().hasTrait<OpTrait::IsTerminator>())
    body->back().erase();
  builder.setInsertionPointToEnd(body);
}

Value KernelBuilder::axisTile(RankedTensorType carrier, int64_t axis,
                              Value start) {
  auto type = RankedTensorType::get(carrier.getShape(), builder.getIndexType(),
                                    carrier.getEncoding());
  Value base = tile::SplatOp::create(builder, loc, type, start);
  if (carrier.getDimSize(axis) == 1)
    return base;
  Value local = tile::IotaOp::create(builder, loc, type, axis);
  return arith::AddIOp::create(builder, loc, base, local);
}

Value KernelBuilder::below(RankedTensorType carrier, Value value, Value bound) {
  auto type = RankedTensorType::get(carrier.getShape(), builder.getIndexType(),
                                    carrier.getEncoding());
  Value limit = tile::SplatOp::create(builder, loc, type, bound);
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, value,
                               limit);
}

int64_t KernelBuilder::product(ArrayRef<int64_t> sizes) {
  int64_t result = 1;
  for (int64_t size : sizes)
    result *= size;
  return result;
}

SmallVector<Value> KernelBuilder::split(Value linear, ArrayRef<int64_t> sizes) {
  emitter.setRange(linear, product(sizes));
  graph::ElementBuilder eb = emitter.elements();
  if (sizes.size() == 1)
    return {linear};
  // Not given ranges of their own: they stay expressions of `linear`, so that
  // contiguous dimensions fold back into it.
  // Sizes of 0 divide nothing: no element is ever made.
  SmallVector<int64_t> box;
  for (int64_t size : sizes)
    box.push_back(std::max<int64_t>(size, 1));
  return eb.delinearize(linear, box);
}

RankedTensorType KernelBuilder::carrierType(ArrayRef<int64_t> shape,
                                            tile::LayoutAttr layout) {
  return RankedTensorType::get(shape, builder.getIndexType(), layout);
}
