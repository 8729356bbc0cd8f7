//===- HostileTest.cpp - a few thousand hostile inputs of each kind -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A deterministic mutator over the seeds of each target, for a few seconds. The
// long runs are libFuzzer's.
//===----------------------------------------------------------------------===//
#include "HostileTargets.h"
#include "gtest/gtest.h"

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <random>

using namespace fusec::hostile;

namespace {

class Mutator {
public:
  explicit Mutator(std::vector<std::string> seeds) : seeds(std::move(seeds)) {}

  std::string next() {
    std::string bytes = pick(seeds);
    for (unsigned i = 0, e = 1 + below(4); i < e; ++i)
      mutate(bytes);
    return bytes;
  }

private:
  size_t below(size_t n) { return random() % n; }
  const std::string &pick(const std::vector<std::string> &from) {
    return from[below(from.size())];
  }

  /// One step; numbers that break arithmetic are tried often.
  void mutate(std::string &bytes) {
    static const std::vector<std::string> kPieces = {
        std::string(1, '\0'),
        std::string(8, '\xff'),
        std::string("\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 9),
        std::string("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 10),
        std::string("\0\0\0\0\0\0\0\x80", 8),
        "9223372036854775807",
        "-1",
        "(((((((((((((((((((((((((((((((",
        "nan",
        "../",
        std::string(300, 'x')};
    size_t at = below(bytes.size() + 1);
    switch (below(8)) {
    case 0:
      if (at < bytes.size())
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
      break;
    case 1:
      if (at < bytes.size())
        bytes[at] = static_cast<char>(random());
      break;
    case 2:
      bytes.insert(at, 1, static_cast<char>(random()));
      break;
    case 3:
      bytes.erase(at, 1 + below(8));
      break;
    case 4:
      bytes.resize(at);
      break;
    case 5:
      bytes.insert(at, pick(kPieces));
      break;
    case 6: { // a part of another seed
      const std::string &other = pick(seeds);
      size_t from = below(other.size() + 1);
      bytes.insert(at, other.substr(from, below(64)));
      break;
    }
    default:
      bytes.insert(at, bytes.substr(at, 1 + below(32)));
    }
  }

  std::mt19937_64 random{20240611};
  std::vector<std::string> seeds;
};

class Hostile : public ::testing::TestWithParam<Target> {};

/// 3, or what FUSEC_FUZZ_SECONDS says.
std::chrono::seconds duration() {
  const char *given = std::getenv("FUSEC_FUZZ_SECONDS");
  return std::chrono::seconds(given ? std::atoi(given) : 3);
}

// Threats T1, T8 and T14: whatever the bytes are, the library returns.
TEST_P(Hostile, BytesAreAnswered) {
  const Target *target = &GetParam();
  std::vector<std::string> seeds = target->seeds();
  for (const std::string &seed : seeds)
    target->run(seed);
  // Every truncation of one seed.
  for (size_t n = 0; n < std::min<size_t>(seeds.front().size(), 200); ++n)
    target->run(llvm::StringRef(seeds.front()).take_front(n));
  Mutator mutator(std::move(seeds));
  auto end = std::chrono::steady_clock::now() + duration();
  unsigned runs = 0;
  for (; std::chrono::steady_clock::now() < end; ++runs)
    target->run(mutator.next());
  std::cout << runs << " inputs\n";
  RecordProperty("runs", static_cast<int>(runs));
  EXPECT_GT(runs, 10u);
}

std::string nameOf(const ::testing::TestParamInfo<Target> &info) {
  return info.param.name;
}
INSTANTIATE_TEST_SUITE_P(Bytes, Hostile, ::testing::ValuesIn(byteTargets()),
                         nameOf);
INSTANTIATE_TEST_SUITE_P(Graphs, Hostile, ::testing::ValuesIn(graphTargets()),
                         nameOf);

} // namespace
