//===- NvrtcTest.cpp - compiling without a GPU ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Skipped, with the reason, where NVRTC is not installed.
//===----------------------------------------------------------------------===//
#include "NvrtcLibrary.h"
#include "RuntimeTestUtils.h"
#include "fusec/Runtime/Cuda/DiskCache.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/SaveAndRestore.h"

#include <cstdlib>
#include <dlfcn.h>
#include <thread>

using namespace fusec::runtime;

namespace {
class NvrtcTest : public testing::Test {
protected:
  void SetUp() override {
    auto opened = Nvrtc::open();
    if (!opened)
      GTEST_SKIP() << llvm::toString(opened.takeError());
    nvrtc = *opened;
  }

  NvrtcCompiler compiler(NvrtcOptions options = {}) {
    return NvrtcCompiler(nvrtc, std::move(options));
  }

  // Compiles one text that is expected to fail.
  std::string compileError(const std::string &source) {
    NvrtcCompiler one = compiler();
    Kernel kernel{"k", source, 32, 1};
    return text(one.compileAll(kernel));
  }

  std::shared_ptr<const Nvrtc> nvrtc;
};

std::string scale(const std::string &entry, const std::string &factor) {
  return "extern \"C\" __global__ void __launch_bounds__(128) " + entry +
         "(float *a) { a[threadIdx.x] *= " + factor + "; }\n";
}

Kernel scaleKernel(const std::string &entry, const std::string &factor) {
  return {entry, scale(entry, factor), 128, 1};
}

// Static shared memory of a known size, and enough live values to spill.
const char *const kSharedText = R"(
extern "C" __global__ void __launch_bounds__(128) shared(float *a) {
  __shared__ float s[100];
  int i = threadIdx.x % 100;
  s[i] = a[i];
  __syncthreads();
  a[i] = s[99 - i] * 2.0f;
}
)";
const char *const kSpillText = R"(
extern "C" __global__ void __launch_bounds__(1024, 2) spill(float *a, int n) {
  float v[80];
  for (int i = 0; i < 80; i++)
    v[i] = a[i * 1024 + threadIdx.x];
  for (int j = 0; j < n; j++)
    for (int i = 0; i < 80; i++)
      v[i] = v[i] * v[(i + 1) % 80] + a[j];
  for (int i = 0; i < 80; i++)
    a[i * 1024 + threadIdx.x] = v[i];
}
)";
} // namespace

TEST_F(NvrtcTest, YieldsPtxAndCubinInOneCall) {
  auto module = compileText(*nvrtc, "one.cu", scale("one", "2.0f"), {});
  ASSERT_EQ(text(module ? llvm::Error::success() : module.takeError()), "");
  EXPECT_TRUE(contains((*module)->ptx, ".target sm_90a"));
  EXPECT_TRUE(contains((*module)->ptx, ".visible .entry one("));
  ASSERT_GE((*module)->cubin.size(), 4u);
  EXPECT_EQ(std::string((*module)->cubin.data() + 1, 3), "ELF");
  EXPECT_EQ((*module)->log, "");
}

TEST_F(NvrtcTest, KeepsMultiplyAndAddApart) {
  auto module = compileText(*nvrtc, "f.cu",
                            "extern \"C\" __global__ void f(float *a) "
                            "{ a[0] = a[1] * a[2] + a[3]; }",
                            {});
  ASSERT_TRUE(!!module);
  EXPECT_EQ((*module)->ptx.find("fma"), std::string::npos);
}

TEST_F(NvrtcTest, FindsHeadersInMemoryOnly) {
  NvrtcOptions options;
  options.headers = {{"prelude.cuh", "#define FACTOR 3.0f\n"}};
  NvrtcCompiler with = compiler(options);
  Kernel kernel{"k", "#include \"prelude.cuh\"\n" + scale("k", "FACTOR"), 128,
                1};
  EXPECT_EQ(text(with.compileAll(kernel)), "");
  EXPECT_TRUE(contains(compileError(kernel.source), "prelude.cuh"));
}

