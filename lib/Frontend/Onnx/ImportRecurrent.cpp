//===- ImportRecurrent.cpp - RNN, GRU, LSTM -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The input's products are one contraction for all steps; the steps are
// unrolled, so that each fuses like any other code.
//===----------------------------------------------------------------------===//
#include "Build.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace fusec;
using namespace fusec::onnx;
using namespace fusec::onnx::importer;
using graph::ComparePredicate;

/// Steps of all directions together that are unrolled at most.
static constexpr int64_t kMaxSteps = 1024;

//===----------------------------------------------------------------------===//
// Activations
//===----------------------------------------------------------------------===//

namespace {
/// An activation by name with its parameters.
struct Activation {
  enum class Kind {
    Affine,
    Elu,
    HardSigmoid,
    LeakyRelu,
    Relu,
    ScaledTanh,
    Sigmoid,
    Softplus,
    Softsign,
    Tanh,
    ThresholdedRelu
  };
  Kind kind = Kind::Tanh;
  double alpha = 0, beta = 0;
};
} // namespace

/// The activation of a name, with the format's defaults.
static std::optional<Activation> activationOf(llvm::StringRef text) {
  using Kind = Activation::Kind;
  return llvm::StringSwitch<std::optional<Activation>>(text.lower())
      .Case("affine", Activation{Kind::Affine, 1, 0})
      .Case("elu", Activation{Kind::Elu, 1, 0})
      .Case("hardsigmoid", Activation{Kind::HardSigmoid, 0.2f, 0.5})
      .Case("leakyrelu", Activation{Kind::LeakyRelu, 0.01f, 0})
      .Case("relu", Activation{Kind::Relu, 0, 0})
      .Case("scaledtanh", Activation{Kind::ScaledTanh, 1, 1})
      .Case("sigmoid", Activation{Kind::Sigmoid, 0, 0})
      .Case("softplus", Activation{Kind::Softplus, 0, 0})
      .Case("softsign", Activation{Kind::Softsign, 0, 0})
      .Case("tanh", Activation{Kind::Tanh, 0, 0})
      .Case("thresholdedrelu", Activation{Kind::ThresholdedRelu, 1, 0})
      .Default(std::nullopt);
}

static bool takesAlpha(Activation::Kind kind) {
  using Kind = Activation::Kind;
  return kind != Kind::Relu && kind != Kind::Sigmoid &&
         kind != Kind::Softplus && kind != Kind::Softsign && kind != Kind::Tanh;
}

static bool takesBeta(Activation::Kind kind) {
  using Kind = Activation::Kind;
  return kind == Kind::Affine || kind == Kind::HardSigmoid ||
         kind == Kind::ScaledTanh;
}

static Val activate(Operator &op, const Activation &f, const Val &x) {
  using Kind = Activation::Kind;
  if (!x)
    return {};
  Emitter &emit = op.emit;
  Val zero = emit.scalar(x.dtype, 0);
  auto scaled = [&](const Val &v, double a, double b) {
    return emit.binary<graph::AddOp>(emit.binary<graph::MulOp>(v, a), b);
  };
  auto branch = [&](double above, const Val &low) {
    return emit.select(
        emit.compare(ComparePredicate::gt, x, emit.scalar(x.dtype, above)), x,
        low);
  };
  switch (f.kind) {
  case Kind::Affine:
    return scaled(x, f.alpha, f.beta);
  case Kind::Elu:
    return branch(
        0, emit.binary<graph::MulOp>(emit.unary<graph::Expm1Op>(x), f.alpha));
  case Kind::HardSigmoid:
    return emit.binary<graph::MinOp>(
        emit.binary<graph::MaxOp>(scaled(x, f.alpha, f.beta), 0), 1);
  case Kind::LeakyRelu:
    return branch(0, emit.binary<graph::MulOp>(x, f.alpha));
  case Kind::Relu:
    return emit.binary<graph::MaxOp>(x, 0);
  case Kind::ScaledTanh:
    return emit.binary<graph::MulOp>(
        emit.unary<graph::TanhOp>(emit.binary<graph::MulOp>(x, f.beta)),
        f.alpha);
  case Kind::Sigmoid:
    return emit.unary<graph::LogisticOp>(x);
  case Kind::Softplus:
    return emit.unary<graph::SoftplusOp>(x);
  case Kind::Softsign:
    return emit.div(x,
                    emit.binary<graph::AddOp>(emit.unary<graph::AbsOp>(x), 1));
  case Kind::Tanh:
    return emit.unary<graph::TanhOp>(x);
  case Kind::ThresholdedRelu:
    return branch(f.alpha, zero);
  }
  return {};
}

//===----------------------------------------------------------------------===//
// What the three operators share
//===----------------------------------------------------------------------===//

