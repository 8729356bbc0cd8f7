//===- sm90_cases.h - what the kernels of sm90_kernels.cuh compute --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each case is a launch with its buffers and, by plain loops, what is in them
// afterwards, bit for bit. For the emulator's tests and for a program on a GPU,
// so this needs nothing of LLVM.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_TEST_UNIT_EMULATOR_SM90_CASES_H
#define FUSEC_TEST_UNIT_EMULATOR_SM90_CASES_H

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace fusec::runtime::emulator {
uint16_t encodeFloat(int32_t format, double value, bool saturate);
float decodeFloat(int32_t format, uint16_t bits);
} // namespace fusec::runtime::emulator

namespace sm90 {

using Bytes = std::vector<uint8_t>;

/// A tensor map; dimensions from the innermost one.
struct Map {
  enum Type { U8, U32, F32, F16, BF16, TF32 } type = U32;
  std::vector<int64_t> dims, strides;
  std::vector<uint32_t> box, steps;
  uint32_t swizzle = 0;
  bool nan = false;
  /// Of a map of convolution windows, see Im2colMapArg; `box` is empty.
  std::vector<int32_t> lower = {}, upper = {};
  uint32_t channels = 0, pixels = 0;
  int size() const {
    return type == U8 ? 1 : type == F16 || type == BF16 ? 2 : 4;
  }
};

struct Buffer {
  Bytes bytes;
  bool isOutput = false;
  Bytes expected;
};

struct Arg {
  enum Kind { Pointer, Tensor, Int } kind;
  int buffer = 0;
  int32_t value = 0;
  Map map = {};
};

struct Case {
  std::string name, kernel;
  unsigned blocks = 1, threads = 32, cluster = 1;
  bool cooperative = false;
  std::vector<Buffer> buffers = {};
  std::vector<Arg> args = {};

  template <class T>
  int in(const std::vector<T> &data) {
    Bytes bytes(data.size() * sizeof(T));
    std::memcpy(bytes.data(), data.data(), bytes.size());
    buffers.push_back({bytes, false, {}});
    return int(buffers.size()) - 1;
  }
  template <class T>
  int out(const std::vector<T> &expected) {
    int index = in(expected);
    buffers[index].expected = buffers[index].bytes;
    buffers[index].isOutput = true;
    std::fill(buffers[index].bytes.begin(), buffers[index].bytes.end(), 0xcd);
    return index;
  }
  void pointer(int buffer) { args.push_back({Arg::Pointer, buffer}); }
  void integer(int32_t value) { args.push_back({Arg::Int, 0, value}); }
  void tensor(int buffer, const Map &map) {
    args.push_back({Arg::Tensor, buffer, 0, map});
  }
};

inline uint32_t wordOf(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, 4);
  return bits;
}

/// Bytes [0, 4), [4, 8) and so on, of any element type.
template <class T>
Bytes asBytes(const std::vector<T> &data) {
  Bytes bytes(data.size() * sizeof(T));
  std::memcpy(bytes.data(), data.data(), bytes.size());
  return bytes;
}

//===-- Barriers, clusters, copies ----------------------------------------===//

inline Case mbarrierCase() {
  Case c{"mbarriers", "k_mbarrier", 1, 64};
  std::vector<int32_t> sums(32);
  for (int lane = 0; lane < 32; ++lane)
    for (int k = 0; k < 8; ++k)
      sums[lane] += k * 100 + 31 - lane;
  c.pointer(c.out(sums));
  return c;
}

inline Case clusterCase() {
  Case c{"cluster memory", "k_cluster", 8, 32, 4};
  std::vector<int32_t> out(8 * 160);
  for (int block = 0; block < 8; ++block)
    for (int t = 0; t < 32; ++t) {
      int right = (block % 4 + 1) % 4;
      int32_t *at = &out[block * 160 + t];
      at[0] = at[32] = at[64] = right * 1000 + t;
      // Lane t/2 of the neighbour wrote both halves.
      int w = right * 10 + t / 2;
      at[96] = t % 2 ? -w : w;
      at[128] = uint8_t(right + t % 16);
    }
  c.pointer(c.out(out));
  return c;
}

