//===- CudaEmitter.cpp - thread programs as CUDA C++ ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Target/CUDA/CudaEmitter.h"
#include "ContractBoxes.h"
#include "Emitter.h"
#include "fusec/Embedded/Select.h"
#include "fusec/Target/CUDA/GemmConfig.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/SHA256.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::cuda;

//===----------------------------------------------------------------------===//
// Names, types, literals
//===----------------------------------------------------------------------===//

std::string Emitter::typeName(Type type) {
  if (type.isIndex())
    return indexType;
  if (type.isF64())
    return "f64";
  if (type.isF32())
    return "f32";
  if (type.isF16())
    return "f16";
  if (type.isBF16())
    return "bf16";
  if (isa<Float8E4M3FNType>(type))
    return "f8e4m3";
  if (isa<Float8E5M2Type>(type))
    return "f8e5m2";
  if (type.isInteger(1))
    return "bool";
  if (type.isInteger(4)) // kept in a byte; only the low 4 bits count
    return "i8";
  for (unsigned width : {8u, 16u, 32u, 64u})
    if (type.isInteger(width))
      return "i" + std::to_string(width);
  return "";
}

std::string Emitter::unsignedName(Type type) {
  std::string name = typeName(type);
  if (!name.empty() && name[0] == 'i')
    name[0] = 'u';
  return name;
}

static std::string hexFloat(const llvm::APFloat &value) {
  char buffer[64];
  value.convertToHexString(buffer, /*hexDigits=*/0, /*upperCase=*/false,
                           llvm::APFloat::rmNearestTiesToEven);
  return buffer;
}

static std::string hexBits(const llvm::APInt &bits, const char *suffix) {
  llvm::SmallString<20> text;
  bits.toString(text, 16, /*Signed=*/false, /*formatAsCLiteral=*/true);
  return (text + suffix).str();
}

std::string cuda::literal(Attribute value, StringRef typeName) {
  if (auto real = dyn_cast<FloatAttr>(value)) {
    llvm::APFloat number = real.getValue();
    llvm::APInt bits = number.bitcastToAPInt();
    bool wide = typeName == "f64";
    if (!wide && typeName != "f32")
      return (typeName + "{" + hexBits(bits, "u") + "}").str();
    if (!number.isFinite())
      return (wide ? "as_f64(" : "as_f32(") +
             hexBits(bits, wide ? "ull" : "u") + ")";
    return hexFloat(number) + (wide ? "" : "f");
  }
  llvm::APInt number = cast<IntegerAttr>(value).getValue();
  if (typeName == "bool")
    return number.isZero() ? "false" : "true";
  int64_t text = number.getSExtValue();
  // The least value has no literal of its own type.
  if (text == INT64_MIN)
    return "(-9223372036854775807ll - 1)";
  if (typeName == "i64")
    return std::to_string(text) + "ll";
  if (typeName == "i32")
    return text == INT32_MIN ? "(-2147483647 - 1)" : std::to_string(text);
  return ("(" + typeName + ")" + std::to_string(text)).str();
}

std::string Emitter::use(Value value) {
  auto it = texts.find(value);
  if (it != texts.end())
    return it->second;
  if (auto constant = value.getDefiningOp<arith::ConstantOp>())
    return literal(constant.getValue(), typeName(value.getType()));
  llvm_unreachable("value used before it was written");
}

std::string Emitter::name(Value value, StringRef prefix) {
  std::string text = (prefix + std::to_string(counters[prefix]++)).str();
  texts[value] = text;
  return text;
}

llvm::raw_ostream &Emitter::line() { return os.indent(2 * indent); }

