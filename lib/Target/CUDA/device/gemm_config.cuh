//===- gemm_config.cuh - tile shapes and operand kinds ----------*- CUDA
//-*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The compile-time choices of the contraction skeleton: element kind, memory
// order and access kind of an operand, tile shape, and the swizzled layout of
// a tile in shared memory. docs/skeleton-contraction.md is the contract.
//
// Inclusion order of the skeleton (the files include nothing themselves):
// prelude, gemm_config, gemm_load, gemm_statistics, gemm_columns,
// gemm_epilogue, gemm_fragment, gemm_mma, gemm_fma, gemm_stream, gemm_few_warp,
// gemm_few, gemm_direct, gemm_turn, gemm_boxes, gemm_stagger, gemm_wgmma, gemm_pair,
// gemm_promote, gemm_split, gemm_apart, gemm_alternate and gemm_held (from
// gemm_turn on where the prelude of sm_90a is there), gemm_entry.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_GEMM_CONFIG_CUH
#define FUSEC_GEMM_CONFIG_CUH

/// What the main loop computes with. F16, BF16: products of 16-bit elements,
/// exact in f32, on tensor cores. TF32: f32 elements rounded to 11 significant
/// bits, on tensor cores. F32: fused multiply-add in f32, k ascending. These
/// accumulate in f32. I8 to U8 multiply 8-bit integers on tensor cores and add
/// modulo 2^32 in i32, E4M3 to E5M2 8-bit floats and accumulate as
/// gemm_promote.cuh says; the names are the types of A and B.
enum class GemmKind : u8 {
  F16,
  BF16,
  TF32,
  F32,
  I8,
  I8U8,
  U8I8,
  U8,
  E4M3,
  E4M3E5M2,
  E5M2E4M3,
  E5M2
};

/// How an operand reaches shared memory. Async: 16-byte groups copied unchanged
/// from memory. Computed: the hole returns elements. Tensor: boxes of a tensor
/// map, copied by the copy engine (gemm_wgmma.cuh only).
enum class GemmAccess : u8 { Async, Computed, Tensor };

/// Which dimension of an operand is contiguous in shared memory and walked by
/// neighbouring lanes: k, or the outer one (m for A, n for B).
enum class GemmOrder : u8 { KContiguous, OuterContiguous };

/// Where an Async operand's group starts: element offset from the operand's
/// base, a multiple of 16 bytes where `valid`; a group that is not valid reads
/// as zeros and its offset is ignored.
struct GemmSource {
  i64 offset;
  bool valid;
};

/// Element: what shared memory and the operand holes have (for 8-bit integers
/// i8, whatever the sign; for 8-bit floats f8e4m3, whatever the type). A, B:
/// what the products take it for. Sum: what accumulates and comes to the
/// epilogue.
template <class ElementType, class TypeA, class TypeB, class SumType>
struct GemmTypesOf {
  using Element = ElementType;
  using A = TypeA;
  using B = TypeB;
  using Sum = SumType;
};
template <GemmKind Kind>
struct GemmTypes : GemmTypesOf<f32, f32, f32, f32> {};
template <>
struct GemmTypes<GemmKind::F16> : GemmTypesOf<f16, f16, f16, f32> {};
template <>
struct GemmTypes<GemmKind::BF16> : GemmTypesOf<bf16, bf16, bf16, f32> {};
template <>
struct GemmTypes<GemmKind::I8> : GemmTypesOf<i8, i8, i8, i32> {};
template <>
struct GemmTypes<GemmKind::I8U8> : GemmTypesOf<i8, i8, u8, i32> {};
template <>
struct GemmTypes<GemmKind::U8I8> : GemmTypesOf<i8, u8, i8, i32> {};
template <>
struct GemmTypes<GemmKind::U8> : GemmTypesOf<i8, u8, u8, i32> {};
template <>
struct GemmTypes<GemmKind::E4M3> : GemmTypesOf<f8e4m3, f8e4m3, f8e4m3, f32> {};
template <>
struct GemmTypes<GemmKind::E4M3E5M2>
    : GemmTypesOf<f8e4m3, f8e4m3, f8e5m2, f32> {};
template <>
struct GemmTypes<GemmKind::E5M2E4M3>
    : GemmTypesOf<f8e4m3, f8e5m2, f8e4m3, f32> {};
template <>
struct GemmTypes<GemmKind::E5M2> : GemmTypesOf<f8e4m3, f8e5m2, f8e5m2, f32> {};

/// The position of a tile element in shared memory. A tile is kept line by
/// line (a line: TileK elements of one row, or the outer extent at one k);
/// 16-byte groups of a line are permuted by XOR so that the eight lines that an
/// ldmatrix reads at once fall into different banks. 8-bit elements are always
/// kept along k, as nothing transposes them on their way to the tensor cores.
template <class Element, GemmOrder Order, i32 Span>
struct GemmLayout {
  static constexpr i32 kGroup = 16 / i32(sizeof(Element));
  static constexpr i32 kGroups = Span / kGroup;
  /// Elements from one line to the next, and lines after which the XOR term
  /// repeats.
  static constexpr i32 kPitch = Span;
  static constexpr i32 kPeriod = 8;

