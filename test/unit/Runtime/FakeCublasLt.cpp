//===- FakeCublasLt.cpp - a libcublasLt.so without a GPU ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Built as a shared library that the runtime opens in place of cuBLASLt.
// Device memory is that of the fake driver, the host's, so products are really
// computed: naively, columns contiguous, as NVIDIA's manual says.
//===----------------------------------------------------------------------===//
#include "FakeCublasLt.h"

#include <cstring>
#include <map>
#include <new>

#define FAKE extern "C" __attribute__((visibility("default")))

static FakeCublasLt state;

FAKE FakeCublasLt *fakeCublasLt() { return &state; }
FAKE void fakeCublasLtReset() {
  state.~FakeCublasLt();
  new (&state) FakeCublasLt();
}
#define LOCK std::lock_guard<std::mutex> lock(state.mutex)

namespace {
// Operations, layouts and preferences alike: attributes by number.
struct Object {
  int type = 0;
  uint64_t rows = 0, columns = 0;
  int64_t pitch = 0;
  std::map<int, int64_t> attributes;
  int64_t get(int attribute, int64_t otherwise = 0) const {
    auto it = attributes.find(attribute);
    return it == attributes.end() ? otherwise : it->second;
  }
};
} // namespace

static int make(void **result, Object object) {
  LOCK;
  ++state.descriptors;
  *result = new Object(std::move(object));
  return 0;
}
static int destroy(void *object) {
  LOCK;
  --state.descriptors;
  delete static_cast<Object *>(object);
  return 0;
}
static int set(void *object, int attribute, const void *value, size_t bytes) {
  int64_t number = 0;
  if (bytes > sizeof number)
    return 7;
  std::memcpy(&number, value, bytes);
  static_cast<Object *>(object)->attributes[attribute] = number;
  return 0;
}

FAKE size_t cublasLtGetVersion() { return state.version; }
FAKE const char *cublasLtGetStatusString(int code) {
  return code == 15 ? "not supported" : "fake failure";
}
FAKE int cublasLtCreate(void **handle) {
  LOCK;
  *handle = new int(++state.handles);
  return 0;
}
FAKE int cublasLtDestroy(void *handle) {
  LOCK;
  --state.handles;
  delete static_cast<int *>(handle);
  return 0;
}
FAKE int cublasLtMatmulDescCreate(void **result, int compute, int scale) {
  Object object;
  object.type = compute;
  object.rows = scale;
  return make(result, object);
}
FAKE int cublasLtMatmulDescDestroy(void *object) { return destroy(object); }
FAKE int cublasLtMatmulDescSetAttribute(void *object, int attribute,
                                        const void *value, size_t bytes) {
  return set(object, attribute, value, bytes);
}
FAKE int cublasLtMatrixLayoutCreate(void **result, int type, uint64_t rows,
                                    uint64_t columns, int64_t pitch) {
  return make(result, {type, rows, columns, pitch, {}});
}
FAKE int cublasLtMatrixLayoutDestroy(void *object) { return destroy(object); }
FAKE int cublasLtMatrixLayoutSetAttribute(void *object, int attribute,
                                          const void *value, size_t bytes) {
  return set(object, attribute, value, bytes);
}
FAKE int cublasLtMatmulPreferenceCreate(void **result) {
  return make(result, {});
}
FAKE int cublasLtMatmulPreferenceDestroy(void *object) {
  return destroy(object);
}
FAKE int cublasLtMatmulPreferenceSetAttribute(void *object, int attribute,
                                              const void *value, size_t bytes) {
  return set(object, attribute, value, bytes);
}

struct Heuristic {
  uint64_t words[8];
  size_t workspaceBytes;
  int state;
  float waves;
  int reserved[4];
};

