//===- VerifyProgram.cpp - what the runtime relies on ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks a Program before anything is allocated for it. Order: sizes of all
// buffers, kernels, steps, outputs, workspace plan; each part may rely on the
// earlier ones.
//===----------------------------------------------------------------------===//
#include "Liveness.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

#include <algorithm>
#include <map>

using namespace fusec;
using namespace fusec::runtime;
using llvm::Error;

// Limits of every CUDA device; a device with smaller ones checks its own.
static constexpr uint32_t kMaxThreads = 1024;
static constexpr uint32_t kMaxCluster = 16;
static constexpr uint32_t kMaxGridX = 2147483647;
static constexpr uint32_t kMaxGridYZ = 65535;

template <typename... Args>
static Error fail(const char *format, Args... args) {
  return llvm::createStringError(format, args...);
}

static llvm::StringRef spaceName(Space space) {
  switch (space) {
  case Space::Input:
    return "input";
  case Space::Output:
    return "output";
  case Space::Constant:
    return "constant";
  case Space::Temporary:
    return "temporary";
  }
  return "unknown space";
}

namespace {
class Verifier {
public:
  explicit Verifier(const Program &program) : program(program) {}
  Error run();

private:
  Error checkTensors();
  Error checkKernels();
  Error checkSteps();
  Error checkBuffer(BufferRef ref);
  Error checkWritable(BufferRef ref);
  Error checkStep(const Launch &launch);
  Error checkVendor(const Launch &launch, const VendorCall &call);
  Error checkStep(const HostCall &call);
  Error checkStep(const Fill &fill);
  Error checkStep(const Copy &copy);
  Error checkOutputs();
  Error checkAliases();
  Error checkWorkspace();
  Error checkOverlap(llvm::ArrayRef<Interval> lives, bool kept);

  const Program &program;
};
} // namespace

Error Verifier::checkTensors() {
  for (const auto *specs : {&program.inputs, &program.outputs})
    for (const TensorSpec &spec : *specs)
      if (auto bytes = checkedBytes(spec); !bytes)
        return bytes.takeError();
  for (const Constant &constant : program.constants) {
    auto bytes = checkedBytes(constant.spec);
    if (!bytes)
      return bytes.takeError();
    uint64_t found = constant.bytes ? constant.bytes->size() : 0;
    if (found != static_cast<uint64_t>(*bytes))
      return fail("constant '%s': expected %lld bytes, found %llu",
                  constant.spec.name.c_str(), static_cast<long long>(*bytes),
                  static_cast<unsigned long long>(found));
  }
  return Error::success();
}

// Entries go to the compiler and the loader as symbols.
static bool isIdentifier(llvm::StringRef text) {
  return !text.empty() && !llvm::isDigit(text.front()) &&
         llvm::all_of(text,
                      [](char c) { return llvm::isAlnum(c) || c == '_'; });
}

Error Verifier::checkKernels() {
  llvm::StringSet<> entries;
  for (const Kernel &kernel : program.kernels) {
    if (!isIdentifier(kernel.entry))
      return fail("kernel '%s': entry is not an identifier",
                  kernel.entry.c_str());
    if (!entries.insert(kernel.entry).second)
      return fail("kernel '%s': two kernels have this entry",
                  kernel.entry.c_str());
    if (kernel.threads == 0 || kernel.threads > kMaxThreads)
      return fail("kernel '%s': expected 1 to %u threads, found %u",
                  kernel.entry.c_str(), kMaxThreads, kernel.threads);
    if (kernel.cluster == 0 || kernel.cluster > kMaxCluster)
      return fail("kernel '%s': expected 1 to %u blocks per cluster, found %u",
                  kernel.entry.c_str(), kMaxCluster, kernel.cluster);
  }
  return Error::success();
}

Error Verifier::checkBuffer(BufferRef ref) {
  size_t count = 0;
  switch (ref.space) {
  case Space::Input:
    count = program.inputs.size();
    break;
  case Space::Output:
    count = program.outputs.size();
    break;
  case Space::Constant:
    count = program.constants.size();
    break;
  case Space::Temporary:
    count = program.temporaries.size();
    break;
  }
  if (ref.index < count)
    return Error::success();
  return fail("%s %u does not exist, there are %zu",
              spaceName(ref.space).data(), ref.index, count);
}

