//===- WorkerIm2col.cpp - copies by maps of convolution windows -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A copy takes pixels from a first one on, step by step along w; behind the box
// it goes on at the box's start in the next row, plane, image. Each pixel is
// moved by the offset of the instruction (a place in the filter) and is filled
// in where that is outside the tensor, the box notwithstanding. In shared
// memory lies pixel after pixel, the 16-byte units exchanged by the swizzle.
//===----------------------------------------------------------------------===//
#include "TensorMap.h"
#include "Worker.h"
#include "fusec/Runtime/Im2colMap.h"

#include "llvm/Support/FormatVariadic.h"

#include <cstring>

using namespace fusec::runtime;
using namespace fusec::runtime::emulator;
using llvm::formatv;

FusecTensorMap emulator::makeIm2colMap(const Im2colMapArg &arg,
                                       const void *base) {
  TensorMapArg pixel = arg.tensor;
  pixel.box.assign(pixel.dims.size(), 1);
  FusecTensorMap map = makeTensorMap(pixel, base);
  map.im2col = 1;
  map.channels = static_cast<u16>(arg.channels);
  map.pixels = static_cast<u16>(arg.pixels);
  for (size_t i = 0; i < arg.lower.size(); ++i) {
    map.lower[i] = static_cast<i16>(arg.lower[i]);
    map.upper[i] = static_cast<i16>(arg.upper[i]);
  }
  return map;
}

namespace {
/// The pixels of one copy.
struct Pixels {
  FusecTensorMap map;
  int64_t first[5] = {0, 0, 0, 0, 0}, offsets[5] = {0, 0, 0, 0, 0};
  uint32_t target; // in shared memory, before the swizzle

  Pixels(const FusecTensorMap &map, const int32_t *coordinates,
         const int32_t *into, uint32_t target)
      : map(map), target(target) {
    for (int d = 0; d < map.rank; ++d)
      first[d] = coordinates[d];
    for (int d = 1; d + 1 < map.rank; ++d)
      offsets[d] = into ? into[d - 1] : 0;
  }
  uint32_t pixelBytes() const {
    return uint32_t(map.channels) * map.elementBytes;
  }
  uint32_t bytes() const { return pixelBytes() * map.pixels; }
  int64_t boxEnd(int d) const {
    return int64_t(map.dims[d]) + map.upper[d - 1];
  }

  /// Calls visit(number, address of the tensor's pixel or 0 if outside).
  template <class Visit>
  void forEach(Visit visit) const {
    int64_t at[5];
    std::copy(std::begin(first), std::end(first), at);
    for (uint32_t number = 0; number < map.pixels; ++number) {
      bool inside = true;
      u64 address = map.base;
      for (int d = 1; d < map.rank; ++d) {
        int64_t c = at[d] + offsets[d];
        inside &= c >= 0 && c < int64_t(map.dims[d]);
        address += map.strides[d - 1] * u64(c);
      }
      visit(number, inside ? address : 0);
      advance(at);
    }
  }
  /// The channels of a pixel inside the tensor: first, count (of the copy's).
  std::pair<uint32_t, uint32_t> inside() const {
    int64_t begin = std::clamp<int64_t>(-first[0], 0, map.channels);
    int64_t end = std::clamp<int64_t>(int64_t(map.dims[0]) - first[0], begin,
                                      map.channels);
    return {uint32_t(begin), uint32_t(end - begin)};
  }
  /// The channels that a store writes: whole units of 16 bytes, see
  /// Box::stored.
  std::pair<uint32_t, uint32_t> stored() const {
    auto [begin, count] = inside();
    uint32_t unit = 16 / map.elementBytes;
    auto end = static_cast<uint32_t>(first[0] + begin + count);
    if (count != 0)
      count =
          std::min(map.channels - begin, count + (unit - end % unit) % unit);
    return {begin, count};
  }
  u64 address(u64 pixel, uint32_t channel) const {
    return pixel + u64(first[0] + channel) * map.elementBytes;
  }
  uint32_t place(uint32_t number, uint32_t byte) const {
    return swizzled(target + number * pixelBytes() + byte, map.swizzle);
  }

private:
  void advance(int64_t (&at)[5]) const {
    int images = map.rank - 1;
    for (int d = 1; d < images; ++d) {
      at[d] += map.steps[d];
      if (at[d] < boxEnd(d))
        return;
      at[d] = map.lower[d - 1];
    }
    ++at[images];
  }
};
} // namespace

