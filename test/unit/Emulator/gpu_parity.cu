//===- gpu_parity.cu - the prelude on a GPU and emulated -------*- CUDA -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Not part of the build: a program for a machine with a GPU,
//   nvcc -std=c++17 -fmad=false -arch=native test/unit/Emulator/gpu_parity.cu
//     lib/Runtime/Emulator/Numbers.cpp -o gpu_parity
// that compares the conversions of the CUDA prelude, bit for bit, with those of
// the emulator, and checks fragments, saturation, minimum and maximum, tickets.
//===----------------------------------------------------------------------===//
#include "../../../lib/Target/CUDA/device/prelude_cuda.cuh"

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <random>
#include <vector>

namespace fusec::runtime::emulator {
uint16_t encodeFloat(int32_t format, double value, bool saturate);
float decodeFloat(int32_t format, uint16_t bits);
} // namespace fusec::runtime::emulator
using namespace fusec::runtime::emulator;

static int failures = 0;
static void expect(bool ok, const char *what, long long at, double got,
                   double wanted) {
  if (!ok && ++failures < 40)
    printf("FAILED %s at %lld: got %.17g, expected %.17g\n", what, at, got,
           wanted);
}

template <class T>
struct Device {
  explicit Device(size_t count) : count(count) { cudaMalloc(&data, bytes()); }
  explicit Device(const std::vector<T> &from) : Device(from.size()) {
    cudaMemcpy(data, from.data(), bytes(), cudaMemcpyHostToDevice);
  }
  ~Device() { cudaFree(data); }
  size_t bytes() const { return count * sizeof(T); }
  std::vector<T> get() const {
    std::vector<T> result(count);
    cudaError_t error =
        cudaMemcpy(result.data(), data, bytes(), cudaMemcpyDeviceToHost);
    expect(error == cudaSuccess, cudaGetErrorString(error), 0, 0, 0);
    return result;
  }
  size_t count;
  T *data = nullptr;
};

//===-- Conversions -------------------------------------------------------===//

template <class T>
__global__ void encode32(const f32 *in, T *out, T *sat, i64 n) {
  for (i64 i = blockIdx.x * 256ll + tid(); i < n; i += gridDim.x * 256ll) {
    st1(out, i, from_f32<T>(ld1(in, i)));
    st1(sat, i, from_f32_sat<T>(ld1(in, i)));
  }
}
template <class T>
__global__ void encode64(const f64 *in, T *out, i64 n) {
  for (i64 i = blockIdx.x * 256ll + tid(); i < n; i += gridDim.x * 256ll)
    st1(out, i, from_f64<T>(ld1(in, i)));
}
template <class T>
__global__ void decode(f32 *out, i64 n) {
  for (i64 i = blockIdx.x * 256ll + tid(); i < n; i += gridDim.x * 256ll)
    st1(out, i, to_f32(T{(decltype(T::bits))i}));
}

static uint32_t bitsOf(float x) {
  uint32_t bits;
  memcpy(&bits, &x, 4);
  return bits;
}

template <class T>
void checkFormat(int format, const char *name, const std::vector<f32> &narrow,
                 const std::vector<f64> &wide) {
  size_t codes = size_t(1) << (8 * sizeof(T));
  Device<f32> decoded(codes);
  decode<T><<<256, 256>>>(decoded.data, codes);
  std::vector<f32> values = decoded.get();
  for (size_t code = 0; code < codes; ++code) {
    f32 wanted = decodeFloat(format, code);
    expect(std::isnan(wanted) ? std::isnan(values[code])
                              : bitsOf(wanted) == bitsOf(values[code]),
           name, code, values[code], wanted);
  }
  Device<f32> in(narrow);
  Device<T> out(narrow.size()), sat(narrow.size());
  encode32<T><<<1024, 256>>>(in.data, out.data, sat.data, narrow.size());
  std::vector<T> got = out.get(), gotSat = sat.get();
  for (size_t i = 0; i < narrow.size(); ++i) {
    int wanted = encodeFloat(format, narrow[i], false);
    expect(got[i].bits == wanted, "from_f32", bitsOf(narrow[i]), got[i].bits,
           wanted);
    wanted = encodeFloat(format, narrow[i], true);
    expect(gotSat[i].bits == wanted, "from_f32_sat", bitsOf(narrow[i]),
           gotSat[i].bits, wanted);
  }
  Device<f64> in64(wide);
  Device<T> out64(wide.size());
  encode64<T><<<1024, 256>>>(in64.data, out64.data, wide.size());
  got = out64.get();
  for (size_t i = 0; i < wide.size(); ++i) {
    int wanted = encodeFloat(format, wide[i], false);
    expect(got[i].bits == wanted, "from_f64", i, got[i].bits, wanted);
  }
  printf("%s: %zu codes, %zu f32, %zu f64\n", name, codes, narrow.size(),
         wide.size());
}

