//===- Session.cpp - a model ready to run on a target ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Session.h"
#include "fusec/Dialect/Graph/IR/Graph.h"
#include "fusec/Reference/Evaluate.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::tool;
using runtime::Buffer;

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
    return withCode(ExitCode::Unsupported, compiled.takeError(), kCompileHelp);
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