inline Case flowCase() {
  Case c{"flow control between blocks", "k_flow", 2, 32, 2};
  std::vector<int32_t> out(32);
  for (int t = 0; t < 32; ++t)
    for (int k = 0; k < 6; ++k)
      out[t] += k * (31 - t);
  c.pointer(c.out(out));
  return c;
}

inline Case bulkCase() {
  Case c{"bulk copies", "k_bulk", 2, 64, 2};
  std::vector<int32_t> in(384), out(512);
  for (int i = 0; i < 384; ++i)
    in[i] = i * 3;
  for (int block = 0; block < 2; ++block)
    for (int i = 0; i < 128; ++i) {
      out[256 * block + i] = in[128 * block + i] + 1;
      out[256 * block + 128 + i] = in[256 + i] + 1;
    }
  c.pointer(c.in(in));
  c.pointer(c.out(out));
  return c;
}

inline Case gridCase() {
  Case c{"barriers of the grid", "k_grid", 9, 64};
  c.cooperative = true;
  std::vector<int32_t> data(18);
  for (int round = 0; round < 2; ++round)
    for (int b = 0, sum = 0; b < 9; ++b)
      data[round * 9 + b] = sum += b + 1 + round;
  c.pointer(c.out(data));
  c.pointer(c.in(std::vector<uint32_t>(2)));
  return c;
}

//===-- Tensor maps -------------------------------------------------------===//

/// What kernels of one tensor copy do: prefetch, load, store. The argument at
/// kPartsArgument says which.
enum Parts { kPrefetch = 1, kLoad = 2, kStore = 4, kAllParts = 7 };
inline constexpr int kPartsArgument = 4;

inline uint32_t swizzle(uint32_t address, uint32_t bytes) {
  uint32_t rows = bytes / 16; // 16-byte units that change places
  return rows ? address ^ (address / 128 % rows * 16) : address;
}

/// Whether a store writes element x of a row: whole units of 16 bytes are
/// stored, so that what a load filled in goes behind the tensor.
inline bool isStored(const Map &map, int64_t x) {
  return x >= 0 && x * map.size() < (map.dims[0] * map.size() + 15) / 16 * 16;
}

/// `parts`: a store from before the tensor is illegal.
inline Case tensorCase(const char *name, Map map, std::vector<int32_t> at,
                       int parts = kAllParts) {
  int rank = int(map.dims.size()), size = map.size();
  Case c{name, "k_tensor" + std::to_string(rank)};
  int64_t total = map.dims[0] * size;
  for (int d = 1; d < rank; ++d)
    total += (map.dims[d] - 1) * map.strides[d - 1];
  total = (total + 15) / 16 * 16;
  Bytes from(total), to(total, 0x11);
  for (int64_t i = 0; i < total; ++i)
    from[i] = uint8_t(i * 7 + i / 251 + 1);
  map.steps.resize(rank, 1);
  uint32_t sizes[5] = {1, 1, 1, 1, 1}, elements = 1;
  for (int d = 0; d < rank; ++d) {
    sizes[d] = (map.box[d] + map.steps[d] - 1) / map.steps[d];
    elements *= sizes[d];
  }
  Bytes dump(elements * size);
  const uint8_t nan16[2] = {0xf7, 0x7f}, nan32[4] = {0xf7, 0x7f, 0xf7, 0x7f};
  for (uint32_t i = 0; i < elements; ++i) {
    uint32_t rest = i;
    int64_t address = 0;
    bool inside = true, stored = true;
    for (int d = 0; d < rank; ++d) {
      int64_t x = at[d] + int64_t(rest % sizes[d]) * map.steps[d];
      rest /= sizes[d];
      inside &= x >= 0 && x < map.dims[d];
      stored &= d == 0 ? isStored(map, x) : x >= 0 && x < map.dims[d];
      address += x * (d == 0 ? size : map.strides[d - 1]);
    }
    uint8_t *target = &dump[swizzle(i * size, map.swizzle)];
    if (inside) {
      std::memcpy(target, &from[address], size);
    } else if (map.nan) {
      std::memcpy(target, size == 2 ? nan16 : nan32, size);
    }
    if (stored && (parts & kStore))
      std::memcpy(&to[address], target, size);
  }
  int source = c.in(from), target = c.out(to);
  std::fill(c.buffers[target].bytes.begin(), c.buffers[target].bytes.end(),
            0x11);
  c.tensor(source, map);
  c.tensor(target, map);
  c.pointer(c.out(dump));
  c.integer(int32_t(elements * size));
  c.integer(parts);
  at.resize(5);
  for (int32_t x : at)
    c.integer(x);
  return c;
}

