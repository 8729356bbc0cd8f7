//===- gemm_stream.cuh - weights that are computed on their way -*- CUDA
//-*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With few rows, weights that are computed (dequantised) from fewer bits should
// take as long as reading those bits. An operand hole is therefore split: a
// fetch that only reads, a whole step before the values are wanted, and the
// arithmetic on what was read. Bytes wait in registers as they came, packed.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_GEMM_STREAM_CUH
#define FUSEC_GEMM_STREAM_CUH

/// Digits of f16 and bf16 behind the first one.
template <class Element>
constexpr i32 kGemmDigits = 7;
template <>
constexpr i32 kGemmDigits<f16> = 10;

/// An integer, of which Element has all digits, twice in a word.
template <class Element>
FUSEC_DEVICE constexpr u32 gemmInteger(i32 x) {
  constexpr i32 kDigits = kGemmDigits<Element>;
  constexpr i32 kBias = kDigits == 10 ? 15 : 127;
  u32 magnitude = u32(x < 0 ? -x : x);
  u32 bits = x < 0 ? 0x8000u : 0u;
  if (magnitude != 0) {
    i32 exponent = 0;
    while (magnitude >> exponent > 1)
      ++exponent;
    bits |= u32(kBias + exponent) << kDigits;
    bits |= (magnitude << kDigits >> exponent) & ((1u << kDigits) - 1);
  }
  return bits * 0x10001u;
}

template <class T, i32 N>
FUSEC_DEVICE void gemmFill(T (&v)[N], T x) {
  FUSEC_UNROLL
  for (i32 i = 0; i < N; ++i)
    v[i] = x;
}

/// A number twice in a word.
template <class Element>
FUSEC_DEVICE u32 gemmTwice(Element x) {
  return pack2(x, x);
}

/// x - y and x * y of pairs.
template <class Element>
FUSEC_DEVICE u32 gemmLess(u32 x, u32 y) {
  constexpr u32 kMinus = gemmInteger<Element>(-1);
  return fma2<Element>(y, kMinus, x);
}
template <class Element>
FUSEC_DEVICE u32 gemmTimes(u32 x, u32 y) {
  return fma2<Element>(x, y, 0x80008000u); // + -0
}

/// N elements as they came from memory, V at a time: whole words where V
/// elements have that many bytes, else a word for each.
template <class T, i32 N, i32 V>
struct GemmPacked {
  static constexpr i32 kBytes = V * i32(sizeof(T));
  static constexpr bool kWhole = kBytes % 4 == 0;
  static constexpr i32 kEach = kWhole ? kBytes / 4 : 1;
  /// Elements of an access.
  static constexpr i32 kRun = kWhole ? V : 1;
  u32 words[N / kRun * kEach];

  /// As ldm<V> of elements; zeros where `mask` does not hold.
  template <class I>
  FUSEC_METHOD void load(i32 r, const T *p, I off, bool mask) {
    if (r % kRun)
      return;
    if constexpr (kWhole) {
      // off is a multiple of V: whole words.
      if constexpr (kBytes == 16 && N == V)
        ld_group<true>(words, p, off, mask);
      else
        ldm<kEach>(words, r / kRun * kEach, (const u32 *)(p + off), 0, mask,
                   0u);
    } else {
      T one[1];
      ldm<1>(one, 0, p, off, mask, from_bits<T>(0));
      words[r] = u32(to_bits(one[0]));
    }
  }

  /// Takes the words from ring[at..].
  template <class Ring>
  FUSEC_METHOD void take(Ring ring, i32 at) {
    static_assert(kWhole && N == V, "one group");
    lds<kEach>(words, 0, ring, at);
  }

  /// 2^15 and the field of Width (4 or 8) bits at bit `at` of the elements, as
  /// it is or, `Signed`, with 2^(Width - 1) more. 2^15 and a 16-bit float are
  /// multiplied exactly. `at` is a constant once loops are unrolled.
  template <i32 Width, bool Signed>
  FUSEC_METHOD f32 biased(i32 at) const {
    static_assert(kWhole && (Width == 4 || Width == 8), "fields of words");
    u32 word = words[at / 32];
    if constexpr (Width == 4)
      word = (at & 4 ? word >> 4 : word) & 0x0f0f0f0fu;
    if constexpr (Signed)
      word ^= Width == 4 ? 0x08080808u : 0x80808080u;
    // The byte, and that of the exponent, in one step.
    return as_f32(
        byte_perm(word, 0x47000000u, 0x7604u | u32(at % 32 / 8) << 4));
  }

