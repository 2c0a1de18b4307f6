#include "sinter/tests/codegen/simt_text.h"

#include <regex>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "sinter/kernels/cuda/embedded_cuda.h"
#include "sinter/runtime/host/status.h"

namespace sinter::codegen {

namespace {

// CUDA's keywords and built-ins. __restrict__ is empty: writes by other threads must be visible.
constexpr char kCuda[] = R"cuda(
#define __device__
#define __global__
#define __forceinline__ inline
#define __constant__
#define __restrict__
#define __grid_constant__
#define __launch_bounds__(...)
#define threadIdx (sn_indices[0])
#define blockIdx (sn_indices[1])
#define blockDim (sn_indices[2])
#define gridDim (sn_indices[3])
struct SnIndex { unsigned int x, y, z; };
static const SnIndex* sn_indices;
struct alignas(8) uint2 { unsigned int x, y; };
struct alignas(16) uint4 { unsigned int x, y, z, w; };

inline float fabsf(float x) { return __builtin_fabsf(x); }
inline double fabs(double x) { return __builtin_fabs(x); }
inline float copysignf(float x, float y) { return __builtin_copysignf(x, y); }
inline float __fdividef(float x, float y) { return x / y; }
inline float __uint_as_float(unsigned int x) { return __builtin_bit_cast(float, x); }
inline float __int_as_float(int x) { return __builtin_bit_cast(float, x); }
inline unsigned int __float_as_uint(float x) { return __builtin_bit_cast(unsigned int, x); }
inline int __float_as_int(float x) { return __builtin_bit_cast(int, x); }
inline double __longlong_as_double(long long x) { return __builtin_bit_cast(double, x); }
inline long long __double_as_longlong(double x) { return __builtin_bit_cast(long long, x); }
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline unsigned __umulhi(unsigned x, unsigned y) { return (unsigned long long)x * y >> 32; }
// Threads take turns only where they synchronise.
inline unsigned atomicAdd(unsigned* p, unsigned x) { return (*p += x) - x; }

template <typename T>
inline T __ldg(const T* p) {
  sn_host_read(p, sizeof(T));
  return *p;
}
template <typename T>
inline T __ldcs(const T* p) { return *p; }
template <typename T>
inline void __stcs(T* p, T x) { *p = x; }
// The compiler takes a vector's address for aligned: it must not know whose this is.
inline void sn_check_aligned(const void* p, unsigned bytes) {
  const void* volatile hidden = p;
  const void* at = hidden;
  if ((unsigned long long)at % bytes != 0) sn_host_misaligned(at, bytes);
}
template <typename T>
inline T sn_exchange(unsigned kind, unsigned mask, T x, int argument, int width) {
  unsigned long long bits = 0;
  __builtin_memcpy(&bits, &x, sizeof(T));
  bits = sn_host_shuffle(kind, mask, bits, argument, width);
  __builtin_memcpy(&x, &bits, sizeof(T));
  return x;
}
#define SN_SHUFFLES(T) \
inline T __shfl_xor_sync(unsigned mask, T x, int lanes, int width = 32) { return sn_exchange(0, mask, x, lanes, width); } \
inline T __shfl_sync(unsigned mask, T x, int lane, int width = 32) { return sn_exchange(1, mask, x, lane, width); } \
inline T __shfl_up_sync(unsigned mask, T x, unsigned lanes, int width = 32) { return sn_exchange(2, mask, x, lanes, width); }
SN_SHUFFLES(int) SN_SHUFFLES(unsigned) SN_SHUFFLES(long long) SN_SHUFFLES(unsigned long long)
SN_SHUFFLES(float) SN_SHUFFLES(double)
inline unsigned __match_any_sync(unsigned mask, unsigned x) { return sn_exchange(3, mask, x, 0, 32); }
inline void __syncwarp(unsigned mask = 0xffffffffu) { sn_exchange(4, mask, 0, 0, 32); }
inline void __syncthreads() { sn_host_barrier(); }

inline float ptx_max_NaN_f32(float x, float y) {
  if (x != x || y != y) return __uint_as_float(0x7fffffff);
  if (x == y) return __float_as_int(x) < 0 ? y : x;
  return x > y ? x : y;
}
inline float ptx_min_NaN_f32(float x, float y) {
  if (x != x || y != y) return __uint_as_float(0x7fffffff);
  if (x == y) return __float_as_int(x) < 0 ? x : y;
  return x < y ? x : y;
}
inline float ptx_ex2_approx_ftz_f32(float x) {
  const float r = exp2f(x);
  return r < 1.17549435e-38f ? 0.0f : r;
}
inline float ptx_rcp_approx_ftz_f32(float x) {
  const float r = 1.0f / x;
  return fabsf(r) < 1.17549435e-38f ? 0.0f : r;
}
inline unsigned short ptx_cvt_rn_bf16_f32(float x) { return sn_host_to_bf16(x); }
inline unsigned short ptx_cvt_rn_f16_f32(float x) { return sn_host_to_f16(x); }
inline float ptx_cvt_f32_f16(unsigned short x) { return sn_host_from_f16(x); }
)cuda";

// A GPU stops at an unaligned access; the emulator reports the thread.
constexpr char kVec[] = R"cuda( Vec {
  static constexpr unsigned kAccess = sizeof(T) * n > 16 ? 16 : sizeof(T) * n;
  struct Elements { T v[n]; };
  T v[n];
  Vec() = default;
  Vec(const Elements& e) { for (int i = 0; i < n; ++i) v[i] = e.v[i]; }
  template <typename... A> requires(sizeof...(A) == n && n > 1) Vec(A... a) : v{T(a)...} {}
  Vec(const Vec& o) {
    sn_check_aligned(&o, kAccess);
    for (int i = 0; i < n; ++i) v[i] = o.v[i];
  }
  void operator=(const Vec& o) {
    sn_check_aligned(this, kAccess);
    for (int i = 0; i < n; ++i) v[i] = o.v[i];
  }
};)cuda";

