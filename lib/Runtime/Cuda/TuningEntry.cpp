//===- TuningEntry.cpp - the layout of a measured choice ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A file is 8 bytes of magic, which has the layout's version, the SHA-256 of
// magic and rest, and the entry as JSON, the same that is exported. Bytes from
// a file, or from somebody's export, are looked at before they are parsed: a
// parser that calls itself needs a bound for how deep.
//===----------------------------------------------------------------------===//
#include "fusec/Runtime/Cuda/TuningRecord.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace fusec::runtime;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::json::Object;
using llvm::json::Value;

static constexpr StringRef kMagic("FUSECTU\x01", 8);
static constexpr size_t kDigestBytes = 32;
static constexpr size_t kMaxText = 4096, kMaxFile = size_t(1) << 16;
static constexpr size_t kMaxDocument = size_t(64) << 20;
static constexpr unsigned kMaxDepth = 16;

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

// 16 digits a word.
static std::string hexOf(const std::array<uint64_t, 8> &words) {
  std::string text;
  for (uint64_t word : words)
    text += llvm::utohexstr(word, /*LowerCase=*/true, /*Width=*/16);
  return text;
}

static bool parseHex(StringRef text, std::array<uint64_t, 8> &words) {
  constexpr size_t kDigits = 16;
  if (text.size() != kDigits * words.size() ||
      !llvm::all_of(text, llvm::isHexDigit))
    return false;
  for (auto [i, word] : llvm::enumerate(words))
    text.substr(i * kDigits, kDigits).getAsInteger(16, word);
  return true;
}

Object fusec::runtime::toJson(const TuningEntry &entry) {
  auto text = [](StringRef t) { return Value(llvm::json::fixUTF8(t)); };
  Object object{{"problem", text(entry.key.problem)},
                {"machine", text(entry.key.machine)},
                {"capability", int64_t(entry.key.capability)},
                {"multiprocessors", int64_t(entry.key.multiprocessors)},
                {"generator", text(entry.key.generator)},
                {"title", text(entry.title)},
                {"choice", text(entry.choice)},
                {"model", text(entry.model)},
                {"us", entry.microseconds},
                {"model_us", entry.modelMicroseconds},
                {"timed", int64_t(entry.timed)},
                {"date", entry.date}};
  if (const auto &vendor = entry.vendor) {
    const VendorAlgorithm &algorithm = vendor->algorithm;
    object["vendor"] =
        Object{{"version", int64_t(algorithm.version)},
               {"algorithm", hexOf(algorithm.words)},
               {"workspace_bytes", int64_t(algorithm.workspaceBytes)},
               {"own", text(vendor->own)},
               {"own_us", vendor->ownMicroseconds}};
  }
  return object;
}

namespace {
/// Takes fields from an object; the first that does not fit is the error.
class Fields {
public:
  explicit Fields(const Object &object) : object(object) {}

  void text(StringRef name, std::string &to) {
    std::optional<StringRef> value = object.getString(name);
    if (!value || value->size() > kMaxText)
      return fail(name, "text of at most 4096 bytes");
    to = value->str();
  }
  void time(StringRef name, double &to) {
    std::optional<double> value = object.getNumber(name);
    if (!value || !std::isfinite(*value) || *value < 0)
      return fail(name, "a time in us");
    to = *value;
  }
  void count(StringRef name, uint32_t &to) {
    std::optional<int64_t> value = object.getInteger(name);
    if (!value || *value < 0 || *value > INT32_MAX)
      return fail(name, "a count");
    to = uint32_t(*value);
  }
  void date(StringRef name, int64_t &to) {
    std::optional<int64_t> value = object.getInteger(name);
    if (!value || *value < 0)
      return fail(name, "seconds since 1970");
    to = *value;
  }
  void algorithm(VendorAlgorithm &to) {
    auto version = object.getInteger("version");
    auto bytes = object.getInteger("workspace_bytes");
    auto words = object.getString("algorithm");
    if (!version || *version < 0 || !bytes || *bytes < 0 ||
        uint64_t(*bytes) > kMostVendorWorkspace || !words ||
        !parseHex(*words, to.words))
      return fail("vendor", "an algorithm of a library");
    to.version = uint64_t(*version);
    to.workspaceBytes = uint64_t(*bytes);
  }
  Error take() {
    if (problem.empty())
      return Error::success();
    return llvm::createStringError(problem);
  }

private:
  void fail(StringRef name, StringRef expected) {
    if (problem.empty())
      problem = ("entry of a tuning record: expected " + expected + " as '" +
                 name + "'")
                    .str();
  }
  const Object &object;
  std::string problem;
};
} // namespace

