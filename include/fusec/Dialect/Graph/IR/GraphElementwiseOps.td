//===- GraphElementwiseOps.td - elementwise ops ------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operands and result have one shape. Special values, integer overflow and
// division by zero: docs/semantics.md.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_DIALECT_GRAPH_IR_GRAPHELEMENTWISEOPS_TD
#define FUSEC_DIALECT_GRAPH_IR_GRAPHELEMENTWISEOPS_TD

include "fusec/Dialect/Graph/IR/GraphDialect.td"
include "fusec/Dialect/Graph/IR/GraphEnums.td"
include "fusec/Dialect/Graph/IR/GraphInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

// An elementwise op defines `Value buildScalar(ElementBuilder &, ValueRange)`
// on operands in compute types; the rest of FusibleOpInterface follows.
class Graph_ElementwiseOp<string mnemonic, int cost = 1, list<Trait> traits = []>
    : Graph_Op<mnemonic, traits # [Pure, SameOperandsAndResultShape,
        DeclareOpInterfaceMethods<FusibleOpInterface, ["readsRounded", "getElementCost"]>]> {
  bit discontinuous = 0;
  code elementwiseDeclarations = [{
    /// The result from operands in compute types.
    ::mlir::Value buildScalar(ElementBuilder &builder, ::mlir::ValueRange args);
  }];
  let extraClassDeclaration = elementwiseDeclarations;
  let extraClassDefinition = [{
    ::mlir::Value $cppClass::buildElement(ElementBuilder &builder, unsigned,
        ::mlir::ValueRange index, ElementReader &reader) {
      ::llvm::SmallVector<::mlir::Value> args;
      for (unsigned i = 0, e = getOperation()->getNumOperands(); i < e; ++i)
        args.push_back(reader.read(i, index));
      return buildScalar(builder, args);
    }
    IterationSpace $cppClass::getIterationSpace() {
      return detail::elementwiseSpace(getOperation());
    }
    FusionRole $cppClass::getFusionRole() { return FusionRole::elementwise; }
    bool $cppClass::readsRounded() { return }] # !if(discontinuous, "true", "false") # [{; }
    int64_t $cppClass::getElementCost() { return }] # cost # [{; }
  }];
}

class Graph_UnaryOp<string mnemonic, Type type, int cost = 1, list<Trait> traits = []>
    : Graph_ElementwiseOp<mnemonic, cost, traits # [SameOperandsAndResultType]> {
  let arguments = (ins type:$operand);
  let results = (outs type:$result);
  let assemblyFormat = "$operand attr-dict `:` type($result)";
}

class Graph_BinaryOp<string mnemonic, Type type, int cost = 1, list<Trait> traits = []>
    : Graph_ElementwiseOp<mnemonic, cost, traits # [SameOperandsAndResultType]> {
  let arguments = (ins type:$lhs, type:$rhs);
  let results = (outs type:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($result)";
}

//===----------------------------------------------------------------------===//
// Unary
//===----------------------------------------------------------------------===//

