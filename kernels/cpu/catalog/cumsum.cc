// Running sums along the middle of three dimensions.
//
//   inputs x[outer, size, inner]; outputs result[outer, size, inner]
//   parameters dtype, outer, size, inner, reverse (0 or 1)
//
// The result may alias x.
//
// A unit of work is a block of columns: one o and up to 32 adjacent j. It walks along the dimension with its
// sums in registers. Floats are summed in f64, so that the error does not grow with the length.
#include <type_traits>

#include "sinter/kernels/cpu/catalog/catalog_kernels.h"
#include "sinter/kernels/cpu/element_types.h"

namespace sinter::kernels {
namespace {

enum Parameter { kDType, kOuter, kSize, kInner, kReverse };
constexpr std::string_view kParameters[] = {"dtype", "outer", "size", "inner", "reverse"};
constexpr int64_t kBlock = 32;
constexpr int64_t kGrainElements = 8192;

std::string Check(std::span<const int64_t> p, std::span<const CatalogOperand> operands) {
  if (std::string problem = CheckNumberType(p[kDType], "the tensor"); !problem.empty()) return problem;
  int64_t elements = 0;
  if (std::string problem = CheckSizes({p[kOuter], p[kSize], p[kInner]}, &elements); !problem.empty())
    return problem;
  if (p[kReverse] != 0 && p[kReverse] != 1)
    return "reverse must be 0 or 1, not " + std::to_string(p[kReverse]);
  std::string problem = CheckOperand(operands[0], "x", p[kDType], elements);
  return problem.empty() ? CheckOperand(operands[1], "the result", p[kDType], elements) : problem;
}

int64_t WorkspaceBytes(std::span<const int64_t>) { return 0; }

template <typename E>
void Sum(const CatalogCall& call) {
  using S = typename E::Storage;
  using Accumulator = std::conditional_t<E::kIsFloat, double, typename E::Compute>;
  const std::span<const int64_t> p = call.parameters;
  const S* const x = static_cast<const S*>(call.buffers[0]);
  S* const y = static_cast<S*>(call.buffers[1]);
  const int64_t size = p[kSize], inner = p[kInner];
  const int64_t blocks = (inner + kBlock - 1) / kBlock;
  if (size == 0) return;
  const int64_t unit = size * (inner < kBlock ? inner : kBlock);
  call.parallel.For(
      p[kOuter] * blocks, 1 + kGrainElements / (unit + 1), [&](int64_t begin, int64_t end, int) {
        for (int64_t u = begin; u < end; ++u) {
          const int64_t first = u % blocks * kBlock;
          const int64_t width = inner - first < kBlock ? inner - first : kBlock;
          Accumulator sums[kBlock] = {};
          for (int64_t k = 0; k < size; ++k) {
            const int64_t at = (u / blocks * size + (p[kReverse] != 0 ? size - 1 - k : k)) * inner + first;
            for (int64_t j = 0; j < width; ++j) {
              sums[j] += static_cast<Accumulator>(E::Load(x[at + j]));
              y[at + j] = E::Store(static_cast<typename E::Compute>(sums[j]));
            }
          }
        }
      });
}

void Run(const CatalogCall& call) {
  WithElement(static_cast<int>(call.parameters[kDType]), [&](auto element) { Sum<decltype(element)>(call); });
}

}  // namespace

CatalogKernel CumsumKernel() { return {"cumsum", 1, 1, kParameters, Check, WorkspaceBytes, Run}; }

}  // namespace sinter::kernels