/// Copies pixels to shared memory.
static void loadPixels(const Pixels &pixels, uint8_t *shared) {
  const FusecTensorMap &map = pixels.map;
  std::vector<uint8_t> bytes(pixels.pixelBytes());
  auto [first, count] = pixels.inside();
  pixels.forEach([&, first = first, count = count](uint32_t number, u64 pixel) {
    for (uint32_t i = 0; i < map.channels; ++i)
      fillElement(&bytes[i * map.elementBytes], map);
    if (pixel && count)
      copyUnits(&bytes[first * map.elementBytes],
                reinterpret_cast<const uint8_t *>(pixels.address(pixel, first)),
                size_t(count) * map.elementBytes);
    for (uint32_t byte = 0; byte < bytes.size(); byte += 16)
      std::memcpy(shared + pixels.place(number, byte), &bytes[byte],
                  std::min<size_t>(16, bytes.size() - byte));
  });
}

/// Whether the first pixel is one of the box and the offsets fit the
/// instruction.
bool Worker::checkPixels(const FusecTensorMap *map, const int32_t *coordinates,
                         const int32_t *offsets, int32_t rank, int32_t line) {
  if (!checkMap(map, rank, /*im2col=*/true, line))
    return false;
  // Offsets have 16, 8 or 5 bits.
  int32_t limit = rank == 3 ? 1 << 16 : rank == 4 ? 1 << 8 : 1 << 5;
  for (int d = 1; d + 1 < rank; ++d) {
    int64_t low = map->lower[d - 1];
    int64_t end = int64_t(map->dims[d]) + map->upper[d - 1];
    if (coordinates[d] < low || coordinates[d] >= end) {
      fault(EmulatorFault::InvalidArgument, line,
            formatv("an im2col copy from {0} in dimension {1}: expected a "
                    "pixel of the map's box [{2}, {3})",
                    coordinates[d], d, low, end));
      return false;
    }
    if (offsets && (offsets[d - 1] < 0 || offsets[d - 1] >= limit)) {
      fault(EmulatorFault::InvalidArgument, line,
            formatv("an im2col copy with offset {0} in dimension {1}: expected "
                    "0 to {2}",
                    offsets[d - 1], d, limit - 1));
      return false;
    }
  }
  return true;
}

void Worker::im2colLoad(FusecEmuShared to, const FusecTensorMap *map,
                        const int32_t *coordinates, const int32_t *offsets,
                        int32_t rank, FusecEmuShared barrier, uint32_t mask,
                        int32_t line) {
  step(line);
  if (!checkPixels(map, coordinates, offsets, rank, line))
    return;
  uint32_t target = to.base + uint32_t(to.index) * to.elementBytes;
  Pixels pixels(*map, coordinates, offsets, target);
  if (!checkBulk("im2col copy", to, pixels.bytes(), 128, line))
    return;
  auto [first, count] = pixels.inside();
  bool fine = true;
  pixels.forEach([&, first = first, count = count](uint32_t, u64 pixel) {
    if (!pixel || !count || !fine)
      return;
    fine =
        checkGlobal("im2col copy", map->base,
                    static_cast<i64>(pixels.address(pixel, first) - map->base),
                    u64(count) * map->elementBytes, true, false, line,
                    map->elementBytes) != nullptr;
  });
  if (!fine)
    return;
  for (const Arrival &arrival : arrivals(barrier, mask, line))
    land(arrival, target, pixels.bytes(), line,
         [pixels](uint8_t *shared) { loadPixels(pixels, shared); });
}

void Worker::im2colStore(const FusecTensorMap *map, FusecEmuShared from,
                         const int32_t *coordinates, int32_t rank,
                         int32_t line) {
  step(line);
  if (!checkPixels(map, coordinates, nullptr, rank, line))
    return;
  // An illegal instruction on an H200, also where the first pixels are inside.
  for (int d = 0; d + 2 < rank; ++d)
    if (map->lower[d] < 0)
      return fault(EmulatorFault::InvalidArgument, line,
                   formatv("an im2col store by a map whose box begins at {0} "
                           "in dimension {1}: expected none below 0",
                           map->lower[d], d + 1));
  uint32_t source = from.base + uint32_t(from.index) * from.elementBytes;
  Pixels pixels(*map, coordinates, nullptr, source);
  if (!checkBulk("im2col store", from, pixels.bytes(), 128, line))
    return;
  BulkStore store;
  store.offset = source;
  store.bytes = pixels.bytes();
  store.line = line;
  auto [first, count] = pixels.stored();
  pixels.forEach([&, first = first, count = count](uint32_t number, u64 pixel) {
    if (!pixel)
      return;
    // Units of 16 bytes stay together in shared memory.
    uint32_t size = map->elementBytes, most = 16 / size;
    for (uint32_t i = first; i < first + count;) {
      uint32_t n = std::min(most - i % most, first + count - i);
      if (uint8_t *to = checkGlobal(
              "im2col store", map->base,
              static_cast<i64>(pixels.address(pixel, i) - map->base), n * size,
              false, true, line, size))
        store.pieces.push_back({to, pixels.place(number, i * size), n * size});
      i += n;
    }
  });
  addStore(std::move(store));
}