Error Verifier::checkWritable(BufferRef ref) {
  if (ref.space == Space::Output || ref.space == Space::Temporary)
    return Error::success();
  return fail("%s %u is written", spaceName(ref.space).data(), ref.index);
}

static bool fits(const ScalarArg &scalar) {
  return scalar.bytes == 8 ||
         (scalar.bytes == 4 && scalar.value >= INT32_MIN &&
          scalar.value <= static_cast<int64_t>(UINT32_MAX));
}

Error Verifier::checkStep(const Launch &launch) {
  if (launch.kernel >= program.kernels.size())
    return fail("kernel %u does not exist, there are %zu", launch.kernel,
                program.kernels.size());
  const Kernel &kernel = program.kernels[launch.kernel];
  auto [x, y, z] = launch.grid;
  if (x > kMaxGridX || y > kMaxGridYZ || z > kMaxGridYZ)
    return fail("kernel '%s': grid %u x %u x %u exceeds %u x %u x %u",
                kernel.entry.c_str(), x, y, z, kMaxGridX, kMaxGridYZ,
                kMaxGridYZ);
  if (x % kernel.cluster != 0)
    return fail("kernel '%s': grid of %u blocks is no multiple of the cluster "
                "of %u",
                kernel.entry.c_str(), x, kernel.cluster);
  auto checkScalar = [&](const ScalarArg *scalar) -> Error {
    if (!scalar || fits(*scalar))
      return Error::success();
    return fail("kernel '%s': scalar %lld does not fit %u bytes",
                kernel.entry.c_str(), static_cast<long long>(scalar->value),
                scalar->bytes);
  };
  for (const KernelArg &arg : launch.args) {
    if (Error error = checkScalar(std::get_if<ScalarArg>(&arg)))
      return error;
    if (const auto *map = std::get_if<TensorMapArg>(&arg)) {
      if (!kernel.usesSm90)
        return fail("kernel '%s': a tensor map for a kernel that does not use "
                    "sm_90a",
                    kernel.entry.c_str());
      if (Error error = checkTensorMap(*map, bufferBytes(program, map->buffer)))
        return fail("kernel '%s': %s", kernel.entry.c_str(),
                    llvm::toString(std::move(error)).c_str());
    }
    const auto *table = std::get_if<TableArg>(&arg);
    if (!table)
      continue;
    // Sizes first: offsets are computed from them.
    for (const TableArg::Field &field : table->fields)
      if (Error error = checkScalar(std::get_if<ScalarArg>(&field)))
        return error;
    if (table->bytes() > kMaxTableBytes)
      return fail("kernel '%s': a table of %zu fields exceeds %u bytes",
                  kernel.entry.c_str(), table->fields.size(), kMaxTableBytes);
  }
  const RolledRows &rows = launch.rolled;
  if (rows.columns &&
      (!llvm::isPowerOf2_32(rows.unit) || rows.columns % rows.unit))
    return fail("kernel '%s': expected rows of a multiple of a power of two, "
                "found %u and %u",
                kernel.entry.c_str(), rows.columns, rows.unit);
  for (const RolledRows::Item &item : rows.buffers) {
    if (Error error = checkBuffer(item.buffer))
      return error;
    if (!item.elementBytes)
      return fail("kernel '%s': a row has elements of no bytes",
                  kernel.entry.c_str());
    // Temporaries are rounded up.
    bool isWhole =
        item.buffer.space == Space::Input || item.buffer.space == Space::Output;
    int64_t row = int64_t(rows.columns) * item.elementBytes;
    if (row && isWhole && bufferBytes(program, item.buffer) % row != 0)
      return fail("kernel '%s': a tensor is not made of whole rows of %u",
                  kernel.entry.c_str(), rows.columns);
  }
  if (launch.vendor)
    if (Error error = checkVendor(launch, *launch.vendor))
      return fail("kernel '%s': %s", kernel.entry.c_str(),
                  llvm::toString(std::move(error)).c_str());
  return Error::success();
}