std::string FunctionPointers(const std::vector<SimtHostFunction>& functions) {
  std::string text;
  for (const SimtHostFunction& f : functions) {
    absl::StrAppend(&text, "static ", f.result, " (*", f.name, ")(", f.parameters, ");\n");
  }
  return text;
}

// Replaces asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(x), "f"(y)) by r = ptx_max_NaN_f32((x), (y)).
std::string WithoutPtx(const std::string& text) {
  static const std::regex kAsm("asm\\(\"([a-zA-Z0-9_.]+) [^\"]*\" : \"=\\w\"\\((\\w+)\\) : (.*)\\);");
  std::string result;
  std::sregex_iterator found(text.begin(), text.end(), kAsm), end;
  size_t at = 0;
  for (; found != end; ++found) {
    result += text.substr(at, found->position() - at);
    absl::StrAppend(&result, (*found)[2].str(), " = ptx_",
                    absl::StrReplaceAll((*found)[1].str(), {{".", "_"}}), "(",
                    std::regex_replace((*found)[3].str(), std::regex("\"\\w\""), ""), ");");
    at = found->position() + found->length();
  }
  return result + text.substr(at);
}

absl::StatusOr<std::string> Prelude() {
  // Prefetched memory must be readable, so a prefetch becomes a read.
  const std::string prelude = absl::StrReplaceAll(
      std::string(kernels::CudaText("prelude")),
      {{R"(asm volatile("prefetch.global.L2 [%0];" : : "l"(p));)", "(void)*(const volatile char*)p;"}});
  std::string text = WithoutPtx(prelude);
  static const std::regex kVecRecord(" Vec \\{\\n  T v\\[n\\];\\n\\};");
  if (!std::regex_search(text, kVecRecord)) {
    return absl::InternalError("kernels/cuda/prelude.cuh has no Vec as simt_text.cc knows it");
  }
  return std::regex_replace(text, kVecRecord, kVec);
}

// Turns "Vec<float, 4> rows[8][9], column[8]" into arrays in the block's memory with slots from `slot`. A
// typedef handles any dimensions.
std::string SharedArrays(const std::string& declaration, int& slot) {
  const std::string head = declaration.substr(0, declaration.find('['));
  const size_t first = head.find_last_of(" *&") + 1;
  const std::string type = head.substr(0, first);
  std::string text;
  for (size_t at = first; at < declaration.size();) {
    size_t end = at;
    for (int depth = 0; end < declaration.size() && (depth > 0 || declaration[end] != ','); ++end) {
      depth += declaration[end] == '[' || declaration[end] == '(';
      depth -= declaration[end] == ']' || declaration[end] == ')';
    }
    const std::string array = declaration.substr(at, end - at), name = array.substr(0, array.find('['));
    const std::string n = absl::StrCat("sn_shared_", slot);
    absl::StrAppend(&text, "typedef ", type, n, array.substr(name.size()), "; ", n, "& ", name, " = *(", n,
                    "*)sn_host_shared(", slot++, ", sizeof(", n, "));");
    at = declaration.find_first_not_of(", ", end);
  }
  return text;
}