// All upper 19 bits, so every tie of every format, with the lower bits at and
// around the ties of f16 and bf16.
static std::vector<f32> narrowValues() {
  std::vector<f32> result;
  for (uint32_t top = 0; top < 1u << 19; ++top)
    for (uint32_t low : {0u, 1u, 0xfffu, 0x1000u, 0x1001u, 0x1fffu}) {
      uint32_t bits = top << 13 | low;
      f32 x;
      memcpy(&x, &bits, 4);
      result.push_back(x);
    }
  return result;
}
static std::vector<f64> wideValues(const std::vector<f32> &narrow) {
  std::vector<f64> result = {0x1p-200, -0x1p-200, 0x1p200, -0x1p200, 4.9e-324};
  // Just off the ties by less than f32 can say.
  for (size_t i = 0; i < narrow.size(); i += 3)
    for (double d : {-HUGE_VAL, HUGE_VAL})
      result.push_back(std::nextafter((f64)narrow[i], d));
  std::mt19937_64 random(1);
  for (int i = 0; i < 1000000; ++i) {
    uint64_t bits = random();
    f64 x;
    memcpy(&x, &bits, 8);
    result.push_back(x);
  }
  return result;
}

//===-- Tensor cores ------------------------------------------------------===//

// The operands pass through shared memory, so ldmatrix and its transposed form
// are checked too; small integers make every sum exact.
template <class T, bool IsF16>
__global__ void tile16(const T *a, const T *b, f32 *d) {
  FUSEC_SHARED(T, sa, 16 * 24);
  FUSEC_SHARED(T, sb, 16 * 24);
  const i32 r = lane() / 2, h = lane() % 2 * 8;
  cp_async16(sa, r * 24 + h, a, r * 16 + h, true);
  cp_async16(sb, r * 24 + h, b, r * 16 + h, r != 5); // row 5 is zero
  cp_async_commit();
  cp_async_wait<0>();
  bar();
  u32 fa[4], fb[4];
  ldmatrix_x4(fa, sa, lane() % 16 * 24 + lane() / 16 * 8);
  ldmatrix_x4_trans(fb, sb, lane() % 16 * 24 + lane() / 16 * 8);
  for (i32 j = 0; j < 2; ++j) {
    f32 acc[4] = {1.0f, 1.0f, 1.0f, 1.0f};
    u32 pair[2] = {fb[2 * j], fb[2 * j + 1]};
    if (IsF16)
      mma_f16(acc, fa, pair);
    else
      mma_bf16(acc, fa, pair);
    st<2>(d, lane() / 4 * 16 + 8 * j + lane() % 4 * 2, acc, 0);
    st<2>(d, (lane() / 4 + 8) * 16 + 8 * j + lane() % 4 * 2, acc, 2);
  }
}
template <class T, bool IsF16>
void checkTile16(int format) {
  std::vector<T> a(256), b(256);
  for (int i = 0; i < 256; ++i) {
    a[i].bits = encodeFloat(format, i * 37 % 101 - 50, false);
    b[i].bits = encodeFloat(format, i * 53 % 97 - 48, false);
  }
  Device<T> da(a), db(b);
  Device<f32> dd(256);
  tile16<T, IsF16><<<1, 32>>>(da.data, db.data, dd.data);
  std::vector<f32> d = dd.get();
  for (int i = 0; i < 256; ++i) {
    f32 sum = 1;
    for (int k = 0; k < 16; ++k)
      if (k != 5)
        sum += decodeFloat(format, a[i / 16 * 16 + k].bits) *
               decodeFloat(format, b[k * 16 + i % 16].bits);
    expect(d[i] == sum, "mma 16-bit", i, d[i], sum);
  }
}
__global__ void tile32(const f32 *a, const f32 *b, f32 *c) {
  const i32 g = lane() / 4, t = lane() % 4;
  u32 fa[4], fb[2];
  for (i32 r = 0; r < 4; ++r)
    fa[r] = to_tf32(ld1(a, (g + r % 2 * 8) * 8 + t + r / 2 * 4));
  for (i32 r = 0; r < 2; ++r)
    fb[r] = to_tf32(ld1(b, (t + r * 4) * 8 + g));
  f32 d[4] = {1.0f, 1.0f, 1.0f, 1.0f};
  mma_tf32(d, fa, fb);
  st<2>(c, g * 8 + t * 2, d, 0);
  st<2>(c, (g + 8) * 8 + t * 2, d, 2);
}
static void checkTile32() {
  std::vector<f32> a(128), b(64);
  for (int i = 0; i < 128; ++i)
    a[i] = i * 37 % 101 - 50;
  for (int i = 0; i < 64; ++i)
    b[i] = i * 53 % 97 - 48;
  Device<f32> da(a), db(b), dc(128);
  tile32<<<1, 32>>>(da.data, db.data, dc.data);
  std::vector<f32> c = dc.get();
  for (int i = 0; i < 128; ++i) {
    f32 sum = 1;
    for (int k = 0; k < 8; ++k)
      sum += a[i / 8 * 8 + k] * b[k * 8 + i % 8];
    expect(c[i] == sum, "mma tf32", i, c[i], sum);
  }
}

