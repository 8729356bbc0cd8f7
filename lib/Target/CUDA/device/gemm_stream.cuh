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
      ldm<kEach>(words, r / kRun * kEach, (const u32 *)p,
                 off / I(4 / sizeof(T)), mask, 0u);
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

  /// Element i of 8-bit floats; two are converted at once.
  FUSEC_METHOD f32 wide(i32 i) const {
    static_assert(kWhole && sizeof(T) == 1, "pairs of bytes");
    u32 pair = halves_of<T>(u16(words[i / 4] >> (i / 2 % 2 * 16)));
    return to_f32(from_bits<f16>(u16(pair >> (i % 2 * 16))));
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

/// If r is 0, starts copying V elements, 4 to 16 bytes, to ring[at..] (words).
template <i32 V, class Ring, class T, class I>
FUSEC_DEVICE void gemm_stage(Ring ring, i32 at, i32 r, const T *p, I off,
                             bool mask) {
  constexpr i32 kBytes = V * i32(sizeof(T));
  static_assert(kBytes == 4 || kBytes == 8 || kBytes == 16, "one copy");
  if (r != 0)
    return;
  const u32 *words = (const u32 *)p;
  I first = off / I(4 / sizeof(T));
  if constexpr (kBytes == 16)
    cp_async16(ring, at, words, first, mask);
  else if constexpr (kBytes == 8)
    cp_async8(ring, at, words, first, mask);
  else
    cp_async4(ring, at, words, first, mask);
}

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
    FUSEC_SHARED_DYN(u32, words);
    FUSEC_UNROLL
    for (i32 line = 0; line < kLines; ++line)
      holes.stageB(row(holes, line), along(k0), words, place(at, line));
  }
  /// Reads the rest of the first step.
  FUSEC_METHOD void start(const Holes &holes, i32 k0) {
    FUSEC_UNROLL
    for (i32 line = 0; line < kLines; ++line)
      fetch(holes, line, k0);
  }
  /// Values are computed where they are multiplied.
  FUSEC_METHOD void compute(const Holes &, i32) const {}
  template <class Words>
  FUSEC_METHOD void commit(Words, i32) const {}
  /// Reads what is not copied of the step at `k0`.
  FUSEC_METHOD void fetch(const Holes &holes, i32 line, i32 k0) {
    raw[line] = holes.fetchB(row(holes, line), along(k0));
  }
  /// The elements of a line of the step at `k0`, in pairs.
  template <class Ring>
  FUSEC_METHOD void values(u32 (&words)[kWords], const Holes &holes, i32 line,
                           i32 k0, Ring ring, i32 at) const {
    typename Holes::GroupsB groups;
    groups.take(ring, place(at, line));
    f32 v[kVector];
    holes.convertB(row(holes, line), along(k0), raw[line], groups, v);
    FUSEC_UNROLL
    for (i32 i = 0; i < kVector / 2; ++i)
      words[i] = pack2_rn<Element>(v[2 * i], v[2 * i + 1]);
  }
};

#endif // FUSEC_GEMM_STREAM_CUH
