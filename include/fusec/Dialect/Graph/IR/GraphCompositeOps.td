//===- GraphCompositeOps.td - ops defined by other ops -----*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_DIALECT_GRAPH_IR_GRAPHCOMPOSITEOPS_TD
#define FUSEC_DIALECT_GRAPH_IR_GRAPHCOMPOSITEOPS_TD

include "fusec/Dialect/Graph/IR/GraphElementwiseOps.td"

class Graph_CompositeOp<string mnemonic, list<Trait> traits = []>
    : Graph_Op<mnemonic, traits # [Pure, DeclareOpInterfaceMethods<CompositeOpInterface>]>;

// One float tensor in, the same type out.
class Graph_ActivationOp<string mnemonic, string what, dag attributes = (ins)>
    : Graph_CompositeOp<mnemonic, [SameOperandsAndResultType]> {
  let summary = what;
  let arguments = !con((ins Graph_FloatTensor:$operand), attributes);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($result)";
}
def Graph_ReluOp : Graph_CompositeOp<"relu", [SameOperandsAndResultType]> {
  let summary = "max(x, 0); NaN stays NaN";
  let arguments = (ins Graph_NumberTensor:$operand);
  let results = (outs Graph_NumberTensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($result)";
}
def Graph_LeakyReluOp : Graph_ActivationOp<"leaky_relu", "x where x >= 0, else alpha * x", (ins F64Attr:$alpha)>;
def Graph_GeluOp : Graph_ActivationOp<"gelu", "x * Phi(x) by erf or the tanh formula", (ins Graph_GeluKindAttr:$kind)> {
  let assemblyFormat = "$kind $operand attr-dict `:` type($result)";
}
def Graph_SiluOp : Graph_ActivationOp<"silu", "x * logistic(x)">;
def Graph_SoftplusOp : Graph_ActivationOp<"softplus", "log(1 + exp(x)) as max(x, 0) + log1p(exp(-|x|))">;
def Graph_EluOp : Graph_ActivationOp<"elu", "x where x > 0, else alpha * expm1(x)", (ins F64Attr:$alpha)>;
def Graph_HardSigmoidOp : Graph_ActivationOp<"hard_sigmoid", "clamp(alpha * x + beta, 0, 1)", (ins F64Attr:$alpha, F64Attr:$beta)>;

class Graph_AxisNormalizeOp<string mnemonic, string what>
    : Graph_ActivationOp<mnemonic, what, (ins DenseI64ArrayAttr:$dimensions)> {
  let assemblyFormat = "$operand $dimensions attr-dict `:` type($result)";
  let hasVerifier = 1;
}
def Graph_SoftmaxOp : Graph_AxisNormalizeOp<"softmax", "exp(x - max) / sum(exp(x - max)) along `dimensions`">;
def Graph_LogSoftmaxOp : Graph_AxisNormalizeOp<"log_softmax", "(x - max) - log(sum(exp(x - max))) along `dimensions`">;

def Graph_LayerNormOp : Graph_CompositeOp<"layer_norm", [AllTypesMatch<["operand", "result"]>]> {
  let summary = "(x - mean) / sqrt(var + eps) over the dimensions from `axis` on, then scale and bias";
  let description = [{
    Statistics in f32 (f64 for f64), variance as the mean of squared centred
    values. `scale` and the optional `bias` have the shape of the normalised
    dimensions.
  }];
  let arguments = (ins Graph_FloatTensor:$operand, Graph_FloatTensor:$scale, Optional<Graph_FloatTensor>:$bias,
                       I64Attr:$axis, F64Attr:$epsilon);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = [{$operand `,` $scale (`,` $bias^)? `axis` `=` $axis `epsilon` `=` $epsilon attr-dict `:`
    type($operand) `,` type($scale) (`,` type($bias)^)?}];
  let hasVerifier = 1;
}
def Graph_RmsNormOp : Graph_CompositeOp<"rms_norm", [AllTypesMatch<["operand", "result"]>]> {
  let summary = "x / sqrt(mean(x^2) + eps) over the dimensions from `axis` on, times scale";
  let arguments = (ins Graph_FloatTensor:$operand, Graph_FloatTensor:$scale, I64Attr:$axis, F64Attr:$epsilon);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = [{$operand `,` $scale `axis` `=` $axis `epsilon` `=` $epsilon attr-dict `:`
    type($operand) `,` type($scale)}];
  let hasVerifier = 1;
}
def Graph_BatchNormOp : Graph_CompositeOp<"batch_norm", [AllTypesMatch<["operand", "result"]>]> {
  let summary = "inference batch normalisation: (x - mean) * (scale / sqrt(var + eps)) + bias per channel";
  let arguments = (ins Graph_FloatTensor:$operand, Graph_FloatTensor:$scale, Graph_FloatTensor:$bias,
                       Graph_FloatTensor:$mean, Graph_FloatTensor:$variance,
                       I64Attr:$channel, F64Attr:$epsilon);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = [{$operand `,` $scale `,` $bias `,` $mean `,` $variance
    `channel` `=` $channel `epsilon` `=` $epsilon attr-dict `:` type($operand) `,` type($scale)
    `,` type($bias) `,` type($mean) `,` type($variance)}];
  let hasVerifier = 1;
}

#endif // FUSEC_DIALECT_GRAPH_IR_GRAPHCOMPOSITEOPS_TD
