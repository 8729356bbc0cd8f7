//===- Coverage.cpp - what random graphs should reach ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Fuzz/RunCase.h"

using namespace fusec;
using namespace fusec::fuzz;

namespace {
/// A path of lowering, known by a word of the text that it makes.
struct Path {
  llvm::StringRef name, word;
};
} // namespace

static constexpr Path kPaths[] = {
    {"plain loads", "ld<1>("},
    {"masked loads", "ldm<1>("},
    {"masked vector loads", "ldm<4>("},
    {"loads of 8 elements", "ld<8>("},
    {"loads of 4 elements", "ld<4>("},
    {"stores of 8 elements", "st<8>("},
    {"stores of 4 elements", "st<4>("},
    {"masked stores", "stm<1>("},
    {"masked vector stores", "stm<4>("},
    {"shared memory", "FUSEC_SHARED("},
    {"barriers of a block", "bar("},
    {"reductions of a warp", "shfl_xor("},
    {"neighbours of a marching warp", "shfl_up("},
    {"rows split over blocks", "ticket("},
    {"parts of a joined launch", "FUSEC_TABLE("},
    {"products on FMA", "GemmKind::F32"},
    {"products in TF32", "GemmKind::TF32"},
    {"products in f16", "GemmKind::F16"},
    {"products in bf16", "GemmKind::BF16"},
    {"products in f8E4M3FN", "GemmKind::E4M3,"},
    {"products in f8E5M2", "GemmKind::E5M2,"},
    {"products in both types of 8-bit floats", "GemmKind::E4M3E5M2"},
    {"products of warpgroups", "GemmWgmmaConfig<"},
    {"products of clusters", "FUSEC_KERNEL_CLUSTER("},
    {"operands by the copy engine", "GemmAccess::Tensor"},
    {"operands by asynchronous copies", "GemmAccess::Async"},
    {"computed operands", "GemmAccess::Computed"},
    {"operands contiguous along k", "GemmOrder::KContiguous"},
    {"operands contiguous across k", "GemmOrder::OuterContiguous"},
};

void fuzz::addPaths(const runtime::Program &program, Features &features) {
  for (const runtime::Kernel &kernel : program.kernels)
    for (const Path &path : kPaths)
      if (kernel.source.find(path.word) != std::string::npos)
        features.insert(("path:" + path.name).str());
  if (!program.aliases.empty())
    features.insert("path:outputs in place of inputs");
}

std::vector<std::string> fuzz::decisionsAndPaths() {
  std::vector<std::string> all;
  for (int kind = 0; kind <= int(analysis::KernelKind::Chain); ++kind)
    all.push_back(
        ("kernel:" + analysis::name(analysis::KernelKind(kind))).str());
  for (int reason = 0; reason <= int(analysis::RefusalReason::NothingBeside);
       ++reason)
    all.push_back(
        ("refusal:" + analysis::name(analysis::RefusalReason(reason))).str());
  for (const Path &path : kPaths)
    all.push_back(("path:" + path.name).str());
  all.push_back("path:outputs in place of inputs");
  return all;
}
