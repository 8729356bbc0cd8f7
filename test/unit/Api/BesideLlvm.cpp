//===- BesideLlvm.cpp - libfusec in a process with another LLVM -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   FusecBesideLlvm before|after LIBFUSEC LIBLLVM
//
// Loads both with RTLD_GLOBAL, libfusec before or after libLLVM, and runs a
// graph on the host target. Symbols that leak either way would abort here
// ("option registered more than once") or run the wrong LLVM.
//===----------------------------------------------------------------------===//
#include "fusec-c/fusec.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

static void *open(const char *path) {
  void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
  if (!library) {
    std::fprintf(stderr, "%s\n", dlerror());
    std::exit(1);
  }
  return library;
}

static void *libfusec;

/// The function of libfusec that has the type and name of `declared`.
template <class F>
static F *get(F *, const char *name) {
  void *symbol = dlsym(libfusec, name);
  if (!symbol) {
    std::fprintf(stderr, "no %s\n", name);
    std::exit(1);
  }
  return reinterpret_cast<F *>(symbol);
}
#define GET(name) get(static_cast<decltype(name) *>(nullptr), #name)

static void check(fusec_error *error) {
  if (!error)
    return;
  std::fprintf(stderr, "%s\n", GET(fusec_error_message)(error));
  std::exit(1);
}

static int run() {
  static const char text[] =
      "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
      "  %y = graph.exp %x : tensor<4xf32>\n"
      "  return %y : tensor<4xf32>\n"
      "}\n";
  fusec_context *context = nullptr;
  check(GET(fusec_context_create)(nullptr, &context));
  fusec_graph *graph = nullptr;
  check(GET(fusec_graph_from_mlir)(context, text, std::strlen(text), &graph));
  fusec_compile_options options = fusec_compile_options_default();
  options.target = FUSEC_TARGET_HOST;
  fusec_executable *executable = nullptr;
  check(GET(fusec_compile)(graph, &options, &executable));
  float x[] = {0, 0, 0, 0}, y[] = {0, 0, 0, 0};
  fusec_host_array in = {x, sizeof(x)}, out = {y, sizeof(y)};
  check(GET(fusec_executable_run_host)(executable, &in, 1, &out, 1));
  GET(fusec_executable_free)(executable);
  GET(fusec_graph_free)(graph);
  GET(fusec_context_free)(context);
  bool right = y[0] == 1 && y[3] == 1;
  std::printf("exp(0) = %g\n", double(y[3]));
  return right ? 0 : 1;
}

int main(int argc, char **argv) {
  if (argc != 4)
    return 2;
  if (!std::strcmp(argv[1], "before")) {
    libfusec = open(argv[2]);
    open(argv[3]);
  } else {
    open(argv[3]);
    libfusec = open(argv[2]);
  }
  return run();
}