/// How the copy engine rounds to TF32: to nearest even, the largest finite
/// numbers to infinity, denormals kept, NaN to one of its own.
inline Case tf32Case() {
  Case c{"rounding to TF32", "k_tensor2"};
  const uint32_t table[16][2] = {
      {0x3f800fff, 0x3f800000}, {0x3f801000, 0x3f800000},
      {0x3f801001, 0x3f802000}, {0xbf803000, 0xbf804000},
      {0x7f7fefff, 0x7f7fe000}, {0x7f7ff000, 0x7f800000},
      {0xff7fffff, 0xff800000}, {0xff800000, 0xff800000},
      {0x7f800001, 0x7fffe000}, {0xff8fffff, 0x7fffe000},
      {0x80000000, 0x80000000}, {0x00000fff, 0x00000000},
      {0x00001000, 0x00000000}, {0x00001001, 0x00002000},
      {0x807fffff, 0x80800000}, {0x00801000, 0x00800000}};
  std::vector<uint32_t> from, dump;
  for (auto [number, rounded] : table) {
    from.push_back(number);
    dump.push_back(rounded);
  }
  Map map{Map::TF32, {16, 1}, {64}, {16, 1}, {1, 1}, 0, false};
  int source = c.in(from);
  c.tensor(source, map);
  c.tensor(source, map);
  c.pointer(c.out(dump));
  c.integer(64);
  c.integer(kPrefetch | kLoad);
  for (int i = 0; i < 5; ++i)
    c.integer(0);
  return c;
}

/// The pixels of a copy, the offsets not in it: of all pixels of the boxes of
/// all images (and some behind them) in order, those from `at` on.
inline std::vector<std::vector<int64_t>> pixelsOf(const Map &map,
                                                  std::vector<int32_t> at) {
  using Pixel = std::vector<int64_t>; // c, w, (h, (d,)) n
  std::vector<Pixel> all;
  size_t images = map.dims.size() - 1;
  std::vector<Pixel> inImage = {Pixel(images + 1)};
  for (size_t d = images; d-- > 1;) { // the outermost dimension first
    std::vector<Pixel> next;
    for (Pixel pixel : inImage)
      for (pixel[d] = map.lower[d - 1];
           pixel[d] < map.dims[d] + map.upper[d - 1]; pixel[d] += map.steps[d])
        next.push_back(pixel);
    inImage = std::move(next);
  }
  for (int64_t n = 0; all.size() < 100000; ++n)
    for (Pixel pixel : inImage) {
      pixel[images] = n;
      all.push_back(pixel);
    }
  Pixel first(at.begin(), at.end());
  first[0] = 0;
  auto begin = std::find(all.begin(), all.end(), first);
  return std::vector<Pixel>(begin, begin + map.pixels);
}

inline Bytes countingBytes(int64_t total) {
  Bytes bytes(total);
  for (int64_t i = 0; i < total; ++i)
    bytes[i] = uint8_t(i * 7 + i / 251 + 1);
  return bytes;
}

