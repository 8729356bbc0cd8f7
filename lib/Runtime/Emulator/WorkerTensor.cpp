//===- WorkerTensor.cpp - copies by tensor maps ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A box of a tensor lies in shared memory row by row, the innermost dimension
// first, its 16-byte units exchanged by the map's swizzle. Elements outside the
// tensor are filled in, and not stored.
//===----------------------------------------------------------------------===//
#include "TensorMap.h"
#include "Worker.h"

#include "llvm/Support/FormatVariadic.h"

#include <cstring>

using namespace fusec::runtime;
using namespace fusec::runtime::emulator;
using llvm::formatv;

//===-- Maps --------------------------------------------------------------===//

FusecTensorMap emulator::makeTensorMap(const TensorMapArg &arg,
                                       const void *base) {
  FusecTensorMap map = {};
  map.magic = kFusecTensorMap;
  map.base = reinterpret_cast<u64>(base) + static_cast<u64>(arg.byteOffset);
  map.rank = static_cast<u8>(arg.dims.size());
  map.elementBytes = static_cast<u8>(byteSize(arg.dtype));
  map.swizzle = static_cast<u8>(arg.swizzle);
  map.fillNan = arg.fill == TensorMapArg::Fill::Nan;
  map.roundsToTf32 = arg.roundsToTf32;
  for (size_t d = 0; d < arg.dims.size(); ++d) {
    map.dims[d] = static_cast<u32>(arg.dims[d]);
    map.box[d] = static_cast<u16>(arg.box[d]);
    map.steps[d] = static_cast<u8>(arg.steps.empty() ? 1u : arg.steps[d]);
    if (d != 0)
      map.strides[d - 1] = static_cast<u64>(arg.strides[d - 1]);
  }
  return map;
}

void emulator::copyUnits(uint8_t *to, const uint8_t *from, size_t bytes) {
  auto unit = [&]<class T>(T) {
    T value =
        __atomic_load_n(reinterpret_cast<const T *>(from), __ATOMIC_RELAXED);
    __atomic_store_n(reinterpret_cast<T *>(to), value, __ATOMIC_RELAXED);
    to += sizeof(T), from += sizeof(T), bytes -= sizeof(T);
  };
  auto address =
      reinterpret_cast<uintptr_t>(to) | reinterpret_cast<uintptr_t>(from);
  while (bytes >= 8 && address % 8 == 0)
    unit(u64());
  while (bytes >= 4 && address % 4 == 0)
    unit(uint32_t());
  while (bytes >= 2 && address % 2 == 0)
    unit(uint16_t());
  while (bytes != 0)
    unit(uint8_t());
}

bool Worker::checkMap(const FusecTensorMap *map, int32_t rank, bool im2col,
                      int32_t line) {
  if (map->magic != kFusecTensorMap) {
    fault(EmulatorFault::InvalidArgument, line,
          "the tensor map is none that the runtime made");
    return false;
  }
  if (bool(map->im2col) != im2col) {
    fault(EmulatorFault::InvalidArgument, line,
          formatv("{0} copy by {1} map", im2col ? "an im2col" : "a tiled",
                  im2col ? "a tiled" : "an im2col"));
    return false;
  }
  if (map->rank == rank)
    return true;
  fault(EmulatorFault::InvalidArgument, line,
        formatv("{0} coordinates for a tensor map of {1} dimensions", rank,
                map->rank));
  return false;
}

bool Worker::checkPlace(const FusecTensorMap *map, const int32_t *coordinates,
                        bool isStore, int32_t line) {
  // Each is an illegal instruction on an H200 (gpu_parity_sm90.cu).
  if (coordinates[0] * int64_t(map->elementBytes) % 16 != 0) {
    fault(EmulatorFault::InvalidArgument, line,
          formatv("a tensor copy from element {0} of {1} bytes: expected whole "
                  "units of 16 bytes",
                  coordinates[0], map->elementBytes));
    return false;
  }
  for (int d = 0; isStore && d < map->rank; ++d)
    if (coordinates[d] < 0) {
      fault(EmulatorFault::InvalidArgument, line,
            formatv("a tensor store from {0} in dimension {1}: expected none "
                    "below 0",
                    coordinates[d], d));
      return false;
    }
  return true;
}