TEST_F(NvrtcTest, ReportsResources) {
  for (unsigned architecture : {80u, 90u}) {
    NvrtcOptions options;
    options.architecture = architecture;
    NvrtcCompiler one = compiler(options);
    std::vector<Kernel> kernels = {{"shared", kSharedText, 128, 1},
                                   {"spill", kSpillText, 1024, 1},
                                   scaleKernel("plain", "2.0f")};
    auto compiled = llvm::cantFail(one.compileAll(kernels, 1));
    const KernelResources &shared = compiled[0].resources;
    const KernelResources &spill = compiled[1].resources;
    EXPECT_EQ(shared.staticSharedBytes, 400u);
    EXPECT_EQ(shared.localBytes, 0u);
    EXPECT_GT(shared.registers.value_or(0), 3u);
    // 65 536 registers by 2 048 threads.
    EXPECT_EQ(spill.registers, 32u);
    EXPECT_GT(spill.localBytes.value_or(0), 0u);
    EXPECT_EQ(spill.staticSharedBytes, 0u);
    if (nvrtc->majorVersion() >= 12) {
      EXPECT_EQ(shared.spillStoreBytes, 0u);
      EXPECT_GT(spill.spillStoreBytes.value_or(0), 0u);
      EXPECT_GT(spill.spillLoadBytes.value_or(0), 0u);
    }
  }
}

TEST_F(NvrtcTest, KeepsWarningsAndDropsTheAssemblersReport) {
  auto module = compileText(*nvrtc, "w.cu",
                            "extern \"C\" __global__ void w(int *a) "
                            "{ int unused; a[0] = 1; }",
                            {});
  ASSERT_TRUE(!!module);
  EXPECT_TRUE(contains((*module)->log, "unused"));
  EXPECT_EQ((*module)->log.find("ptxas"), std::string::npos);
}

TEST_F(NvrtcTest, ErrorsHoldNameCodeAndLog) {
  std::string error = compileError(scale("k", "missing"));
  EXPECT_TRUE(contains(error, "kernel 'k': nvrtcCompileProgram failed: "
                              "NVRTC_ERROR_COMPILATION (code 6)"));
  EXPECT_TRUE(contains(error, "identifier \"missing\" is undefined"));
  EXPECT_TRUE(contains(error, "k.cu(1)"));
}

TEST_F(NvrtcTest, RefusesAnUnknownArchitecture) {
  NvrtcOptions options;
  options.architecture = 17;
  NvrtcCompiler old = compiler(options);
  std::string error = text(old.compileAll(scaleKernel("k", "2.0f")));
  EXPECT_TRUE(contains(error, "compiles for compute capabilities"));
  EXPECT_TRUE(contains(error, "found 17"));
}

TEST_F(NvrtcTest, RefusesAnUnknownOption) {
  NvrtcOptions options;
  options.extraOptions = {"--no-such-option"};
  NvrtcCompiler odd = compiler(options);
  EXPECT_TRUE(contains(text(odd.compileAll(scaleKernel("k", "2.0f"))),
                       "NVRTC_ERROR_INVALID_OPTION"));
}

// NVRTC's memory of a text is given back, whether or not it compiles.
TEST_F(NvrtcTest, ProgramsAreDestroyed) {
  static int created, destroyed;
  static decltype(Nvrtc::Impl::createProgram) create;
  static decltype(Nvrtc::Impl::destroyProgram) destroy;
  auto &api = const_cast<Nvrtc::Impl &>(nvrtc->get());
  created = destroyed = 0;
  create = api.createProgram;
  destroy = api.destroyProgram;
  llvm::SaveAndRestore counting(
      api.createProgram,
      +[](NvrtcProgram *program, const char *text, const char *name, int count,
          const char *const *texts, const char *const *names) {
        ++created;
        return create(program, text, name, count, texts, names);
      });
  llvm::SaveAndRestore also(
      api.destroyProgram, +[](NvrtcProgram *program) {
        ++destroyed;
        return destroy(program);
      });
  EXPECT_EQ(text(compileText(*nvrtc, "a.cu", scale("a", "2.0f"), {})), "");
  EXPECT_EQ(destroyed, 1);
  EXPECT_NE(text(compileText(*nvrtc, "b.cu", "no text", {})), "");
  EXPECT_EQ(created, 2);
  EXPECT_EQ(destroyed, 2);
}

TEST_F(NvrtcTest, NamesAKernelThatItsTextLacks) {
  EXPECT_EQ(compileError(scale("other", "2.0f")),
            "kernel 'k': the text defines no kernel of this name");
  EXPECT_EQ(compileError(""),
            "kernel 'k': the text defines no kernel of this name");
}

TEST_F(NvrtcTest, CompilesBatchesAndRemembersThem) {
  std::vector<Kernel> kernels;
  for (int i = 0; i < 40; ++i)
    kernels.push_back(scaleKernel("k" + std::to_string(i), std::to_string(i)));
  kernels.push_back(kernels[3]);
  NvrtcOptions options;
  options.fastCompile = true;
  NvrtcCompiler many = compiler(options);
  auto first = llvm::cantFail(many.compileAll(kernels, 2));
  ASSERT_EQ(first.size(), 41u);
  for (size_t i = 0; i < kernels.size(); ++i)
    EXPECT_EQ(first[i].entry, kernels[i].entry);
  EXPECT_EQ(many.statistics().programs, 2u);
  EXPECT_EQ(many.statistics().compiled, 40u);
  EXPECT_EQ(many.statistics().hits, 1u);
  auto second = llvm::cantFail(many.compileAll(kernels, 2));
  EXPECT_EQ(many.statistics().programs, 2u);
  EXPECT_EQ(many.statistics().hits, 42u);
  EXPECT_EQ(second[7].module, first[7].module);
}

