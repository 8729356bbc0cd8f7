//===- ChooseGroups.h - which groups to merge -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Private to lib/Fusion. Greedy choice: a priority queue of pairs of groups by
// the µs that merging saves. A pair is merged if no cycle arises, the union has
// a legal shape and its estimated time is no more than the sum of the two.
//
// Why this is near-linear: pairs of equal worth go smallest first, so chains
// merge like a balanced tree and every op is analysed O(log max-ops) times;
// groups of plain element-wise ops of one shape merge without analysis; a pair
// whose groups grew is queued again only after doubling; a refusal that further
// merging cannot lift is final, others are retried a bounded number of times.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_FUSION_CHOOSEGROUPS_H
#define FUSEC_LIB_FUSION_CHOOSEGROUPS_H

#include "PlanGraph.h"
#include "fusec/Fusion/FormGroups.h"
#include <queue>

namespace fusec::fusion {

class GroupChooser {
public:
  GroupChooser(PlanGraph &plan, analysis::FactTable &facts,
               const FormGroupsOptions &options);

  /// Merges groups of `plan` until nothing more pays.
  void run();
  /// Tries once more what small groups of `nodes` were refused: since then they
  /// have changed by other means.
  void retry(llvm::ArrayRef<unsigned> nodes);

  /// Tries to merge the groups of an edge that has come since `run`.
  void offer(unsigned producer, unsigned consumer);

  /// The last reason why the groups of two nodes were not merged; null if the
  /// pair never came up. For use when the partition is final.
  const analysis::Refusal *refusalOf(unsigned a, unsigned b);

  /// Groups' ops and outputs as analyzeRegion wants them.
  struct Union {
    llvm::SmallVector<mlir::Operation *> ops;
    llvm::SmallVector<mlir::Value> outputs;
  };
  Union unite(llvm::ArrayRef<unsigned> ids);
  /// Whether `all`, which are the ops of group `reader` and copies of ops of
  /// group `producer`, have a legal shape and take no longer than the two.
  bool mayCopy(const Union &all, unsigned reader, unsigned producer);
  /// Time of the kernel of `all`, us; none if it has no legal shape.
  std::optional<double> timeOf(const Union &all);
  /// Time of the kernel of the group with the name `group`, us.
  double timeOf(unsigned group);
  /// Whether the group has a contraction, or rows that are reduced without one.
  bool hasContraction(unsigned group) const { return groups[group].hero; }
  bool hasRowsAlone(unsigned group) const {
    return groups[group].row && !groups[group].hero && !groups[group].hasWindow;
  }
  /// To be told when a group has got copies.
  void forgetTime(unsigned group) {
    groups[plan.groups.find(group)].time.reset();
  }
  /// Whether a group may take further ops: not a kernel of its own.
  bool acceptsCopies(unsigned group);
  const FormGroupsOptions &getOptions() const { return options; }
  /// Time that fusing the edge can save at most, µs.
  double edgeSaving(unsigned producer, unsigned consumer) const;

  uint64_t attempts = 0, analyzedOps = 0;

private:
  struct Pair {
    double saving;
    unsigned size;
    unsigned a, b; // nodes
    unsigned tries;
    bool operator<(const Pair &other) const {
      return std::make_tuple(-saving, size, a, b) >
             std::make_tuple(-other.saving, other.size, other.a, other.b);
    }
  };
  struct Group {
    unsigned numOps = 1;
    /// Upper bound of inputs plus outputs.
    unsigned numBuffers = 0;
    /// All ops plain with the loops `shape`.
    bool isPlain = false;
    llvm::ArrayRef<int64_t> shape;
    bool isOpaque = false, hasSearch = false, hasReduction = false,
         hasWindow = false;
    /// The first contraction of the group, and whether it has two.
    const analysis::OpFacts *hero = nullptr;
    bool isPair = false;
    /// The first reduction of the group.
    const analysis::OpFacts *row = nullptr;
    std::optional<double> time;
    llvm::SmallVector<Pair, 0> refused;
  };
  PlanGraph &plan;
  analysis::FactTable &facts;
  const FormGroupsOptions &options;
  analysis::CostModel model;
  analysis::RegionLimits limits;
  llvm::SmallVector<Group, 0> groups;
  std::priority_queue<Pair> queue;
  std::vector<std::tuple<unsigned, unsigned, analysis::Refusal>> refusals;
  llvm::DenseMap<std::pair<unsigned, unsigned>, unsigned> lastRefusal;
  size_t numMerges = 0;

  void initGroup(unsigned node);
  void push(Pair pair);
  void pushEdges();
  void pushSiblings();
  void pushPairs();
  void pushStatistics();
  /// True if many groups read `value`, which is much smaller than their loops
  /// or `isCopied` into each of them.
  bool isSmallForMany(mlir::Value value, llvm::ArrayRef<unsigned> readers,
                      bool isCopied);
  void drain();
  void attempt(Pair pair);
  void refuse(const Pair &pair, analysis::Refusal why);
  void mergeGroups(unsigned a, unsigned b);
  std::optional<analysis::Refusal> check(unsigned a, unsigned b,
                                         std::optional<double> &time);
  std::optional<analysis::Refusal> quickCheck(unsigned a, unsigned b);
  std::optional<analysis::Refusal> checkSize(unsigned a, unsigned b);
};

} // namespace fusec::fusion

#endif // FUSEC_LIB_FUSION_CHOOSEGROUPS_H
