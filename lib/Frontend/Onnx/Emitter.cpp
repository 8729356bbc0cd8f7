//===- Emitter.cpp - values, elementwise ops and failures -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Emitter.h"
#include "fusec/Dialect/Graph/IR/ConstantStore.h"
#include "fusec/Frontend/Onnx/TensorData.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/StringExtras.h"

using namespace fusec;
using namespace fusec::onnx;
using namespace fusec::onnx::importer;
using mlir::RankedTensorType;

std::string importer::describe(DimsRef shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

std::string importer::quoted(llvm::StringRef name) {
  std::string text = "'";
  llvm::raw_string_ostream stream(text);
  llvm::printEscapedString(name.take_front(80), stream);
  if (name.size() > 80)
    stream << "...";
  stream << "'";
  return text;
}

Dims importer::countUp(int64_t count, int64_t from) {
  Dims out;
  for (int64_t i = 0; i < count; ++i)
    out.push_back(from + i);
  return out;
}

int64_t Val::elements() const {
  int64_t product = 1; // fits: every Val was checked when it was made
  for (int64_t d : shape)
    product *= d;
  return product;
}

//===----------------------------------------------------------------------===//
// Failure
//===----------------------------------------------------------------------===//

void Emitter::enterNode(mlir::Location location, std::string text) {
  loc = location;
  prefix = std::move(text);
}

Val Emitter::report(ImportFailure kind, const llvm::Twine &message) {
  if (!failed()) {
    mlir::emitError(loc) << prefix << ": " << message.str();
    failure = kind;
  }
  return {};
}

Val Emitter::fail(const llvm::Twine &message) {
  return report(ImportFailure::Malformed, message);
}

Val Emitter::unsupported(const llvm::Twine &message) {
  return report(ImportFailure::Unsupported, message);
}

std::optional<DType> Emitter::dtype(DataType type, const llvm::Twine &what) {
  llvm::Expected<DType> found = onnx::toDType(type);
  if (found)
    return *found;
  report(isDataType(type) ? ImportFailure::Unsupported
                          : ImportFailure::Malformed,
         what + llvm::toString(found.takeError()));
  return std::nullopt;
}

bool Emitter::checkShape(DType dtype, DimsRef shape) {
  auto bytes = byteCount(dtype, shape, options.maxTensorBytes);
  if (bytes)
    return true;
  fail("shape " + describe(shape) + ": " + llvm::toString(bytes.takeError()));
  return false;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

// Values above this size are kept outside the context's attribute storage.
static constexpr size_t kMaxInlineBytes = 1024;

/// The contents as an attribute. Bytes of a large tensor are shared, not
/// copied; bool has a storage of its own in MLIR.
static mlir::ElementsAttr
toAttribute(RankedTensorType type,
            const std::shared_ptr<const HostTensor> &tensor) {
  llvm::ArrayRef<char> raw(
      reinterpret_cast<const char *>(tensor->bytes->data()),
      tensor->bytes->size());
  if (tensor->dtype == DType::Bool) {
    llvm::SmallVector<bool> bools;
    for (char c : raw)
      bools.push_back(c != 0);
    return mlir::DenseElementsAttr::get(type, llvm::ArrayRef<bool>(bools));
  }
  if (raw.size() <= kMaxInlineBytes)
    return mlir::DenseElementsAttr::getFromRawBuffer(type, raw);
  return graph::makeResource(type, "weight", tensor->bytes);
}

mlir::Value Emitter::use(const Val &val) {
  if (val.value || !val)
    return val.value;
  mlir::Value &value = constants[val.constant.get()];
  if (value)
    return value;
  auto type = RankedTensorType::get(
      val.shape, graph::fromDType(builder.getContext(), val.dtype));
  value = graph::ConstantOp::create(builder, loc, type,
                                    toAttribute(type, val.constant))
              .getResult();
  kept.push_back(val.constant);
  return value;
}

Val Emitter::fromConstant(std::shared_ptr<const HostTensor> tensor) {
  if (failed())
    return {};
  Val val;
  val.dtype = tensor->dtype;
  val.shape.assign(tensor->shape.begin(), tensor->shape.end());
  val.constant = std::move(tensor);
  val.valid = true;
  return val;
}

Val Emitter::fromConstant(HostTensor tensor) {
  return fromConstant(std::make_shared<const HostTensor>(std::move(tensor)));
}

Val Emitter::fromValue(mlir::Value value) {
  auto type = llvm::cast<RankedTensorType>(value.getType());
  Val val;
  val.dtype = *graph::toDType(type.getElementType());
  val.shape.assign(type.getShape().begin(), type.getShape().end());
  val.value = value;
  val.valid = true;
  return val;
}

Val Emitter::scalar(DType dtype, double value) {
  HostTensor tensor = llvm::cantFail(HostTensor::create(dtype, {}));
  tensor.setF64(0, value);
  return fromConstant(std::move(tensor));
}

Val Emitter::scalarInt(DType dtype, int64_t value) {
  HostTensor tensor = llvm::cantFail(HostTensor::create(dtype, {}));
  tensor.setI64(0, value);
  return fromConstant(std::move(tensor));
}

bool Emitter::charge(int64_t elements) {
  if (elements > options.maxMadeElements - made)
    unsupported("the operators of the model make constants of more than " +
                llvm::Twine(options.maxMadeElements) + " elements");
  else
    made += elements;
  return !failed();
}

Val Emitter::vector(DimsRef values) {
  int64_t size = static_cast<int64_t>(values.size());
  if (!charge(size))
    return {};
  auto tensor = HostTensor::create(DType::I64, {size}, options.maxTensorBytes);
  if (!tensor)
    return fail(llvm::toString(tensor.takeError()));
  for (int64_t i = 0; i < size; ++i)
    tensor->setI64(i, values[i]);
  return fromConstant(std::move(*tensor));
}

Val Emitter::splat(const Val &value, DimsRef shape) {
  return broadcast(value, shape, {});
}

Val Emitter::make(DType dtype, DimsRef shape,
                  llvm::function_ref<mlir::Value(RankedTensorType)> build) {
  if (failed() || !checkShape(dtype, shape))
    return {};
  mlir::Value value = build(RankedTensorType::get(
      shape, graph::fromDType(builder.getContext(), dtype)));
  // What an import did not check, the op's verifier does; here its message can
  // still be told together with the node.
  std::string message;
  bool isValid = true;
  {
    mlir::ScopedDiagnosticHandler handler(builder.getContext(),
                                          [&](mlir::Diagnostic &diagnostic) {
                                            if (message.empty())
                                              message = diagnostic.str();
                                            return mlir::success();
                                          });
    if (mlir::Operation *op = value.getDefiningOp())
      if (mlir::failed(mlir::verify(op, /*verifyRecursively=*/false)))
        isValid = false;
  }
  return isValid ? fromValue(value) : fail(message);
}

std::optional<HostTensor>
Emitter::foldTarget(DType dtype, DimsRef shape,
                    std::initializer_list<const Val *> from) {
  for (const Val *val : from)
    if (!val->constant)
      return std::nullopt;
  auto size = elementCount(shape);
  if (!size) {
    llvm::consumeError(size.takeError());
    return std::nullopt;
  }
  if (*size > options.maxFoldElements ||
      *size > options.maxTotalFoldElements - folded)
    return std::nullopt;
  folded += *size;
  return llvm::cantFail(HostTensor::create(dtype, shape));
}

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

bool Emitter::unify(llvm::MutableArrayRef<Val> vals) {
  Dims shape;
  for (const Val &val : vals) {
    if (!val)
      return false;
    if (val.shape.size() > shape.size())
      shape.insert(shape.begin(), val.shape.size() - shape.size(), 1);
    size_t shift = shape.size() - val.shape.size();
    for (size_t i = 0; i < val.shape.size(); ++i) {
      int64_t &dim = shape[shift + i];
      if (dim == 1)
        dim = val.shape[i];
      if (val.shape[i] != 1 && val.shape[i] != dim) {
        fail("shapes do not broadcast: " + describe(val.shape) + " against " +
             describe(shape));
        return false;
      }
    }
  }
  for (Val &val : vals) {
    val = broadcastTo(val, shape);
    if (!val)
      return false;
  }
  return true;
}

Val Emitter::unaryImpl(
    const Val &x, const UnaryFold &fold,
    llvm::function_ref<mlir::Value(RankedTensorType)> build) {
  bool folds = isFloat(x.dtype)
                   ? fold.real != nullptr
                   : fold.integer != nullptr && fitsSigned64(x.dtype);
  if (folds)
    if (auto out = foldTarget(x.dtype, x.shape, {&x})) {
      foldUnary(fold, *x.constant, *out);
      return fromConstant(std::move(*out));
    }
  return make(x.dtype, x.shape, build);
}

bool Emitter::prepareBinary(Val &lhs, Val &rhs) {
  if (!lhs || !rhs)
    return false;
  if (lhs.dtype != rhs.dtype) {
    fail("expected operands of one type, found " + name(lhs.dtype) + " and " +
         name(rhs.dtype));
    return false;
  }
  Val both[] = {lhs, rhs};
  if (!unify(both))
    return false;
  lhs = both[0];
  rhs = both[1];
  return true;
}

Val Emitter::binaryImpl(
    Val &lhs, Val &rhs, const BinaryFold &fold,
    llvm::function_ref<mlir::Value(RankedTensorType)> build) {
  bool folds = isFloat(lhs.dtype)
                   ? fold.real != nullptr
                   : fold.integer != nullptr && fitsSigned64(lhs.dtype);
  if (folds)
    if (auto out = foldTarget(lhs.dtype, lhs.shape, {&lhs, &rhs})) {
      foldBinary(fold, *lhs.constant, *rhs.constant, *out);
      return fromConstant(std::move(*out));
    }
  return make(lhs.dtype, lhs.shape, build);
}

Val Emitter::compare(graph::ComparePredicate predicate, const Val &lhs,
                     const Val &rhs) {
  Val a = lhs, b = rhs;
  if (!prepareBinary(a, b))
    return {};
  if (auto out = foldTarget(DType::Bool, a.shape, {&a, &b})) {
    foldCompare(predicate, *a.constant, *b.constant, *out);
    return fromConstant(std::move(*out));
  }
  return make(DType::Bool, a.shape, [&](RankedTensorType type) {
    return graph::CompareOp::create(builder, loc, type, predicate, use(a),
                                    use(b))
        .getResult();
  });
}

Val Emitter::select(const Val &pred, const Val &onTrue, const Val &onFalse) {
  Val v[] = {pred, onTrue, onFalse};
  if (!unify(v))
    return {};
  if (v[0].dtype != DType::Bool || v[1].dtype != v[2].dtype)
    return fail("expected a bool condition and two values of one type, found " +
                name(v[0].dtype) + ", " + name(v[1].dtype) + " and " +
                name(v[2].dtype));
  if (auto out = foldTarget(v[1].dtype, v[1].shape, {&v[0], &v[1], &v[2]})) {
    foldSelect(*v[0].constant, *v[1].constant, *v[2].constant, *out);
    return fromConstant(std::move(*out));
  }
  return make(v[1].dtype, v[1].shape, [&](RankedTensorType type) {
    return graph::SelectOp::create(builder, loc, type, use(v[0]), use(v[1]),
                                   use(v[2]))
        .getResult();
  });
}

Val Emitter::cast(const Val &x, DType dtype, bool saturate) {
  if (!x || x.dtype == dtype)
    return x;
  if (auto out = foldTarget(dtype, x.shape, {&x})) {
    foldCast(*x.constant, saturate, *out);
    return fromConstant(std::move(*out));
  }
  return make(dtype, x.shape, [&](RankedTensorType type) {
    return graph::CastOp::create(builder, loc, type, use(x), saturate)
        .getResult();
  });
}

Val Emitter::widen(const Val &x) {
  return x && isFloat(x.dtype) && precisionBits(x.dtype) < 24
             ? cast(x, DType::F32)
             : x;
}