Error Verifier::checkVendor(const Launch &launch, const VendorCall &call) {
  const MatrixProduct &product = call.product;
  for (int64_t size : {product.batch, product.m, product.n, product.k})
    if (size < 1 || size > INT32_MAX)
      return fail("vendor's call: expected sizes of 1 to %d, found %lld",
                  INT32_MAX, static_cast<long long>(size));
  auto check = [&](const char *what, uint32_t argument, DType dtype,
                   std::optional<int64_t> reach,
                   bool isWritten = false) -> Error {
    const auto *ref = argument < launch.args.size()
                          ? std::get_if<BufferRef>(&launch.args[argument])
                          : nullptr;
    if (!ref)
      return fail("vendor's call: %s is argument %u, which is no buffer", what,
                  argument);
    int64_t elements = bufferBytes(program, *ref) / byteSize(dtype);
    if (!reach || *reach > elements)
      return fail("vendor's call: %s does not fit its buffer of %lld elements",
                  what, static_cast<long long>(elements));
    return isWritten ? checkWritable(*ref) : Error::success();
  };
  const auto &[lhs, rhs, result] =
      std::tie(product.lhs, product.rhs, product.result);
  if (Error error = check("lhs", lhs.argument, lhs.dtype, product.lhsReach()))
    return error;
  if (Error error = check("rhs", rhs.argument, rhs.dtype, product.rhsReach()))
    return error;
  if (Error error = check("result", result.argument, result.dtype,
                          product.resultReach(), /*isWritten=*/true))
    return error;
  if (const auto &addend = product.addend)
    if (Error error = check("addend", addend->argument, result.dtype,
                            product.reachAsResult(*addend)))
      return error;
  if (product.bias)
    if (Error error = check("bias", *product.bias, result.dtype, product.n))
      return error;
  uint64_t bytes = call.algorithm.workspaceBytes;
  if (call.workspace.space == Space::Temporary &&
      uint64_t(bufferBytes(program, call.workspace)) >= bytes)
    return Error::success();
  return fail("vendor's call: expected a temporary of %llu bytes",
              static_cast<unsigned long long>(bytes));
}

Error Verifier::checkStep(const HostCall &call) {
  if (!call.call)
    return fail("host call '%s' has no function", call.what.c_str());
  return Error::success();
}

Error Verifier::checkStep(const Fill &fill) {
  return checkWritable(fill.buffer);
}

Error Verifier::checkStep(const Copy &copy) {
  if (Error error = checkWritable(copy.to))
    return error;
  int64_t from = bufferBytes(program, copy.from);
  int64_t to = bufferBytes(program, copy.to);
  if (from == to && copy.from != copy.to)
    return Error::success();
  return fail("copy: expected two buffers of the same size, found %lld and "
              "%lld bytes%s",
              static_cast<long long>(from), static_cast<long long>(to),
              copy.from == copy.to ? " of one buffer" : "");
}

Error Verifier::checkSteps() {
  for (auto [index, step] : llvm::enumerate(program.steps)) {
    Error error = Error::success();
    forEachBuffer(step, [&](BufferRef ref) {
      if (!error)
        error = checkBuffer(ref);
    });
    if (!error)
      error = std::visit([&](const auto &s) { return checkStep(s); }, step);
    if (error)
      return fail("step %zu: %s", index,
                  llvm::toString(std::move(error)).c_str());
  }
  return Error::success();
}

Error Verifier::checkOutputs() {
  std::vector<bool> named(program.outputs.size());
  for (const Step &step : program.steps)
    forEachBuffer(step, [&](BufferRef ref) {
      if (ref.space == Space::Output)
        named[ref.index] = true;
    });
  for (auto [index, spec] : llvm::enumerate(program.outputs))
    if (!named[index] && spec.bytes() != 0)
      return fail("output '%s' is written by no step", spec.name.c_str());
  return Error::success();
}

