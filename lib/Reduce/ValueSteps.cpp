//===- ValueSteps.cpp - smaller sizes, plainer types and values -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sizes that belong together are equal, so a size is replaced wherever it
// stands. What does not fit then (a reshape, a slice) is not valid and is not
// tried; a change of several sizes at once helps over some of it.
//===----------------------------------------------------------------------===//
#include "Steps.h"
#include "fusec/Dialect/Graph/IR/Graph.h"
#include "fusec/Reference/Attributes.h"
#include <set>

using namespace mlir;
using namespace fusec;
using namespace fusec::reduce;

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

/// Calls `visit` for every value of the function.
template <typename Visit>
static void forEachValue(const Case &subject, Visit visit) {
  func::FuncOp function =
      const_cast<session::Model &>(subject.model).function();
  function.walk([&](Operation *op) {
    for (Value result : op->getResults())
      visit(result);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (Value argument : block.getArguments())
          visit(argument);
  });
}

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// The leading part of a tensor, converted.
static HostTensor converted(const HostTensor &from, ArrayRef<int64_t> shape,
                            DType dtype) {
  HostTensor to = llvm::cantFail(HostTensor::create(dtype, shape));
  SmallVector<int64_t> index(shape.size(), 0);
  for (int64_t i = 0, e = to.elements(); i < e; ++i) {
    int64_t rest = i, place = 0;
    for (size_t d = shape.size(); d-- > 0; rest /= shape[d])
      index[d] = rest % shape[d];
    for (size_t d = 0; d < shape.size(); ++d)
      place = place * from.shape[d] + std::min(index[d], from.shape[d] - 1);
    if (dtype == from.dtype)
      to.setBits(i, from.getBits(place));
    else if (isFloat(dtype))
      to.setF64(i, from.getF64(place));
    else
      to.setI64(i, from.getI64(place));
  }
  return to;
}

/// Gives every value the type that `change` makes of its own; inputs and
/// constants follow. False if nothing changed.
static bool
changeTypes(Case &subject,
            llvm::function_ref<RankedTensorType(RankedTensorType)> change) {
  bool changed = false, lost = false;
  forEachValue(subject, [&](Value value) {
    RankedTensorType from = typeOf(value), to = change(from);
    if (to == from)
      return;
    changed = true;
    value.setType(to);
    // An empty tensor has no element to repeat.
    lost |= from.getNumElements() == 0 && to.getNumElements() > 0;
  });
  if (!changed || lost)
    return false;
  for (auto [argument, input] :
       llvm::zip(bodyOf(subject).getArguments(), subject.inputs))
    input = converted(input, typeOf(argument).getShape(),
                      *graph::toDType(typeOf(argument).getElementType()));
  for (Operation *op : opsOf(subject)) {
    auto constant = dyn_cast<graph::ConstantOp>(op);
    if (!constant || constant.getValue().getType() == constant.getType())
      continue;
    auto type = cast<RankedTensorType>(constant.getType());
    llvm::Expected<HostTensor> value =
        reference::toHostTensor(constant.getValue());
    if (!value) {
      llvm::consumeError(value.takeError());
      return false;
    }
    constant.setValueAttr(reference::toAttribute(
        converted(*value, type.getShape(),
                  *graph::toDType(type.getElementType())),
        constant.getContext()));
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

static std::set<int64_t> sizesOf(const Case &subject) {
  std::set<int64_t> sizes;
  forEachValue(subject, [&](Value value) {
    for (int64_t size : typeOf(value).getShape())
      if (size > 1)
        sizes.insert(size);
  });
  return sizes;
}

/// Replaces sizes by others: multiples of `from` by those of `to`.
static RankedTensorType resized(RankedTensorType type, int64_t from, int64_t to,
                                bool multiples) {
  SmallVector<int64_t> shape(type.getShape());
  for (int64_t &size : shape)
    if (size == from || (multiples && size > 0 && size % from == 0))
      size = size / from * to;
  return RankedTensorType::get(shape, type.getElementType());
}

bool reduce::shrinkSizes(const Case &current, Try attempt) {
  bool changed = false;
  std::set<int64_t> sizes = sizesOf(current);
  for (auto it = sizes.rbegin(); it != sizes.rend(); ++it)
    for (int64_t size = *it; size > 1;) {
      int64_t smaller = 0;
      for (int64_t candidate : {int64_t(1), int64_t(2), size / 2, size - 1})
        for (bool multiples : {false, true})
          if (!smaller && candidate < size &&
              attempt(
                  "a smaller size",
                  [&](Case &subject) {
                    return changeTypes(subject, [&](RankedTensorType type) {
                      return resized(type, size, candidate, multiples);
                    });
                  }))
            smaller = candidate;
      if (!smaller)
        break;
      changed = true;
      size = smaller;
    }
  return changed;
}

//===----------------------------------------------------------------------===//
// Element types and values
//===----------------------------------------------------------------------===//

bool reduce::plainTypes(const Case &current, Try attempt) {
  std::set<DType> types;
  forEachValue(current, [&](Value value) {
    types.insert(*graph::toDType(typeOf(value).getElementType()));
  });
  bool changed = false;
  for (DType type : types) {
    if (type == DType::Bool)
      continue;
    DType plain = isFloat(type) ? DType::F32 : DType::I32;
    if (type != plain)
      changed |= attempt("a plainer type", [&](Case &subject) {
        return changeTypes(subject, [&](RankedTensorType tensor) {
          return *graph::toDType(tensor.getElementType()) == type
                     ? tensor.clone(
                           graph::fromDType(tensor.getContext(), plain))
                     : tensor;
        });
      });
  }
  return changed;
}

/// All elements `value`, or every second one: the first `keep` stay.
static bool flatten(HostTensor &tensor, double value, int64_t first,
                    int64_t last) {
  bool changed = false;
  tensor = tensor.clone();
  for (int64_t i = first; i < last; ++i) {
    uint64_t before = tensor.getBits(i);
    tensor.setF64(i, value);
    changed |= tensor.getBits(i) != before;
  }
  return changed;
}

static bool isAll(const HostTensor &tensor, double value) {
  for (int64_t i = 0, e = tensor.elements(); i < e; ++i)
    if (tensor.getF64(i) != value)
      return false;
  return true;
}

bool reduce::plainValues(const Case &current, Try attempt) {
  bool changed = false;
  for (size_t k = 0; k < current.inputs.size(); ++k) {
    int64_t count = current.inputs[k].elements();
    auto set = [&](double value, int64_t first, int64_t last) {
      return attempt("plainer values", [&](Case &subject) {
        return flatten(subject.inputs[k], value, first, last);
      });
    };
    // Zeros are plainest, then ones: never back from zeros to ones.
    if (isAll(current.inputs[k], 0))
      continue;
    if (set(0, 0, count)) {
      changed = true;
      continue;
    }
    if (isAll(current.inputs[k], 1))
      continue;
    if (set(1, 0, count)) {
      changed = true;
      continue;
    }
    // Halves, quarters, ... of the elements to zero.
    for (int64_t size = count / 2; size > 0; size /= 2)
      for (int64_t first = 0; first < count; first += size)
        if (k < current.inputs.size())
          changed |= set(0, first, std::min(first + size, count));
  }
  return changed;
}