LogicalResult Emitter::define(Operation *op, const llvm::Twine &text) {
  std::string type = typeName(op->getResult(0).getType());
  if (type.empty())
    return op->emitOpError()
           << "has a type without a CUDA name: " << op->getResult(0).getType();
  std::string body = text.str(); // before the name exists
  line() << "const " << type << " " << name(op->getResult(0)) << " = " << body
         << ";\n";
  return success();
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

LogicalResult Emitter::emitOp(Operation *op) {
  StringRef dialect = op->getName().getDialectNamespace();
  if (isa<arith::ConstantOp>(op))
    return success(); // a literal where used
  if (shorten)
    if (std::optional<std::string> text = shorten(op))
      return text->empty() ? success() : define(op, *text);
  if (dialect == arith::ArithDialect::getDialectNamespace())
    return emitArith(op);
  if (dialect == math::MathDialect::getDialectNamespace())
    return emitMath(op);
  if (dialect == scf::SCFDialect::getDialectNamespace())
    return emitControl(op);
  return emitMemory(op);
}

LogicalResult Emitter::emitBlock(Block &block) {
  for (Operation &op : block) {
    if (op.hasTrait<OpTrait::IsTerminator>())
      break;
    if (failed(emitOp(&op)))
      return failure();
  }
  return success();
}

static std::string hashOf(StringRef text) {
  auto digest = llvm::SHA256::hash(llvm::arrayRefFromStringRef(text));
  return llvm::toHex(llvm::ArrayRef(digest).take_front(8), /*LowerCase=*/true);
}

/// The skeleton that `kernel` runs, or null.
static simt::ContractOp contractOf(simt::KernelOp kernel) {
  auto ops = kernel.getBody().front().getOps<simt::ContractOp>();
  return ops.empty() ? simt::ContractOp() : *ops.begin();
}

/// Blocks on a multiprocessor of a kernel whose blocks wait for each other; 0
/// for other kernels.
static int64_t residentBlocks(simt::KernelOp kernel) {
  auto barriers = kernel.getBody().front().getOps<simt::GridBarrierOp>();
  return barriers.empty() ? 0 : int64_t((*barriers.begin()).getResident());
}

/// Whether its blocks draw tickets: then there are as many as run at the same
/// time.
static bool drawsTickets(simt::KernelOp kernel) {
  return kernel.walk([](simt::TicketOp) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

uint32_t cuda::dynamicSharedBytes(simt::KernelOp kernel) {
  if (simt::ContractOp contract = contractOf(kernel))
    return static_cast<uint32_t>(
        GemmConfig::fromNumbers(contract.getConfig()).sharedBytes());
  int64_t bytes = 0;
  kernel.walk([&](simt::SharedOp shared) {
    auto type = cast<MemRefType>(shared.getType());
    if (shared.getDynamic())
      bytes +=
          llvm::alignTo(type.getNumElements() *
                            llvm::divideCeil(type.getElementTypeBitWidth(), 8),
                        Emitter::kArenaAlign);
  });
  return static_cast<uint32_t>(bytes);
}

SmallVector<Parameter> cuda::nameParameters(Emitter &emitter,
                                            simt::KernelOp kernel,
                                            const RowBuffers &rows) {
  SmallVector<Parameter> result;
  for (BlockArgument arg : kernel.getBody().getArguments()) {
    auto buffer = dyn_cast<MemRefType>(arg.getType());
    if (!buffer) {
      result.push_back({emitter.typeName(arg.getType()) + " ",
                        emitter.name(arg, "n"), false});
      continue;
    }
    bool isConst = arg.getArgNumber() < kernel.getReadOnly();
    std::string type =
        (isConst ? "const " : "") + emitter.typeName(buffer.getElementType());
    bool isRow = arg.getArgNumber() < rows.isRow.size() &&
                 rows.isRow[arg.getArgNumber()];
    result.push_back({isRow ? "FUSEC_ROWS(" + type + ") " : type + " *",
                      emitter.name(arg, "p"), true});
  }
  return result;
}

runtime::Kernel cuda::makeKernel(StringRef before, StringRef macro,
                                 StringRef rest, simt::KernelOp kernel) {
  runtime::Kernel result;
  result.entry = "k_" + hashOf((before + rest).str());
  result.source = (before + macro + result.entry + rest + "FUSEC_EXPORT(" +
                   result.entry + ")\n")
                      .str();
  for (size_t at;
       (at = result.source.find(Emitter::kEntryMark)) != std::string::npos;)
    result.source.replace(at, 1, result.entry);
  result.threads = static_cast<uint32_t>(kernel.getThreads());
  result.overlaps =
      !kernel.getBody().front().getOps<simt::GridWaitOp>().empty();
  return result;
}

/// Blocks that a multiprocessor with clusters holds of a kernel that asks for
/// `shared` bytes, where each thread may have 64 registers: those of its data
/// are not to stand in the way of a block whose memory would fit.
static int64_t blocksThatFit(int64_t threads, int64_t shared) {
  constexpr int64_t kBytes = 228 * 1024, kReserved = 2048;
  constexpr int64_t kRegisters = 64 * 1024, kPerThread = 64;
  return std::max<int64_t>(1, std::min(kBytes / (shared + kReserved),
                                       kRegisters / (threads * kPerThread)));
}

FailureOr<runtime::Kernel> cuda::emitKernel(simt::KernelOp kernel,
                                            const RowBuffers &rows) {
  std::string parameters, body;
  llvm::raw_string_ostream os(body);
  Emitter emitter(os, kernel.getWideOffsets());
  for (const Parameter &parameter : nameParameters(emitter, kernel, rows))
    parameters +=
        (parameters.empty() ? "" : ", ") + parameter.type + parameter.name;
  emitter.pairs = findAccessPairs(kernel, rows.isRow);
  if (failed(emitter.emitBlock(kernel.getBody().front())))
    return failure();
  simt::ContractOp contract = contractOf(kernel);
  for (bool isLhs : {true, false})
    if (contract && boxedMatrix(contract, isLhs))
      parameters +=
          std::string(", FUSEC_TENSOR_MAP(") + kMapNames[isLhs ? 0 : 1] + ")";
  if (contract && contract.getPairBase())
    parameters += std::string(", FUSEC_TENSOR_MAP(") + kMapNames[2] + ")";
  if (contract && storedMatrix(contract))
    parameters += std::string(", FUSEC_TENSOR_MAP(") + kMapNames[3] + ")";
  std::string macro = "FUSEC_KERNEL(";
  std::string rest = ", " + std::to_string(kernel.getThreads());
  if (contract) {
    GemmConfig config = GemmConfig::fromNumbers(contract.getConfig());
    macro = config.cluster > 1 ? "FUSEC_KERNEL_CLUSTER(" : "FUSEC_KERNEL_MIN(";
    rest += ", " + std::to_string(config.minBlocks);
    if (config.cluster > 1)
      rest += ", " + std::to_string(config.cluster);
  }
  int64_t resident = residentBlocks(kernel);
  int64_t cluster = kernel.getCluster().value_or(1);
  // Less than this are states of a reduction.
  constexpr int64_t kKeptBytes = 16 * 1024;
  int64_t shared = contract ? 0 : dynamicSharedBytes(kernel);
  if (resident) {
    macro = "FUSEC_KERNEL_GRID(";
    rest += ", " + std::to_string(resident);
  } else if (cluster > 1 || shared >= kKeptBytes) {
    macro = cluster > 1 ? "FUSEC_KERNEL_CLUSTER(" : "FUSEC_KERNEL_MIN(";
    rest +=
        ", " + std::to_string(shared < kKeptBytes
                                  ? 1
                                  : blocksThatFit(kernel.getThreads(), shared));
    if (cluster > 1)
      rest += ", " + std::to_string(cluster);
  } else if (!contract && drawsTickets(kernel)) {
    macro = "FUSEC_KERNEL_MIN(";
    rest += ", " + std::to_string(blocksThatFit(kernel.getThreads(), shared));
  }
  rest += ")(" + parameters + ") {\n" + body + "}\n";
  if (emitter.usesSelect)
    emitter.before += embedded::kSelect;
  runtime::Kernel result = makeKernel(emitter.before, macro, rest, kernel);
  result.cooperative = resident != 0;
  result.usesSkeleton = bool(contract);
  if (contract) {
    GemmConfig config = GemmConfig::fromNumbers(contract.getConfig());
    result.usesSm90 = config.loop == GemmLoop::Warpgroup || config.cluster > 1;
    result.cluster = static_cast<uint32_t>(config.cluster);
  }
  if (cluster > 1) {
    result.usesSm90 = true;
    result.cluster = static_cast<uint32_t>(cluster);
  }
  return result;
}