  /// The XOR term of a line.
  FUSEC_DEVICE i32 phase(i32 line) {
    // 4-byte elements cannot be transposed by ldmatrix; single-word reads of
    // four neighbouring lines and eight columns need pairs of groups apart.
    if constexpr (sizeof(Element) == 4 && Order == GemmOrder::OuterContiguous &&
                  kGroups >= 8)
      return (line & 3) << 1;
    else if constexpr (kGroups >= 8)
      return line & 7;
    else if constexpr (kGroups == 4)
      return (line >> 1) & 3;
    else if constexpr (kGroups == 2)
      return (line >> 2) & 1;
    else
      return 0;
  }

  /// Element index of `along` on `line`, relative to the tile's start.
  FUSEC_DEVICE i32 index(i32 line, i32 along) {
    i32 group = (along / kGroup) ^ phase(line);
    return line * Span + group * kGroup + along % kGroup;
  }
};

/// One instantiation of the skeleton. A CTA of 32 * WarpsM * WarpsN * WarpsK
/// threads makes a TileM x TileN tile, TileK of k a step, through a ring of
/// `Stages` tiles. GroupM row tiles are walked together so that neighbouring
/// CTAs share rows and columns in L2. For Kind == F32 a warp's lanes are 4 x 8
/// and each thread makes 4 x 4 to 8 x 16 results; WarpsK > 1 divides each
/// step's k between groups of warps, whose sums are added in the end.
template <GemmKind Kind, i32 TileM, i32 TileN, i32 TileK, i32 WarpsM,
          i32 WarpsN, i32 Stages, i32 GroupM, i32 WarpsK = 1>
struct GemmConfig {
  using Types = GemmTypes<Kind>;
  using Element = typename Types::Element;
  using Sum = typename Types::Sum;
  static constexpr GemmKind kKind = Kind;
  static constexpr i32 kTileM = TileM;
  static constexpr i32 kTileN = TileN;
  static constexpr i32 kTileK = TileK;
  static constexpr i32 kWarpsM = WarpsM;
  static constexpr i32 kWarpsN = WarpsN;
  static constexpr i32 kStages = Stages;
  static constexpr i32 kGroupM = GroupM;
  static constexpr i32 kWarpsK = WarpsK;
  static constexpr i32 kThreads = 32 * WarpsM * WarpsN * WarpsK;
  /// Threads that move operands to shared memory: all.
  static constexpr i32 kLoadThreads = kThreads;
  /// Elements of one 16-byte group.
  static constexpr i32 kGroup = 16 / i32(sizeof(Element));
  /// How lines of `Span` elements lie in shared memory.
  template <GemmOrder Order, i32 Span>
  using Layout = GemmLayout<Element, Order, Span>;
  /// Elements behind each line of a tile (gemm_fma.cuh says why).
  static constexpr i32 kGap = Kind == GemmKind::F32 ? 4 : 0;
  /// One slot of the ring: the A tile, then the B tile, in elements.
  static constexpr i32 kSlotA = (TileM + kGap) * TileK;
  static constexpr i32 kSlot = kSlotA + (TileN + kGap) * TileK;
  static constexpr i32 kRingBytes = Stages * kSlot * i32(sizeof(Element));
  static constexpr i32 kStageBytes = WarpsK * TileM * TileN * 4;
  /// Dynamic shared memory that the launch must give.
  static constexpr i32 kSharedBytes =
      kRingBytes > kStageBytes ? kRingBytes : kStageBytes;

  FUSEC_DEVICE constexpr bool isPowerOfTwo(i32 v) {
    return v > 0 && !(v & (v - 1));
  }
  static_assert(isPowerOfTwo(TileM) && isPowerOfTwo(TileN) &&
                    isPowerOfTwo(TileK) && isPowerOfTwo(WarpsM) &&
                    isPowerOfTwo(WarpsN) && isPowerOfTwo(WarpsK),
                "tiles and warps are powers of two");
  static_assert(Stages >= 2 && GroupM >= 1, "a ring has at least two slots");
  static_assert(TileN >= 32, "the epilogue stage needs four groups a row");
  static_assert(Kind == GemmKind::F32
                    ? (TileM >= 16 * WarpsM && TileN >= 32 * WarpsN &&
                       TileM * TileN <= 64 * 64 * WarpsM * WarpsN &&
                       TileK >= 4 * WarpsK)
                    : (WarpsK == 1 && TileM % (16 * WarpsM) == 0 &&
                       TileN % (16 * WarpsN) == 0 && TileK >= 4 * kGroup),
                "a warp's tile does not divide the CTA's tile");
};

#endif // FUSEC_GEMM_CONFIG_CUH
