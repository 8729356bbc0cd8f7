//===- WorkerWarp.cpp - functions of a whole warp -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lanes leave what they bring in a slot; the last one to arrive does the work
// of the warp and wakes the others. Slots alternate between two sets, so that
// a lane may arrive at the next function before the others have read theirs.
//===----------------------------------------------------------------------===//
#include "Numbers.h"
#include "Worker.h"

#include "llvm/Support/FormatVariadic.h"

#include <cmath>
#include <cstring>

using namespace fusec::runtime;
using namespace fusec::runtime::emulator;
using llvm::formatv;

/// A mask of the lanes that exist: the last warp may be partial.
uint32_t Worker::warpLanes(uint32_t warp) const {
  uint32_t lanes = std::min(count - warp * kWarpSize, kWarpSize);
  return lanes == kWarpSize ? ~0u : (1u << lanes) - 1;
}

/// Waits for all lanes of the warp and returns what they brought. The last
/// lane first calls `complete(lanes)`.
template <class Complete>
const LaneData *Worker::meet(Wait kind, const LaneData &mine, int32_t line,
                             Complete complete) {
  step(line);
  EmuThread &me = thread();
  auto number = static_cast<uint32_t>(me.ids.warp);
  WarpState &warp = block().warps[number];
  if (warp.arrived == 0) {
    warp.kind = kind;
    warp.line = line;
  } else if (warp.kind != kind || warp.line != line) {
    fatal(EmulatorFault::DivergentBarrier, line,
          formatv("a warp function, but other lanes of the warp wait at the "
                  "one in line {0}",
                  warp.line));
  }
  LaneData *lanes = warp.lanes[me.warpPhase++ % 2];
  lanes[me.ids.lane] = mine;
  warp.arrived |= 1u << me.ids.lane;
  uint32_t all = warpLanes(number);
  if (warp.arrived != all) {
    waitHere(kind);
    return lanes;
  }
  complete(lanes);
  warp.arrived = 0;
  for (uint32_t lane = 0; lane < kWarpSize; ++lane)
    if ((all >> lane & 1) && lane != static_cast<uint32_t>(me.ids.lane))
      makeReady(me.block->firstThread + number * kWarpSize + lane);
  return lanes;
}

void Worker::wantFullWarp(const char *what, int32_t line) {
  if (warpLanes(static_cast<uint32_t>(thread().ids.warp)) != ~0u)
    fatal(EmulatorFault::InvalidArgument, line,
          formatv("{0} in a warp of fewer than 32 threads", what));
}

void Worker::barrierWarp(int32_t line) {
  auto number = static_cast<uint32_t>(thread().ids.warp);
  meet(Wait::WarpBarrier, {}, line, [&](const LaneData *) {
    uint32_t members[kWarpSize];
    uint32_t lanes = llvm::popcount(warpLanes(number));
    for (uint32_t lane = 0; lane < lanes; ++lane)
      members[lane] = block().rank * count + number * kWarpSize + lane;
    clocks().join(llvm::ArrayRef<uint32_t>(members, lanes));
  });
}

u64 Worker::shuffle(int32_t kind, u64 value, int32_t arg, int32_t line) {
  LaneData mine = {};
  mine.value = value;
  const LaneData *lanes =
      meet(Wait::Shuffle, mine, line, [](const LaneData *) {});
  int32_t lane = thread().ids.lane, source = lane;
  switch (kind) {
  case FusecShflXor:
    source = lane ^ arg;
    break;
  case FusecShflIdx:
    source = arg & 31;
    break;
  case FusecShflDown:
    source = lane + arg;
    break;
  default:
    source = lane - arg;
    break;
  }
  // Past the end a lane keeps its own value.
  uint32_t all = warpLanes(static_cast<uint32_t>(thread().ids.warp));
  if (source < 0 || source > 31 || !(all >> source & 1))
    source = lane;
  return lanes[source].value;
}

uint32_t Worker::vote(bool predicate, int32_t line) {
  LaneData mine = {};
  mine.value = predicate;
  const LaneData *lanes = meet(Wait::Vote, mine, line, [](const LaneData *) {});
  uint32_t all = warpLanes(static_cast<uint32_t>(thread().ids.warp));
  uint32_t result = 0;
  for (uint32_t lane = 0; lane < kWarpSize; ++lane)
    if (all >> lane & 1)
      result |= static_cast<uint32_t>(lanes[lane].value) << lane;
  return result;
}