// PTX is guarded by a test of the architecture. The emulator takes the other branch, for architectures
// without the PTX.
std::string WithoutGuardedPtx(const std::string& text) {
  std::string result;
  bool skips = false;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (absl::StartsWith(line, "#if __CUDA_ARCH__ >=")) {
      skips = true;
      result += "#if 1\n";
    } else if (skips && (absl::StartsWith(line, "#else") || absl::StartsWith(line, "#endif"))) {
      skips = false;
      if (absl::StartsWith(line, "#endif")) result += "#endif\n";
    } else if (!skips) {
      absl::StrAppend(&result, line, "\n");
    }
  }
  return result;
}

std::string KernelBody(const CudaSource& source) {
  static const std::regex kShared("__shared__ ([^;]+);");
  const std::string given = WithoutGuardedPtx(source.text);
  std::string text;
  std::sregex_iterator found(given.begin(), given.end(), kShared), end;
  size_t at = 0;
  for (int slot = 0; found != end; ++found) {
    text += given.substr(at, found->position() - at) + SharedArrays((*found)[1].str(), slot);
    at = found->position() + found->length();
  }
  text += given.substr(at);
  // Unrolled loops take long to compile.
  return absl::StrReplaceAll(text, {{"#pragma unroll", "//"}});
}

}  // namespace

bool HasPtx(const CudaSource& source) {
  return std::regex_search(WithoutGuardedPtx(source.text), std::regex("\\basm\\b"));
}

absl::StatusOr<SimtLimits> SimtLimitsOf(const CudaSource& source) {
  static const std::regex kBuffers("struct (\\w+) \\{\\s*char\\* p\\[(\\d+)\\];"),
      kBounds("__launch_bounds__\\((\\d+)");
  std::smatch buffers, bounds;
  if (!std::regex_search(source.text, buffers, kBuffers) ||
      !std::regex_search(source.text, bounds, kBounds)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the kernel ", source.symbol, " has no struct of char* p[n], or no __launch_bounds__"));
  }
  return SimtLimits{buffers[1].str(), std::stoll(buffers[2].str()), std::stoll(bounds[1].str())};
}

absl::StatusOr<std::string> SimtText(const std::vector<CudaSource>& sources,
                                     const std::vector<SimtHostFunction>& functions) {
  SINTER_ASSIGN_OR_RETURN(std::string prelude, Prelude());
  std::string text = absl::StrCat(FunctionPointers(functions), kCuda, prelude), cases;
  for (size_t k = 0; k < sources.size(); ++k) {
    const std::string body = KernelBody(sources[k]);
    if (HasPtx(sources[k])) {
      return absl::InvalidArgumentError(
          absl::StrCat("the kernel ", sources[k].symbol, " has PTX, which is not emulated"));
    }
    SINTER_ASSIGN_OR_RETURN(const SimtLimits limits, SimtLimitsOf(sources[k]));
    // Each kernel has its own namespace, because a user's kernel may define any name.
    absl::StrAppend(
        &text, "namespace k", k, " {\nnamespace sn_kernel {}\n", body,
        "inline void sn_run(void* const* buffers) {\n  using namespace sn_kernel;\n  ", limits.parameter,
        " b;\n",
        "  for (unsigned i = 0; i < sizeof(b.p) / sizeof(b.p[0]); ++i) b.p[i] = (char*)buffers[i];\n  ",
        sources[k].symbol, "(b);\n}\n}\n");
    absl::StrAppend(&cases, "    case ", k, ": return k", k, "::sn_run(buffers);\n");
  }
  absl::StrAppend(
      &text, "extern \"C\" void ", kSimtEntry,
      "(void* const* functions, const SnIndex* indices, unsigned kernel, void* const* buffers) {\n",
      "  if (kernel == 0xffffffffu) {\n    sn_indices = indices;\n");
  for (size_t i = 0; i < functions.size(); ++i) {
    absl::StrAppend(&text, "    *(void**)&", functions[i].name, " = functions[", i, "];\n");
  }
  absl::StrAppend(&text, "    return;\n  }\n  switch (kernel) {\n", cases, "  }\n}\n");
  return text;
}

}  // namespace sinter::codegen