Expected<TuningEntry> fusec::runtime::tuningEntry(const Value &value) {
  const Object *object = value.getAsObject();
  if (!object)
    return llvm::createStringError(
        "entry of a tuning record: expected an object");
  Fields fields(*object);
  TuningEntry entry;
  fields.text("problem", entry.key.problem);
  fields.text("machine", entry.key.machine);
  fields.count("capability", entry.key.capability);
  fields.count("multiprocessors", entry.key.multiprocessors);
  fields.text("generator", entry.key.generator);
  fields.text("title", entry.title);
  fields.text("choice", entry.choice);
  fields.text("model", entry.model);
  fields.time("us", entry.microseconds);
  fields.time("model_us", entry.modelMicroseconds);
  fields.count("timed", entry.timed);
  fields.date("date", entry.date);
  if (Error error = fields.take())
    return std::move(error);
  if (const Value *vendor = object->get("vendor")) {
    const Object *parts = vendor->getAsObject();
    if (!parts)
      return llvm::createStringError(
          "entry of a tuning record: expected an object as 'vendor'");
    Fields of(*parts);
    VendorChoice choice;
    choice.algorithm.name = entry.choice;
    of.algorithm(choice.algorithm);
    of.text("own", choice.own);
    of.time("own_us", choice.ownMicroseconds);
    if (Error error = of.take())
      return std::move(error);
    entry.vendor = std::move(choice);
  }
  return entry;
}

/// How deep arrays and objects of `text` lie in each other at most.
static unsigned depthOf(StringRef text) {
  unsigned depth = 0, most = 0;
  bool inString = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (inString) {
      i += c == '\\';
      inString = c != '"';
    } else if (c == '"') {
      inString = true;
    } else if (c == '[' || c == '{') {
      most = std::max(most, ++depth);
    } else if ((c == ']' || c == '}') && depth) {
      --depth;
    }
  }
  return most;
}

static Expected<Value> parse(StringRef text) {
  if (text.size() > kMaxDocument || depthOf(text) > kMaxDepth)
    return llvm::createStringError(
        "tuning record: expected at most 64 MB and 16 levels of JSON");
  return llvm::json::parse(text);
}

Expected<std::vector<TuningEntry>>
fusec::runtime::parseTuningEntries(StringRef text) {
  Expected<Value> document = parse(text);
  if (!document)
    return document.takeError();
  const Object *object = document->getAsObject();
  const llvm::json::Array *array =
      object ? object->getArray("entries") : nullptr;
  if (!array)
    return llvm::createStringError(
        "tuning record: expected an object with an array 'entries'");
  std::vector<TuningEntry> entries;
  for (const Value &value : *array) {
    Expected<TuningEntry> entry = tuningEntry(value);
    if (!entry)
      return entry.takeError();
    entries.push_back(std::move(*entry));
  }
  return entries;
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

static std::string digestOf(StringRef body) {
  llvm::SHA256 hash;
  hash.update(kMagic);
  hash.update(body);
  return llvm::toStringRef(llvm::ArrayRef(hash.final())).str();
}

std::string fusec::runtime::encodeTuning(const TuningEntry &entry) {
  std::string body;
  llvm::raw_string_ostream(body) << Value(toJson(entry));
  return kMagic.str() + digestOf(body) + body;
}

bool fusec::runtime::isOtherTuningLayout(StringRef bytes) {
  StringRef name = kMagic.drop_back();
  return bytes.starts_with(name) && bytes.size() > name.size() &&
         !bytes.starts_with(kMagic);
}

Expected<TuningEntry> fusec::runtime::decodeTuning(StringRef bytes) {
  size_t header = kMagic.size() + kDigestBytes;
  if (bytes.size() < header || bytes.size() > kMaxFile ||
      !bytes.starts_with(kMagic))
    return llvm::createStringError("expected a file of the tuning record");
  StringRef body = bytes.drop_front(header);
  if (bytes.substr(kMagic.size(), kDigestBytes) != digestOf(body))
    return llvm::createStringError("its contents do not match its digest");
  Expected<Value> value = parse(body);
  if (!value)
    return value.takeError();
  return tuningEntry(*value);
}