TEST_F(NvrtcTest, KernelsOfSm90AreNotCompiledFast) {
  // ptxas does not keep the alignment of their shared memory then.
  auto ptxOf = [&](bool isFast, bool usesSm90) {
    NvrtcOptions options;
    options.fastCompile = isFast;
    NvrtcCompiler one = compiler(options);
    Kernel kernel = scaleKernel("k", "2.0f");
    kernel.usesSm90 = usesSm90;
    return llvm::cantFail(one.compileAll({kernel}, 1))[0].module->ptx;
  };
  EXPECT_EQ(ptxOf(true, true), ptxOf(false, true));
  EXPECT_NE(ptxOf(true, false), ptxOf(false, false));
}

TEST_F(NvrtcTest, ABadKernelDoesNotHarmItsBatch) {
  std::vector<Kernel> kernels = {scaleKernel("good0", "2.0f"),
                                 scaleKernel("bad", "nothing"),
                                 scaleKernel("good1", "3.0f")};
  NvrtcCompiler some = compiler();
  std::string error = text(some.compileAll(kernels, 1));
  EXPECT_TRUE(contains(error, "kernel 'bad'"));
  EXPECT_EQ(error.find("good"), std::string::npos);
  EXPECT_EQ(some.statistics().programs, 4u);
  kernels.erase(kernels.begin() + 1);
  EXPECT_EQ(text(some.compileAll(kernels, 1)), "");
  EXPECT_EQ(some.statistics().hits, 2u);
}

TEST_F(NvrtcTest, TextsThatClashAreCompiledApart) {
  auto helper = [](const std::string &entry, const std::string &value) {
    return Kernel{entry,
                  "__device__ float helper() { return " + value + "; }\n" +
                      scale(entry, "helper()"),
                  128, 1};
  };
  NvrtcCompiler some = compiler();
  auto both = llvm::cantFail(
      some.compileAll({helper("a", "2.0f"), helper("b", "3.0f")}, 1));
  EXPECT_NE(both[0].module, both[1].module);
}

TEST_F(NvrtcTest, EqualEntriesOfDifferentTextsAreKeptApart) {
  NvrtcCompiler some = compiler();
  auto both = llvm::cantFail(
      some.compileAll({scaleKernel("k", "2.0f"), scaleKernel("k", "3.0f")}, 1));
  EXPECT_NE(both[0].module->ptx, both[1].module->ptx);
}

TEST_F(NvrtcTest, ThreadsShareACompiler) {
  NvrtcOptions options;
  options.fastCompile = true;
  NvrtcCompiler shared = compiler(options);
  std::vector<std::string> errors(4);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      std::vector<Kernel> kernels = {
          scaleKernel("common", "2.0f"),
          scaleKernel("own" + std::to_string(t), "3.0f")};
      for (int round = 0; round < 3; ++round)
        errors[t] += text(shared.compileAll(kernels, 2));
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(errors, std::vector<std::string>(4));
  EXPECT_EQ(shared.statistics().hits + shared.statistics().compiled, 24u);
}

// The file that the loader chose for a library.
static std::string fileOf(const Nvrtc &nvrtc) {
  void *library = dlopen(nvrtc.path().c_str(), RTLD_NOW | RTLD_NOLOAD);
  Dl_info info = {};
  if (!library || !dladdr(dlsym(library, "nvrtcVersion"), &info))
    return "";
  return info.dli_fname;
}

// The layout of a Python wheel: a folder with nvidia/*/lib.
/// FUSEC_NVRTC is not set while this lives: set, it is the only place.
class WithoutForcedNvrtc {
public:
  WithoutForcedNvrtc() {
    if (const char *value = std::getenv("FUSEC_NVRTC"))
      saved = value;
    unsetenv("FUSEC_NVRTC");
  }
  ~WithoutForcedNvrtc() {
    if (saved)
      setenv("FUSEC_NVRTC", saved->c_str(), 1);
  }

private:
  std::optional<std::string> saved;
};