class Graph_FloatUnaryOp<string mnemonic, string what, int cost>
    : Graph_UnaryOp<mnemonic, Graph_FloatTensor, cost> {
  let summary = what;
}
def Graph_AbsOp : Graph_UnaryOp<"abs", Graph_NumberTensor> {
  let summary = "magnitude; wraps for the least signed integer";
  let hasFolder = 0;
}
def Graph_NegOp : Graph_UnaryOp<"neg", Graph_NumberTensor> {
  let summary = "negation; flips the sign of zero and NaN, wraps for integers";
  let hasFolder = 1;
}
def Graph_SignOp : Graph_UnaryOp<"sign", Graph_NumberTensor, 3> {
  let summary = "-1, 0 or 1; NaN for NaN, keeps the sign of zero";
  let discontinuous = 1;
}
def Graph_NotOp : Graph_UnaryOp<"not", Graph_IntOrBoolTensor> {
  let summary = "bitwise complement; logical not for bool";
  let hasFolder = 1;
}
def Graph_FloorOp : Graph_FloatUnaryOp<"floor", "largest integer not above", 1> { let discontinuous = 1; }
def Graph_CeilOp : Graph_FloatUnaryOp<"ceil", "least integer not below", 1> { let discontinuous = 1; }
def Graph_TruncOp : Graph_FloatUnaryOp<"trunc", "integer part", 1> { let discontinuous = 1; }
def Graph_RoundOp : Graph_FloatUnaryOp<"round", "nearest integer, ties to even", 1> { let discontinuous = 1; }
def Graph_SqrtOp : Graph_FloatUnaryOp<"sqrt", "square root", 8>;
def Graph_RsqrtOp : Graph_FloatUnaryOp<"rsqrt", "1 / sqrt(x)", 4>;
def Graph_CbrtOp : Graph_FloatUnaryOp<"cbrt", "cube root", 15>;
def Graph_ExpOp : Graph_FloatUnaryOp<"exp", "e to the power", 8>;
def Graph_Exp2Op : Graph_FloatUnaryOp<"exp2", "2 to the power", 4>;
def Graph_Expm1Op : Graph_FloatUnaryOp<"expm1", "exp(x) - 1, accurate near 0", 20>;
def Graph_LogOp : Graph_FloatUnaryOp<"log", "natural logarithm", 12>;
def Graph_Log2Op : Graph_FloatUnaryOp<"log2", "base-2 logarithm", 12>;
def Graph_Log1pOp : Graph_FloatUnaryOp<"log1p", "log(1 + x), accurate near 0", 20>;
def Graph_SinOp : Graph_FloatUnaryOp<"sin", "sine, radians", 20>;
def Graph_CosOp : Graph_FloatUnaryOp<"cos", "cosine, radians", 20>;
def Graph_TanOp : Graph_FloatUnaryOp<"tan", "tangent, radians", 25>;
def Graph_AsinOp : Graph_FloatUnaryOp<"asin", "inverse sine", 20>;
def Graph_AcosOp : Graph_FloatUnaryOp<"acos", "inverse cosine", 20>;
def Graph_AtanOp : Graph_FloatUnaryOp<"atan", "inverse tangent", 20>;
def Graph_SinhOp : Graph_FloatUnaryOp<"sinh", "hyperbolic sine", 25>;
def Graph_CoshOp : Graph_FloatUnaryOp<"cosh", "hyperbolic cosine", 20>;
def Graph_TanhOp : Graph_FloatUnaryOp<"tanh", "hyperbolic tangent", 15>;
def Graph_AsinhOp : Graph_FloatUnaryOp<"asinh", "inverse hyperbolic sine", 30>;
def Graph_AcoshOp : Graph_FloatUnaryOp<"acosh", "inverse hyperbolic cosine", 30>;
def Graph_AtanhOp : Graph_FloatUnaryOp<"atanh", "inverse hyperbolic tangent", 30>;
def Graph_ErfOp : Graph_FloatUnaryOp<"erf", "error function", 25>;
def Graph_LogisticOp : Graph_FloatUnaryOp<"logistic", "1 / (1 + exp(-x)), no overflow", 12>;

class Graph_FloatPredicateOp<string mnemonic, string what>
    : Graph_ElementwiseOp<mnemonic, 1, [DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = what;
  let discontinuous = 1;
  let arguments = (ins Graph_FloatTensor:$operand);
  let results = (outs Graph_BoolTensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand)";
}
def Graph_IsNanOp : Graph_FloatPredicateOp<"is_nan", "true for NaN">;
def Graph_IsInfOp : Graph_FloatPredicateOp<"is_inf", "true for either infinity">;

//===----------------------------------------------------------------------===//
// Binary
//===----------------------------------------------------------------------===//

def Graph_AddOp : Graph_BinaryOp<"add", Graph_NumberTensor, 1, [Commutative]> {
  let summary = "sum; integers wrap";
  let hasFolder = 1;
}
def Graph_SubOp : Graph_BinaryOp<"sub", Graph_NumberTensor> {
  let summary = "difference; integers wrap";
  let hasFolder = 1;
}
def Graph_MulOp : Graph_BinaryOp<"mul", Graph_NumberTensor, 1, [Commutative]> {
  let summary = "product; integers wrap";
  let hasFolder = 1;
}
def Graph_DivOp : Graph_BinaryOp<"div", Graph_NumberTensor, 9> {
  let summary = "quotient; integers truncate, x / 0 is 0 and least / -1 wraps";
  let hasFolder = 1;
}
def Graph_RemOp : Graph_BinaryOp<"rem", Graph_NumberTensor, 20> {
  let summary = "remainder with the sign of the dividend (C fmod); integer x % 0 is x";
}
def Graph_ModOp : Graph_BinaryOp<"mod", Graph_NumberTensor, 22> {
  let summary = "remainder with the sign of the divisor (Python %); integer x mod 0 is x";
  let discontinuous = 1;
}
def Graph_PowOp : Graph_BinaryOp<"pow", Graph_NumberTensor, 40> {
  let summary = "power; integers wrap, a negative exponent truncates 1/x^n (0 for x = 0)";
}
def Graph_MaxOp : Graph_BinaryOp<"max", Graph_NumberTensor, 1, [Commutative]> {
  let summary = "larger; NaN if either is NaN, +0 over -0";
  let hasFolder = 1;
}
def Graph_MinOp : Graph_BinaryOp<"min", Graph_NumberTensor, 1, [Commutative]> {
  let summary = "smaller; NaN if either is NaN, -0 under +0";
  let hasFolder = 1;
}
def Graph_Atan2Op : Graph_BinaryOp<"atan2", Graph_FloatTensor, 40> {
  let summary = "angle of the point (x = rhs, y = lhs), IEEE for zeros";
}
def Graph_AndOp : Graph_BinaryOp<"and", Graph_IntOrBoolTensor, 1, [Commutative]> {
  let summary = "bitwise and";
  let hasFolder = 1;
}
def Graph_OrOp : Graph_BinaryOp<"or", Graph_IntOrBoolTensor, 1, [Commutative]> {
  let summary = "bitwise or";
  let hasFolder = 1;
}
def Graph_XorOp : Graph_BinaryOp<"xor", Graph_IntOrBoolTensor, 1, [Commutative]> {
  let summary = "bitwise exclusive or";
}
def Graph_ShlOp : Graph_BinaryOp<"shl", Graph_IntTensor> {
  let summary = "left shift; 0 for amounts outside [0, width)";
}
def Graph_ShrOp : Graph_BinaryOp<"shr", Graph_IntTensor> {
  let summary = "right shift, arithmetic for signed; sign fill for amounts outside [0, width)";
}