namespace {
/// A node, read.
struct Recurrence {
  /// [steps, batch, input], [directions, gates * hidden, input or hidden].
  Val x, w, r;
  /// [directions, 2 * gates * hidden]; may be null.
  Val bias;
  /// [batch] i64, or null.
  Val lengths;
  /// [directions, batch, hidden]; the cell and peepholes are LSTM's.
  Val hidden, cell, peepholes;
  int64_t steps = 0, batch = 0, size = 0, directions = 1, gates = 1;
  bool startsReversed = false;
  bool batchFirst = false;
  double clip = 0;
  /// Per direction the activations in the node's order.
  std::vector<Activation> activations;

  Val weights(Operator &op, const Val &all, int64_t direction) const {
    if (!all)
      return {};
    Val one = op.emit.sliceAxis(all, 0, direction, 1);
    return op.emit.reshape(one, DimsRef(all.shape).drop_front());
  }
  /// Gate `g` of [..., gates * hidden].
  Val gate(Operator &op, const Val &all, int64_t g) const {
    return all ? op.emit.sliceAxis(all, all.rank() - 1, g * size, size) : Val();
  }
};

/// The state of one direction.
struct State {
  Val hidden, cell;
};

/// The constant operands of one direction.
struct Weights {
  Val r;                // [gates * hidden, hidden]
  Val inputBias, rBias; // [gates * hidden] or null
  Val peepholes;        // [3 * hidden] or null
  const Activation *f;  // the direction's activations
};
} // namespace

static bool readActivations(Operator &op, Recurrence &n,
                            llvm::ArrayRef<llvm::StringRef> otherwise) {
  auto given = op.stringsAttr("activations");
  auto alphas = op.floatsAttr("activation_alpha");
  auto betas = op.floatsAttr("activation_beta");
  size_t count = otherwise.size() * n.directions, alpha = 0, beta = 0;
  if (!op.require(!given || given->size() == count,
                  "expected " + llvm::Twine(count) + " activations"))
    return false;
  for (size_t i = 0; i < count; ++i) {
    std::string text =
        given ? (*given)[i] : otherwise[i % otherwise.size()].str();
    std::optional<Activation> f = activationOf(text);
    if (!op.require(f.has_value(), "unknown activation " + quoted(text)))
      return false;
    if (alphas && takesAlpha(f->kind) && alpha < alphas->size())
      f->alpha = (*alphas)[alpha++];
    if (betas && takesBeta(f->kind) && beta < betas->size())
      f->beta = (*betas)[beta++];
    n.activations.push_back(*f);
  }
  return true;
}

/// [batch, directions, hidden] or [directions, batch, hidden] as the latter;
/// zeros where the node has none.
static Val readState(Operator &op, size_t input, const Recurrence &n) {
  Emitter &emit = op.emit;
  Dims shape = {n.directions, n.batch, n.size};
  if (!op.hasInput(input))
    return emit.splat(n.x.dtype, 0, shape);
  Val state = op.in(input);
  if (state && n.batchFirst && state.rank() == 3)
    state = emit.transpose(state, {1, 0, 2});
  return state && op.require(state.shape == shape,
                             "expected a state of shape " + describe(shape) +
                                 ", found " + describe(state.shape))
             ? state
             : Val();
}

static std::optional<Recurrence>
readRecurrence(Operator &op, int64_t gates,
               llvm::ArrayRef<llvm::StringRef> activations) {
  Emitter &emit = op.emit;
  Recurrence n;
  n.gates = gates;
  n.batchFirst = op.intAttr("layout", 0) != 0;
  n.clip = op.floatAttr("clip", 0);
  op.ignore({"output_sequence"});
  std::string direction = op.stringAttr("direction", "forward");
  n.startsReversed = direction == "reverse";
  n.directions = direction == "bidirectional" ? 2 : 1;
  n.x = op.in(0);
  n.w = op.in(1);
  n.r = op.in(2);
  if (!n.x || !n.w || !n.r ||
      !op.require(direction == "forward" || n.startsReversed ||
                      n.directions == 2,
                  "unknown direction " + quoted(direction)) ||
      !op.require(n.x.rank() == 3 && n.w.rank() == 3 && n.r.rank() == 3,
                  "expected inputs of rank 3"))
    return std::nullopt;
  if (n.batchFirst)
    n.x = emit.transpose(n.x, {1, 0, 2});
  n.steps = n.x.shape[0];
  n.batch = n.x.shape[1];
  n.size = n.r.shape[2];
  int64_t rows = gates * n.size;
  if (!op.require(op.intAttr("hidden_size", n.size) == n.size &&
                      n.w.shape == Dims{n.directions, rows, n.x.shape[2]} &&
                      n.r.shape == Dims{n.directions, rows, n.size},
                  "input " + describe(n.x.shape) + " and weights " +
                      describe(n.w.shape) + ", " + describe(n.r.shape) +
                      " do not fit") ||
      !op.requireSupport(n.steps <= kMaxSteps / n.directions,
                         "more than " + llvm::Twine(kMaxSteps) + " steps") ||
      !readActivations(op, n, activations))
    return std::nullopt;
  if (op.hasInput(3)) {
    n.bias = op.in(3);
    if (!n.bias || !op.require(n.bias.shape == Dims{n.directions, 2 * rows},
                               "unexpected shape of the bias"))
      return std::nullopt;
  }
  if (op.hasInput(4)) {
    n.lengths = emit.cast(op.in(4), DType::I64);
    if (!n.lengths || !op.require(n.lengths.shape == Dims{n.batch},
                                  "expected one length per batch"))
      return std::nullopt;
  }
  n.hidden = readState(op, 5, n);
  return op.failed() ? std::nullopt : std::optional(n);
}

