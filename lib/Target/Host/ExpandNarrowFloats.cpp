//===- ExpandNarrowFloats.cpp - bf16 and float8 by integers ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Code generators turn bf16 conversions into library calls on some machines and
// have no float8. Narrow values only stand between a truncation or a bitcast
// from memory and an extension or a bitcast to memory, so each becomes the
// integer of its bits:
//
//   extf(bitcast(bits))  ->  decode(bits)
//   bitcast(truncf(x))   ->  encode(x)
//   extf(truncf(x))      ->  decode(encode(x))
//
// encode rounds once, to nearest even, from f32 or f64. f64 to f16 is done here
// too.
//===----------------------------------------------------------------------===//
#include "KernelBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/TypeUtilities.h"

#include <cmath>

using namespace mlir;
using namespace fusec;
using namespace fusec::host;

namespace {
/// Integer and float code on scalars or vectors of the shape of one value.
class BitCoder {
public:
  BitCoder(OpBuilder &builder, Location loc, Type like)
      : builder(builder), loc(loc), vector(dyn_cast<VectorType>(like)) {}

  Type type(Type scalar) const {
    return vector ? Type(VectorType::get(vector.getShape(), scalar)) : scalar;
  }
  Value constant(Type scalar, Attribute value) {
    TypedAttr attribute = cast<TypedAttr>(value);
    if (vector)
      attribute = DenseElementsAttr::get(cast<ShapedType>(type(scalar)), value);
    return arith::ConstantOp::create(builder, loc, attribute);
  }
  Value integer(unsigned width, uint64_t value) {
    Type scalar = builder.getIntegerType(width);
    return constant(scalar, builder.getIntegerAttr(
                                scalar, APInt(width, value, false, true)));
  }
  Value real(Type scalar, double value) {
    return constant(scalar, builder.getFloatAttr(scalar, value));
  }
  template <typename OpT, typename... Args>
  Value make(Args &&...args) {
    return OpT::create(builder, loc, std::forward<Args>(args)...);
  }
  Value bits(Value value, unsigned width) {
    return make<arith::BitcastOp>(type(builder.getIntegerType(width)), value);
  }
  Value select(Value condition, Value ifTrue, Value ifFalse) {
    return make<arith::SelectOp>(condition, ifTrue, ifFalse);
  }

  OpBuilder &builder;
  Location loc;
  VectorType vector;
};

/// Where the parts of a narrow format are.
struct Format {
  unsigned width, mantissa;
  int bias;
  /// The code of infinity, or of NaN if there is none; larger ones are NaN.
  uint64_t overflow;
  uint64_t nan;
};
} // namespace

static Format formatOf(Type type) {
  if (isa<Float8E4M3FNType>(type))
    return {8, 3, 7, 0x7f, 0x7f};
  if (isa<Float8E5M2Type>(type))
    return {8, 2, 15, 0x7c, 0x7e};
  if (type.isF16())
    return {16, 10, 15, 0x7c00, 0x7e00};
  return {16, 7, 127, 0x7f80, 0x7fc0};
}

static bool isNarrow(Type type) {
  Type element = getElementTypeOrSelf(type);
  return isa<FloatType>(element) &&
         (element.isBF16() || element.getIntOrFloatBitWidth() == 8);
}

/// The bits of `value` (f32 or f64) rounded to `format`.
static Value encode(BitCoder &code, Value value, const Format &format) {
  Type wide = getElementTypeOrSelf(value);
  unsigned width = wide.getIntOrFloatBitWidth();
  unsigned mantissa = width == 64 ? 52 : 23;
  int bias = width == 64 ? 1023 : 127;
  unsigned drop = mantissa - format.mantissa;
  Value all = code.bits(value, width);
  Value sign = code.make<arith::ShRUIOp>(all, code.integer(width, width - 1));
  Value magnitude = code.make<arith::AndIOp>(
      all, code.integer(width, ~uint64_t(0) >> (65 - width)));

  // Normal results: add half less one, and one more if the last kept bit is
  // odd; a carry into the exponent is right.
  Value odd = code.make<arith::AndIOp>(
      code.make<arith::ShRUIOp>(magnitude, code.integer(width, drop)),
      code.integer(width, 1));
  Value half = code.make<arith::AddIOp>(
      odd, code.integer(width, (uint64_t(1) << (drop - 1)) - 1));
  Value rounded = code.make<arith::ShRUIOp>(
      code.make<arith::AddIOp>(magnitude, half), code.integer(width, drop));
  uint64_t shift = uint64_t(bias - format.bias) << format.mantissa;
  Value normal = code.make<arith::SubIOp>(rounded, code.integer(width, shift));

  // Denormal results: adding a power of two whose last bit has the weight of
  // the format's last bit makes the addition round.
  int lastBit = 1 - format.bias - static_cast<int>(format.mantissa);
  Value small;
  double leastNormal = std::ldexp(1.0, 1 - format.bias);
  if (width == 32 && format.bias == 127) {
    // bf16 has the exponents of f32: the normal path is right for denormals.
    small = normal;
  } else {
    double magic = std::ldexp(1.0, lastBit + static_cast<int>(mantissa));
    Value absolute = code.make<arith::BitcastOp>(code.type(wide), magnitude);
    Value sum = code.make<arith::AddFOp>(absolute, code.real(wide, magic));
    small = code.make<arith::SubIOp>(code.bits(sum, width),
                                     code.bits(code.real(wide, magic), width));
  }
  auto bitsOf = [&](double x) {
    return width == 64 ? llvm::bit_cast<uint64_t>(x)
                       : uint64_t(llvm::bit_cast<uint32_t>(float(x)));
  };
  Value isSmall =
      code.make<arith::CmpIOp>(arith::CmpIPredicate::ult, magnitude,
                               code.integer(width, bitsOf(leastNormal)));
  Value result = code.select(isSmall, small, normal);
  result =
      code.make<arith::MinUIOp>(result, code.integer(width, format.overflow));
  Value isNan = code.make<arith::CmpIOp>(arith::CmpIPredicate::ugt, magnitude,
                                         code.integer(width, bitsOf(HUGE_VAL)));
  result = code.select(isNan, code.integer(width, format.nan), result);
  Value signBit =
      code.make<arith::ShLIOp>(sign, code.integer(width, format.width - 1));
  result = code.make<arith::OrIOp>(result, signBit);
  return code.make<arith::TruncIOp>(
      code.type(code.builder.getIntegerType(format.width)), result);
}

