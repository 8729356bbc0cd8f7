//===- Like.cpp - compiling as another size was compiled ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Like.h"
#include "llvm/ADT/StringSet.h"

using namespace fusec;
using namespace fusec::tool;

std::vector<OptionSpec> fusec::tool::likeOptionSpecs() {
  return {{"like", "FILE",
           "take plan and kernels of this graph, which is the same in "
           "other\nsizes: nothing is searched, nothing compiled anew where the "
           "size\nis no part of a kernel"},
          {"like-dim", "NAME=SIZE",
           "the size of a symbolic dimension in the graph of --like, "
           "which\nis MODEL itself if not given",
           true}};
}

llvm::Expected<std::shared_ptr<session::PlannedModel>>
fusec::tool::parseLike(const Arguments &arguments, const Bindings &bindings,
                       const driver::CompileOptions &options) {
  if (!arguments.has("like") && !arguments.has("like-dim"))
    return nullptr;
  llvm::StringRef path = arguments.value("like", arguments.positionals[0]);
  if (path == "-")
    return toolError(ExitCode::Usage, "--like: expected a file, found stdin");
  llvm::Expected<ModelFile> file = ModelFile::open(path);
  if (!file)
    return file.takeError();
  Bindings other;
  if (file->isOnnx())
    other = bindings;
  llvm::StringSet<> seen;
  for (llvm::StringRef text : arguments.values("like-dim")) {
    llvm::Expected<std::pair<llvm::StringRef, int64_t>> dim =
        parseDim("--like-dim", text);
    if (!dim)
      return dim.takeError();
    if (!seen.insert(dim->first).second)
      return toolError(ExitCode::Usage,
                       "--like-dim names " + quoted(dim->first) + " twice",
                       "leave one of them");
    other.dims[dim->first] = dim->second;
  }
  llvm::Expected<Model> model = file->load(other);
  if (!model)
    return model.takeError();
  auto planned = session::planModel(std::move(*model), options);
  if (!planned)
    return withCode(ExitCode::Unsupported, planned.takeError());
  return planned;
}

llvm::Error fusec::tool::checkLikeAndTune(const Arguments &arguments) {
  if (arguments.has("tune") &&
      (arguments.has("like") || arguments.has("like-dim")))
    return toolError(ExitCode::Usage,
                     "--tune and --like: nothing is searched where decisions "
                     "are taken from another size",
                     "tune that size first; --like takes its choices too");
  return llvm::Error::success();
}

std::string fusec::tool::followedText(const session::Compiled &compiled) {
  if (!compiled.followed)
    return "";
  const driver::FollowReport &report = *compiled.followed;
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "like:     " << report.sharedKernels << " of "
     << report.sharedKernels + report.newKernels
     << " kernels are those of the other sizes";
  if (!report.reason.empty())
    os << "; planned anew: " << report.reason;
  os << '\n';
  return text;
}
