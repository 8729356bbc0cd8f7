//===- HostCompiler.cpp - LLVM IR text to machine code --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parse, optimise, generate code; each call with a context and a target machine
// of its own, so that kernels compile at once on several threads.
//===----------------------------------------------------------------------===//
#include "HostCompiler.h"

#include "llvm/Analysis/CGSCCPassManager.h"
#include "llvm/Analysis/LoopAnalysisManager.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/ExecutionEngine/Orc/CompileUtils.h"
#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"

#include <mutex>

using namespace fusec::runtime;
using llvm::Error;
using llvm::Expected;

void fusec::runtime::initializeHostTarget() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  });
}

static Expected<std::unique_ptr<llvm::TargetMachine>>
createTargetMachine(bool fast) {
  initializeHostTarget();
  auto builder = llvm::orc::JITTargetMachineBuilder::detectHost();
  if (!builder)
    return builder.takeError();
  builder->setCodeGenOptLevel(fast ? llvm::CodeGenOptLevel::None
                                   : llvm::CodeGenOptLevel::Default);
  // A multiply and an add stay two roundings unless the kernel says fma.
  builder->getOptions().AllowFPOpFusion = llvm::FPOpFusion::Strict;
  return builder->createTargetMachine();
}

static void optimize(llvm::Module &module, llvm::TargetMachine &machine,
                     bool fast) {
  llvm::PipelineTuningOptions tuning;
  // Kernels are vectorised already; the passes would cost compile time only.
  tuning.LoopVectorization = false;
  tuning.SLPVectorization = false;
  llvm::PassBuilder builder(&machine, tuning);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager graphs;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(graphs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, graphs, modules);
  auto level = fast ? llvm::OptimizationLevel::O0 : llvm::OptimizationLevel::O2;
  (fast ? builder.buildO0DefaultPipeline(level)
        : builder.buildPerModuleDefaultPipeline(level))
      .run(module, modules);
}

Expected<std::unique_ptr<llvm::MemoryBuffer>>
fusec::runtime::compileHostObject(llvm::StringRef text, llvm::StringRef name,
                                  bool fast) {
  auto machine = createTargetMachine(fast);
  if (!machine)
    return machine.takeError();
  llvm::LLVMContext context;
  llvm::SMDiagnostic diagnostic;
  std::unique_ptr<llvm::Module> module =
      llvm::parseAssemblyString(text, diagnostic, context);
  std::string log;
  llvm::raw_string_ostream stream(log);
  if (!module) {
    diagnostic.print(name.str().c_str(), stream, /*ShowColors=*/false);
    return llvm::createStringError("kernel '" + name + "': " + log);
  }
  if (llvm::verifyModule(*module, &stream))
    return llvm::createStringError("kernel '" + name +
                                   "' is not valid: " + log);
  module->setTargetTriple((*machine)->getTargetTriple());
  module->setDataLayout((*machine)->createDataLayout());
  std::string features = (*machine)->getTargetFeatureString().str();
  for (llvm::Function &function : *module) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", (*machine)->getTargetCPU());
    function.addFnAttr("target-features", features);
  }
  optimize(*module, **machine, fast);
  return llvm::orc::SimpleCompiler(**machine)(*module);
}
