//===- Session.cpp - a model ready to run on a target ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Session.h"
#include "fusec/Dialect/Graph/IR/Graph.h"
#include "fusec/Reference/Evaluate.h"
#include "fusec/Target/Host/CompileForHost.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::tool;
using runtime::Buffer;

/// Bytes of a tensor value.
static int64_t bytesOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  std::optional<DType> dtype =
      tensor ? graph::toDType(tensor.getElementType()) : std::nullopt;
  return dtype && tensor.hasStaticShape()
             ? tensor.getNumElements() * byteSize(*dtype)
             : 0;
}

/// What one kernel per op would do.
static void countOps(Operation *module, FusionSummary &summary) {
  for (func::FuncOp function : cast<ModuleOp>(module).getOps<func::FuncOp>())
    for (Operation &op : function.getBody().front()) {
      if (!isa<graph::FusibleOpInterface>(op) || isa<graph::ConstantOp>(op))
        continue;
      ++summary.opsBefore;
      for (Type type : op.getOperandTypes())
        summary.bytesBefore += bytesOf(type);
      for (Type type : op.getResultTypes())
        summary.bytesBefore += bytesOf(type);
    }
}

llvm::Expected<Compiled>
fusec::tool::compileModel(Model &model, const driver::CompileOptions &options,
                          const driver::StageObserver &observer) {
  FusionSummary summary;
  auto observe = [&](driver::Stage stage, Operation *op) {
    if (stage == driver::Stage::Graph)
      countOps(op, summary);
    if (observer)
      observer(stage, op);
  };
  llvm::Expected<driver::Compilation> compilation =
      driver::compile(*model.module, options, observe);
  if (!compilation)
    return withCode(ExitCode::Unsupported, compilation.takeError(),
                    "--target=reference runs every graph; 'fusec explain' "
                    "shows the plan");
  summary.kernels = compilation->program.kernels.size();
  summary.launches = compilation->kernels.size();
  summary.workspaceBytes = compilation->program.workspaceBytes;
  for (const driver::KernelSummary &kernel : compilation->kernels)
    summary.bytesAfter += kernel.bytes;
  return Compiled{std::move(*compilation), summary};
}

/// The bytes that each region and each op outside of one moves.
static int64_t bytesMoved(Model &model) {
  int64_t bytes = 0;
  for (Operation &op : model.function().getBody().front()) {
    if (!isa<graph::FusionOp, graph::FusibleOpInterface>(op) ||
        isa<graph::ConstantOp>(op))
      continue;
    for (Type type : op.getOperandTypes())
      bytes += bytesOf(type);
    for (Type type : op.getResultTypes())
      bytes += bytesOf(type);
  }
  return bytes;
}

llvm::Expected<Compiled>
fusec::tool::compileForHost(Model &model,
                            const driver::CompileOptions &options) {
  Compiled result;
  if (llvm::Error error = driver::simplifyGraph(*model.module))
    return withCode(ExitCode::Unsupported, std::move(error));
  countOps(*model.module, result.summary);
  auto decisions = driver::planGraph(*model.module, options);
  if (!decisions)
    return withCode(ExitCode::Unsupported, decisions.takeError());
  result.compilation.decisions = std::move(*decisions);
  result.summary.bytesAfter = bytesMoved(model);
  host::CompileOptions hostOptions;
  hostOptions.exact = options.numerics == NumericsMode::Exact;
  auto program = host::compileForHost(*model.module, hostOptions);
  if (!program)
    return withCode(ExitCode::Unsupported, program.takeError(),
                    "--target=reference runs every graph");
  result.summary.kernels = program->kernels.size();
  result.summary.launches =
      llvm::count_if(program->steps, [](const runtime::Step &step) {
        return std::holds_alternative<runtime::Launch>(step);
      });
  result.summary.workspaceBytes = program->workspaceBytes;
  result.compilation.program = std::move(*program);
  return result;
}

llvm::Expected<std::unique_ptr<Session>>
Session::create(Model model, const Target &target,
                const driver::CompileOptions &options) {
  std::unique_ptr<Session> session(new Session(std::move(model), target));
  if (target.kind == TargetKind::Reference)
    return session;
  llvm::Expected<Compiled> compiled =
      target.kind == TargetKind::Host
          ? compileForHost(session->graph, options)
          : compileModel(session->graph, options, {});
  if (!compiled)
    return compiled.takeError();
  session->code = std::move(*compiled);
  auto executable = runtime::Executable::create(
      session->code->compilation.program, target.device);
  if (!executable)
    return withCode(ExitCode::Failed, executable.takeError());
  session->executable = std::move(*executable);
  return session;
}

