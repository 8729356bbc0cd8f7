//===- ImportEinsum.cpp - Einsum ------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// 1. Every operand's subscripts become distinct letters: repeated ones take the
//    diagonal, an ellipsis gets letters of its own.
// 2. Operands are joined from the left by contractions; a letter that neither
//    the result nor a later operand has is summed as soon as possible.
// 3. The last value is permuted into the result's order.
//===----------------------------------------------------------------------===//
#include "Build.h"

using namespace fusec;
using namespace fusec::onnx;
using namespace fusec::onnx::importer;
using graph::ReduceKind;
using llvm::StringRef;

namespace {
/// A tensor whose dimension i is named labels[i], each once. Positive labels
/// are letters, negative ones dimensions of the ellipsis counted from its end.
struct Term {
  Val val;
  llvm::SmallVector<int> labels;

  int64_t find(int label) const {
    auto it = llvm::find(labels, label);
    return it == labels.end() ? -1 : it - labels.begin();
  }
};

class Einsum {
public:
  explicit Einsum(Operator &op) : op(op), emit(op.emit) {}
  Val run(StringRef equation, llvm::ArrayRef<Val> operands);

private:
  using Labels = llvm::SmallVector<int>;
  std::optional<Labels> parse(StringRef text, int64_t rank);
  bool addTerm(StringRef text, const Val &val);
  void takeDiagonals(Term &term);
  Labels implicitResult() const;
  void sumUnneeded(Term &term, size_t next, const Labels &result);
  Term join(const Term &a, const Term &b, size_t next, const Labels &result);

  Operator &op;
  Emitter &emit;
  llvm::SmallVector<Term> terms;
  /// The labels of all operands as written, those of diagonals twice.
  Labels written;
};
} // namespace

/// The labels of one operand or result; an ellipsis stands for what `rank`
/// leaves (for as many as any operand has where `rank` is -1).
std::optional<Einsum::Labels> Einsum::parse(StringRef text, int64_t rank) {
  size_t dots = text.find("...");
  StringRef before = text.substr(0, dots);
  StringRef after =
      dots == StringRef::npos ? StringRef() : text.substr(dots + 3);
  for (StringRef part : {before, after})
    for (char c : part)
      if (!op.require(llvm::isAlpha(c), "unexpected character in the equation"))
        return std::nullopt;
  int64_t letters = static_cast<int64_t>(before.size() + after.size());
  int64_t hidden = 0;
  if (dots != StringRef::npos) {
    hidden = rank - letters;
    if (rank < 0) {
      hidden = 0;
      for (const Term &term : terms)
        for (int label : term.labels)
          hidden = std::max<int64_t>(hidden, -label);
    }
  }
  if (!op.require(hidden >= 0 && (rank < 0 || letters + hidden == rank),
                  "the subscripts " + quoted(text) + " do not fit rank " +
                      llvm::Twine(rank)))
    return std::nullopt;
  Labels labels;
  for (char c : before)
    labels.push_back(c);
  for (int64_t i = hidden; i > 0; --i)
    labels.push_back(static_cast<int>(-i));
  for (char c : after)
    labels.push_back(c);
  return labels;
}

bool Einsum::addTerm(StringRef text, const Val &val) {
  if (!val)
    return false;
  auto labels = parse(text, val.rank());
  if (!labels)
    return false;
  llvm::append_range(written, *labels);
  Term term{val, *labels};
  takeDiagonals(term);
  terms.push_back(std::move(term));
  return !op.failed();
}

/// Replaces two dimensions of one label by their diagonal, until none is left:
/// the pair becomes one dimension of n * n, of which every (n + 1)th is taken.
void Einsum::takeDiagonals(Term &term) {
  for (size_t i = 0; i < term.labels.size(); ++i)
    for (size_t j = i + 1; j < term.labels.size();) {
      if (term.labels[i] != term.labels[j]) {
        ++j;
        continue;
      }
      int64_t n = term.val.shape[i];
      if (!op.require(n == term.val.shape[j],
                      "a repeated subscript has two sizes"))
        return;
      // Both dimensions to the end, then the diagonal, then back to place i.
      Dims permutation, back;
      for (size_t d = 0; d < term.labels.size(); ++d)
        if (d != i && d != j)
          permutation.push_back(d);
      int64_t rest = static_cast<int64_t>(permutation.size());
      permutation.append({int64_t(i), int64_t(j)});
      Val moved = emit.transpose(term.val, permutation);
      if (!moved)
        return;
      Dims flat(DimsRef(moved.shape).drop_back(2));
      flat.push_back(n * n);
      Val diagonal = emit.sliceAxis(emit.reshape(moved, flat), rest, 0, n,
                                    n > 1 ? n + 1 : 1);
      for (int64_t d = 0; d <= rest; ++d)
        back.push_back(d < int64_t(i) ? d : d == int64_t(i) ? rest : d - 1);
      term.val = emit.transpose(diagonal, back);
      term.labels.erase(term.labels.begin() + j);
    }
}

/// Without "->": the ellipsis, then the letters that occur once, sorted. A
/// letter that names a diagonal occurs twice.
Einsum::Labels Einsum::implicitResult() const {
  Labels letters, result;
  int hidden = 0;
  for (int label : written)
    if (label > 0)
      letters.push_back(label);
    else
      hidden = std::max(hidden, -label);
  for (int i = hidden; i > 0; --i)
    result.push_back(-i);
  llvm::sort(letters);
  for (int letter : letters)
    if (llvm::count(letters, letter) == 1)
      result.push_back(letter);
  return result;
}