TEST_F(NvrtcTest, IsFoundInASitePackagesFolder) {
  WithoutForcedNvrtc anywhere;
  llvm::SmallString<128> folder;
  ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("fusec", folder));
  std::string site = folder.str().str(), lib = site + "/nvidia/cu/lib";
  ASSERT_FALSE(llvm::sys::fs::create_directories(lib));
  std::string file =
      lib + "/libnvrtc.so." + std::to_string(nvrtc->majorVersion());
  ASSERT_FALSE(llvm::sys::fs::create_link(fileOf(*nvrtc), file));
  NvrtcSearch search;
  search.systemPlaces = false;
  search.directories = {site};
  auto found = Nvrtc::open(search);
  ASSERT_TRUE(!!found) << llvm::toString(found.takeError());
  EXPECT_EQ((*found)->path(), file);
  llvm::sys::fs::remove_directories(site);
}

TEST_F(NvrtcTest, NothingToCompileIsFine) {
  NvrtcCompiler none = compiler();
  EXPECT_TRUE(llvm::cantFail(none.compileAll({})).empty());
  EXPECT_EQ(none.statistics().programs, 0u);
}

TEST_F(NvrtcTest, AVersionLimitIsKept) {
  NvrtcSearch search;
  search.maxMajor = nvrtc->majorVersion();
  EXPECT_EQ(text(Nvrtc::open(search)), "");
  search.maxMajor = 10;
  std::string tried;
  EXPECT_TRUE(contains(text(Nvrtc::open(search, &tried)), "cannot open NVRTC"));
}

TEST(NvrtcSearch, AMissingLibraryIsAnError) {
  WithoutForcedNvrtc anywhere;
  NvrtcSearch search;
  search.systemPlaces = false;
  search.directories = {"/nonexistent"};
  std::string error = text(Nvrtc::open(search));
  EXPECT_TRUE(contains(error, "cannot open NVRTC; set FUSEC_NVRTC"));
  EXPECT_FALSE(contains(error, "\n")) << error;
}

TEST(NvrtcSearch, TheEnvironmentIsTheOnlyPlace) {
  setenv("FUSEC_NVRTC", "/nonexistent/libnvrtc.so", 1);
  std::string error = text(Nvrtc::open());
  unsetenv("FUSEC_NVRTC");
  EXPECT_TRUE(contains(error, "/nonexistent/libnvrtc.so"));
  EXPECT_EQ(error.find("libnvrtc.so.1"), std::string::npos);
}

// A library that opens but is no NVRTC.
TEST(NvrtcSearch, AnotherLibraryIsRefused) {
  setenv("FUSEC_NVRTC", "libc.so.6", 1);
  std::string error = text(Nvrtc::open());
  unsetenv("FUSEC_NVRTC");
  EXPECT_TRUE(contains(error, "function 'nvrtcGetErrorString' is missing"));
}

TEST(NvrtcNames, ArchitecturesFrom90OnAreSpecific) {
  EXPECT_EQ(nvrtcArchitecture(80), "sm_80");
  EXPECT_EQ(nvrtcArchitecture(90), "sm_90a");
  EXPECT_EQ(nvrtcArchitecture(120), "sm_120a");
}