def Graph_CompareOp : Graph_ElementwiseOp<"compare", 1,
    [DeclareOpInterfaceMethods<InferTypeOpInterface>, SameTypeOperands]> {
  let summary = "comparison; with NaN only `ne` is true";
  let description = [{
    ```mlir
    %r = graph.compare lt %a, %b : tensor<4xf32>
    ```
  }];
  let discontinuous = 1;
  let arguments = (ins Graph_ComparePredicateAttr:$predicate,
                       Graph_Tensor:$lhs, Graph_Tensor:$rhs);
  let results = (outs Graph_BoolTensor:$result);
  let assemblyFormat = "$predicate $lhs `,` $rhs attr-dict `:` type($lhs)";
}

def Graph_SelectOp : Graph_ElementwiseOp<"select", 1,
    [AllTypesMatch<["onTrue", "onFalse", "result"]>]> {
  let summary = "onTrue where pred holds, else onFalse";
  let arguments = (ins Graph_BoolTensor:$pred, Graph_Tensor:$onTrue, Graph_Tensor:$onFalse);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$pred `,` $onTrue `,` $onFalse attr-dict `:` type($pred) `,` type($result)";
  let hasFolder = 1;
}

def Graph_ClampOp : Graph_ElementwiseOp<"clamp", 2, [SameOperandsAndResultType]> {
  let summary = "min(max(x, low), high); NaN if any is NaN";
  let arguments = (ins Graph_NumberTensor:$low, Graph_NumberTensor:$operand, Graph_NumberTensor:$high);
  let results = (outs Graph_NumberTensor:$result);
  let assemblyFormat = "$low `,` $operand `,` $high attr-dict `:` type($result)";
}

def Graph_CastOp : Graph_ElementwiseOp<"cast", 2> {
  let summary = "explicit conversion between element types; never elided";
  let description = [{
    To a narrower float: round to nearest, ties to even (f8E4M3FN and f8E5M2
    saturate when `saturate`, else overflow to NaN and infinity). Float to
    integer: truncate, saturate, NaN gives 0. Integer to integer: wrap. To bool:
    `x != 0`.
    ```mlir
    %r = graph.cast %a : tensor<4xf32> -> tensor<4xbf16>
    ```
  }];
  let discontinuous = 1;
  let arguments = (ins Graph_Tensor:$operand, DefaultValuedAttr<BoolAttr, "true">:$saturate);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($result)";
  let hasFolder = 1;
}

def Graph_QuantizeOp : Graph_ElementwiseOp<"quantize", 12> {
  let summary = "saturate(round(x / scale) + zero_point), ties to even";
  let description = "For float8 results there is no rounding to an integer and zero_point is zero.";
  let discontinuous = 1;
  let arguments = (ins Graph_FloatTensor:$operand, Graph_FloatTensor:$scale, Graph_Tensor:$zeroPoint);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = [{$operand `,` $scale `,` $zeroPoint attr-dict `:`
    type($operand) `,` type($scale) `,` type($zeroPoint) `->` type($result)}];
  let hasVerifier = 1;
}

def Graph_DequantizeOp : Graph_ElementwiseOp<"dequantize", 4> {
  let summary = "(x - zero_point) * scale";
  let arguments = (ins Graph_Tensor:$operand, Graph_FloatTensor:$scale, Graph_Tensor:$zeroPoint);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = [{$operand `,` $scale `,` $zeroPoint attr-dict `:`
    type($operand) `,` type($scale) `,` type($zeroPoint) `->` type($result)}];
  let hasVerifier = 1;
}

#endif // FUSEC_DIALECT_GRAPH_IR_GRAPHELEMENTWISEOPS_TD