/// The value of bits in `format` as f32; exact.
static Value decode(BitCoder &code, Value bits, const Format &format) {
  Type f32 = code.builder.getF32Type();
  Type i32 = code.builder.getI32Type();
  Value wide = code.make<arith::ExtUIOp>(code.type(i32), bits);
  if (format.bias == 127) { // bf16 is the upper half of f32
    Value shifted = code.make<arith::ShLIOp>(wide, code.integer(32, 16));
    return code.make<arith::BitcastOp>(code.type(f32), shifted);
  }
  Value magnitude = code.make<arith::AndIOp>(
      wide, code.integer(32, (1u << (format.width - 1)) - 1));
  Value sign = code.make<arith::ShLIOp>(
      code.make<arith::ShRUIOp>(wide, code.integer(32, format.width - 1)),
      code.integer(32, 31));
  // Put exponent and mantissa in place and correct the bias by a product, which
  // also makes denormals right.
  Value placed = code.make<arith::ShLIOp>(
      magnitude, code.integer(32, 23 - format.mantissa));
  Value value = code.make<arith::MulFOp>(
      code.make<arith::BitcastOp>(code.type(f32), placed),
      code.real(f32, std::ldexp(1.0, 127 - format.bias)));
  Value valueBits = code.bits(value, 32);
  bool hasInfinity = format.nan != format.overflow;
  Value beyond = code.make<arith::CmpIOp>(
      hasInfinity ? arith::CmpIPredicate::ugt : arith::CmpIPredicate::eq,
      magnitude, code.integer(32, format.overflow));
  valueBits = code.select(beyond, code.integer(32, 0x7fc00000), valueBits);
  if (hasInfinity) {
    Value isInfinite = code.make<arith::CmpIOp>(
        arith::CmpIPredicate::eq, magnitude, code.integer(32, format.overflow));
    valueBits =
        code.select(isInfinite, code.integer(32, 0x7f800000), valueBits);
  }
  return code.make<arith::BitcastOp>(code.type(f32),
                                     code.make<arith::OrIOp>(valueBits, sign));
}

/// Replaces the users of narrow value `narrow`, whose bits are `bits`.
static LogicalResult replaceUsers(Value narrow, Value bits) {
  Format format = formatOf(getElementTypeOrSelf(narrow));
  for (Operation *user : llvm::make_early_inc_range(narrow.getUsers())) {
    OpBuilder builder(user);
    Value replacement = bits;
    if (isa<arith::ExtFOp>(user)) {
      BitCoder code(builder, user->getLoc(), narrow.getType());
      replacement = decode(code, bits, format);
      Type wanted = user->getResult(0).getType();
      if (replacement.getType() != wanted)
        replacement = code.make<arith::ExtFOp>(wanted, replacement);
    } else if (!isa<arith::BitcastOp>(user)) {
      return user->emitOpError("works on a narrow float");
    }
    user->getResult(0).replaceAllUsesWith(replacement);
    user->erase();
  }
  return success();
}

/// f64 to f16 has a library call only: encode, then take the bits as f16.
static void expandHalf(arith::TruncFOp op) {
  OpBuilder builder(op);
  BitCoder code(builder, op.getLoc(), op.getType());
  Value bits = encode(code, op.getIn(), formatOf(builder.getF16Type()));
  Value half = code.make<arith::BitcastOp>(op.getType(), bits);
  op.replaceAllUsesWith(half);
  op.erase();
}

LogicalResult host::expandNarrowFloats(ModuleOp module) {
  SmallVector<Operation *> sources;
  SmallVector<arith::TruncFOp> halves;
  module.walk([&](Operation *op) {
    if (auto truncate = dyn_cast<arith::TruncFOp>(op);
        truncate && getElementTypeOrSelf(op->getOperand(0)).isF64() &&
        getElementTypeOrSelf(op->getResult(0)).isF16())
      halves.push_back(truncate);
    if (isa<arith::TruncFOp, arith::BitcastOp>(op) &&
        isNarrow(op->getResult(0).getType()))
      sources.push_back(op);
  });
  for (Operation *op : sources) {
    Value bits = op->getOperand(0), narrow = op->getResult(0);
    if (isa<arith::TruncFOp>(op)) {
      OpBuilder builder(op);
      BitCoder code(builder, op->getLoc(), narrow.getType());
      bits = encode(code, bits, formatOf(getElementTypeOrSelf(narrow)));
    }
    if (failed(replaceUsers(narrow, bits)))
      return failure();
    op->erase();
  }
  for (arith::TruncFOp op : halves)
    expandHalf(op);
  return success();
}
