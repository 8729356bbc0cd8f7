//===- Clocks.cpp - the order of events in a cluster ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Clocks.h"

#include <algorithm>

using namespace fusec::runtime::emulator;

static void mergeInto(std::vector<uint32_t> &into,
                      const std::vector<uint32_t> &from) {
  if (into.size() < from.size())
    into.resize(from.size(), 0);
  for (size_t i = 0; i < from.size(); ++i)
    into[i] = std::max(into[i], from[i]);
}

bool Clocks::start(uint32_t blocks, uint32_t threadsOfBlock) {
  uint32_t latest = base;
  for (uint32_t when : clock)
    latest = std::max(latest, when);
  bool restart = latest > 0x7fffffffu;
  base = restart ? 0 : latest;
  blockCount = blocks;
  perBlock = threadsOfBlock;
  threadCount = blocks * threadsOfBlock;
  clock.assign(threadCount, base + 1);
  everyone.assign(threadCount, base);
  fenced.assign(threadCount, base);
  released.assign(threadCount, base);
  everyoneVersion.assign(blocks, 1);
  if (usesKnowledge || knowledge.size() != threadCount)
    knowledge.assign(threadCount, nullptr);
  usesKnowledge = false;
  mergedA = mergedB = mergedResult = nullptr;
  return restart;
}

uint32_t Clocks::addAgent() {
  clock.push_back(base + 1);
  everyone.push_back(base);
  return static_cast<uint32_t>(clock.size() - 1);
}

void Clocks::joinBlock(uint32_t block) {
  uint32_t first = block * perBlock, end = first + perBlock;
  ++everyoneVersion[block];
  if (usesKnowledge) {
    // What any of them learnt from elsewhere, all of them know now.
    std::vector<uint32_t> merged;
    Knowledge last;
    bool all = true;
    for (uint32_t t = first; t < end; ++t) {
      all &= knowledge[t] == knowledge[first];
      if (knowledge[t] && knowledge[t] != last) {
        mergeInto(merged, *knowledge[t]);
        last = knowledge[t];
      }
    }
    if (!all) {
      auto shared =
          std::make_shared<const std::vector<uint32_t>>(std::move(merged));
      for (uint32_t t = first; t < end; ++t)
        knowledge[t] = shared;
    }
  }
  for (uint32_t t = first; t < end; ++t)
    everyone[t] = clock[t]++;
}

void Clocks::mergeThread(uint32_t thread, std::vector<uint32_t> &into,
                         Knowledge &last) const {
  const Knowledge &row = knowledge[thread];
  if (!row || row == last)
    return;
  mergeInto(into, *row);
  last = row;
}

void Clocks::join(llvm::ArrayRef<uint32_t> members) {
  usesKnowledge = true;
  std::vector<uint32_t> merged(clock.size(), 0);
  Knowledge last;
  for (uint32_t t : members)
    mergeThread(t, merged, last);
  for (uint32_t t : members)
    merged[t] = clock[t]++;
  auto shared =
      std::make_shared<const std::vector<uint32_t>>(std::move(merged));
  for (uint32_t t : members)
    knowledge[t] = shared;
}

void Clocks::release(uint32_t thread, Gathered &into) {
  usesKnowledge = true;
  if (into.known.size() < clock.size())
    into.known.resize(clock.size(), 0);
  mergeThread(thread, into.known, into.last);
  // Other blocks do not see `everyone`, so it goes along.
  uint32_t block = blockOf(thread);
  if (into.everyoneOf.size() < blockCount)
    into.everyoneOf.resize(blockCount, 0);
  if (into.everyoneOf[block] != everyoneVersion[block]) {
    into.everyoneOf[block] = everyoneVersion[block];
    for (uint32_t t = block * perBlock; t < (block + 1) * perBlock; ++t)
      into.known[t] = std::max(into.known[t], everyone[t]);
  }
  into.known[thread] = tick(thread);
}

void Clocks::releaseAgent(uint32_t agent, Gathered &into) {
  if (into.known.size() < clock.size())
    into.known.resize(clock.size(), 0);
  into.known[agent] = tick(agent);
}

void Clocks::acquire(uint32_t thread, const Knowledge &from) {
  if (!from || knowledge[thread] == from)
    return;
  usesKnowledge = true;
  Knowledge &mine = knowledge[thread];
  if (!mine) {
    mine = from;
    return;
  }
  if (mergedA != mine || mergedB != from) {
    std::vector<uint32_t> merged = *mine;
    mergeInto(merged, *from);
    mergedA = mine;
    mergedB = from;
    mergedResult =
        std::make_shared<const std::vector<uint32_t>>(std::move(merged));
  }
  mine = mergedResult;
}

void Clocks::learn(uint32_t thread, uint32_t agent, uint32_t when) {
  if (knows(knowledge[thread], agent, when))
    return;
  usesKnowledge = true;
  const Knowledge &mine = knowledge[thread];
  // The same addition by the neighbours gives the same copy.
  if (mergedA != mine || mergedB || !knows(mergedResult, agent, when)) {
    std::vector<uint32_t> merged =
        mine ? *mine : std::vector<uint32_t>(clock.size(), 0);
    if (merged.size() < clock.size())
      merged.resize(clock.size(), 0);
    merged[agent] = std::max(merged[agent], when);
    mergedA = mine;
    mergedB = nullptr;
    mergedResult =
        std::make_shared<const std::vector<uint32_t>>(std::move(merged));
  }
  knowledge[thread] = mergedResult;
}

void Clocks::releaseToCluster(uint32_t thread) {
  uint32_t first = blockOf(thread) * perBlock;
  const Knowledge &row = knowledge[thread];
  for (uint32_t t = first; t < first + perBlock; ++t) {
    uint32_t known = everyone[t];
    if (row && t < row->size())
      known = std::max(known, (*row)[t]);
    released[t] = std::max(released[t], known);
  }
  released[thread] = clock[thread];
}
