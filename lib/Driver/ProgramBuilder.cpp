//===- ProgramBuilder.cpp - assembling a Program --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "ProgramBuilder.h"
#include "RolledRows.h"
#include "fusec/Analysis/IndexingMaps.h"
#include "fusec/Analysis/RowTiling.h"
#include "fusec/Reference/Attributes.h"

#include <cmath>
#include <functional>
#include <numeric>

using namespace mlir;
using namespace fusec;
using namespace fusec::driver;
using runtime::BufferRef;
using runtime::Space;

llvm::Expected<runtime::TensorSpec> driver::tensorSpec(Type type,
                                                       std::string name) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  std::optional<DType> dtype =
      tensor ? graph::toDType(tensor.getElementType()) : std::nullopt;
  if (!dtype || !tensor.hasStaticShape()) {
    std::string text;
    llvm::raw_string_ostream(text) << type;
    return llvm::createStringError("tensor '" + name +
                                   "': expected a static shape, found " + text);
  }
  return runtime::TensorSpec{std::move(name), *dtype,
                             std::vector<int64_t>(tensor.getShape())};
}

/// The names that a frontend gave to arguments or results.
static std::string nameOf(DictionaryAttr attributes, const char *prefix,
                          unsigned position) {
  if (attributes)
    if (auto name = attributes.getAs<StringAttr>("graph.name"))
      return name.str();
  return prefix + std::to_string(position);
}

llvm::Error ProgramBuilder::addConstant(graph::ConstantOp op) {
  llvm::Expected<runtime::TensorSpec> spec = tensorSpec(op.getType(), "");
  if (!spec)
    return spec.takeError();
  auto bytes = reference::toBytes(op.getValue());
  if (!bytes)
    return bytes.takeError();
  buffers[op] = {Space::Constant,
                 static_cast<uint32_t>(program.constants.size())};
  program.constants.push_back({std::move(*spec), std::move(*bytes)});
  return llvm::Error::success();
}

llvm::Error ProgramBuilder::begin(func::FuncOp function) {
  for (BlockArgument arg : function.getArguments()) {
    unsigned i = arg.getArgNumber();
    llvm::Expected<runtime::TensorSpec> spec = tensorSpec(
        arg.getType(), nameOf(function.getArgAttrDict(i), "input", i));
    if (!spec)
      return spec.takeError();
    buffers[arg] = {Space::Input, i};
    program.inputs.push_back(std::move(*spec));
  }
  Operation *terminator = function.getBody().front().getTerminator();
  for (auto [i, value] : llvm::enumerate(terminator->getOperands())) {
    llvm::Expected<runtime::TensorSpec> spec = tensorSpec(
        value.getType(), nameOf(function.getResultAttrDict(i), "output", i));
    if (!spec)
      return spec.takeError();
    program.outputs.push_back(std::move(*spec));
    // The first result that names a region's value is where it is written.
    if (value.getDefiningOp<graph::FusionOp>())
      buffers.try_emplace(value, BufferRef{Space::Output, unsigned(i)});
  }
  for (Operation &op : function.getBody().front().without_terminator()) {
    if (auto constant = dyn_cast<graph::ConstantOp>(op)) {
      if (llvm::Error error = addConstant(constant))
        return error;
      continue;
    }
    if (!isa<graph::FusionOp>(op)) {
      std::string text;
      llvm::raw_string_ostream(text) << op.getName() << " at " << op.getLoc();
      return llvm::createStringError(
          "no kernel can be made for " + text +
          ": expected ops that fuse; run it with --target=reference");
    }
    for (Value result : op.getResults()) {
      if (buffers.contains(result))
        continue;
      llvm::Expected<runtime::TensorSpec> spec =
          tensorSpec(result.getType(), "temporary");
      if (!spec)
        return spec.takeError();
      buffers[result] = {Space::Temporary,
                         static_cast<uint32_t>(program.temporaries.size())};
      program.temporaries.push_back({spec->bytes(), -1});
    }
  }
  return llvm::Error::success();
}