  /// Two fields of Width (4 or 8) bits, 16 apart and the first one at bit `at`
  /// of the elements, in the lower half of a word, less `Less`, as a pair of
  /// Element (f16 or bf16). Exact: results are within 256, `Less` within 16 for
  /// 4 bits. The fields become the last digits of a number whose last digit is
  /// 1, which is subtracted.
  template <class Element, i32 Width, bool Signed, i32 Less>
  FUSEC_METHOD u32 fields(i32 at) const {
    static_assert(kWhole && (Width == 4 || Width == 8), "fields of words");
    constexpr i32 kDigits = kGemmDigits<Element>;
    constexpr i32 kOne = 1 << kDigits;
    constexpr u32 kUnit = gemmInteger<Element>(1);
    constexpr u32 kSign = 1u << (Width - 1);
    u32 word = words[at / 32] >> at % 16;
    if constexpr (Width <= kDigits) {
      // With its sign turned a number is larger by the least one.
      constexpr u32 kTurn = Signed ? kSign : 0u;
      constexpr u32 kFrom = gemmInteger<Element>(kOne) ^ kTurn * 0x10001u;
      constexpr u32 kBase = gemmInteger<Element>(-(kOne + i32(kTurn) + Less));
      u32 above = and_xor(word, (2 * kSign - 1) * 0x10001u, kFrom);
      return fma2<Element>(above, kUnit, kBase);
    } else {
      // The eighth bit is that of 128 in a subtrahend of 128 or 256: it is as
      // negative as a sign is; without one the sum lacks 128.
      constexpr u32 kLow = gemmInteger<Element>(kOne);
      constexpr u32 kHigh = gemmInteger<Element>(Signed ? kOne : 2 * kOne);
      constexpr i32 kMore = (Signed ? 0 : kOne) - Less;
      u32 low = and_xor(word, (kSign - 1) * 0x10001u, kLow);
      u32 high = and_xor(word, kSign * 0x10001u, kHigh);
      u32 result = gemmLess<Element>(low, high);
      if constexpr (kMore != 0) {
        constexpr u32 kRest = gemmInteger<Element>(kMore);
        result = fma2<Element>(result, kUnit, kRest);
      }
      return result;
    }
  }

  /// Element i of 8-bit floats; two are converted at once.
  FUSEC_METHOD f32 wide(i32 i) const {
    static_assert(kWhole && sizeof(T) == 1, "pairs of bytes");
    u32 pair = halves_of<T>(u16(words[i / 4] >> (i / 2 % 2 * 16)));
    return to_f32(from_bits<f16>(u16(pair >> (i % 2 * 16))));
  }

  /// Elements i and i + 1, 8-bit floats, as a pair of Element; exact. i is
  /// even.
  template <class Element>
  FUSEC_METHOD u32 floats(i32 i) const {
    static_assert(kWhole && sizeof(T) == 1, "pairs of bytes");
    u32 pair = halves_of<T>(u16(words[i / 4] >> (i / 2 % 2 * 16)));
    if constexpr (kGemmDigits<Element> == 10) {
      return pair;
    } else {
      f16 low, high;
      unpack2(pair, low, high);
      return pack2_rn<Element>(to_f32(low), to_f32(high));
    }
  }

  FUSEC_METHOD void unpack(T (&v)[N]) const {
    constexpr i32 kOfWord = kWhole ? 4 / i32(sizeof(T)) : 1;
    FUSEC_UNROLL
    for (i32 i = 0; i < N; ++i) {
      u32 word = words[i / kOfWord] >> (i % kOfWord * 8 * i32(sizeof(T)));
      v[i] = from_bits<T>(decltype(to_bits(v[i]))(word));
    }
  }
};

/// If r is 0, starts copying V elements, 4 to 16 bytes, to word `at` of the
/// ring. Whole elements are counted, so that addresses which differ by
/// constants are one with immediate offsets.
template <i32 V, class T, class I>
FUSEC_DEVICE void gemm_stage(i32 at, i32 r, const T *p, I off, bool mask) {
  constexpr i32 kBytes = V * i32(sizeof(T));
  static_assert(kBytes == 4 || kBytes == 8 || kBytes == 16, "one copy");
  if (r != 0)
    return;
  FUSEC_SHARED_DYN(T, ring);
  i32 first = at * (4 / i32(sizeof(T)));
  if constexpr (kBytes == 16)
    cp_line16(ring, first, p, off, mask);
  else if constexpr (kBytes == 8)
    cp_async8(ring, first, p, off, mask);
  else
    cp_async4(ring, first, p, off, mask);
}