//===-- The rest ----------------------------------------------------------===//

__global__ void small(const f64 *x, i64 *out, f32 *minmax, u32 *counter,
                      u32 *tickets, i32 n) {
  if (tid() < n) {
    st1(out, tid(), (i64)cvt_sat<i8>(ld1(x, tid())));
    st1(out, n + tid(), (i64)cvt_sat<u32>((f32)ld1(x, tid())));
    st1(out, 2 * n + tid(), cvt_sat<i64>(ld1(x, tid())));
    st1(out, 3 * n + tid(), (i64)cvt_sat<u64>(ld1(x, tid())));
  }
  if (tid() == 0) {
    st1(minmax, 0, m_max(-0.0f, 0.0f));
    st1(minmax, 1, m_max(0.0f, -0.0f));
    st1(minmax, 2, m_min(-0.0f, 0.0f));
    st1(minmax, 3, m_min(0.0f, -0.0f));
    st1(minmax, 4, m_max(as_f32(0x7fc00000u), 1.0f));
    st1(minmax, 5, m_min(1.0f, as_f32(0x7fc00000u)));
    st1(tickets, (i64)cta_x(), ticket(counter, 0, (u32)ncta_x()));
  }
}
static void checkSmall() {
  std::vector<f64> x = {NAN,    HUGE_VAL,     -HUGE_VAL, 0.99,    -0.99, 127.9,
                        -128.9, 4294967296.0, 9.3e18,    -9.3e18, 1.9e19};
  int n = int(x.size());
  Device<f64> dx(x);
  Device<i64> out(4 * n);
  Device<f32> minmax(6);
  Device<u32> counter(std::vector<u32>{0}), tickets(100);
  small<<<100, 32>>>(dx.data, out.data, minmax.data, counter.data, tickets.data,
                     n);
  std::vector<i64> got = out.get();
  for (int i = 0; i < n; ++i) {
    f64 v = x[i];
    bool nan = std::isnan(v);
    i64 wanted[] = {nan ? 0 : (i64)std::fmin(std::fmax(v, -128), 127),
                    nan || v < 0  ? 0
                    : v >= 0x1p32 ? 0xffffffffll
                                  : (i64)v,
                    nan            ? 0
                    : v >= 0x1p63  ? INT64_MAX
                    : v <= -0x1p63 ? INT64_MIN
                                   : (i64)v,
                    nan || v < 0  ? 0
                    : v >= 0x1p64 ? -1
                                  : (i64)(u64)v};
    for (int k = 0; k < 4; ++k)
      expect(got[k * n + i] == wanted[k], "cvt_sat", k * 100 + i,
             (f64)got[k * n + i], (f64)wanted[k]);
  }
  std::vector<f32> m = minmax.get();
  for (int i = 0; i < 4; ++i)
    expect(m[i] == 0 && std::signbit(m[i]) == (i >= 2), "signed zeros", i, m[i],
           0);
  expect(std::isnan(m[4]) && std::isnan(m[5]), "NaN", 4, m[4], NAN);
  std::vector<bool> seen(100);
  for (u32 t : tickets.get())
    if (t < 100)
      seen[t] = true;
  for (int i = 0; i < 100; ++i)
    expect(seen[i], "ticket", i, 0, 1);
  expect(counter.get()[0] == 0, "ticket counter", 0, counter.get()[0], 0);
}