TEST_F(NvrtcTest, ASecondProcessFindsKernelsOnDisk) {
  llvm::SmallString<128> path;
  ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("fusec-nvrtc-cache", path));
  auto disk = [&] {
    return std::make_shared<DiskCache>(DiskCacheOptions{path.str().str()});
  };
  std::vector<Kernel> kernels = {scaleKernel("a", "2.0f"),
                                 {"shared", kSharedText, 128, 1},
                                 scaleKernel("c", "4.0f"),
                                 scaleKernel("a", "2.0f")};
  NvrtcOptions options;
  NvrtcCompiler cold(nvrtc, options, disk()), warm(nvrtc, options, disk());
  auto first = llvm::cantFail(cold.compileAll(kernels, 1));
  EXPECT_EQ(cold.statistics().compiled, 3u);
  EXPECT_EQ(cold.statistics().programs, 1u);
  auto second = llvm::cantFail(warm.compileAll(kernels, 1));
  EXPECT_EQ(warm.statistics().programs, 0u);
  EXPECT_EQ(warm.statistics().compiled, 0u);
  // One file was read; the others of it are then in memory.
  EXPECT_EQ(warm.statistics().diskHits, 1u);
  EXPECT_EQ(warm.statistics().hits, 3u);
  for (auto [a, b] : llvm::zip_equal(first, second)) {
    EXPECT_EQ(a.entry, b.entry);
    EXPECT_EQ(a.module->cubin, b.module->cubin);
    EXPECT_EQ(a.module->ptx, b.module->ptx);
    EXPECT_EQ(a.resources.registers, b.resources.registers);
    EXPECT_EQ(a.resources.staticSharedBytes, b.resources.staticSharedBytes);
    EXPECT_EQ(a.resources.spillStoreBytes, b.resources.spillStoreBytes);
  }
  EXPECT_EQ(second[0].module, second[2].module);

  // Everything that changes the result is part of the key, and no two changes
  // have one key.
  std::vector<NvrtcOptions> others(12);
  others[0].architecture = 80;
  others[1].lineInfo = true;
  others[2].headers = {{"unused.cuh", ""}};
  others[3].extraOptions = {"--maxrregcount=64"};
  others[4].driverVersion = 13000;
  others[5].skeletonHeader = "s.cuh";
  others[6].sm90Header = "s.cuh";
  others[7].headers = {{"unused.cuh", "//"}};
  others[8].headers = {{"unused.cuh", "//"}, {"other.cuh", ""}};
  others[9].headers = {{"unused.cuh", ""}, {"other.cuh", "//"}};
  others[10].fastCompile = true;
  others[11].headers = {{"renamed.cuh", ""}};
  for (const NvrtcOptions &changed : others) {
    NvrtcCompiler other(nvrtc, changed, disk());
    llvm::cantFail(other.compileAll(kernels[0], 1));
    EXPECT_EQ(other.statistics().programs, 1u);
  }
  for (uint32_t Kernel::*field :
       {&Kernel::threads, &Kernel::cluster, &Kernel::alignment}) {
    Kernel changed = kernels[0];
    changed.*field = 8;
    NvrtcCompiler other(nvrtc, options, disk());
    llvm::cantFail(other.compileAll(changed, 1));
    EXPECT_EQ(other.statistics().programs, 1u);
  }
  for (bool Kernel::*field :
       {&Kernel::usesSkeleton, &Kernel::usesSm90, &Kernel::inPlace}) {
    Kernel changed = kernels[0];
    changed.*field = true;
    NvrtcCompiler other(nvrtc, options, disk());
    llvm::cantFail(other.compileAll(changed, 1));
    EXPECT_EQ(other.statistics().programs, 1u);
  }
  // A text with two entries is compiled for each of them.
  for (const char *entry : {"p", "q"}) {
    Kernel changed{entry, scale("p", "2.0f") + scale("q", "2.0f"), 128, 1};
    NvrtcCompiler other(nvrtc, options, disk());
    EXPECT_EQ(llvm::cantFail(other.compileAll(changed, 1))[0].entry, entry);
    EXPECT_EQ(other.statistics().programs, 1u);
  }
  // One module of all kernels is an entry of its own.
  NvrtcCompiler one(nvrtc, options, disk()), again(nvrtc, options, disk());
  auto whole = llvm::cantFail(one.compileTogether(kernels[0]));
  EXPECT_EQ(one.statistics().programs, 1u);
  EXPECT_EQ(llvm::cantFail(again.compileTogether(kernels[0]))->cubin,
            whole->cubin);
  EXPECT_EQ(again.statistics().programs, 0u);
  llvm::sys::fs::remove_directories(path);
}

TEST_F(NvrtcTest, OnlyKernelsOnTheSkeletonIncludeIt) {
  NvrtcOptions options;
  options.headers = {{"skeleton.cuh", "#define SKELETON 1\n"}};
  options.skeletonHeader = "skeleton.cuh";
  auto marked = [](const std::string &entry, const char *wanted) {
    return Kernel{entry,
                  std::string("#if defined(SKELETON) != ") + wanted +
                      "\n#error not as wanted\n#endif\n" + scale(entry, "2.0f"),
                  128, 1};
  };
  std::vector<Kernel> kernels = {marked("with", "1"), marked("without", "0")};
  kernels[0].usesSkeleton = true;
  NvrtcCompiler one = compiler(options);
  EXPECT_EQ(text(one.compileAll(kernels, 1)), "");
  EXPECT_EQ(one.statistics().programs, 2u);
}

TEST_F(NvrtcTest, KernelsOfOtherAlignmentsAreCompiledApart) {
  auto marked = [](const std::string &entry, const char *condition) {
    return Kernel{entry,
                  std::string("#if !(") + condition + ")\n#error\n#endif\n" +
                      scale(entry, "2.0f"),
                  128, 1};
  };
  std::vector<Kernel> kernels = {marked("wide", "!defined(FUSEC_ALIGNMENT)"),
                                 marked("narrow", "FUSEC_ALIGNMENT == 4")};
  kernels[1].alignment = 4;
  NvrtcCompiler one = compiler();
  EXPECT_EQ(text(one.compileAll(kernels, 1)), "");
}