namespace {
/// A box at its place in a tensor.
struct Box {
  FusecTensorMap map;
  int64_t at[5] = {0, 0, 0, 0, 0};
  uint32_t target; // in shared memory, before the swizzle

  Box(const FusecTensorMap &map, const int32_t *coordinates, uint32_t target)
      : map(map), target(target) {
    for (int d = 0; d < map.rank; ++d)
      at[d] = coordinates[d];
  }
  /// Elements of the box along a dimension: steps leave some out.
  uint32_t size(int d) const {
    return d < map.rank ? (map.box[d] + map.steps[d] - 1u) / map.steps[d] : 1;
  }
  uint32_t rowBytes() const { return size(0) * map.elementBytes; }
  uint32_t rows() const { return size(1) * size(2) * size(3) * size(4); }
  uint32_t bytes() const { return rowBytes() * rows(); }

  /// Calls visit(row number, address of the tensor's row or 0 if outside).
  template <class Visit>
  void forEachRow(Visit visit) const {
    uint32_t index[5] = {};
    for (uint32_t row = 0; row < rows(); ++row) {
      bool inside = true;
      u64 address = map.base;
      for (int d = 1; d < map.rank; ++d) {
        int64_t c = at[d] + int64_t(index[d]) * map.steps[d];
        inside &= c >= 0 && c < int64_t(map.dims[d]);
        address += map.strides[d - 1] * u64(c);
      }
      visit(row, inside ? address : 0);
      for (int d = 1; d < 5 && ++index[d] == size(d); ++d)
        index[d] = 0;
    }
  }
  /// The elements of a row inside the tensor: first, count (of the box's).
  std::pair<uint32_t, uint32_t> inside() const {
    int64_t first = 0, end = size(0);
    while (first < end && at[0] + first * map.steps[0] < 0)
      ++first;
    while (end > first &&
           at[0] + (end - 1) * map.steps[0] >= int64_t(map.dims[0]))
      --end;
    return {uint32_t(first), uint32_t(end - first)};
  }
  /// The elements that a store writes. Hardware stores whole units of 16 bytes
  /// of a row: the end of the last one also outside the tensor.
  std::pair<uint32_t, uint32_t> stored() const {
    auto [first, count] = inside();
    if (count == 0)
      return {first, count};
    uint32_t unit = 16 / map.elementBytes;
    auto end = static_cast<uint32_t>(at[0] + first + count);
    return {first,
            std::min(size(0) - first, count + (unit - end % unit) % unit)};
  }
  /// Of element i of the row that starts at `row`.
  u64 address(u64 row, uint32_t i) const {
    return row + u64(at[0] + int64_t(i) * map.steps[0]) * map.elementBytes;
  }
  uint32_t place(uint32_t row, uint32_t byte) const {
    return swizzled(target + row * rowBytes() + byte, map.swizzle);
  }
};
} // namespace

void emulator::fillElement(uint8_t *to, const FusecTensorMap &map) {
  // The same two bytes again and again, as an H200 fills.
  if (map.fillNan)
    for (uint32_t byte = 0; byte < map.elementBytes; ++byte)
      to[byte] = byte % 2 ? 0x7f : 0xf7;
  else
    std::memset(to, 0, map.elementBytes);
}

/// Rounds an f32 to the 11 digits of TF32 as the copy engine does: ties to
/// even, the largest finite numbers to infinity, denormals kept, one NaN.
static void roundToTf32(uint8_t *at) {
  uint32_t bits;
  std::memcpy(&bits, at, 4);
  if ((bits & 0x7f800000u) != 0x7f800000u)
    bits += 0xfffu + (bits >> 13 & 1);
  else if (bits & 0x7fffffu)
    bits = 0x7fffffffu;
  bits &= ~0x1fffu;
  std::memcpy(at, &bits, 4);
}

