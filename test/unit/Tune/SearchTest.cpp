//===- SearchTest.cpp - the rules of the search ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// On a bench that is a table: what each candidate takes and gives is written
// down, and the clock goes on by what was done.
//===----------------------------------------------------------------------===//
#include "fusec/Tune/Search.h"
#include "gtest/gtest.h"

#include <cmath>

using namespace fusec;
using namespace fusec::tune;

namespace {
HostTensor tensorOf(std::initializer_list<double> values,
                    DType dtype = DType::F32) {
  HostTensor tensor =
      llvm::cantFail(HostTensor::create(dtype, {int64_t(values.size())}));
  int64_t at = 0;
  for (double value : values)
    tensor.setF64(at++, value);
  return tensor;
}

struct Row {
  double microseconds = 1;
  std::string order = "k";
  HostTensor random = tensorOf({1, 2}), simple = tensorOf({3}),
             special = tensorOf({NAN, 1});
  std::string loadError = {}, runError = {}, timeError = {};
  bool isVendor = false;
};

class TableBench : public Bench {
public:
  explicit TableBench(std::vector<Row> rows) : rows(std::move(rows)) {}

  llvm::Expected<std::vector<std::string>>
  load(const Candidates &task) override {
    clock += secondsOfLoad;
    std::vector<std::string> failures;
    for (const Row &row : rows)
      failures.push_back(row.loadError);
    return failures;
  }
  llvm::Expected<std::vector<HostTensor>> run(size_t i, Data data) override {
    clock += 1;
    ++runs;
    if (!rows[i].runError.empty())
      return llvm::createStringError(rows[i].runError);
    const Row &row = rows[i];
    return std::vector<HostTensor>{(data == Data::Random   ? row.random
                                    : data == Data::Simple ? row.simple
                                                           : row.special)
                                       .clone()};
  }
  llvm::Expected<double> time(size_t i) override {
    clock += 1;
    timed.push_back(i);
    if (!rows[i].timeError.empty())
      return llvm::createStringError(rows[i].timeError);
    // The first of each is that of a cold machine.
    return llvm::count(timed, i) == 1 ? 1000 : rows[i].microseconds;
  }
  double now() override { return clock; }

  Candidates task() const {
    Candidates task;
    for (auto [i, row] : llvm::enumerate(rows))
      task.candidates.push_back({"c" + std::to_string(i),
                                 row.order,
                                 1 + double(i),
                                 {},
                                 row.isVendor});
    return task;
  }
  /// The result with all the time there is, or `seconds`.
  llvm::Expected<SearchResult> search(double seconds = 1e9,
                                      bool isExact = false) {
    Candidates candidates = task();
    candidates.isExactOnSimpleData = isExact;
    SearchOptions options;
    options.deadline = seconds;
    return tune::search(candidates, *this, options);
  }

  std::vector<Row> rows;
  std::vector<size_t> timed;
  double clock = 0, secondsOfLoad = 1;
  unsigned runs = 0;
};

Row taking(double microseconds) {
  Row row;
  row.microseconds = microseconds;
  return row;
}
} // namespace

TEST(Search, TakesTheFastest) {
  TableBench bench({taking(10), taking(9), taking(7), taking(8)});
  SearchResult result = llvm::cantFail(bench.search());
  EXPECT_TRUE(result.isMeasured);
  EXPECT_EQ(result.winner, 2u);
  EXPECT_EQ(result.timed(), 4u);
  EXPECT_EQ(result.candidates[2].microseconds, 7);
  // In turns, so that all meet the same clocks.
  for (size_t i = 0; i + 4 <= 4 * kFewestRounds; i += 4)
    EXPECT_EQ(std::vector<size_t>(bench.timed.begin() + i,
                                  bench.timed.begin() + i + 4),
              (std::vector<size_t>{0, 1, 2, 3}));
}

TEST(Search, StaysWithTheModelWhereLittleIsGained) {
  TableBench close({taking(100), taking(99), taking(98.5)});
  EXPECT_EQ(llvm::cantFail(close.search()).winner, 0u);
  TableBench equal({taking(100), taking(90), taking(90), taking(90)});
  EXPECT_EQ(llvm::cantFail(equal.search()).winner, 1u) << "ties by position";
  TableBench alone({taking(100)});
  EXPECT_FALSE(llvm::cantFail(alone.search()).isMeasured)
      << "nothing was compared";
}