/// The dump of the pixels, and `to` with them stored where they are inside.
inline Bytes loadPixels(const Map &map, const Bytes &from,
                        const std::vector<int32_t> &at,
                        const std::vector<int32_t> &offsets, Bytes &to) {
  int size = map.size();
  size_t images = map.dims.size() - 1;
  const uint8_t nan16[2] = {0xf7, 0x7f}, nan32[4] = {0xf7, 0x7f, 0xf7, 0x7f};
  Bytes dump(map.pixels * map.channels * size);
  uint32_t number = 0;
  for (const std::vector<int64_t> &pixel : pixelsOf(map, at)) {
    for (uint32_t channel = 0; channel < map.channels; ++channel, ++number) {
      int64_t c = at[0] + channel, source = c * size, target = source;
      bool inside = c >= 0 && c < map.dims[0], stored = isStored(map, c);
      for (size_t d = 1; d <= images; ++d) {
        int64_t x = pixel[d] + (d < images ? offsets[d - 1] : 0);
        inside &= x >= 0 && x < map.dims[d];
        stored &= pixel[d] >= 0 && pixel[d] < map.dims[d];
        source += x * map.strides[d - 1];
        target += pixel[d] * map.strides[d - 1];
      }
      uint8_t *place = &dump[swizzle(number * size, map.swizzle)];
      if (inside)
        std::memcpy(place, &from[source], size);
      else if (map.nan)
        std::memcpy(place, size == 2 ? nan16 : nan32, size);
      if (stored)
        std::memcpy(&to[target], place, size);
    }
  }
  return dump;
}

inline Case im2colCase(const char *name, Map map, std::vector<int32_t> at,
                       std::vector<int32_t> offsets) {
  size_t rank = map.dims.size();
  Case c{name, "k_im2col" + std::to_string(rank)};
  map.steps.resize(rank, 1);
  int64_t total = map.strides.back() * map.dims.back();
  Bytes from = countingBytes(total), to(total, 0x11);
  Bytes dump = loadPixels(map, from, at, offsets, to);
  // A store by a map whose box begins before the tensor is illegal.
  bool isStored = std::all_of(map.lower.begin(), map.lower.end(),
                              [](int32_t x) { return x >= 0; });
  if (!isStored)
    to.assign(total, 0x11);
  int source = c.in(from), target = c.out(to);
  std::fill(c.buffers[target].bytes.begin(), c.buffers[target].bytes.end(),
            0x11);
  c.tensor(source, map);
  c.tensor(target, map);
  auto bytes = int32_t(dump.size());
  c.pointer(c.out(dump));
  c.integer(bytes);
  c.integer(isStored ? kAllParts : kLoad);
  at.resize(5);
  offsets.resize(3);
  for (int32_t x : at)
    c.integer(x);
  for (int32_t x : offsets)
    c.integer(x);
  return c;
}

inline Case im2colMulticastCase() {
  Case c{"im2col multicast", "k_im2col_multicast", 2, 32, 2};
  Map map{Map::U32, {8, 9, 6, 2}, {32, 288, 1728}, {}, {}, 32,
          false,    {-1, -1},     {-1, -1},        8,  32};
  map.steps.resize(4, 1);
  Bytes from = countingBytes(2 * 1728), unused(from.size()), out;
  for (int block = 0; block < 2; ++block)
    for (int image = 0; image < 2; ++image) {
      Bytes one = loadPixels(map, from, {0, -1, -1, image}, {1, 2}, unused);
      out.insert(out.end(), one.begin(), one.end());
    }
  c.tensor(c.in(from), map);
  c.pointer(c.out(out));
  return c;
}

inline Case multicastCase() {
  Case c{"multicast", "k_multicast", 2, 32, 2};
  std::vector<uint32_t> from(32 * 16), out;
  for (uint32_t i = 0; i < from.size(); ++i)
    from[i] = i * i;
  Map map{Map::U32, {32, 16}, {128}, {32, 8}, {}, 128, false};
  std::vector<uint32_t> once(512);
  for (uint32_t i = 0; i < 512; ++i)
    once[swizzle(4 * i, 128) / 4] = from[i];
  for (int block = 0; block < 2; ++block)
    out.insert(out.end(), once.begin(), once.end());
  c.tensor(c.in(from), map);
  c.pointer(c.out(out));
  return c;
}

//===-- Warps and packed numbers ------------------------------------------===//