/// Copies a box to shared memory.
static void loadBox(const Box &box, uint8_t *shared) {
  const FusecTensorMap &map = box.map;
  std::vector<uint8_t> row(box.rowBytes());
  auto [first, count] = box.inside();
  box.forEachRow([&](uint32_t number, u64 address) {
    for (uint32_t i = 0; i < box.size(0); ++i)
      fillElement(&row[i * map.elementBytes], map);
    if (address && count) {
      uint8_t *to = &row[first * map.elementBytes];
      if (map.steps[0] == 1)
        copyUnits(
            to, reinterpret_cast<const uint8_t *>(box.address(address, first)),
            size_t(count) * map.elementBytes);
      else
        for (uint32_t i = first; i < first + count; ++i)
          copyUnits(&row[i * map.elementBytes],
                    reinterpret_cast<const uint8_t *>(box.address(address, i)),
                    map.elementBytes);
    }
    if (map.roundsToTf32)
      for (uint32_t byte = 0; byte < row.size(); byte += 4)
        roundToTf32(&row[byte]);
    for (uint32_t byte = 0; byte < row.size(); byte += 16)
      std::memcpy(shared + box.place(number, byte), &row[byte],
                  std::min<size_t>(16, row.size() - byte));
  });
}

//===-- Copies ------------------------------------------------------------===//

void Worker::tmaLoad(FusecEmuShared to, const FusecTensorMap *map,
                     const int32_t *coordinates, int32_t rank,
                     FusecEmuShared barrier, uint32_t mask, int32_t line) {
  step(line);
  if (!checkMap(map, rank, /*im2col=*/false, line) ||
      !checkPlace(map, coordinates, /*isStore=*/false, line))
    return;
  uint32_t target = to.base + uint32_t(to.index) * to.elementBytes;
  Box box(*map, coordinates, target);
  if (!checkBulk("tensor copy", to, box.bytes(), 128, line))
    return;
  // Where the data is read from is checked now, row by row.
  auto [first, elements] = box.inside();
  bool fine = true;
  box.forEachRow([&, first = first, elements = elements](uint32_t, u64 row) {
    if (!row || !elements || !fine)
      return;
    u64 from = box.address(row, first),
        to = box.address(row, first + elements - 1);
    fine = checkGlobal("tensor copy", map->base,
                       static_cast<i64>(from - map->base),
                       to - from + map->elementBytes, map->steps[0] == 1, false,
                       line, map->elementBytes) != nullptr;
  });
  if (!fine)
    return;
  for (const Arrival &arrival : arrivals(barrier, mask, line))
    land(arrival, target, box.bytes(), line,
         [box](uint8_t *shared) { loadBox(box, shared); });
}

void Worker::tmaPrefetch(const FusecTensorMap *map, const int32_t *coordinates,
                         int32_t rank, int32_t line) {
  step(line);
  if (checkMap(map, rank, /*im2col=*/false, line))
    checkPlace(map, coordinates, /*isStore=*/false, line);
}

void Worker::tmaStore(const FusecTensorMap *map, FusecEmuShared from,
                      const int32_t *coordinates, int32_t rank, int32_t line) {
  step(line);
  if (!checkMap(map, rank, /*im2col=*/false, line) ||
      !checkPlace(map, coordinates, /*isStore=*/true, line))
    return;
  uint32_t source = from.base + uint32_t(from.index) * from.elementBytes;
  Box box(*map, coordinates, source);
  if (!checkBulk("tensor store", from, box.bytes(), 128, line))
    return;
  BulkStore store;
  store.offset = source;
  store.bytes = box.bytes();
  store.line = line;
  auto [first, elements] = box.stored();
  box.forEachRow(
      [&, first = first, elements = elements](uint32_t number, u64 row) {
        if (!row)
          return;
        // Units of 16 bytes stay together in shared memory, and elements of a
        // row in the tensor unless it leaves some out.
        uint32_t size = map->elementBytes,
                 most = map->steps[0] == 1 ? 16 / size : 1;
        for (uint32_t i = first; i < first + elements;) {
          uint32_t n = std::min(most - i % most, first + elements - i);
          if (uint8_t *to =
                  checkGlobal("tensor store", map->base,
                              static_cast<i64>(box.address(row, i) - map->base),
                              n * size, false, true, line, size))
            store.pieces.push_back({to, box.place(number, i * size), n * size});
          i += n;
        }
      });
  addStore(std::move(store));
}
