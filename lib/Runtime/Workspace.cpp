//===- Workspace.cpp - offsets for temporaries ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Packs the temporaries of a program into one workspace. Two planners:
//
//  1. `planByTime` walks the steps once, takes the smallest free range that
//     fits when a temporary begins and gives it back when it ends. Free ranges
//     are kept by offset (to join neighbours) and by size (to find the best),
//     which makes it O(n log n).
//  2. `planBySize` places the largest first, each in the smallest gap between
//     those that live at the same time. It packs tighter, because a large
//     buffer never waits for small ones, but is quadratic, so it runs only on
//     programs of up to kBySizeLimit temporaries.
//
// The smaller result is taken. Both are deterministic.
//===----------------------------------------------------------------------===//
#include "Liveness.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

using namespace fusec::runtime;
using llvm::Error;

// 512 temporaries take planBySize at most about 10 ms; programs of one model
// layer have fewer than 100.
static constexpr size_t kBySizeLimit = 512;

namespace {
// A temporary to place: rounded size and life.
struct Item {
  size_t index;
  int64_t bytes;
  Interval life;
};

// Free ranges below `end`, found by offset or by size.
class Arena {
public:
  int64_t take(int64_t bytes);
  void give(int64_t offset, int64_t bytes);
  int64_t end = 0;

private:
  void insert(int64_t offset, int64_t bytes) {
    byOffset.emplace(offset, bytes);
    bySize.emplace(bytes, offset);
  }
  void erase(std::map<int64_t, int64_t>::iterator it) {
    bySize.erase({it->second, it->first});
    byOffset.erase(it);
  }
  std::map<int64_t, int64_t> byOffset;          // offset -> bytes
  std::set<std::pair<int64_t, int64_t>> bySize; // (bytes, offset)
};
} // namespace

int64_t Arena::take(int64_t bytes) {
  if (auto best = bySize.lower_bound({bytes, 0}); best != bySize.end()) {
    auto [size, offset] = *best;
    erase(byOffset.find(offset));
    if (size > bytes)
      insert(offset + bytes, size - bytes);
    return offset;
  }
  // Nothing fits: grow, using a free range at the very end if there is one.
  int64_t offset = end;
  if (!byOffset.empty()) {
    auto last = std::prev(byOffset.end());
    if (last->first + last->second == end) {
      offset = last->first;
      erase(last);
    }
  }
  end = offset + bytes;
  return offset;
}

void Arena::give(int64_t offset, int64_t bytes) {
  auto next = byOffset.lower_bound(offset);
  if (next != byOffset.end() && next->first == offset + bytes) {
    bytes += next->second;
    erase(next++);
  }
  if (next != byOffset.begin()) {
    auto before = std::prev(next);
    if (before->first + before->second == offset) {
      offset = before->first;
      bytes += before->second;
      erase(before);
    }
  }
  insert(offset, bytes);
}

// Larger items of one step are placed first; the index breaks ties.
static int64_t planByTime(llvm::ArrayRef<Item> items,
                          std::vector<int64_t> &offsets) {
  std::vector<size_t> begins(items.size()), ends(items.size());
  std::iota(begins.begin(), begins.end(), 0);
  std::iota(ends.begin(), ends.end(), 0);
  llvm::sort(begins, [&](size_t a, size_t b) {
    return std::tuple(items[a].life.first, items[b].bytes, a) <
           std::tuple(items[b].life.first, items[a].bytes, b);
  });
  llvm::sort(ends, [&](size_t a, size_t b) {
    return std::pair(items[a].life.last, a) < std::pair(items[b].life.last, b);
  });
  Arena arena;
  size_t ended = 0;
  for (size_t i : begins) {
    for (; items[ends[ended]].life.last < items[i].life.first; ++ended)
      arena.give(offsets[ends[ended]], items[ends[ended]].bytes);
    offsets[i] = arena.take(items[i].bytes);
  }
  return arena.end;
}

