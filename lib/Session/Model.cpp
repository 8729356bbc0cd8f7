//===- Model.cpp - a graph in memory --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Session/Model.h"
#include "fusec/Dialect/Graph/IR/Graph.h"
#include "fusec/Driver/Compile.h"
#include "fusec/Driver/Diagnostics.h"
#include "fusec/Frontend/Onnx/TensorData.h"
#include "fusec/Session/SharedContext.h"
#include "fusec/Target/Host/CompileForHost.h"
#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::session;
using driver::DiagnosticCollector;

func::FuncOp Model::function() {
  return *module->getOps<func::FuncOp>().begin();
}

std::unique_ptr<MLIRContext> session::createContext() {
  DialectRegistry registry;
  driver::registerDialects(registry);
  host::registerDialects(registry);
  auto context =
      std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  context->loadAllAvailableDialects();
  // Messages name an op and its place; constants make its text long.
  context->printOpOnDiagnostic(false);
  return context;
}

static llvm::Expected<runtime::TensorSpec>
specOf(Type type, DictionaryAttr attributes, llvm::StringRef otherwise) {
  std::string name = otherwise.str();
  if (attributes)
    if (auto given = attributes.getAs<StringAttr>("graph.name"))
      name = given.str();
  auto tensor = dyn_cast<RankedTensorType>(type);
  std::optional<DType> dtype =
      tensor ? graph::toDType(tensor.getElementType()) : std::nullopt;
  if (!dtype || !tensor.hasStaticShape()) {
    std::string found;
    llvm::raw_string_ostream(found) << type;
    return sessionError(ErrorClass::Unsupported,
                        "tensor " + quoted(name) +
                            ": expected a tensor of static shape and a known "
                            "element type, found " +
                            found);
  }
  return runtime::TensorSpec{name, *dtype,
                             std::vector<int64_t>(tensor.getShape())};
}

llvm::Error session::describeFunction(Model &model) {
  llvm::Expected<func::FuncOp> entry = driver::findEntry(*model.module);
  if (!entry)
    return withClass(ErrorClass::InvalidArgument, entry.takeError());
  FunctionType type = entry->getFunctionType();
  for (auto [i, input] : llvm::enumerate(type.getInputs())) {
    auto spec =
        specOf(input, entry->getArgAttrDict(i), "input" + std::to_string(i));
    if (!spec)
      return spec.takeError();
    model.inputs.push_back(std::move(*spec));
  }
  for (auto [i, result] : llvm::enumerate(type.getResults())) {
    auto spec = specOf(result, entry->getResultAttrDict(i),
                       "output" + std::to_string(i));
    if (!spec)
      return spec.takeError();
    model.outputs.push_back(std::move(*spec));
  }
  return llvm::Error::success();
}

/// Where the comment or string ends that starts at `at`; `at` if none does.
static size_t skipComment(llvm::StringRef text, size_t at) {
  if (text.substr(at).starts_with("//"))
    return std::min(text.find('\n', at), text.size() - 1);
  if (text[at] != '"')
    return at;
  size_t end = at + 1;
  while (end < text.size() && text[end] != '"' && text[end] != '\n')
    end += text[end] == '\\' ? 2 : 1;
  return std::min(end, text.size() - 1);
}

/// The parser calls itself for every bracket and sign: text that nests deeper
/// than any graph does is refused before it overflows the stack.
static llvm::Error checkNesting(llvm::StringRef text, llvm::StringRef name) {
  constexpr unsigned kMaxDepth = 256;
  constexpr llvm::StringLiteral kOpening = "([{<", kClosing = ")]}>";
  unsigned depth[4] = {}, signs = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    i = skipComment(text, i);
    char c = text[i];
    signs = c == '-' ? signs + 1 : c == ' ' ? signs : 0;
    // Arrows and comparisons close nothing.
    if (c == '>' && ((i && text[i - 1] == '-') || text.substr(i + 1, 1) == "="))
      continue;
    size_t opening = kOpening.find(c), closing = kClosing.find(c);
    if (opening != llvm::StringRef::npos)
      ++depth[opening];
    else if (closing != llvm::StringRef::npos && depth[closing])
      --depth[closing];
    if (signs > kMaxDepth ||
        llvm::any_of(depth, [](unsigned d) { return d > kMaxDepth; }))
      return sessionError(
          ErrorClass::InvalidArgument,
          quoted(name) + " is not valid: expected brackets nested at most " +
              llvm::Twine(kMaxDepth) + " deep");
  }
  return llvm::Error::success();
}

/// Refuses ops that no target knows: those of the lowerings' dialects, which
/// the context has as well.
static llvm::Error checkDialects(ModuleOp module) {
  Operation *foreign = nullptr;
  module->walk([&](Operation *op) {
    bool known = isa<ModuleOp, func::FuncOp, func::ReturnOp>(op) ||
                 isa_and_nonnull<graph::GraphDialect>(op->getDialect());
    if (known)
      return WalkResult::advance();
    foreign = op;
    return WalkResult::interrupt();
  });
  if (!foreign)
    return llvm::Error::success();
  std::string place;
  llvm::raw_string_ostream(place) << foreign->getLoc();
  return sessionError(ErrorClass::InvalidArgument,
                      "expected ops of the graph dialect, found " +
                          foreign->getName().getStringRef() + " at " + place);
}

