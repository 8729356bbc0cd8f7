//===- Execute.cpp - running executables ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Execute.h"

using namespace fusec;
using namespace fusec::api;

/// Errors of a run: those about the caller's pointers and the others.
static fusec_error *runError(llvm::Error error) {
  if (!error)
    return nullptr;
  fusec_code code = error.isA<runtime::ArgumentError>() ? FUSEC_INVALID_ARGUMENT
                                                        : FUSEC_FAILED;
  return toError(std::move(error), code);
}

static fusec_error *checkLoaded(const fusec_executable *executable) {
  if (fusec_error *error = requireNotNull(executable, "executable"))
    return error;
  if (!executable->data->loaded)
    return makeError(FUSEC_INVALID_ARGUMENT,
                     "the executable was only compiled: compile without "
                     "compile_only to run it");
  return nullptr;
}

/// `count` pointers from the caller, if they are as many as `expected`.
static fusec_error *checkCount(const char *kind, const void *list, size_t count,
                               size_t expected) {
  if (count != expected)
    return makeError(FUSEC_INVALID_ARGUMENT,
                     "expected " + llvm::Twine(expected) + " " + kind +
                         "s, found " + llvm::Twine(count));
  if (count && !list)
    return requireNotNull(list, kind);
  return nullptr;
}

fusec_error *api::checkCounts(const ExecutableData &data, const void *inputs,
                              size_t numInputs, const void *outputs,
                              size_t numOutputs) {
  if (fusec_error *error =
          checkCount("input", inputs, numInputs, data.inputs.size()))
    return error;
  return checkCount("output", outputs, numOutputs, data.outputs.size());
}

/// The caller's allocator, if there is one.
static fusec_error *readAllocator(const fusec_execution_options &known,
                                  runtime::ContextOptions &options) {
  if (!known.allocate && !known.release)
    return nullptr;
  if (!known.allocate || !known.release || known.workspace)
    return makeError(FUSEC_INVALID_ARGUMENT,
                     "expected allocate and release together and no workspace "
                     "beside them");
  void *user = known.user;
  options.allocator = {
      [user, allocate = known.allocate](
          uint64_t bytes, runtime::Stream stream) -> llvm::Expected<void *> {
        if (void *memory = allocate(user, bytes, stream))
          return memory;
        return llvm::createStringError("the caller's allocator gave null");
      },
      [user, release = known.release](void *memory, uint64_t bytes,
                                      runtime::Stream stream) {
        release(user, memory, bytes, stream);
      }};
  return nullptr;
}

fusec_error *
fusec_execution_context_create(const fusec_executable *executable,
                               const fusec_execution_options *options,
                               fusec_execution_context **result) {
  return guard([&]() -> fusec_error * {
    if (fusec_error *error = checkLoaded(executable))
      return error;
    if (fusec_error *error = requireNotNull(result, "result"))
      return error;
    fusec_execution_options known;
    if (fusec_error *error = readStruct(
            options, FUSEC_END_OF(fusec_execution_options, check_each_step),
            "fusec_execution_options", known))
      return error;
    runtime::ContextOptions runOptions;
    runOptions.checkEachStep = known.check_each_step != 0;
    runOptions.replay = known.no_replay == 0;
    runOptions.overlap = known.no_overlap == 0;
    if (known.workspace)
      runOptions.workspace = {known.workspace, known.workspace_bytes};
    if (fusec_error *error = readAllocator(known, runOptions))
      return error;
    auto context =
        runtime::ExecutionContext::create(executable->data->loaded, runOptions);
    if (!context)
      return toError(context.takeError(),
                     known.workspace ? FUSEC_INVALID_ARGUMENT : FUSEC_FAILED);
    auto made = std::make_unique<fusec_execution_context>();
    made->data = executable->data;
    made->context = std::move(*context);
    made->inputs.resize(made->data->inputs.size());
    made->outputs.resize(made->data->outputs.size());
    *result = made.release();
    return nullptr;
  });
}

void fusec_execution_context_free(fusec_execution_context *context) {
  delete context;
}

fusec_error *fusec_execution_context_run(fusec_execution_context *context,
                                         const void *const *inputs,
                                         size_t num_inputs,
                                         void *const *outputs,
                                         size_t num_outputs, void *stream) {
  return guard([&]() -> fusec_error * {
    if (fusec_error *error = requireNotNull(context, "context"))
      return error;
    if (fusec_error *error = checkCounts(*context->data, inputs, num_inputs,
                                         outputs, num_outputs))
      return error;
    return runError(context->context->run({inputs, num_inputs},
                                          {outputs, num_outputs}, stream));
  });
}

