//===- Box.h - intervals for the elements of a tensor -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The values and rules behind Bounds.h. A rule says what right ways may give
// as one op's result; BoundRegistry finds it by op type.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_REFERENCE_BOX_H
#define FUSEC_LIB_REFERENCE_BOX_H

#include "Kernel.h"
#include <cmath>

namespace fusec::reference {

/// The smaller and the larger of two numbers, -0 below +0.
inline double lesser(double a, double b) {
  return a < b || (a == b && std::signbit(a)) ? a : b;
}
inline double greater(double a, double b) {
  return a > b || (a == b && !std::signbit(a)) ? a : b;
}

/// An interval of floats: a proper one (low <= high), NaN for certain (both
/// NaN), or unknown (-inf, +inf), which is anything with NaN. Ends that are
/// zeros of different sign: a zero of either sign.
struct Interval {
  double low = 0, high = 0;

  static Interval unknown() { return {-HUGE_VAL, HUGE_VAL}; }
  static Interval point(double x) { return {x, x}; }
  bool isUnknown() const { return low == -HUGE_VAL && high == HUGE_VAL; }
  bool isNan() const { return std::isnan(low); }
  bool isPoint() const { return low == high; }
  bool isZeroOfEitherSign() const {
    return low == 0 && high == 0 && std::signbit(low) != std::signbit(high);
  }
  bool contains(double x) const { return low <= x && x <= high; }
};

/// The largest |x| of an interval.
inline double magnitude(Interval x) {
  return std::max(std::fabs(x.low), std::fabs(x.high));
}

/// What the elements of a value may be. `low` and `high` have the form of
/// `middle`, or are empty if the value is exact. Unknown integers have
/// low != high.
struct Box {
  Tensor middle;
  Tensor low, high;

  bool isExact() const { return !hasEnds; }
  /// Gives an exact box ends of its own.
  void spread();
  /// Drops the ends where they all equal the middle.
  void settle();

  const Tensor &lowest() const { return hasEnds ? low : middle; }
  const Tensor &highest() const { return hasEnds ? high : middle; }
  Interval at(int64_t i) const { return {lowest().real[i], highest().real[i]}; }
  void set(int64_t i, Interval value) {
    low.real[i] = value.low;
    high.real[i] = value.high;
  }
  bool isUnknown(int64_t i) const {
    return hasEnds && (middle.isReal() ? at(i).isUnknown()
                                       : low.whole[i] != high.whole[i]);
  }
  void setUnknown(int64_t i);
  void setAllUnknown();

  bool hasEnds = false;
  /// The values were computed in f64, whatever their type: they are rounded to
  /// it at once, not by way of f32.
  bool fromDouble = false;
};

/// Evaluates on boxes.
class BoxContext : public Context {
public:
  explicit BoxContext(const EvaluateOptions &options) : Context(options) {}
  virtual llvm::Expected<std::vector<Box>>
  runBoxes(mlir::Region &region, std::vector<Box> arguments) = 0;
  llvm::Expected<std::vector<Tensor>> runRegion(mlir::Region &,
                                                std::vector<Tensor>) override {
    return llvm::createStringError("regions run on boxes");
  }
  /// Sums of 8-bit floats may be those of tensor cores.
  bool float8Sums = true;
  /// The op at hand stands for a part of a composite.
  bool inner = false;

  /// The op's kernel on tensors, integers wrapped and floats as they are.
  llvm::Expected<std::vector<Tensor>>
  runKernel(mlir::Operation *op, llvm::ArrayRef<const Tensor *> operands);
};

/// The boxes of an op's results before they are rounded. Operands that the op
/// reads rounded are rounded already.
using BoundRule = llvm::Expected<std::vector<Box>> (*)(
    mlir::Operation *op, llvm::ArrayRef<const Box *> operands,
    BoxContext &context);

/// Rules by op type.
class BoundRegistry {
public:
  template <typename... OpTs>
  void add(BoundRule rule) {
    ((rules[mlir::TypeID::get<OpTs>()] = rule), ...);
  }
  BoundRule lookup(mlir::TypeID id) const { return rules.lookup(id); }
  static const BoundRegistry &get();

private:
  llvm::DenseMap<mlir::TypeID, BoundRule> rules;
};

void registerElementwiseBounds(BoundRegistry &registry);
void registerMovementBounds(BoundRegistry &registry);
void registerReductionBounds(BoundRegistry &registry);
void registerControlBounds(BoundRegistry &registry);

/// The type in which elements of `dtype` are computed: f64 for f64, else f32.
inline DType computeType(DType dtype) {
  return dtype == DType::F64 ? DType::F64 : DType::F32;
}
/// Half the spacing of numbers of a compute type near 1.
inline double roundoff(DType compute) {
  return compute == DType::F64 ? 0x1p-53 : 0x1p-24;
}
inline double leastNormal(DType compute) {
  return compute == DType::F64 ? 0x1p-1022 : 0x1p-126;
}
inline double leastDenormal(DType compute) {
  return compute == DType::F64 ? 0x1p-1074 : 0x1p-149;
}
inline double largestFinite(DType compute) {
  return compute == DType::F64 ? std::numeric_limits<double>::max()
                               : double(std::numeric_limits<float>::max());
}

/// `value` made wider by `error` on both sides; not across zero.
Interval widened(Interval value, double error);

inline std::vector<Box> single(Box box) {
  std::vector<Box> boxes;
  boxes.push_back(std::move(box));
  return boxes;
}

} // namespace fusec::reference

#endif // FUSEC_LIB_REFERENCE_BOX_H