inline Case stmatrixCase() {
  Case c{"stmatrix", "k_stmatrix"};
  std::vector<uint32_t> in(128);
  for (uint32_t i = 0; i < 128; ++i)
    in[i] = 2 * i | (2 * i + 1) << 16;
  // Element (i, j) of the tile in register k.
  auto tile = [&](int k, int i, int j) -> uint16_t {
    uint32_t word = in[k * 32 + i * 4 + j / 2];
    return uint16_t(j % 2 ? word >> 16 : word);
  };
  std::vector<uint16_t> out(4 * 256);
  for (int form = 0; form < 4; ++form) {
    uint16_t *s = &out[form * 256];
    if (form)
      std::memcpy(s, s - 256, 512);
    int tiles = form < 2 ? 4 : form == 2 ? 2 : 1;
    for (int t = 0; t < tiles; ++t)
      for (int i = 0; i < 8; ++i)
        for (int j = 0; j < 8; ++j) {
          int k = form == 2 ? t + 2 : form == 3 ? 1 : t;
          s[t * 64 + i * 8 + j] = form % 2 ? tile(k, j, i) : tile(k, i, j);
        }
  }
  c.pointer(c.in(in));
  c.pointer(c.out(out));
  return c;
}

inline Case namedCase() {
  Case c{"arriving at a named barrier", "k_named", 1, 128};
  std::vector<int32_t> out(64);
  for (int i = 0; i < 64; ++i)
    out[i] = 7 * i + 8;
  c.pointer(c.out(out));
  return c;
}

/// One rounding of an exact value.
inline uint16_t roundOnce(int format, __float128 exact) {
  double x = double(exact);
  if (x - x == 0 && __float128(x) != exact) { // to odd
    uint64_t bits;
    std::memcpy(&bits, &x, 8);
    bool above = __float128(x) > exact;
    if (!(bits & 1))
      bits += (x > 0) == above ? -1 : 1;
    std::memcpy(&x, &bits, 8);
  }
  return fusec::runtime::emulator::encodeFloat(format, x, false);
}

inline Case packedCase() {
  using fusec::runtime::emulator::decodeFloat;
  using fusec::runtime::emulator::encodeFloat;
  Case c{"packed numbers", "k_packed"};
  std::mt19937 random(5);
  std::vector<float> in = {
      NAN,   1.0f,   0.0f,   -0.0f,    INFINITY, -INFINITY, 448.0f, 464.0f,
      1e30f, -1e30f, 1e-40f, 65504.0f, 65520.0f, -0.0f,     0.0f,   57344.0f};
  while (in.size() < 4 * 2000) {
    float x = float(int(random() % 200001) - 100000) / 65536;
    in.push_back(std::ldexp(x, int(random() % 40) - 20));
  }
  auto both = [](uint16_t lo, uint16_t hi) { return lo | uint32_t(hi) << 16; };
  std::vector<uint32_t> out;
  for (size_t i = 0; i < in.size(); i += 4) {
    const float *x = &in[i];
    uint32_t words[2][2]; // format, pair
    for (int f = 0; f < 2; ++f)
      for (int p = 0; p < 2; ++p)
        words[f][p] = both(encodeFloat(f, x[2 * p], false),
                           encodeFloat(f, x[2 * p + 1], false));
    auto sat = [&](int format) {
      uint32_t word = 0;
      for (int k = 0; k < 4; ++k)
        word |= uint32_t(x[k] != x[k] ? 0x7f : encodeFloat(format, x[k], true))
                << (8 * k);
      return word;
    };
    auto apply = [&](int f, int z, auto op) {
      uint32_t word = 0;
      for (int shift : {0, 16}) {
        auto get = [&](int p) {
          return __float128(decodeFloat(f, uint16_t(words[f][p] >> shift)));
        };
        word |= uint32_t(op(f, get(0), get(1), get(z))) << shift;
      }
      return word;
    };
    auto add = [](int f, __float128 a, __float128 b, __float128) {
      return roundOnce(f, a + b);
    };
    auto sub = [](int f, __float128 a, __float128 b, __float128) {
      return roundOnce(f, a - b);
    };
    auto mul = [](int f, __float128 a, __float128 b, __float128) {
      return roundOnce(f, a * b);
    };
    auto fma = [](int f, __float128 a, __float128 b, __float128 c) {
      return roundOnce(f, a * b + c);
    };
    auto pick = [](int f, __float128 a, __float128 b, bool larger) {
      if (a != a || b != b)
        return uint16_t(0x7fff);
      bool first =
          a == b ? std::signbit(double(a)) != larger : (a > b) == larger;
      return roundOnce(f, first ? a : b);
    };
    auto max = [&](int f, __float128 a, __float128 b, __float128) {
      return pick(f, a, b, true);
    };
    auto min = [&](int f, __float128 a, __float128 b, __float128) {
      return pick(f, a, b, false);
    };
    for (uint32_t word : {words[0][0], words[1][0], sat(2), sat(3),
                          apply(0, 0, add), apply(1, 0, add), apply(0, 0, sub),
                          apply(1, 0, sub), apply(0, 0, mul), apply(1, 0, mul),
                          apply(0, 0, max), apply(1, 0, min), apply(0, 0, min),
                          apply(1, 0, max), apply(0, 0, fma), apply(1, 1, fma)})
      out.push_back(word);
  }
  c.pointer(c.in(in));
  c.pointer(c.out(out));
  c.integer(int32_t(in.size() / 4));
  return c;
}