static Val clipped(Operator &op, const Recurrence &n, const Val &x) {
  if (n.clip == 0)
    return x;
  return op.emit.binary<graph::MinOp>(op.emit.binary<graph::MaxOp>(x, -n.clip),
                                      n.clip);
}

/// a + b; b may be null.
static Val plus(Operator &op, const Val &a, const Val &b) {
  return b ? op.emit.add(a, b) : a;
}

using Step = State (*)(Operator &op, const Recurrence &n, const Weights &w,
                       const Val &input, const State &state);

/// All steps of one direction: the hidden states in the order of time
/// ([batch, hidden] each) and the last state.
static std::vector<Val> runDirection(Operator &op, const Recurrence &n,
                                     int64_t d, Step step, State &state) {
  Emitter &emit = op.emit;
  int64_t rows = n.gates * n.size;
  Weights w;
  w.r = n.weights(op, n.r, d);
  w.peepholes = n.weights(op, n.peepholes, d);
  w.f = &n.activations[d * n.activations.size() / n.directions];
  if (Val bias = n.weights(op, n.bias, d)) {
    w.inputBias = emit.sliceAxis(bias, 0, 0, rows);
    w.rBias = emit.sliceAxis(bias, 0, rows, rows);
  }
  Val inputs =
      plus(op, multiplyTransposed(op, n.x, n.weights(op, n.w, d)), w.inputBias);
  state.hidden = n.weights(op, n.hidden, d);
  state.cell = n.weights(op, n.cell, d);
  std::vector<Val> outputs(n.steps);
  bool reversed = n.startsReversed || d == 1;
  for (int64_t i = 0; i < n.steps && !op.failed(); ++i) {
    int64_t t = reversed ? n.steps - 1 - i : i;
    Val input = emit.reshape(emit.sliceAxis(inputs, 0, t, 1), {n.batch, rows});
    State next = step(op, n, w, input, state);
    outputs[t] = next.hidden;
    if (n.lengths) {
      // Behind its end a sequence keeps its state and gives zeros.
      Val runs = emit.reshape(emit.compare(ComparePredicate::gt, n.lengths,
                                           emit.scalarInt(DType::I64, t)),
                              {n.batch, 1});
      outputs[t] = emit.select(runs, next.hidden, emit.scalar(n.x.dtype, 0));
      next.hidden = emit.select(runs, next.hidden, state.hidden);
      if (next.cell)
        next.cell = emit.select(runs, next.cell, state.cell);
    }
    state = next;
  }
  return outputs;
}

/// [batch, hidden] values as [values, batch, hidden].
static Val stack(Operator &op, llvm::ArrayRef<Val> parts) {
  llvm::SmallVector<Val> rows;
  for (const Val &part : parts)
    rows.push_back(
        part ? op.emit.reshape(part, {1, part.shape[0], part.shape[1]})
             : Val());
  return op.emit.concat(rows, 0);
}

/// Outputs Y [steps, directions, batch, hidden] and the last states.
static void importSteps(Operator &op, const Recurrence &n, Step step) {
  Emitter &emit = op.emit;
  if (!op.requireSupport(n.steps > 0, "expected at least one step"))
    return;
  llvm::SmallVector<Val> all, hidden, cell;
  for (int64_t d = 0; d < n.directions; ++d) {
    State state;
    std::vector<Val> outputs = runDirection(op, n, d, step, state);
    Val stacked = stack(op, outputs);
    all.push_back(stacked ? emit.reshape(stacked, {n.steps, 1, n.batch, n.size})
                          : Val());
    hidden.push_back(state.hidden);
    cell.push_back(state.cell);
  }
  auto place = [&](const Val &state) {
    return n.batchFirst ? emit.transpose(state, {1, 0, 2}) : state;
  };
  Val y = emit.concat(all, 1);
  op.out(0, n.batchFirst ? emit.transpose(y, {2, 0, 1, 3}) : y);
  op.out(1, place(stack(op, hidden)));
  if (n.cell)
    op.out(2, place(stack(op, cell)));
}