uint32_t ProgramBuilder::addKernel(runtime::Kernel kernel) {
  auto [it, isNew] =
      kernelsByText.try_emplace(kernel.source, program.kernels.size());
  if (isNew)
    program.kernels.push_back(std::move(kernel));
  return it->second;
}

void ProgramBuilder::addLaunch(graph::FusionOp fusion, simt::KernelOp kernel,
                               uint32_t index, uint32_t dynamicSharedBytes,
                               const std::optional<ScheduleDecision> &decision,
                               const cuda::RowBuffers &rows) {
  runtime::Launch launch;
  addRows(launch, fusion, rows);
  launch.kernel = index;
  launch.dynamicSharedBytes = dynamicSharedBytes;
  for (auto [i, size] : llvm::enumerate(kernel.getGrid()))
    launch.grid[i] = static_cast<uint32_t>(size);
  for (BufferRef buffer : buffersOf(fusion, kernel))
    launch.args.push_back(buffer);
  uint8_t bytes = kernel.getWideOffsets() ? 8 : 4;
  for (int64_t extent : kernel.getExtents())
    launch.args.push_back(runtime::ScalarArg{extent, bytes});
  for (cuda::TensorBoxes &boxes : cuda::tensorBoxes(kernel)) {
    boxes.map.buffer = std::get<BufferRef>(launch.args[boxes.argument]);
    launch.args.push_back(std::move(boxes.map));
  }
  if (decision && decision->vendor)
    runtime::addVendorCall(program, launch, *decision->product,
                           *decision->vendor);
  program.steps.push_back(std::move(launch));
}

void ProgramBuilder::addRows(runtime::Launch &launch, graph::FusionOp fusion,
                             const cuda::RowBuffers &rows) {
  SmallVector<Type> types(fusion.getBody().getArgumentTypes());
  llvm::append_range(types, fusion->getResultTypes());
  runtime::RolledRows &all = launch.rolled;
  bool isFirst = all.buffers.empty();
  for (auto [buffer, type, isRow] :
       llvm::zip(buffersOf(fusion), types, rows.isRow))
    if (isRow)
      all.buffers.push_back(
          {buffer,
           static_cast<uint32_t>(llvm::divideCeil(
               cast<RankedTensorType>(type).getElementTypeBitWidth(), 8u))});
  if (!llvm::is_contained(rows.isRow, true))
    return;
  // Rows of parts are cut into equal ones: pieces of rows are rows, too. A part
  // that has no such form leaves the launch none.
  auto columns = static_cast<uint32_t>(rows.columns);
  if (isFirst)
    all.columns = columns;
  else
    all.columns = all.columns && columns ? std::gcd(all.columns, columns) : 0;
  all.unit = std::max(all.unit, uint32_t(rows.unit));
  if (!canRoll(all.columns, all.unit))
    all.columns = 0;
}

void ProgramBuilder::addAlias(BlockArgument argument, Value result) {
  BufferRef to = buffers.lookup(result);
  if (to.space == Space::Output)
    program.aliases.push_back({argument.getArgNumber(), to.index});
}

SmallVector<BufferRef> ProgramBuilder::buffersOf(graph::FusionOp fusion) {
  SmallVector<BufferRef> result;
  for (Value input : fusion.getInputs())
    result.push_back(buffers.lookup(input));
  for (Value value : fusion.getResults())
    result.push_back(buffers.lookup(value));
  return result;
}