// The vendor's library must be faster than the fastest kernel by as much as
// that must be faster than the model's choice, which is known all the same.
TEST(Search, VendorsMustWin) {
  auto ofVendor = [](double microseconds) {
    Row row = taking(microseconds);
    row.isVendor = true;
    return row;
  };
  TableBench wins(
      {taking(100), taking(90), ofVendor(95), ofVendor(88), ofVendor(87)});
  SearchResult result = llvm::cantFail(wins.search());
  EXPECT_EQ(result.winner, 4u);
  EXPECT_EQ(result.own, 1u);
  EXPECT_TRUE(result.candidates[4].isVendor);
  TableBench close({taking(100), taking(90), ofVendor(88.5)});
  result = llvm::cantFail(close.search());
  EXPECT_EQ(result.winner, 1u);
  EXPECT_EQ(result.own, 1u);
  TableBench far({taking(100), taking(90), ofVendor(10), ofVendor(16)});
  result = llvm::cantFail(far.search());
  EXPECT_EQ(result.winner, 2u);
  EXPECT_EQ(result.own, 1u) << "not dropped as much slower";
  EXPECT_EQ(result.candidates[3].dropped, "it is much slower");
  TableBench alone({taking(100), ofVendor(90)});
  result = llvm::cantFail(alone.search());
  EXPECT_EQ(result.winner, 1u);
  EXPECT_EQ(result.own, 0u);
}

TEST(Search, DoesNotTimeTheHopelessOn) {
  TableBench bench({taking(10), taking(16), taking(14)});
  SearchResult result = llvm::cantFail(bench.search());
  EXPECT_EQ(llvm::count(bench.timed, 1u), int64_t(kFewestRounds));
  EXPECT_EQ(llvm::count(bench.timed, 2u), int64_t(kMostRounds));
  EXPECT_EQ(result.candidates[1].microseconds, 16) << "reported all the same";
}

TEST(Search, DropsWhatIsWrong) {
  TableBench bench({taking(10), taking(1), taking(9), taking(1), taking(8)});
  bench.rows[1].random = tensorOf({1, 2.0000002384185791});
  bench.rows[3].random = tensorOf({1, 2, 3});
  SearchResult result = llvm::cantFail(bench.search());
  EXPECT_EQ(result.winner, 4u);
  EXPECT_NE(result.candidates[1].dropped.find("output 0, element 1"),
            std::string::npos)
      << "the last bit counts: " << result.candidates[1].dropped;
  EXPECT_NE(result.candidates[3].dropped, "");
  EXPECT_EQ(llvm::count(bench.timed, 1u), 0);
  EXPECT_FALSE(result.candidates[1].microseconds);
}

TEST(Search, AnyNanIsNan) {
  TableBench bench({taking(10), taking(5)});
  bench.rows[0].random = tensorOf({NAN, 2});
  bench.rows[1].random = tensorOf({NAN, 2});
  bench.rows[1].random.setBits(0, 0xffc00001);
  EXPECT_EQ(llvm::cantFail(bench.search()).winner, 1u);
  // Integers of the same bits are not.
  bench.rows[0].random = tensorOf({1}, DType::I32);
  bench.rows[1].random = tensorOf({2}, DType::I32);
  EXPECT_EQ(llvm::cantFail(bench.search()).winner, 0u);
}

TEST(Search, ComparesOtherOrdersOnSimpleData) {
  TableBench bench({taking(10), taking(5)});
  bench.rows[1].order = "split k";
  bench.rows[1].random = tensorOf({1, 2.0000002384185791});
  EXPECT_EQ(llvm::cantFail(bench.search(1e9, /*isExact=*/true)).winner, 1u);
  bench.rows[1].simple = tensorOf({4});
  EXPECT_EQ(llvm::cantFail(bench.search(1e9, /*isExact=*/true)).winner, 0u);
}

