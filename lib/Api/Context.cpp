//===- Context.cpp - contexts and tensor descriptions ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Objects.h"

using namespace fusec;
using namespace fusec::api;

void Settings::say(fusec_log_level wanted, const llvm::Twine &message) const {
  if (enabled(wanted))
    callback(user, wanted, message.str().c_str());
}

/// The cache that the options ask for; null for none.
static std::shared_ptr<runtime::DiskCache>
openCache(const fusec_context_options &options, const Settings &settings) {
  if (options.cache_off)
    return nullptr;
  runtime::DiskCacheOptions cache;
  if (options.cache_directory) {
    cache.directory = options.cache_directory;
  } else {
    std::string problem;
    auto standard = runtime::DiskCache::standardOptions(problem);
    if (!problem.empty())
      settings.say(FUSEC_LOG_WARNING, problem);
    if (!standard)
      return nullptr;
    cache = std::move(*standard);
  }
  if (options.cache_bytes)
    cache.maxBytes = options.cache_bytes;
  // A copy: the settings own the cache.
  cache.warn = [callback = settings.callback, user = settings.user,
                level = settings.level](const std::string &message) {
    if (level >= FUSEC_LOG_WARNING)
      callback(user, FUSEC_LOG_WARNING, message.c_str());
  };
  return std::make_shared<runtime::DiskCache>(std::move(cache));
}

fusec_error *fusec_context_create(const fusec_context_options *options,
                                  fusec_context **result) {
  return guard([&]() -> fusec_error * {
    if (fusec_error *error = requireNotNull(result, "result"))
      return error;
    fusec_context_options known;
    if (fusec_error *error =
            readStruct(options, FUSEC_END_OF(fusec_context_options, cache_off),
                       "fusec_context_options", known))
      return error;
    if (known.log_level < FUSEC_LOG_OFF || known.log_level > FUSEC_LOG_INFO)
      return makeError(FUSEC_INVALID_ARGUMENT,
                       "log_level: expected 0 to 2, found " +
                           llvm::Twine(known.log_level));
    auto settings = std::make_shared<Settings>();
    settings->callback = known.log;
    settings->user = known.log_user;
    if (known.log)
      settings->level = known.log_level ? known.log_level : FUSEC_LOG_WARNING;
    settings->cache = openCache(known, *settings);
    *result = new fusec_context{std::move(settings)};
    return nullptr;
  });
}

void fusec_context_free(fusec_context *context) { delete context; }

//===----------------------------------------------------------------------===//
// Tensor descriptions
//===----------------------------------------------------------------------===//

TensorDescription::TensorDescription(const runtime::TensorSpec &spec)
    : name(spec.name), dtype(spec.dtype), shape(spec.shape),
      bytes(spec.bytes()) {}

TensorDescription::TensorDescription(std::string name, DType dtype,
                                     std::optional<std::vector<int64_t>> sizes,
                                     std::vector<std::string> names)
    : name(std::move(name)), dtype(dtype), shape(std::move(sizes)),
      symbols(std::move(names)) {
  for (const std::string &symbol : symbols)
    symbolPointers.push_back(symbol.c_str());
  if (!shape || llvm::is_contained(*shape, -1))
    return;
  if (auto count = byteCount(dtype, *shape))
    bytes = *count;
  else
    llvm::consumeError(count.takeError());
}

fusec_error *TensorDescription::write(fusec_tensor_info *info) const {
  fusec_tensor_info value = fusec_tensor_info_default();
  value.name = name.c_str();
  value.dtype = static_cast<fusec_dtype>(dtype);
  value.rank = shape ? static_cast<int32_t>(shape->size()) : -1;
  value.shape = shape && !shape->empty() ? shape->data() : nullptr;
  value.symbols = symbolPointers.empty() ? nullptr : symbolPointers.data();
  value.bytes = bytes;
  return writeStruct(value, FUSEC_END_OF(fusec_tensor_info, bytes),
                     "fusec_tensor_info", info);
}

TensorList api::describe(llvm::ArrayRef<runtime::TensorSpec> specs) {
  TensorList list;
  list.reserve(specs.size());
  for (const runtime::TensorSpec &spec : specs)
    list.emplace_back(spec);
  return list;
}

fusec_error *api::writeTensor(const TensorList &list, size_t index,
                              const char *kind, fusec_tensor_info *info) {
  if (index >= list.size())
    return makeError(FUSEC_INVALID_ARGUMENT, llvm::Twine(kind) + " " +
                                                 llvm::Twine(index) +
                                                 ": expected a number below " +
                                                 llvm::Twine(list.size()));
  return list[index].write(info);
}