static llvm::Expected<Model> parse(llvm::StringRef text, llvm::StringRef name,
                                   MLIRContext &context) {
  Model model;
  DiagnosticCollector diagnostics(&context);
  // MLIR's lexer looks for a zero behind the text; a caller's need not have
  // one.
  std::string terminated = text.str();
  model.module =
      parseSourceString<ModuleOp>(terminated, ParserConfig(&context), name);
  if (!model.module)
    return sessionError(
        ErrorClass::InvalidArgument,
        quoted(name) + " is not valid: " +
            llvm::toString(diagnostics.take("the text cannot be parsed")));
  if (llvm::Error error = checkDialects(*model.module))
    return error;
  if (llvm::Error error = describeFunction(model))
    return error;
  return model;
}

/// What `read(context)` reads in a context of its own, which the model keeps.
template <typename Read>
static llvm::Expected<Model> inOwnContext(Read read) {
  std::unique_ptr<MLIRContext> context = createContext();
  llvm::Expected<Model> model = read(*context);
  if (model)
    model->context = std::move(context);
  return model;
}

llvm::Expected<Model> session::parseModel(llvm::StringRef text,
                                          llvm::StringRef name,
                                          MLIRContext &context) {
  // Bytecode nests without brackets, and its reader is not made for what
  // anybody may write.
  if (isBytecode(llvm::MemoryBufferRef(text, name)))
    return sessionError(ErrorClass::InvalidArgument,
                        quoted(name) +
                            " is not valid: expected MLIR text, found MLIR "
                            "bytecode");
  if (llvm::Error error = checkNesting(text, name))
    return error;
  return parse(text, name, context);
}

llvm::Expected<Model> session::parseModel(llvm::StringRef text,
                                          llvm::StringRef name) {
  return inOwnContext(
      [&](MLIRContext &context) { return parseModel(text, name, context); });
}

llvm::Expected<Model> session::importModel(const onnx::Model &file,
                                           const onnx::ImportOptions &options,
                                           llvm::StringRef name,
                                           MLIRContext &context) {
  Model model;
  DiagnosticCollector diagnostics(&context);
  onnx::ImportFailure failure;
  model.module = onnx::importModel(file, &context, options, &failure);
  if (!model.module)
    return sessionError(
        failure == onnx::ImportFailure::Malformed ? ErrorClass::InvalidArgument
                                                  : ErrorClass::Unsupported,
        quoted(name) + ": " +
            llvm::toString(diagnostics.take("the model cannot be imported")));
  if (llvm::Error error = describeFunction(model))
    return error;
  return model;
}

llvm::Expected<Model> session::importModel(const onnx::Model &file,
                                           const onnx::ImportOptions &options,
                                           llvm::StringRef name) {
  return inOwnContext([&](MLIRContext &context) {
    return importModel(file, options, name, context);
  });
}

llvm::Expected<Model> session::cloneModel(const Model &model) {
  std::string bytes;
  llvm::raw_string_ostream stream(bytes);
  ModuleOp module = const_cast<Model &>(model).module.get();
  if (failed(writeBytecodeToFile(module, stream)))
    return sessionError(ErrorClass::Failed, "the graph cannot be copied");
  return inOwnContext(
      [&](MLIRContext &context) { return parse(bytes, "graph", context); });
}

//===----------------------------------------------------------------------===//
// ONNX
//===----------------------------------------------------------------------===//

std::vector<const onnx::ValueInfo *>
session::openInputs(const onnx::Model &file) {
  llvm::StringSet<> known;
  for (const onnx::Tensor &tensor : file.graph.initializers)
    known.insert(tensor.name);
  std::vector<const onnx::ValueInfo *> result;
  for (const onnx::ValueInfo &input : file.graph.inputs)
    if (!known.contains(input.name))
      result.push_back(&input);
  return result;
}

llvm::Error session::checkInputTypes(const onnx::Model &file) {
  for (const onnx::ValueInfo *input : openInputs(file)) {
    if (input->type.kind == onnx::Type::Kind::None)
      return sessionError(ErrorClass::InvalidArgument,
                          "input " + quoted(input->name) + " has no type");
    if (input->type.kind != onnx::Type::Kind::Tensor)
      return sessionError(ErrorClass::Unsupported,
                          "input " + quoted(input->name) +
                              ": expected a tensor, found another ONNX type");
    if (auto dtype = onnx::toDType(input->type.elementType); !dtype)
      return sessionError(onnx::isDataType(input->type.elementType)
                              ? ErrorClass::Unsupported
                              : ErrorClass::InvalidArgument,
                          "input " + quoted(input->name) + ": " +
                              llvm::toString(dtype.takeError()));
  }
  return llvm::Error::success();
}