//===-- Tensor cores ------------------------------------------------------===//

namespace {
/// The operands of one m16n8 product, at most 32 deep. Sums of 8-bit integers
/// are exact in f64, too.
struct Tile {
  double a[16][32];
  double b[32][8];
};
} // namespace

static double tf32(uint32_t bits) {
  // The unit ignores the low 13 bits.
  bits &= ~0x1fffu;
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}

// PTX: a0 holds row g, a1 row g + 8, a2 and a3 the same rows in the upper half
// of k, where g = lane / 4 and t = lane % 4 selects the columns.
static void gather16(const LaneData *lanes, int32_t format, Tile &tile) {
  for (uint32_t lane = 0; lane < kWarpSize; ++lane) {
    uint32_t g = lane / 4, t = lane % 4;
    for (uint32_t r = 0; r < 4; ++r)
      for (uint32_t h = 0; h < 2; ++h)
        tile.a[g + r % 2 * 8][t * 2 + r / 2 * 8 + h] = decodeFloat(
            format, static_cast<uint16_t>(lanes[lane].a[r] >> (16 * h)));
    for (uint32_t r = 0; r < 2; ++r)
      for (uint32_t h = 0; h < 2; ++h)
        tile.b[t * 2 + r * 8 + h][g] = decodeFloat(
            format, static_cast<uint16_t>(lanes[lane].b[r] >> (16 * h)));
  }
}

static void gather32(const LaneData *lanes, Tile &tile) {
  for (uint32_t lane = 0; lane < kWarpSize; ++lane) {
    uint32_t g = lane / 4, t = lane % 4;
    for (uint32_t r = 0; r < 4; ++r)
      tile.a[g + r % 2 * 8][t + r / 2 * 4] = tf32(lanes[lane].a[r]);
    for (uint32_t r = 0; r < 2; ++r)
      tile.b[t + r * 4][g] = tf32(lanes[lane].b[r]);
  }
}

static double byteOf(uint32_t word, uint32_t place, bool isUnsigned) {
  auto bits = static_cast<uint8_t>(word >> (8 * place));
  return isUnsigned ? double(bits) : double(static_cast<int8_t>(bits));
}

// As for 16 bits, with four elements of k a word.
static void gather8(const LaneData *lanes, bool isUnsignedA, bool isUnsignedB,
                    Tile &tile) {
  for (uint32_t lane = 0; lane < kWarpSize; ++lane) {
    uint32_t g = lane / 4, t = lane % 4;
    for (uint32_t r = 0; r < 4; ++r)
      for (uint32_t h = 0; h < 4; ++h)
        tile.a[g + r % 2 * 8][t * 4 + r / 2 * 16 + h] =
            byteOf(lanes[lane].a[r], h, isUnsignedA);
    for (uint32_t r = 0; r < 2; ++r)
      for (uint32_t h = 0; h < 4; ++h)
        tile.b[t * 4 + r * 16 + h][g] =
            byteOf(lanes[lane].b[r], h, isUnsignedB);
  }
}

/// d += a * b: products and their sum in f64, then one rounding to f32, or
/// modulo 2^32.
static void multiply(const LaneData *lanes, const Tile &tile, uint32_t depth,
                     bool isInteger) {
  for (uint32_t lane = 0; lane < kWarpSize; ++lane)
    for (uint32_t r = 0; r < 4; ++r) {
      uint32_t row = lane / 4 + r / 2 * 8, column = lane % 4 * 2 + r % 2;
      double sum = 0;
      for (uint32_t k = 0; k < depth; ++k)
        sum += tile.a[row][k] * tile.b[k][column];
      if (isInteger) {
        auto *d = static_cast<uint32_t *>(lanes[lane].d);
        d[r] += static_cast<uint32_t>(static_cast<int64_t>(sum));
      } else {
        auto *d = static_cast<float *>(lanes[lane].d);
        d[r] = static_cast<float>(d[r] + sum);
      }
    }
}