// (1e-4) |x| + (1e-5) 2, where no data make sums exact.
TEST(Search, OtherOrdersMayBeCloseOnRandomData) {
  TableBench bench({taking(10), taking(5)});
  bench.rows[1].order = "split k";
  auto winnerWith = [&](double value) {
    bench.rows[1].random = tensorOf({1, value});
    return llvm::cantFail(bench.search()).winner;
  };
  EXPECT_EQ(winnerWith(2.0000002384185791), 1u);
  EXPECT_EQ(winnerWith(2.0002), 1u);
  EXPECT_EQ(winnerWith(2.0003), 0u);
  EXPECT_EQ(winnerWith(NAN), 0u);
  EXPECT_EQ(winnerWith(INFINITY), 0u);
  bench.rows[0].random = tensorOf({1, INFINITY});
  EXPECT_EQ(winnerWith(INFINITY), 1u);
  EXPECT_EQ(winnerWith(-INFINITY), 0u);
  bench.rows[0].random = tensorOf({1, 2}, DType::I32);
  bench.rows[1].random = tensorOf({1, 3}, DType::I32);
  EXPECT_EQ(llvm::cantFail(bench.search()).winner, 0u) << "of floats alone";
}

TEST(Search, VendorsAreComparedOnSpecialData) {
  TableBench bench({taking(10), taking(5)});
  bench.rows[1].order = "theirs";
  bench.rows[1].special = tensorOf({NAN, 0});
  EXPECT_EQ(llvm::cantFail(bench.search(1e9, /*isExact=*/true)).winner, 1u);
  bench.rows[1].isVendor = true;
  EXPECT_EQ(llvm::cantFail(bench.search(1e9, /*isExact=*/true)).winner, 0u);
  bench.rows[0].special = tensorOf({NAN, 0});
  EXPECT_EQ(llvm::cantFail(bench.search(1e9, /*isExact=*/true)).winner, 1u);
}

TEST(Search, KeepsTheBudget) {
  std::vector<Row> rows = {taking(10), taking(9), taking(5)};
  for (double seconds = 0; seconds < 60; ++seconds) {
    TableBench bench(rows);
    SearchResult result = llvm::cantFail(bench.search(seconds));
    // One step may have begun before; loading is one.
    EXPECT_LE(bench.clock, std::max(seconds + 2, bench.secondsOfLoad));
    EXPECT_EQ(result.isMeasured, result.timed() > 1) << seconds;
    if (!result.isMeasured) {
      EXPECT_EQ(result.winner, 0u);
    }
    for (const CandidateResult &candidate : result.candidates)
      EXPECT_TRUE(candidate.microseconds || !candidate.dropped.empty())
          << "each has a time or a reason";
  }
  TableBench bench(rows);
  EXPECT_EQ(llvm::cantFail(bench.search(60)).winner, 2u);
}

TEST(Search, DropsWhatFails) {
  TableBench bench({taking(10), taking(1), taking(1), taking(1), taking(8)});
  bench.rows[1].loadError = "does not compile";
  bench.rows[2].runError = "does not run";
  bench.rows[3].timeError = "does not run twice";
  SearchResult result = llvm::cantFail(bench.search());
  EXPECT_EQ(result.winner, 4u);
  EXPECT_EQ(result.candidates[1].dropped, "it failed: does not compile");
  EXPECT_EQ(result.candidates[2].dropped, "it failed: does not run");
  EXPECT_EQ(result.candidates[3].dropped, "it failed: does not run twice");
  // Without the model's choice there is nothing to compare with.
  for (std::string Row::*error : {&Row::loadError, &Row::timeError}) {
    TableBench broken({taking(10), taking(1)});
    broken.rows[0].*error = "broken";
    auto none = broken.search();
    EXPECT_FALSE(static_cast<bool>(none));
    EXPECT_NE(llvm::toString(none.takeError()).find("broken"),
              std::string::npos);
  }
}

TEST(Search, TellsWhatItIsAt) {
  TableBench bench({taking(10), taking(5)});
  Candidates task = bench.task();
  SearchOptions options;
  options.deadline = 1e9;
  size_t calls = 0, lastSettled = 0;
  std::optional<std::pair<size_t, double>> lastBest;
  options.progress = [&](size_t settled, unsigned, auto best) {
    EXPECT_GE(settled, lastSettled);
    ++calls, lastSettled = settled, lastBest = best;
  };
  llvm::cantFail(tune::search(task, bench, options));
  EXPECT_GT(calls, 2 * kFewestRounds);
  EXPECT_EQ(lastSettled, 2u);
  EXPECT_EQ(lastBest, std::pair(size_t(1), 5.0));
}