// The smallest gap of at least `bytes` between taken ranges sorted by offset;
// behind them all if there is none.
static int64_t bestGap(llvm::ArrayRef<std::pair<int64_t, int64_t>> taken,
                       int64_t bytes) {
  int64_t free = 0, best = -1, bestSize = INT64_MAX;
  for (auto [offset, size] : taken) {
    if (int64_t gap = offset - free; gap >= bytes && gap < bestSize) {
      best = free;
      bestSize = gap;
    }
    free = std::max(free, offset + size);
  }
  return best >= 0 ? best : free;
}

static int64_t planBySize(llvm::ArrayRef<Item> items,
                          std::vector<int64_t> &offsets) {
  std::vector<size_t> order(items.size());
  std::iota(order.begin(), order.end(), 0);
  llvm::sort(order, [&](size_t a, size_t b) {
    return std::pair(items[b].bytes, a) < std::pair(items[a].bytes, b);
  });
  int64_t end = 0;
  std::vector<std::pair<int64_t, int64_t>> taken;
  for (size_t n = 0; n < order.size(); ++n) {
    const Item &item = items[order[n]];
    taken.clear();
    for (size_t other : llvm::ArrayRef(order).take_front(n))
      if (items[other].life.meets(item.life))
        taken.emplace_back(offsets[other], items[other].bytes);
    llvm::sort(taken);
    offsets[order[n]] = bestGap(taken, item.bytes);
    end = std::max(end, offsets[order[n]] + item.bytes);
  }
  return end;
}

// The temporaries that need memory, with rounded sizes.
static llvm::Expected<std::vector<Item>> collect(const Program &program,
                                                 int64_t alignment) {
  std::vector<Interval> lives = temporaryIntervals(program);
  std::vector<Item> items;
  int64_t total = 0;
  for (auto [index, temporary] : llvm::enumerate(program.temporaries)) {
    if (temporary.bytes < 0)
      return llvm::createStringError(
          "temporary %zu: expected at least 0 bytes, found %lld", index,
          static_cast<long long>(temporary.bytes));
    if (temporary.bytes == 0 || !lives[index].used() || temporary.kept)
      continue;
    // The sum without any sharing fits, so no later sum can overflow.
    int64_t rounded;
    if (__builtin_add_overflow(temporary.bytes, alignment - 1, &rounded) ||
        __builtin_add_overflow(total, rounded & -alignment, &total))
      return llvm::createStringError(
          "workspace: temporaries together do not fit 63 bits");
    items.push_back({index, rounded & -alignment, lives[index]});
  }
  return items;
}

Error fusec::runtime::planWorkspace(Program &program, int64_t alignment) {
  if (alignment <= 0 || !llvm::isPowerOf2_64(alignment))
    return llvm::createStringError(
        "workspace: expected an alignment that is a power of two, found %lld",
        static_cast<long long>(alignment));
  llvm::Expected<std::vector<Item>> items = collect(program, alignment);
  if (!items)
    return items.takeError();

  std::vector<int64_t> offsets(items->size());
  int64_t end = planByTime(*items, offsets);
  if (items->size() <= kBySizeLimit) {
    std::vector<int64_t> other(items->size());
    if (int64_t otherEnd = planBySize(*items, other); otherEnd < end) {
      end = otherEnd;
      offsets = std::move(other);
    }
  }
  for (Temporary &temporary : program.temporaries)
    temporary.offset = 0;
  for (auto [item, offset] : llvm::zip_equal(*items, offsets))
    program.temporaries[item.index].offset = offset;
  program.workspaceBytes = end;
  program.keptBytes = 0;
  for (Temporary &temporary : program.temporaries) {
    if (!temporary.kept)
      continue;
    temporary.offset = program.keptBytes;
    if (__builtin_add_overflow(temporary.bytes,
                               program.keptBytes + alignment - 1,
                               &program.keptBytes))
      return llvm::createStringError(
          "workspace: kept temporaries together do not fit 63 bits");
    program.keptBytes &= -alignment;
  }
  return Error::success();
}
