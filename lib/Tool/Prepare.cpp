//===- Prepare.cpp - a model with inputs on a target ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Prepare.h"
#include "Inputs.h"
#include "Like.h"
#include "Tuning.h"

using namespace fusec;
using namespace fusec::tool;
using llvm::json::Object;

llvm::Expected<Subject> fusec::tool::readSubject(const Arguments &arguments) {
  llvm::Expected<Bindings> bindings = parseBindings(arguments);
  if (!bindings)
    return bindings.takeError();
  llvm::Expected<InputFiles> files = parseInputs(arguments);
  if (!files)
    return files.takeError();
  llvm::Expected<ModelFile> file = ModelFile::open(arguments.positionals[0]);
  if (!file)
    return file.takeError();
  if (llvm::Error error = bindShapes(*file, *files, *bindings))
    return error;
  llvm::Expected<Model> model = file->load(*bindings);
  if (!model)
    return model.takeError();
  llvm::Expected<std::vector<HostTensor>> inputs = makeInputs(*model, *files);
  if (!inputs)
    return inputs.takeError();
  return Subject{std::make_unique<ModelFile>(std::move(*file)),
                 std::move(*bindings), std::move(*model), std::move(*inputs)};
}

llvm::Expected<Prepared> fusec::tool::prepare(const Arguments &arguments) {
  llvm::Expected<Subject> subject = readSubject(arguments);
  if (!subject)
    return subject.takeError();
  Prepared result;
  result.file = std::move(subject->file);
  result.bindings = std::move(subject->bindings);
  result.inputs = std::move(subject->inputs);
  if (llvm::Error error = checkLikeAndTune(arguments))
    return error;
  std::shared_ptr<runtime::DiskCache> cache = kernelCache(arguments);
  llvm::Expected<Target> target =
      openTarget(arguments.value("target"), arguments.value("arch"), cache,
                 arguments.has("quiet"));
  if (!target)
    return target.takeError();
  auto options = parseCompileOptions(arguments, target->info);
  if (!options)
    return options.takeError();
  auto tuned = applyTuning(arguments, *subject->model.module, &*target,
                           cache.get(), *options);
  if (!tuned)
    return tuned.takeError();
  result.tuned = std::move(*tuned);
  auto like = parseLike(arguments, result.bindings, *options);
  if (!like)
    return like.takeError();
  auto session = Session::create(std::move(subject->model), *target, *options,
                                 std::move(*like));
  if (!session)
    return session.takeError();
  result.session = std::move(*session);
  return result;
}

Object fusec::tool::headOf(const Prepared &prepared) {
  const Session &session = *prepared.session;
  Object object{{"target", name(session.target().kind)},
                {"arch", session.target().info.name}};
  if (session.target().device)
    object["device"] = jsonText(session.target().device->info().name);
  if (const Compiled *compiled = session.compiled())
    object["fusion"] = toJson(compiled->summary);
  if (const Compiled *compiled = session.compiled();
      compiled && compiled->followed)
    object["like"] = session::toJson(*compiled->followed);
  if (std::string why = session.vendorProblem(); !why.empty())
    object["no_vendor"] = jsonText(why);
  if (prepared.tuned)
    object["tuning"] = tune::toJson(*prepared.tuned);
  return object;
}

Object fusec::tool::toJson(const Times &times) {
  return Object{{"median", times.median}, {"p10", times.p10},
                {"p90", times.p90},       {"min", times.least},
                {"max", times.most},      {"repeats", times.count}};
}