//===-- Warpgroup products ------------------------------------------------===//

enum Number { F16, BF16, E4M3, E5M2, TF32, S8, U8 };

inline int sizeOf(Number type) {
  return type <= BF16 ? 2 : type == TF32 ? 4 : 1;
}

inline void encodeNumber(Number type, int value, uint8_t *to) {
  uint32_t bits;
  if (type == TF32)
    bits = wordOf(float(value));
  else if (type == S8 || type == U8)
    bits = uint32_t(value) & 0xff;
  else
    bits = fusec::runtime::emulator::encodeFloat(type, value, false);
  std::memcpy(to, &bits, sizeOf(type));
}

/// Where element (mn, k) lies: the canonical layouts of PTX.
struct Layout {
  bool mnMajor;
  int swizzleBytes, size;
  int leading() const {
    return mnMajor && swizzleBytes ? 16 * swizzleBytes
           : swizzleBytes          ? 16
                                   : 128;
  }
  int stride() const { return swizzleBytes ? 8 * swizzleBytes : 256; }
  uint32_t place(int mn, int k) const {
    int unit = 16 / size, w = swizzleBytes, at;
    if (!mnMajor && !w)
      at = mn / 8 * stride() + k / unit * leading() + mn % 8 * 16 +
           k % unit * size;
    else if (!mnMajor)
      at = mn / 8 * stride() + mn % 8 * w + k * size;
    else if (!w)
      at = mn / unit * stride() + k / 8 * leading() + k % 8 * 16 +
           mn % unit * size;
    else
      at = mn / (w / size) * leading() + k / 8 * stride() + k % 8 * w +
           mn % (w / size) * size;
    return swizzle(uint32_t(at), uint32_t(w));
  }
};

struct Product {
  int number;
  Number a, b;
  bool mnA, mnB;
  int swizzleA, swizzleB, n;
  bool registers;
};