/// Checks DLPack tensors and keeps what the runtime needs of them in `context`.
static fusec_error *readTensors(fusec_execution_context *context,
                                const DLTensor *const *inputs, size_t numInputs,
                                const DLTensor *const *outputs,
                                size_t numOutputs) {
  if (fusec_error *error = requireNotNull(context, "context"))
    return error;
  const ExecutableData &data = *context->data;
  if (fusec_error *error =
          checkCounts(data, inputs, numInputs, outputs, numOutputs))
    return error;
  const runtime::Program &program = data.program();
  for (size_t i = 0; i < numInputs; ++i)
    if (fusec_error *error = readTensor(*data.device, program.inputs[i],
                                        "input", inputs[i], context->inputs[i]))
      return error;
  for (size_t i = 0; i < numOutputs; ++i) {
    runtime::TensorView view;
    const runtime::TensorSpec &spec = program.outputs[i];
    if (fusec_error *error =
            readTensor(*data.device, spec, "output", outputs[i], view))
      return error;
    if (!view.strides.empty())
      return makeError(FUSEC_INVALID_ARGUMENT,
                       "output " + session::quoted(spec.name) +
                           ": expected a row-major tensor, found strides " +
                           describeShape(view.strides));
    context->outputs[i] =
        view.data ? static_cast<char *>(const_cast<void *>(view.data)) +
                        view.byteOffset
                  : nullptr;
  }
  return nullptr;
}

fusec_error *fusec_execution_context_run_dlpack(
    fusec_execution_context *context, const DLTensor *const *inputs,
    size_t num_inputs, const DLTensor *const *outputs, size_t num_outputs,
    void *stream) {
  return guard([&]() -> fusec_error * {
    if (fusec_error *error =
            readTensors(context, inputs, num_inputs, outputs, num_outputs))
      return error;
    return runError(
        context->context->runViews(context->inputs, context->outputs, stream));
  });
}

fusec_error *fusec_execution_context_prepare_dlpack(
    fusec_execution_context *context, const DLTensor *const *inputs,
    size_t num_inputs, const DLTensor *const *outputs, size_t num_outputs) {
  return guard([&]() -> fusec_error * {
    if (fusec_error *error =
            readTensors(context, inputs, num_inputs, outputs, num_outputs))
      return error;
    return runError(
        context->context->prepare(context->inputs, context->outputs));
  });
}

fusec_error *
fusec_execution_context_synchronize(fusec_execution_context *context,
                                    void *stream) {
  return guard([&]() -> fusec_error * {
    if (fusec_error *error = requireNotNull(context, "context"))
      return error;
    return toError(context->data->device->target.device->synchronize(stream),
                   FUSEC_FAILED);
  });
}

static fusec_error *checkHostArray(const char *kind,
                                   const runtime::TensorSpec &spec,
                                   const fusec_host_array &array) {
  uint64_t expected = spec.bytes();
  if (array.bytes != expected)
    return makeError(FUSEC_INVALID_ARGUMENT,
                     llvm::Twine(kind) + " " + session::quoted(spec.name) +
                         ": expected " + llvm::Twine(expected) +
                         " bytes, found " + llvm::Twine(array.bytes));
  if (expected && !array.data)
    return makeError(FUSEC_INVALID_ARGUMENT,
                     llvm::Twine(kind) + " " + session::quoted(spec.name) +
                         ": expected a pointer, found null");
  return nullptr;
}

fusec_error *fusec_executable_run_host(const fusec_executable *executable,
                                       const fusec_host_array *inputs,
                                       size_t num_inputs,
                                       const fusec_host_array *outputs,
                                       size_t num_outputs) {
  return guard([&]() -> fusec_error * {
    if (fusec_error *error = checkLoaded(executable))
      return error;
    const ExecutableData &data = *executable->data;
    if (fusec_error *error =
            checkCounts(data, inputs, num_inputs, outputs, num_outputs))
      return error;
    const runtime::Program &program = data.program();
    std::vector<llvm::ArrayRef<std::byte>> in;
    for (size_t i = 0; i < num_inputs; ++i) {
      if (fusec_error *error =
              checkHostArray("input", program.inputs[i], inputs[i]))
        return error;
      in.emplace_back(static_cast<const std::byte *>(inputs[i].data),
                      inputs[i].bytes);
    }
    for (size_t i = 0; i < num_outputs; ++i)
      if (fusec_error *error =
              checkHostArray("output", program.outputs[i], outputs[i]))
        return error;
    auto results = runtime::runWithHostData(data.loaded, in);
    if (!results)
      return runError(results.takeError());
    for (size_t i = 0; i < num_outputs; ++i)
      if (outputs[i].bytes)
        std::memcpy(outputs[i].data, (*results)[i].data(), outputs[i].bytes);
    return nullptr;
  });
}
