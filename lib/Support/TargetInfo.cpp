//===- TargetInfo.cpp - presets of GPUs -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sources: limits from the "Compute Capabilities" tables of the CUDA C++
// programming guide; FLOP/s and clocks from NVIDIA's H100/H200 and A100 data
// sheets (dense, no sparsity); sustained bandwidth about 89 % of the data
// sheet's 4.8 TB/s (H200) and 2.0 TB/s (A100), what a plain copy reaches.
// A launch inside a stream of kernels costs about 2 µs from end to start.
//===----------------------------------------------------------------------===//
#include "fusec/Support/TargetInfo.h"

using namespace fusec;

TargetInfo TargetInfo::h200() {
  TargetInfo info;
  info.name = "sm_90a H200";
  info.computeCapability = 90;
  info.multiprocessors = 132;
  info.sharedBytesPerBlock = 227 * 1024;
  info.maxClusterBlocks = 16;
  info.registersPerMultiprocessor = 64 * 1024;
  info.memoryBandwidth = 4.27e12;
  info.floatFlops = 60e12;
  info.instructionRate = info.floatFlops / 2; // an FMA is two FLOP
  info.halfTensorFlops = 989e12;
  info.tf32TensorFlops = 495e12;
  info.launchMicroseconds = 2.0;
  return info;
}

TargetInfo TargetInfo::a100() {
  TargetInfo info;
  info.name = "sm_80 A100";
  info.computeCapability = 80;
  info.multiprocessors = 108;
  info.sharedBytesPerBlock = 163 * 1024;
  info.registersPerMultiprocessor = 64 * 1024;
  info.memoryBandwidth = 1.78e12;
  info.floatFlops = 19.5e12;
  info.instructionRate = info.floatFlops / 2;
  info.halfTensorFlops = 312e12;
  info.tf32TensorFlops = 156e12;
  info.launchMicroseconds = 2.5;
  return info;
}

std::optional<TargetInfo> TargetInfo::get(llvm::StringRef arch) {
  if (arch == "sm_90a")
    return h200();
  if (arch == "sm_80")
    return a100();
  return std::nullopt;
}