inline Case productCase(const Product &p, bool accumulate) {
  Case c{"wgmma " + std::to_string(p.number) + (accumulate ? " +=" : " ="),
         "k_wgmma" + std::to_string(p.number), 1, 128};
  int depth = 32 / sizeOf(p.a);
  std::mt19937 random(p.number * 2 + accumulate);
  auto draw = [&](Number type) {
    int value = int(random() % 9);
    return type == U8 ? value : value - 4;
  };
  std::vector<int> a(64 * depth), b(p.n * depth);
  for (int &x : a)
    x = draw(p.a);
  for (int &x : b)
    x = draw(p.b);
  Bytes image(12288 * 4);
  Layout la{p.mnA, p.swizzleA, sizeOf(p.a)}, lb{p.mnB, p.swizzleB, sizeOf(p.b)};
  for (int row = 0; row < 64; ++row)
    for (int k = 0; k < depth; ++k) {
      uint32_t place = la.place(row, k);
      if (p.registers) {
        // Word: row half and k half; lane: row and k.
        int per = 4 / sizeOf(p.a), half = k / (4 * per);
        int thread = row / 16 * 32 + row % 8 * 4 + k % (4 * per) / per;
        place = uint32_t(16 * thread + 4 * (2 * half + row / 8 % 2) +
                         k % per * sizeOf(p.a));
      }
      encodeNumber(p.a, a[row * depth + k], &image[place]);
    }
  for (int column = 0; column < p.n; ++column)
    for (int k = 0; k < depth; ++k)
      encodeNumber(p.b, b[column * depth + k],
                   &image[16384 + lb.place(column, k)]);
  bool integer = p.a == S8 || p.a == U8;
  std::vector<uint32_t> base(64 * p.n), out(64 * p.n);
  for (int tid = 0; tid < 128; ++tid)
    for (int r = 0; r < p.n / 2; ++r) {
      int row = tid / 32 * 16 + tid % 32 / 4 + 8 * (r / 2 % 2);
      int column = r / 4 * 8 + tid % 4 * 2 + r % 2, sum = 0;
      int before = int(random() % 100);
      for (int k = 0; k < depth; ++k)
        sum += a[row * depth + k] * b[column * depth + k];
      int result = (p.registers ? 1 : 2) * sum + (accumulate ? before : 0);
      int i = tid * (p.n / 2) + r;
      base[i] = integer ? uint32_t(before) : wordOf(float(before));
      out[i] = integer ? uint32_t(result) : wordOf(float(result));
    }
  c.pointer(c.in(image));
  c.pointer(c.in(base));
  c.pointer(c.out(out));
  c.pointer(c.in(std::vector<int32_t>{la.leading(), la.stride(), lb.leading(),
                                      lb.stride(), accumulate}));
  return c;
}

inline std::vector<Product> products() {
  return {{0, BF16, BF16, false, false, 128, 128, 64, false},
          {1, F16, F16, true, true, 128, 128, 64, false},
          {2, BF16, BF16, true, false, 64, 32, 128, false},
          {3, F16, F16, false, true, 32, 64, 32, false},
          {4, BF16, BF16, false, false, 0, 0, 8, false},
          {5, F16, F16, true, true, 0, 0, 256, false},
          {6, TF32, TF32, false, false, 128, 64, 24, false},
          {7, E4M3, E5M2, false, false, 128, 128, 40, false},
          {8, E5M2, E4M3, false, false, 32, 0, 16, false},
          {9, S8, U8, false, false, 64, 128, 48, false},
          {10, U8, S8, false, false, 128, 32, 128, false},
          {11, BF16, BF16, true, true, 32, 32, 192, false},
          {12, BF16, BF16, true, true, 64, 64, 96, false},
          {13, BF16, BF16, false, false, 0, 128, 256, true},
          {14, F16, F16, false, true, 0, 128, 64, true},
          {15, TF32, TF32, false, false, 0, 128, 8, true},
          {16, E4M3, E4M3, false, false, 0, 128, 32, true},
          {17, S8, S8, false, false, 0, 128, 24, true}};
}