llvm::Expected<std::vector<HostTensor>>
Session::run(llvm::ArrayRef<HostTensor> inputs) {
  if (!executable) {
    auto results = reference::evaluate(graph.function(), inputs);
    if (!results)
      return withCode(ExitCode::Unsupported, results.takeError());
    return results;
  }
  std::vector<llvm::ArrayRef<std::byte>> bytes;
  for (const HostTensor &input : inputs)
    bytes.emplace_back(*input.bytes);
  auto results = runtime::runWithHostData(executable, bytes);
  if (!results)
    return withCode(ExitCode::Failed, results.takeError());
  std::vector<HostTensor> tensors;
  for (auto [spec, data] : llvm::zip(graph.outputs, *results))
    tensors.push_back(
        {spec.dtype, spec.shape,
         std::make_shared<std::vector<std::byte>>(std::move(data))});
  return tensors;
}

namespace {
/// Two events of a device.
struct Stopwatch {
  explicit Stopwatch(runtime::Device &device) : device(device) {}
  ~Stopwatch() {
    for (runtime::Event event : events)
      device.destroyEvent(event);
  }
  llvm::Error create() {
    for (int i = 0; i < 2; ++i) {
      llvm::Expected<runtime::Event> event = device.createEvent();
      if (!event)
        return event.takeError();
      events.push_back(*event);
    }
    return llvm::Error::success();
  }

  runtime::Device &device;
  std::vector<runtime::Event> events;
};
} // namespace

/// One buffer per tensor, filled where there is data.
static llvm::Expected<std::vector<Buffer>>
makeBuffers(const std::shared_ptr<runtime::Device> &device,
            llvm::ArrayRef<runtime::TensorSpec> specs,
            llvm::ArrayRef<HostTensor> data) {
  std::vector<Buffer> buffers;
  for (auto [i, spec] : llvm::enumerate(specs)) {
    llvm::Expected<Buffer> buffer = Buffer::allocate(device, spec.bytes());
    if (!buffer)
      return buffer.takeError();
    if (i < data.size() && spec.bytes())
      if (llvm::Error error = device->copyIn(buffer->data(), data[i].data(),
                                             spec.bytes(), nullptr))
        return error;
    buffers.push_back(std::move(*buffer));
  }
  return buffers;
}

llvm::Expected<std::vector<double>>
Session::time(llvm::ArrayRef<HostTensor> inputs, int64_t repeats,
              int64_t warmups) {
  if (!executable)
    return toolError(ExitCode::Usage, "the reference evaluator has no device "
                                      "time: expected another --target");
  runtime::Device &device = *where.device;
  auto in = makeBuffers(where.device, graph.inputs, inputs);
  if (!in)
    return withCode(ExitCode::Failed, in.takeError());
  auto out = makeBuffers(where.device, graph.outputs, {});
  if (!out)
    return withCode(ExitCode::Failed, out.takeError());
  auto context = runtime::ExecutionContext::create(executable);
  if (!context)
    return withCode(ExitCode::Failed, context.takeError());
  std::vector<const void *> from;
  std::vector<void *> to;
  for (const Buffer &buffer : *in)
    from.push_back(buffer.data());
  for (const Buffer &buffer : *out)
    to.push_back(buffer.data());

  Stopwatch watch(device);
  if (llvm::Error error = watch.create())
    return withCode(ExitCode::Failed, std::move(error));
  std::vector<double> times;
  for (int64_t i = -warmups; i < repeats; ++i) {
    llvm::Error error = device.recordEvent(watch.events[0], nullptr);
    if (!error)
      error = (*context)->run(from, to);
    if (!error)
      error = device.recordEvent(watch.events[1], nullptr);
    if (!error)
      error = device.synchronize(nullptr);
    if (error)
      return withCode(ExitCode::Failed, std::move(error));
    llvm::Expected<double> elapsed =
        device.elapsedMicroseconds(watch.events[0], watch.events[1]);
    if (!elapsed)
      return withCode(ExitCode::Failed, elapsed.takeError());
    if (i >= 0)
      times.push_back(*elapsed);
  }
  return times;
}
