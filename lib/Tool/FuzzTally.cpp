//===- FuzzTally.cpp - what fuzzing found ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "FuzzTally.h"
#include "llvm/Support/Format.h"

using namespace fusec;
using namespace fusec::tool;
using llvm::StringRef;
using llvm::json::Array;
using llvm::json::Object;
using verify::Outcome;

std::string fusec::tool::toText(const Finding &finding) {
  std::string text = "seed " + std::to_string(finding.seed);
  if (!finding.way.empty())
    text += ", " + finding.way;
  return text + ": " + finding.kind + ": " + finding.message;
}

std::string fusec::tool::toLine(uint64_t seed, const fuzz::CaseReport &report) {
  Array ways,
      features(llvm::map_range(report.features, [](const std::string &name) {
        return jsonText(name);
      }));
  for (const fuzz::WayReport &way : report.ways)
    ways.push_back(Object{{"way", way.way},
                          {"outcome", verify::name(way.judgement.outcome)},
                          {"message", jsonText(way.judgement.message)},
                          {"elements", way.judgement.elements},
                          {"exact", way.judgement.exact},
                          {"unknown", way.judgement.unknown}});
  std::string line;
  llvm::raw_string_ostream(line)
      << llvm::json::Value(Object{{"seed", std::to_string(seed)},
                                  {"failure", jsonText(report.failure)},
                                  {"ways", std::move(ways)},
                                  {"features", std::move(features)}});
  return line;
}

/// A message without its numbers and names, to count those of one kind.
static std::string kindOf(StringRef message) {
  std::string kind;
  // What is quoted, where it stands, sizes.
  for (char c : message.take_front(300)) {
    if (c >= '0' && c <= '9')
      c = '#';
    if (c == '\n')
      c = ' ';
    if (c != '#' || kind.empty() || kind.back() != '#')
      kind += c;
  }
  return kind;
}

std::optional<std::vector<Finding>> FuzzTally::add(StringRef line) {
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(line);
  if (!value) {
    llvm::consumeError(value.takeError());
    return std::nullopt;
  }
  const Object *report = value->getAsObject();
  uint64_t seed = 0;
  if (!report || report->getString("seed").value_or("").getAsInteger(10, seed))
    return std::nullopt;
  ++cases;
  std::vector<Finding> news;
  if (StringRef failure = report->getString("failure").value_or("");
      !failure.empty())
    news.push_back({seed, "generator", "", failure.str()});
  for (const llvm::json::Value &entry : *report->getArray("ways")) {
    const Object &way = *entry.getAsObject();
    StringRef outcome = way.getString("outcome").value_or("");
    std::string message = way.getString("message").value_or("").str();
    ++runs;
    elements += way.getInteger("elements").value_or(0);
    exact += way.getInteger("exact").value_or(0);
    unknown += way.getInteger("unknown").value_or(0);
    if (outcome == name(Outcome::Unsupported))
      ++unsupported[kindOf(message)];
    else if (outcome != name(Outcome::Right))
      news.push_back({seed, outcome.str(),
                      way.getString("way").value_or("").str(), message});
  }
  int64_t first = 0;
  for (const llvm::json::Value &feature : *report->getArray("features"))
    first += !features[feature.getAsString()->str()]++;
  if (first)
    kept.push_back({seed, first});
  llvm::append_range(findings, news);
  return news;
}

//===----------------------------------------------------------------------===//
// The summary
//===----------------------------------------------------------------------===//

/// Features whose name starts with `prefix`, by how often.
static std::vector<std::pair<StringRef, int64_t>>
withPrefix(const std::map<std::string, int64_t> &features, StringRef prefix) {
  std::vector<std::pair<StringRef, int64_t>> result;
  for (const auto &[name, count] : features)
    if (StringRef rest = name; rest.consume_front(prefix))
      result.push_back({rest, count});
  llvm::sort(result, [](const auto &a, const auto &b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  return result;
}

void FuzzTally::print(llvm::raw_ostream &os, double seconds) const {
  auto percent = [&](int64_t part) {
    return elements ? 100.0 * double(part) / double(elements) : 0.0;
  };
  os << llvm::format("fuzz: %lld graphs, %lld runs, %zu findings, %.0f s\n",
                     static_cast<long long>(cases),
                     static_cast<long long>(runs), findings.size(), seconds)
     << llvm::format("elements: %lld; %.1f%% have one right value, %.1f%% may "
                     "be anything\n",
                     static_cast<long long>(elements), percent(exact),
                     percent(unknown));
  static constexpr std::pair<StringRef, StringRef> kShown[] = {
      {"kernels", "kernel:"},
      {"refusals", "refusal:"},
      {"not built as planned", "split:"},
      {"launches alone", "alone:"}};
  for (auto [title, prefix] : kShown) {
    auto list = withPrefix(features, prefix);
    if (list.empty())
      continue;
    os << title << ":";
    for (auto [i, entry] : llvm::enumerate(list))
      os << (i ? ", " : " ") << entry.first << ' ' << entry.second;
    os << '\n';
  }
  os << "reached: " << withPrefix(features, "op:").size()
     << " pairs of op and type, " << withPrefix(features, "edge:").size()
     << " fused pairs of ops, "
     << withPrefix(features, "tile:").size() +
            withPrefix(features, "simt:").size()
     << " pairs of lowered ops; " << kept.size() << " seeds reached something "
     << "new\n";
  for (const auto &[kind, count] : unsupported)
    os << "unsupported, " << count << " times: " << kind << '\n';
}

void FuzzTally::printCoverage(llvm::raw_ostream &os) const {
  auto countOf = [&](const std::string &name) {
    auto found = features.find(name);
    return found == features.end() ? int64_t(0) : found->second;
  };
  int64_t reached = 0;
  std::vector<std::string> all = fuzz::decisionsAndPaths();
  os << "graphs that reached:\n";
  for (const std::string &name : all) {
    StringRef rest = name;
    int64_t count = countOf(name);
    if (rest.consume_front("refusal:"))
      for (const char *place : {"split:", "alone:"})
        count += countOf(place + rest.str());
    reached += count > 0;
    os << llvm::format("%8lld  ", static_cast<long long>(count)) << name
       << '\n';
  }
  os << "coverage: " << reached << " of " << all.size()
     << " decisions and paths\n";
}

Object FuzzTally::toJson(double seconds) const {
  Array found, seeds;
  for (const Finding &finding : findings)
    found.push_back(Object{{"seed", std::to_string(finding.seed)},
                           {"kind", finding.kind},
                           {"way", finding.way},
                           {"message", jsonText(finding.message)}});
  for (auto [seed, count] : kept)
    seeds.push_back(
        Object{{"seed", std::to_string(seed)}, {"features", count}});
  Object refused, reached;
  for (const auto &[kind, count] : unsupported)
    refused[llvm::json::fixUTF8(kind)] = count;
  for (const auto &[name, count] : features)
    reached[name] = count;
  return Object{{"cases", cases},
                {"runs", runs},
                {"elements", elements},
                {"exact", exact},
                {"unknown", unknown},
                {"seconds", seconds},
                {"findings", std::move(found)},
                {"unsupported", std::move(refused)},
                {"features", std::move(reached)},
                {"kept", std::move(seeds)}};
}