void Worker::mma(int32_t kind, void *d, const uint32_t *a, const uint32_t *b,
                 int32_t line) {
  LaneData mine = {};
  mine.d = d, mine.a = a, mine.b = b;
  wantFullWarp("an mma", line);
  meet(Wait::Mma, mine, line, [&](const LaneData *lanes) {
    Tile tile;
    bool isInteger = kind >= FusecMmaI8;
    if (isInteger)
      gather8(lanes, kind == FusecMmaU8I8 || kind == FusecMmaU8,
              kind == FusecMmaI8U8 || kind == FusecMmaU8, tile);
    else if (kind == FusecMmaTF32)
      gather32(lanes, tile);
    else
      gather16(lanes, kind == FusecMmaF16 ? FusecF16 : FusecBF16, tile);
    uint32_t depth = isInteger ? 32 : kind == FusecMmaTF32 ? 8 : 16;
    multiply(lanes, tile, depth, isInteger);
  });
}

void Worker::ldmatrix(uint32_t *r, int32_t tiles, bool transposed,
                      FusecEmuShared at, int32_t line) {
  LaneData mine = {};
  mine.r = r, mine.at = at;
  wantFullWarp("an ldmatrix", line);
  uint32_t first = thread().number - static_cast<uint32_t>(thread().ids.lane);
  meet(Wait::Ldmatrix, mine, line, [&](const LaneData *lanes) {
    for (int32_t tile = 0; tile < tiles; ++tile) {
      uint16_t rows[8][8];
      for (uint32_t row = 0; row < 8; ++row) {
        uint32_t from = static_cast<uint32_t>(tile) * 8 + row;
        readShared(rows[row], block(), lanes[from].at, 8,
                   *threads[first + from], line);
      }
      for (uint32_t lane = 0; lane < kWarpSize; ++lane) {
        uint32_t i = lane / 4, j = lane % 4 * 2;
        uint32_t low = transposed ? rows[j][i] : rows[i][j];
        uint32_t high = transposed ? rows[j + 1][i] : rows[i][j + 1];
        lanes[lane].r[tile] = low | high << 16;
      }
    }
  });
}

void Worker::stmatrix(FusecEmuShared at, const uint32_t *r, int32_t tiles,
                      bool transposed, int32_t line) {
  LaneData mine = {};
  mine.a = r, mine.at = at;
  wantFullWarp("an stmatrix", line);
  checkPoison(r, static_cast<uint32_t>(tiles) * 4, line);
  uint32_t first = thread().number - static_cast<uint32_t>(thread().ids.lane);
  meet(Wait::Stmatrix, mine, line, [&](const LaneData *lanes) {
    for (int32_t tile = 0; tile < tiles; ++tile) {
      uint16_t rows[8][8];
      for (uint32_t lane = 0; lane < kWarpSize; ++lane) {
        uint32_t i = lane / 4, j = lane % 4 * 2, word = lanes[lane].a[tile];
        (transposed ? rows[j][i] : rows[i][j]) = static_cast<uint16_t>(word);
        (transposed ? rows[j + 1][i] : rows[i][j + 1]) =
            static_cast<uint16_t>(word >> 16);
      }
      // Element by element: each lane writes two elements of a row, and it is
      // its fence that counts.
      for (uint32_t lane = 0; lane < kWarpSize; ++lane) {
        uint32_t i = lane / 4, j = lane % 4 * 2;
        const FusecEmuShared &row = lanes[tile * 8 + (transposed ? j : i)].at;
        if (lane % 4 == 0 &&
            !checkShared("write", lanes[tile * 8 + i].at, 8, 16,
                         *threads[first + tile * 8 + i], line))
          return;
        FusecEmuShared cell = row;
        cell.index += transposed ? i : j;
        writeShared(block(), cell,
                    &rows[transposed ? j : i][transposed ? i : j], 1,
                    *threads[first + lane], line);
        cell = transposed ? lanes[tile * 8 + j + 1].at : row;
        cell.index += transposed ? i : j + 1;
        writeShared(block(), cell,
                    &rows[transposed ? j + 1 : i][transposed ? i : j + 1], 1,
                    *threads[first + lane], line);
      }
    }
  });
}

bool Worker::elect(int32_t line) {
  meet(Wait::Elect, {}, line, [](const LaneData *) {});
  return thread().ids.lane == 0;
}

/// The counts of a warpgroup's warps are not added up against the file: ptxas
/// and the launch check them.
void Worker::registers(int32_t, bool, int32_t line) {
  meet(Wait::Registers, {}, line, [](const LaneData *) {});
}