__global__ void roundTf32(const f32 *x, u32 *y, i32 n) {
  if (tid() < n)
    st1(y, tid(), to_tf32(ld1(x, tid())));
}
/// Of what tensor cores read of it: they ignore the low 13 bits.
static void checkTf32() {
  const uint32_t table[][2] = {
      {0x3f800fff, 0x3f800000}, {0x3f801000, 0x3f802000},
      {0xbf803000, 0xbf804000}, {0x7f7fefff, 0x7f7fe000},
      {0x7f7ff000, 0x7f7fe000}, {0x7f7fffff, 0x7f7fe000},
      {0xff7fffff, 0xff7fe000}, {0x7f800000, 0x7f800000},
      {0xff800000, 0xff800000}, {0x80000000, 0x80000000},
      {0x00000fff, 0x00000000}, {0x00001000, 0x00002000},
      {0x807fffff, 0x80800000}, {0x7f800001, 0x7fffe000},
      {0x7f801000, 0x7fffe000}, {0xff8fffff, 0x7fffe000}};
  std::vector<f32> x;
  for (auto &row : table) {
    f32 value;
    memcpy(&value, &row[0], 4);
    x.push_back(value);
  }
  Device<f32> in(x);
  Device<u32> out(x.size());
  roundTf32<<<1, 32>>>(in.data, out.data, (i32)x.size());
  std::vector<u32> got = out.get();
  for (size_t i = 0; i < x.size(); ++i) {
    u32 read = got[i] & ~0x1fffu, wanted = table[i][1];
    bool isNaN = (wanted & 0x7fffffffu) > 0x7f800000u;
    expect(isNaN ? (read & 0x7fffffffu) > 0x7f800000u : read == wanted,
           "to_tf32", table[i][0], read, wanted);
  }
}

int main() {
  std::vector<f32> narrow = narrowValues();
  std::vector<f64> wide = wideValues(narrow);
  checkFormat<f16>(0, "f16", narrow, wide);
  checkFormat<bf16>(1, "bf16", narrow, wide);
  checkFormat<f8e4m3>(2, "f8e4m3", narrow, wide);
  checkFormat<f8e5m2>(3, "f8e5m2", narrow, wide);
  checkTile16<f16, true>(0);
  checkTile16<bf16, false>(1);
  checkTile32();
  checkTf32();
  checkSmall();
  printf(failures ? "%d failures\n" : "all equal\n", failures);
  return failures != 0;
}