SmallVector<BufferRef> ProgramBuilder::buffersOf(graph::FusionOp fusion,
                                                 simt::KernelOp kernel) {
  SmallVector<BufferRef> result = buffersOf(fusion);
  ArrayRef<int64_t> scratch = kernel.getScratch().value_or(ArrayRef<int64_t>());
  size_t kept = kernel.getKept().value_or(0);
  for (auto [i, count] : llvm::enumerate(scratch)) {
    auto type =
        cast<MemRefType>(kernel.getBody().getArgument(result.size()).getType());
    int64_t bytes = llvm::divideCeil(type.getElementTypeBitWidth(), 8);
    result.push_back(
        {Space::Temporary, static_cast<uint32_t>(program.temporaries.size())});
    program.temporaries.push_back(
        {count * bytes, -1, i + kept >= scratch.size()});
  }
  return result;
}

using NumberSink = llvm::function_ref<void(int64_t)>;

/// The numbers of a table before its entries, for programs side by side.
/// Returns the number of all blocks.
static int64_t addFirstBlocks(const cuda::JointKernel &joint,
                              ArrayRef<simt::KernelOp> kernels,
                              NumberSink add) {
  int64_t blocks = 0;
  for (unsigned part : joint.order) {
    simt::KernelOp kernel = kernels[part];
    add(blocks);
    blocks += std::accumulate(kernel.getGrid().begin(), kernel.getGrid().end(),
                              int64_t(1), std::multiplies<int64_t>());
  }
  return blocks;
}

/// The same for a chain.
static void addSteps(const cuda::JointKernel &joint, const ChainPlan &chain,
                     NumberSink add) {
  auto entryOf = [&](unsigned part) {
    return llvm::find(joint.order, part) - joint.order.begin();
  };
  if (!chain.form.keepsValues()) {
    for (unsigned part = 0; part < chain.steps.size(); ++part)
      add(entryOf(part));
    for (const ChainStep &step : chain.steps)
      add(step.blocks);
    for (const ChainStep &step : chain.steps)
      add(step.meets);
    return;
  }
  for (int64_t bytes : chain.meetingBytes)
    add(bytes);
  for (auto [part, step] : llvm::enumerate(chain.steps))
    for (int64_t number :
         {int64_t(entryOf(part)), step.blocks,
          int64_t(step.isRepeated ? 1 : chain.form.blocks), int64_t(step.waits),
          int64_t(step.sends), int64_t(step.meets)})
      add(number);
  for (int i = 0; i < 6; ++i)
    add(0);
}

void ProgramBuilder::addEntry(runtime::TableArg &table, graph::FusionOp fusion,
                              simt::KernelOp kernel, bool usesGrid,
                              const ChainPlan *chain, unsigned part) {
  using cuda::ChainAccess;
  using runtime::ScalarArg;
  for (auto [i, buffer] : llvm::enumerate(buffersOf(fusion, kernel))) {
    ChainAccess access = ChainAccess::Memory;
    if (chain && chain->form.keepsValues())
      access = chain->form.accesses[part][i];
    if (access != ChainAccess::Memory)
      table.fields.push_back(ScalarArg{chain->places[part][i] / 8, 4});
    if (access == ChainAccess::Memory || access == ChainAccess::SentOut)
      table.fields.push_back(buffer);
  }
  for (int64_t extent : kernel.getExtents())
    table.fields.push_back(ScalarArg{extent, 8});
  if (usesGrid)
    for (int64_t size : kernel.getGrid().take_front(2))
      table.fields.push_back(ScalarArg{size, 8});
}

void ProgramBuilder::addJointLaunch(ArrayRef<graph::FusionOp> fusions,
                                    ArrayRef<simt::KernelOp> kernels,
                                    const cuda::JointKernel &joint,
                                    uint32_t index, const ChainPlan *chain,
                                    ArrayRef<cuda::RowBuffers> rows) {
  runtime::TableArg table;
  auto add = [&](int64_t number) {
    table.fields.push_back(runtime::ScalarArg{number, 4});
  };
  runtime::Launch launch;
  launch.kernel = index;
  if (!chain)
    for (auto [fusion, its] : llvm::zip_equal(fusions, rows))
      addRows(launch, fusion, its);
  if (chain) {
    addSteps(joint, *chain, add);
    launch.grid[0] = chain->form.blocks;
    launch.dynamicSharedBytes = static_cast<uint32_t>(chain->sharedBytes);
  } else {
    launch.grid[0] = static_cast<uint32_t>(addFirstBlocks(joint, kernels, add));
  }
  for (unsigned part : joint.order)
    addEntry(table, fusions[part], kernels[part], joint.usesGrid[part], chain,
             part);
  launch.args.push_back(std::move(table));
  program.steps.push_back(std::move(launch));
}