FAKE int cublasLtMatmulAlgoGetHeuristic(void *, void *, void *, void *, void *,
                                        void *, void *preference, int wanted,
                                        Heuristic *results, int *found) {
  LOCK;
  const auto &asked = *static_cast<Object *>(preference);
  state.maxWorkspace = asked.get(1);
  state.reductions = asked.get(3);
  state.alignments = {};
  for (int matrix : {5, 6, 7, 8})
    state.alignments.insert(asked.get(matrix));
  *found = 0;
  for (const FakeAlgorithm &algorithm : state.offered) {
    if (*found == wanted)
      break;
    Heuristic &result = results[(*found)++];
    result = {};
    result.words[0] = algorithm.id;
    result.words[1] = algorithm.reductionScheme;
    result.words[2] = algorithm.workspaceBytes;
    result.workspaceBytes = algorithm.workspaceBytes;
    result.state = algorithm.state;
  }
  return *found ? 0 : 15;
}
FAKE int cublasLtMatmulAlgoCheck(void *, void *, void *, void *, void *, void *,
                                 const uint64_t *words, Heuristic *result) {
  result->workspaceBytes = words[2];
  return words[0] ? 0 : 15;
}
FAKE int cublasLtMatmulAlgoConfigGetAttribute(const uint64_t *words,
                                              int attribute, void *to,
                                              size_t bytes, size_t *written) {
  // Shapes of clusters have 16 bits, all else 32.
  size_t size = attribute >= 7 ? 2 : 4;
  if (bytes != size)
    return 7;
  uint64_t value = attribute == 0 ? words[0] : attribute == 3 ? words[1] : 0;
  std::memcpy(to, &value, size);
  *written = size;
  return 0;
}

template <typename In, typename Out, typename Sum>
static void multiply(const Object &operation, Sum alpha, const void *a,
                     const Object &layoutA, const void *b,
                     const Object &layoutB, Sum beta, const void *c,
                     const Object &layoutC, void *d, const Object &layoutD) {
  bool turnsA = operation.get(3), turnsB = operation.get(4);
  int64_t sum = turnsA ? layoutA.rows : layoutA.columns;
  auto *to = static_cast<Out *>(d);
  auto *more = static_cast<const Out *>(c);
  auto epilogue = operation.get(7, 1);
  auto *bias = reinterpret_cast<const Out *>(operation.get(8));
  for (int64_t batch = 0, n = layoutD.get(5, 1); batch < n; ++batch) {
    auto *left = static_cast<const In *>(a) + batch * layoutA.get(6);
    auto *right = static_cast<const In *>(b) + batch * layoutB.get(6);
    for (uint64_t column = 0; column < layoutD.columns; ++column)
      for (uint64_t row = 0; row < layoutD.rows; ++row) {
        Sum total = 0;
        for (int64_t k = 0; k < sum; ++k)
          total += Sum(left[turnsA ? k + row * layoutA.pitch
                                   : row + k * layoutA.pitch]) *
                   Sum(right[turnsB ? column + k * layoutB.pitch
                                    : k + column * layoutB.pitch]);
        total *= alpha;
        if (beta != 0)
          total +=
              Sum(more[batch * layoutC.get(6) + row + column * layoutC.pitch]) *
              beta;
        if (epilogue & 4)
          total += Sum(bias[row]);
        if (epilogue & 2)
          total = total < 0 ? Sum(0) : total;
        to[batch * layoutD.get(6) + row + column * layoutD.pitch] = Out(total);
      }
  }
}

FAKE int cublasLtMatmul(void *, void *operationHandle, const void *alpha,
                        const void *a, void *layoutA, const void *b,
                        void *layoutB, const void *beta, const void *c,
                        void *layoutC, void *d, void *layoutD,
                        const uint64_t *words, void *workspace,
                        size_t workspaceBytes, void *stream) {
  LOCK;
  const auto &operation = *static_cast<Object *>(operationHandle);
  const auto &of = *static_cast<Object *>(layoutA);
  const auto &by = *static_cast<Object *>(layoutB);
  const auto &to = *static_cast<Object *>(layoutD);
  const auto &more = *static_cast<Object *>(layoutC);
  state.products.push_back({words[0], stream, workspace, workspaceBytes,
                            operation.type, int(operation.get(25))});
  if (words[0] == state.failingId)
    return 13;
  // In place only as it lies.
  if ((c == d && layoutC != layoutD) || workspaceBytes < words[2] ||
      (words[2] && reinterpret_cast<uintptr_t>(workspace) % 256))
    return 7;
  for (const void *memory : {a, b, c, static_cast<const void *>(d)})
    if (reinterpret_cast<uintptr_t>(memory) % 16)
      return 7;
  auto number = [](const void *at) { return *static_cast<const float *>(at); };
  if (of.type == 3)
    multiply<int8_t, int32_t, int32_t>(
        operation, *static_cast<const int *>(alpha), a, of, b, by,
        *static_cast<const int *>(beta), c, more, d, to);
  else if (of.type == 2)
    multiply<_Float16, _Float16, float>(operation, number(alpha), a, of, b, by,
                                        number(beta), c, more, d, to);
  else
    multiply<float, float, float>(operation, number(alpha), a, of, b, by,
                                  number(beta), c, more, d, to);
  if (words[0] == state.wrongId)
    static_cast<char *>(d)[0] ^= 1;
  return 0;
}