/// Which 16-bit elements along k share a word. As the hole makes them: those
/// that are Apart from each other, 2 or 4, as fields of 8 or 4 bits are in the
/// halves of a word, or 1. Apart == 0: neighbours, which the hole leaves apart.
template <i32 Apart>
struct GemmPairs {
  static constexpr bool kMade = Apart > 0;
  static constexpr i32 kApart = kMade ? Apart : 1;
  static_assert(kApart == 1 || kApart == 2 || kApart == 4, "within 16 bytes");
  /// The first element of pair i.
  FUSEC_DEVICE constexpr i32 first(i32 i) {
    return i / kApart * (2 * kApart) + i % kApart;
  }
  /// Puts eight consecutive elements into this order.
  FUSEC_DEVICE void sort(u32 (&x)[4]) {
    if constexpr (kApart > 1) {
      const u32 v[4] = {x[0], x[1], x[2], x[3]};
      FUSEC_UNROLL
      for (i32 i = 0; i < 4; ++i)
        x[i] = byte_perm(v[first(i) / 2], v[(first(i) + kApart) / 2],
                         first(i) % 2 ? 0x7632u : 0x5410u);
    }
  }
};

/// The columns of B of a lane, each eighth of a tile's. What one copy brings
/// waits in the lane's part of the ring, the rest (scales) in registers from
/// one step of Config::kSpan k to the next.
template <class Config, class Holes>
struct GemmStream {
  using Element = typename Config::Element;
  static constexpr i32 kVector = Holes::kVectorB;
  static constexpr i32 kLines = Config::kTileN / 8;
  static constexpr i32 kWords = Config::kSpan / 2;
  static_assert(sizeof(Element) == 2, "two elements in a word");
  static_assert(Holes::kOrderB == GemmOrder::KContiguous, "spans are along k");
  static_assert(kVector == Config::kSpan && Holes::kStagedB <= Config::kStaged,
                "as the host counts");

  typename Holes::RawB raw[kLines];
  i32 batch;
  i32 outer;

  FUSEC_METHOD void begin(const Holes &, i32 b, i32 n0) {
    batch = b;
    outer = n0 + (lane() >> 2);
  }
  // Rows are prepared where they are used: they differ by constants.
  FUSEC_METHOD auto row(const Holes &holes, i32 line) const {
    return holes.prepareB(batch, outer + 8 * line);
  }
  FUSEC_DEVICE i32 along(i32 k0) { return k0 + Config::kSpan * (lane() & 3); }
  /// The lane's words of a line in the slot at `at`.
  FUSEC_DEVICE i32 place(i32 at, i32 line) {
    return at + (line * Config::kStaged * 32 + lane()) * 4;
  }

  /// Starts copying the step at `k0` to word `at` of the ring.
  template <class Ring>
  FUSEC_METHOD void copy(const Holes &holes, i32 k0, Ring, i32 at) const {
    FUSEC_UNROLL
    for (i32 line = 0; line < kLines; ++line)
      holes.stageB(row(holes, line), along(k0), place(at, line));
  }
  /// Reads the rest of the first step, or what all steps share: of the lane's
  /// least k, which is inside if any is.
  FUSEC_METHOD void start(const Holes &holes, i32 k0) {
    FUSEC_UNROLL
    for (i32 line = 0; line < kLines; ++line)
      raw[line] =
          holes.fetchB(row(holes, line), along(Holes::kFixedB ? 0 : k0));
  }
  /// Values are computed where they are multiplied.
  FUSEC_METHOD void compute(const Holes &, i32) const {}
  template <class Words>
  FUSEC_METHOD void commit(Words, i32) const {}
  /// Reads what is not copied of the step at `k0`.
  FUSEC_METHOD void fetch(const Holes &holes, i32 line, i32 k0) {
    if constexpr (!Holes::kFixedB)
      raw[line] = holes.fetchB(row(holes, line), along(k0));
  }
  /// The elements of a line of the step at `k0`, in pairs (GemmPairs).
  template <class Ring>
  FUSEC_METHOD void values(u32 (&words)[kWords], const Holes &holes, i32 line,
                           i32 k0, Ring ring, i32 at) const {
    typename Holes::GroupsB groups;
    groups.take(ring, place(at, line));
    using Pairs = GemmPairs<Holes::kApartB>;
    if constexpr (Pairs::kMade) {
      u32 v[kVector];
      holes.convertB(row(holes, line), along(k0), raw[line], groups, v);
      FUSEC_UNROLL
      for (i32 i = 0; i < kVector / 2; ++i)
        words[i] = v[Pairs::first(i)];
    } else {
      f32 v[kVector];
      holes.convertB(row(holes, line), along(k0), raw[line], groups, v);
      FUSEC_UNROLL
      for (i32 i = 0; i < kVector / 2; ++i)
        words[i] = pack2_rn<Element>(v[2 * i], v[2 * i + 1]);
    }
  }
};

#endif // FUSEC_GEMM_STREAM_CUH