inline std::vector<Case> allCases() {
  std::vector<Case> cases = {mbarrierCase(), clusterCase(), flowCase(),
                             bulkCase(),     gridCase(),    multicastCase(),
                             stmatrixCase(), namedCase(),   packedCase()};
  auto tensor = [&](const char *name, const Map &map, std::vector<int32_t> at,
                    int parts = kAllParts) {
    cases.push_back(tensorCase(name, map, std::move(at), parts));
  };
  constexpr int kNoStore = kPrefetch | kLoad;
  tensor("1-d tensor", {Map::U32, {77}, {}, {32}, {}, 0, false}, {60});
  tensor("1-d tensor, before its start",
         {Map::U8, {96}, {}, {64}, {}, 0, false}, {-16}, kNoStore);
  tensor("2-d tensor, swizzled",
         {Map::BF16, {100, 20}, {208}, {64, 16}, {}, 128, false}, {40, 8});
  tensor("2-d tensor, NaN outside",
         {Map::F16, {40, 9}, {80}, {32, 8}, {}, 64, true}, {-8, 4}, kNoStore);
  tensor("2-d tensor of f32, NaN outside",
         {Map::F32, {10, 9}, {48}, {8, 4}, {}, 32, true}, {4, 7});
  tensor("3-d tensor, before its start",
         {Map::U32, {8, 5, 6}, {32, 160}, {8, 4, 3}, {}, 32, false}, {0, -1, 4},
         kNoStore);
  tensor("3-d tensor",
         {Map::U32, {8, 5, 6}, {32, 160}, {8, 4, 3}, {}, 32, false}, {0, 3, 4});
  tensor("3-d tensor with steps",
         {Map::U32, {8, 9, 7}, {32, 288}, {8, 6, 4}, {1, 2, 3}, 0, false},
         {0, 1, 2});
  tensor("4-d tensor, before its start",
         {Map::U8, {32, 4, 3, 5}, {32, 128, 384}, {32, 3, 2, 2}, {}, 0, false},
         {16, 2, -1, 4}, kNoStore);
  tensor("4-d tensor",
         {Map::U8, {32, 4, 3, 5}, {32, 128, 384}, {32, 3, 2, 2}, {}, 0, false},
         {16, 2, 2, 4});
  tensor("5-d tensor",
         {Map::U32,
          {4, 3, 2, 3, 2},
          {16, 48, 96, 288},
          {4, 2, 2, 2, 2},
          {},
          0,
          false},
         {0, 1, 0, 2, 1});
  cases.push_back(tf32Case());
  auto im2col = [&](const char *name, const Map &map, std::vector<int32_t> at,
                    std::vector<int32_t> offsets) {
    cases.push_back(im2colCase(name, map, std::move(at), std::move(offsets)));
  };
  cases.push_back(im2colMulticastCase());
  im2col(
      "im2col of 1 dimension",
      {Map::F32, {12, 20, 3}, {48, 960}, {}, {}, 0, false, {-2}, {-1}, 8, 24},
      {4, 15, 0}, {1});
  im2col("im2col of 1 dimension, behind the last image",
         {Map::F16, {32, 7, 2}, {64, 448}, {}, {}, 64, true, {-1}, {1}, 32, 30},
         {0, -1, 1}, {0});
  // A 3 x 3 filter with padding, corners and offsets that tell w from h.
  im2col("im2col of 2 dimensions",
         {Map::BF16,
          {64, 9, 7, 3},
          {128, 1152, 8064},
          {},
          {},
          128,
          true,
          {-1, -2},
          {-1, 0},
          64,
          50},
         {0, 5, 3, 0}, {2, 1});
  im2col("im2col of 2 dimensions with steps",
         {Map::U32,
          {16, 9, 8, 2},
          {64, 576, 4608},
          {},
          {1, 2, 3, 1},
          64,
          false,
          {-1, -1},
          {0, -1},
          16,
          28},
         {0, -1, 2, 0}, {0, 2});
  im2col("im2col of 2 dimensions, channels outside",
         {Map::U8,
          {40, 5, 4, 2},
          {48, 240, 960},
          {},
          {},
          32,
          false,
          {0, 0},
          {-1, -1},
          32,
          40},
         {16, 3, 1, 0}, {1, 0});
  im2col("im2col of 1 dimension, stored",
         {Map::F32, {12, 20, 3}, {48, 960}, {}, {}, 0, false, {1}, {-1}, 8, 24},
         {4, 15, 0}, {1});
  im2col("im2col of 3 dimensions, stored",
         {Map::F16,
          {16, 5, 4, 3, 2},
          {32, 160, 640, 1920},
          {},
          {},
          32,
          false,
          {0, 1, 0},
          {0, -1, -1},
          16,
          40},
         {0, 2, 1, 0, 0}, {1, 0, 2});
  im2col("im2col of 3 dimensions",
         {Map::F16,
          {16, 5, 4, 3, 2},
          {32, 160, 640, 1920},
          {},
          {1, 1, 2, 1, 1},
          32,
          true,
          {-1, 0, -2},
          {1, -1, 0},
          16,
          60},
         {0, 2, 0, -1, 0}, {1, 0, 2});
  for (const Product &product : products())
    for (bool accumulate : {false, true})
      cases.push_back(productCase(product, accumulate));
  return cases;
}

} // namespace sm90

#endif // FUSEC_TEST_UNIT_EMULATOR_SM90_CASES_H