//===----------------------------------------------------------------------===//
// The steps
//===----------------------------------------------------------------------===//

static State stepRnn(Operator &op, const Recurrence &n, const Weights &w,
                     const Val &input, const State &state) {
  Val sum = op.emit.add(
      input, plus(op, multiplyTransposed(op, state.hidden, w.r), w.rBias));
  return {activate(op, w.f[0], clipped(op, n, sum)), {}};
}

/// Gates: update, reset, hidden. `linearBeforeReset`: the reset gate acts on
/// the product instead of on the state.
template <bool linearBeforeReset>
static State stepGru(Operator &op, const Recurrence &n, const Weights &w,
                     const Val &input, const State &state) {
  Emitter &emit = op.emit;
  const Val &h = state.hidden;
  auto rows = [&](int64_t first, int64_t count) {
    return emit.sliceAxis(w.r, 0, first * n.size, count * n.size);
  };
  auto biasOf = [&](int64_t first, int64_t count) {
    return w.rBias ? emit.sliceAxis(w.rBias, 0, first * n.size, count * n.size)
                   : Val();
  };
  Val two =
      emit.add(emit.sliceAxis(input, 1, 0, 2 * n.size),
               plus(op, multiplyTransposed(op, h, rows(0, 2)), biasOf(0, 2)));
  two = activate(op, w.f[0], clipped(op, n, two));
  Val update = n.gate(op, two, 0), reset = n.gate(op, two, 1);
  Val own;
  if (linearBeforeReset)
    own = emit.mul(
        reset, plus(op, multiplyTransposed(op, h, rows(2, 1)), biasOf(2, 1)));
  else
    own = plus(op, multiplyTransposed(op, emit.mul(reset, h), rows(2, 1)),
               biasOf(2, 1));
  Val fresh =
      activate(op, w.f[1], clipped(op, n, emit.add(n.gate(op, input, 2), own)));
  if (!update)
    return {};
  Val rest = emit.sub(emit.scalar(update.dtype, 1), update);
  return {emit.add(emit.mul(rest, fresh), emit.mul(update, h)), {}};
}

/// Gates: input, output, forget, cell. `coupled`: forget is 1 - input.
template <bool coupled>
static State stepLstm(Operator &op, const Recurrence &n, const Weights &w,
                      const Val &input, const State &state) {
  Emitter &emit = op.emit;
  Val gates = emit.add(
      input, plus(op, multiplyTransposed(op, state.hidden, w.r), w.rBias));
  auto open = [&](int64_t gate, int64_t peephole, const Val &cell) {
    Val sum = n.gate(op, gates, gate);
    if (w.peepholes)
      sum = emit.add(sum, emit.mul(n.gate(op, w.peepholes, peephole), cell));
    return activate(op, w.f[0], clipped(op, n, sum));
  };
  Val in = open(0, 0, state.cell);
  if (!in)
    return {};
  Val forget =
      coupled ? emit.sub(emit.scalar(in.dtype, 1), in) : open(2, 2, state.cell);
  Val fresh = activate(op, w.f[1], clipped(op, n, n.gate(op, gates, 3)));
  Val cell = emit.add(emit.mul(forget, state.cell), emit.mul(in, fresh));
  Val out = open(1, 1, cell);
  return {emit.mul(out, activate(op, w.f[2], cell)), cell};
}

static void importRnn(Operator &op) {
  if (auto n = readRecurrence(op, 1, {"Tanh"}))
    importSteps(op, *n, stepRnn);
}

static void importGru(Operator &op) {
  bool linear = op.intAttr("linear_before_reset", 0) != 0;
  if (auto n = readRecurrence(op, 3, {"Sigmoid", "Tanh"}))
    importSteps(op, *n, linear ? stepGru<true> : stepGru<false>);
}

static void importLstm(Operator &op) {
  bool coupled = op.intAttr("input_forget", 0) != 0;
  auto n = readRecurrence(op, 4, {"Sigmoid", "Tanh", "Tanh"});
  if (!n)
    return;
  n->cell = readState(op, 6, *n);
  if (op.hasInput(7)) {
    n->peepholes = op.in(7);
    if (!n->peepholes ||
        !op.require(n->peepholes.shape == Dims{n->directions, 3 * n->size},
                    "unexpected shape of the peepholes"))
      return;
  }
  if (n->cell)
    importSteps(op, *n, coupled ? stepLstm<true> : stepLstm<false>);
}

void importer::addRecurrent(Registry &registry) {
  registry.add("RNN", importRnn);
  registry.add("GRU", importGru);
  registry.add("LSTM", importLstm);
}