static bool isNeeded(int label, llvm::ArrayRef<Term> later,
                     llvm::ArrayRef<int> result) {
  return llvm::is_contained(result, label) ||
         llvm::any_of(later, [&](const Term &t) { return t.find(label) >= 0; });
}

/// Sums the labels that neither the terms from `next` on nor the result have.
void Einsum::sumUnneeded(Term &term, size_t next, const Labels &result) {
  Dims summed;
  Labels kept;
  for (size_t d = 0; d < term.labels.size(); ++d)
    if (isNeeded(term.labels[d], llvm::ArrayRef(terms).drop_front(next),
                 result))
      kept.push_back(term.labels[d]);
    else
      summed.push_back(static_cast<int64_t>(d));
  term.val = emit.reduce(ReduceKind::sum, term.val, summed);
  term.labels = kept;
}

/// Contracts two terms. Size-1 dimensions of a shared label broadcast.
Term Einsum::join(const Term &left, const Term &right, size_t next,
                  const Labels &result) {
  Term a = left, b = right, out;
  // What only one of them has and nobody needs is summed first; a dimension of
  // size 1 against a larger one is dropped.
  auto simplify = [&](Term &term, const Term &other) {
    Dims summed;
    Labels kept;
    for (size_t d = 0; d < term.labels.size(); ++d) {
      int label = term.labels[d];
      int64_t at = other.find(label);
      bool lone =
          at < 0 &&
          !isNeeded(label, llvm::ArrayRef(terms).drop_front(next), result);
      bool single =
          at >= 0 && term.val.shape[d] == 1 && other.val.shape[at] != 1;
      if (lone || single)
        summed.push_back(static_cast<int64_t>(d));
      else
        kept.push_back(label);
    }
    term.val = emit.reduce(ReduceKind::sum, term.val, summed);
    term.labels = kept;
  };
  simplify(a, right);
  simplify(b, left);
  if (!a.val || !b.val)
    return {};
  Pairing p;
  for (size_t d = 0; d < a.labels.size(); ++d) {
    int64_t at = b.find(a.labels[d]);
    if (at < 0)
      continue;
    if (!op.require(a.val.shape[d] == b.val.shape[at],
                    "a subscript has two sizes"))
      return {};
    bool keeps =
        isNeeded(a.labels[d], llvm::ArrayRef(terms).drop_front(next), result);
    (keeps ? p.lhsBatch : p.lhsContract).push_back(d);
    (keeps ? p.rhsBatch : p.rhsContract).push_back(at);
    if (keeps)
      out.labels.push_back(a.labels[d]);
  }
  for (const Term *term : {&a, &b})
    for (int label : term->labels)
      if (a.find(label) < 0 || b.find(label) < 0)
        out.labels.push_back(label);
  if (!p.lhsContract.empty()) {
    out.val = contract(op, a.val, b.val, p);
    return out;
  }
  // Nothing is summed: an elementwise product.
  Dims shape(out.labels.size(), 1);
  Val factors[2];
  for (auto [factor, term] : llvm::zip(factors, std::array{&a, &b})) {
    Dims permutation, spread(out.labels.size(), 1);
    for (size_t d = 0; d < out.labels.size(); ++d)
      if (int64_t at = term->find(out.labels[d]); at >= 0) {
        permutation.push_back(at);
        spread[d] = term->val.shape[at];
      }
    factor = emit.reshape(emit.transpose(term->val, permutation), spread);
  }
  out.val = emit.mul(factors[0], factors[1]);
  return out;
}

Val Einsum::run(StringRef equation, llvm::ArrayRef<Val> operands) {
  std::string text;
  for (char c : equation)
    if (c != ' ')
      text += c;
  auto [inputs, output] = StringRef(text).split("->");
  llvm::SmallVector<StringRef> subscripts;
  inputs.split(subscripts, ',');
  if (!op.require(subscripts.size() == operands.size(),
                  "expected " + llvm::Twine(subscripts.size()) + " operands"))
    return {};
  for (auto [subscript, operand] : llvm::zip(subscripts, operands))
    if (!addTerm(subscript, operand))
      return {};
  Labels result = implicitResult();
  if (StringRef(text).contains("->")) {
    auto given = parse(output, -1);
    if (!given)
      return {};
    result = *given;
  }
  Term term = terms[0];
  for (size_t i = 1; i < terms.size(); ++i)
    term = join(term, terms[i], i + 1, result);
  if (!term.val)
    return {};
  sumUnneeded(term, terms.size(), result);
  Dims permutation;
  for (int label : result) {
    int64_t at = term.find(label);
    if (!op.require(at >= 0 && llvm::count(result, label) == 1,
                    "the result has a subscript that no operand has, or one "
                    "twice"))
      return {};
    permutation.push_back(at);
  }
  return emit.transpose(term.val, permutation);
}

static void importEinsum(Operator &op) {
  std::string equation = op.stringAttr("equation", "");
  llvm::SmallVector<Val> operands = op.allInputs();
  if (op.failed() ||
      !op.require(operands[0].dtype != DType::Bool, "expected numbers"))
    return;
  op.out(Einsum(op).run(equation, operands));
}

void importer::addEinsum(Registry &registry) {
  registry.add("Einsum", importEinsum);
}
