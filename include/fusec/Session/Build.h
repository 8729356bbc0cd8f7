//===- Build.h - compiling a model for a target -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_SESSION_BUILD_H
#define FUSEC_SESSION_BUILD_H

#include "fusec/Driver/Plan.h"
#include "fusec/Session/Model.h"
#include "fusec/Session/Target.h"
#include "llvm/Support/JSON.h"

namespace fusec::session {

/// What fusion changes. Bytes count each kernel's inputs and outputs once.
struct FusionSummary {
  /// One kernel per op.
  int64_t opsBefore = 0, bytesBefore = 0;
  /// As compiled; equal kernels are compiled once and launched often.
  int64_t kernels = 0, launches = 0, bytesAfter = 0, workspaceBytes = 0;
};

/// A model that was compiled, with what was decided, for compilations of the
/// same graph in other sizes. One thread at a time.
struct PlannedModel {
  Model model;
  driver::Plan plan;
};

/// A compiled model with its summary. Decisions speak of locations in the
/// model's context, which must still live where they are read.
struct Compiled {
  driver::Compilation compilation;
  FusionSummary summary;
  /// Where another compilation was followed: how, and that one, in whose
  /// context the locations are.
  std::optional<driver::FollowReport> followed = std::nullopt;
  std::shared_ptr<PlannedModel> like = nullptr;
};

/// Compiles `model`, which changes, for GPU kernel text. `observer` may be
/// empty; `plan`, if not null, gets the decisions.
llvm::Expected<Compiled> compileModel(Model &model,
                                      const driver::CompileOptions &options,
                                      const driver::StageObserver &observer,
                                      driver::Plan *plan = nullptr);

/// As compileModel, with the options and decisions of `like`
/// (fusec/Driver/Plan.h).
llvm::Expected<Compiled>
compileModelLike(Model &model, std::shared_ptr<PlannedModel> like,
                 const driver::StageObserver &observer);

llvm::Expected<Compiled>
compileModelLike(Model &model, const driver::Plan &plan,
                 const driver::StageObserver &observer);

/// Compiles a copy of `model` for what it decides.
llvm::Expected<std::shared_ptr<PlannedModel>>
planModel(Model model, const driver::CompileOptions &options);

/// Compiles `model`, which changes, to LLVM IR for the CPU.
llvm::Expected<Compiled> compileForHost(Model &model,
                                        const driver::CompileOptions &options);

/// {"shared_kernels", "new_kernels", "reason" where it was planned anew}.
llvm::json::Object toJson(const driver::FollowReport &report);

/// A string as JSON: bytes that are not UTF-8 are replaced.
llvm::json::Value jsonText(llvm::StringRef text);

/// {"ops", "kernels", "launches", "bytes_before", "bytes_after",
/// "workspace_bytes"}.
llvm::json::Object toJson(const FusionSummary &summary);

} // namespace fusec::session

#endif // FUSEC_SESSION_BUILD_H