Error Verifier::checkWorkspace() {
  std::vector<Interval> lives = temporaryIntervals(program);
  for (auto [index, temporary] : llvm::enumerate(program.temporaries)) {
    if (temporary.bytes < 0)
      return fail("temporary %zu: expected at least 0 bytes, found %lld", index,
                  static_cast<long long>(temporary.bytes));
    if (temporary.bytes == 0 || !lives[index].used())
      continue;
    int64_t end,
        all = temporary.kept ? program.keptBytes : program.workspaceBytes;
    if (temporary.offset < 0 || temporary.offset % 16 != 0 ||
        __builtin_add_overflow(temporary.offset, temporary.bytes, &end) ||
        end > all)
      return fail("temporary %zu: %lld bytes at offset %lld do not fit the "
                  "workspace of %lld bytes in steps of 16",
                  index, static_cast<long long>(temporary.bytes),
                  static_cast<long long>(temporary.offset),
                  static_cast<long long>(all));
  }
  if (Error error = checkOverlap(lives, /*kept=*/false))
    return error;
  // What is kept is alive all the time.
  for (Interval &life : lives)
    if (life.used())
      life = {0, program.steps.size()};
  return checkOverlap(lives, /*kept=*/true);
}

// Sweeps the steps with the live temporaries sorted by offset: since those
// before never overlap, only the two neighbours of a new one can.
Error Verifier::checkOverlap(llvm::ArrayRef<Interval> lives, bool kept) {
  struct Event {
    size_t step;
    bool ends;
    size_t index;
  };
  std::vector<Event> events;
  for (auto [index, life] : llvm::enumerate(lives))
    if (life.used() && program.temporaries[index].bytes != 0 &&
        program.temporaries[index].kept == kept) {
      events.push_back({life.first, false, index});
      events.push_back({life.last, true, index});
    }
  llvm::sort(events, [](const Event &a, const Event &b) {
    return std::tie(a.step, a.ends, a.index) <
           std::tie(b.step, b.ends, b.index);
  });
  std::map<int64_t, size_t> live; // offset -> temporary
  for (const Event &event : events) {
    const Temporary &temporary = program.temporaries[event.index];
    if (event.ends) {
      live.erase(temporary.offset);
      continue;
    }
    auto next = live.lower_bound(temporary.offset);
    if (next != live.end() && next->first < temporary.offset + temporary.bytes)
      return fail("temporaries %zu and %zu overlap while both are alive",
                  event.index, next->second);
    if (next != live.begin()) {
      auto [offset, other] = *std::prev(next);
      if (offset + program.temporaries[other].bytes > temporary.offset)
        return fail("temporaries %zu and %zu overlap while both are alive",
                    event.index, other);
    }
    live.emplace_hint(next, temporary.offset, event.index);
  }
  return Error::success();
}

Error Verifier::checkAliases() {
  for (auto [i, alias] : llvm::enumerate(program.aliases)) {
    if (alias.input >= program.inputs.size() ||
        alias.output >= program.outputs.size())
      return fail("alias %zu: expected an input and an output", i);
    const TensorSpec &in = program.inputs[alias.input];
    const TensorSpec &out = program.outputs[alias.output];
    if (in.bytes() != out.bytes())
      return fail("alias %zu: expected as many bytes in output '%s' as in "
                  "input '%s', found %lld and %lld",
                  i, out.name.c_str(), in.name.c_str(),
                  static_cast<long long>(out.bytes()),
                  static_cast<long long>(in.bytes()));
  }
  return Error::success();
}

Error Verifier::run() {
  if (Error error = checkTensors())
    return error;
  if (Error error = checkKernels())
    return error;
  if (program.workspaceBytes < 0)
    return fail("workspace: expected at least 0 bytes, found %lld",
                static_cast<long long>(program.workspaceBytes));
  // Temporaries' sizes are used by the step checks only to be compared.
  if (Error error = checkSteps())
    return error;
  if (Error error = checkOutputs())
    return error;
  if (Error error = checkAliases())
    return error;
  return checkWorkspace();
}

Error runtime::verifyProgram(const Program &program) {
  return Verifier(program).run();
}