llvm::Error ProgramBuilder::finish(func::FuncOp function) {
  Operation *terminator = function.getBody().front().getTerminator();
  for (auto [i, value] : llvm::enumerate(terminator->getOperands())) {
    BufferRef from = buffers.lookup(value);
    BufferRef to = {Space::Output, static_cast<uint32_t>(i)};
    if (!(from == to))
      program.steps.push_back(runtime::Copy{from, to});
  }
  return planWorkspace(program);
}

/// Bytes of a tensor type, 0 where they are not known.
static int64_t bytesOf(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  std::optional<DType> dtype = graph::toDType(tensor.getElementType());
  return dtype && tensor.hasStaticShape()
             ? tensor.getNumElements() * byteSize(*dtype)
             : 0;
}

/// Results of contractions are computed in tiles of about this size.
static constexpr double kContractionTile = 128;

/// How often the blocks of `form` together read an input.
static double readsOf(Value argument, const analysis::RegionForm &form,
                      analysis::FactTable &facts) {
  if (form.kind == analysis::KernelKind::Stencil)
    return form.haloRatio;
  Operation *hero = form.hero();
  const analysis::OpFacts *fact = hero ? facts.get(hero) : nullptr;
  if (!fact)
    return 1;
  double most = 1;
  for (auto [operand, access] :
       llvm::zip(hero->getOperands(), fact->space.operands)) {
    if (operand != argument || !access.map)
      continue;
    double times = 1;
    for (auto [axis, size] : llvm::enumerate(fact->space.parallel))
      if (!analysis::usesDimIn(access.map, axis, axis + 1))
        times *= std::ceil(double(size) / kContractionTile);
    most = std::max(most, times);
  }
  return most;
}

/// Where the graph file has `op`: the name of its node, or a place in text.
static std::string placeOf(Operation *op) {
  std::string text;
  if (auto name = op->getLoc()->findInstanceOf<NameLoc>())
    return name.getName().str();
  if (auto place = op->getLoc()->findInstanceOf<FileLineColLoc>())
    llvm::raw_string_ostream(text)
        << place.getFilename().getValue() << ':' << place.getLine();
  return text;
}

KernelSummary driver::summarize(graph::FusionOp fusion,
                                const analysis::RegionForm &form,
                                analysis::FactTable &facts,
                                const TargetInfo &target) {
  KernelSummary summary;
  summary.kind = form.kind;
  summary.parts = 1;
  for (Operation *op : form.ops)
    if (!isa<graph::ConstantOp>(op)) {
      summary.ops.push_back(op->getName().getStringRef().str());
      summary.places.push_back(placeOf(op));
    }
  summary.schedule = analysis::describeRows(form, facts, target);
  summary.inputs = fusion.getNumOperands();
  summary.outputs = fusion.getNumResults();
  summary.cost = analysis::CostModel(target).estimate(facts, form);
  for (BlockArgument argument : fusion.getBody().getArguments()) {
    int64_t bytes = bytesOf(argument.getType());
    summary.bytes += bytes;
    summary.requestedBytes += double(bytes) * readsOf(argument, form, facts);
  }
  for (Type type : fusion->getResultTypes()) {
    summary.bytes += bytesOf(type);
    summary.requestedBytes += double(bytesOf(type));
  }
  return summary;
}
