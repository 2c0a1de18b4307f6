// Products of few rows with a matrix of 8 or 4 bits.
//
//   inputs x[m, k], weights[n, k] (i8) or [n, k / 2] (u8), scales[n, groups]; outputs result[m, n]
//   parameters dtype (of x and the result), scale_dtype, m, n, k, groups, bits (8 or 4)
//
// result[i, j] is the sum over groups of k / groups elements of scales[j, group] times the sum of x[i, l]
// weights[j, l]. Four bits are stored as ir/library/linear_ops.td says: byte b of a block of 16 has number b
// of 32 in its low bits and number b + 16 in its high bits, each with 8 added.
//
// x is first written as f32 to the workspace, with rows padded to whole blocks by zeros. A thread then
// converts a piece of two rows of weights at a time, and multiplies it with the rows of x. Sums are in f32
// and eight lanes, in an order that follows from the sizes alone.
#include <algorithm>
#include <cstring>
#include <type_traits>

#include "sinter/kernels/cpu/catalog/catalog_kernels.h"
#include "sinter/kernels/cpu/element_types.h"

namespace sinter::kernels {
namespace {

enum QuantizedParameter { kXDType, kScaleDType, kM, kN, kK, kGroups, kBits };
constexpr std::string_view kQuantizedParameters[] = {"dtype", "scale_dtype", "m", "n", "k", "groups", "bits"};
constexpr int64_t kBlock = 32;        // Numbers of a block.
constexpr int kWeightRows = 2;        // Rows of weights at a time: a row of x is read for both.
constexpr int64_t kPiece = 512;       // Numbers of a row that are converted at a time.
constexpr int64_t kRowsOfBlock = 16;  // Rows of x for which they are converted once.
constexpr int64_t kGrainProducts = 1 << 15;

typedef float Eight __attribute__((vector_size(32)));

int64_t PaddedSize(int64_t k) { return (k + kBlock - 1) / kBlock * kBlock; }

std::string CheckQuantized(std::span<const int64_t> p, std::span<const CatalogOperand> operands) {
  const int64_t k = p[kK], groups = p[kGroups], bits = p[kBits];
  for (const int64_t dtype : {p[kXDType], p[kScaleDType]}) {
    if (dtype != kF32 && dtype != kBf16 && dtype != kF16) return "x and the scales must be f32, bf16 or f16";
  }
  if (bits != 8 && bits != 4) return "numbers of " + std::to_string(bits) + " bits; expected 8 or 4";
  int64_t of_x = 0, of_weights = 0, of_result = 0;
  std::string problem = CheckSizes({p[kM], k}, &of_x);
  if (problem.empty()) problem = CheckSizes({p[kN], k}, &of_weights);
  if (problem.empty()) problem = CheckSizes({p[kM], p[kN]}, &of_result);
  if (!problem.empty()) return problem;
  if (bits == 4 && k % kBlock != 0) return "rows of " + std::to_string(k) + " numbers of 4 bits";
  if (groups < 1 || (groups > 1 && (k == 0 || k % groups != 0 || k / groups % kBlock != 0))) {
    return std::to_string(groups) + " groups of rows of " + std::to_string(k) + " numbers";
  }
  int64_t of_scales = 0;
  problem = CheckSizes({p[kN], groups}, &of_scales);
  if (!problem.empty()) return problem;
  problem = CheckOperand(operands[0], "x", p[kXDType], of_x);
  if (problem.empty()) {
    problem = bits == 8 ? CheckOperand(operands[1], "the weights", kI8, of_weights)
                        : CheckOperand(operands[1], "the weights", kU8, of_weights / 2);
  }
  if (problem.empty()) problem = CheckOperand(operands[2], "the scales", p[kScaleDType], of_scales);
  return problem.empty() ? CheckOperand(operands[3], "the result", p[kXDType], of_result) : problem;
}

int64_t QuantizedWorkspaceBytes(std::span<const int64_t> p) {
  return p[kM] * PaddedSize(p[kK]) * static_cast<int64_t>(sizeof(float));
}

// Writes the numbers of a block. Loops of fixed sizes from memory become vector conversions.
void ReadBlock(const int8_t* from, float* to) {
  for (int i = 0; i < kBlock; ++i) to[i] = static_cast<float>(from[i]);
}
void ReadBlock(const uint8_t* from, float* to) {
  for (int i = 0; i < kBlock / 2; ++i) to[i] = static_cast<float>(static_cast<int8_t>(from[i] & 15) - 8);
  for (int i = 0; i < kBlock / 2; ++i)
    to[kBlock / 2 + i] = static_cast<float>(static_cast<int8_t>(from[i] >> 4) - 8);
}

// Writes numbers [begin, end) of a row, and zeros up to a whole block. `W`: int8_t, or uint8_t for pairs.
template <typename W>
void ReadNumbers(const W* row, int64_t begin, int64_t end, float* to) {
  constexpr int64_t kBytes = std::is_same_v<W, int8_t> ? kBlock : kBlock / 2;
  row += begin / kBlock * kBytes;
  for (; begin + kBlock <= end; begin += kBlock, row += kBytes, to += kBlock) ReadBlock(row, to);
  if (begin == end) return;
  // Only rows of whole bytes have a part of a block.
  W block[kBlock] = {};
  std::memcpy(block, row, static_cast<size_t>(end - begin));
  ReadBlock(block, to);
}

Eight LoadEight(const float* from) {
  Eight value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

// Adds the products of `count` numbers, whole blocks, of kRows rows of x with those of kWeightRows rows of
// weights to `totals`, times the scales. Rows are `stride` and kPiece elements apart.
template <int kRows>
void AddProducts(const float* x, int64_t stride, const float* numbers, int64_t count, const float* scales,
                 Eight (*totals)[kWeightRows]) {
  // Few rows need more chains to hide the latency of an addition.
  constexpr int kChains = kRows >= 4 ? 1 : 4 / kRows;
  Eight sums[kRows][kWeightRows][kChains] = {};
  for (int64_t at = 0; at < count; at += 8 * kChains) {
    for (int c = 0; c < kChains; ++c) {
      Eight weights[kWeightRows];
      for (int w = 0; w < kWeightRows; ++w) weights[w] = LoadEight(numbers + w * kPiece + at + c * 8);
      for (int i = 0; i < kRows; ++i) {
        const Eight factor = LoadEight(x + i * stride + at + c * 8);
        for (int w = 0; w < kWeightRows; ++w) sums[i][w][c] += factor * weights[w];
      }
    }
  }
  for (int i = 0; i < kRows; ++i) {
    for (int w = 0; w < kWeightRows; ++w) {
      Eight sum = sums[i][w][0];
      for (int c = 1; c < kChains; ++c) sum += sums[i][w][c];
      totals[i][w] += sum * scales[w];
    }
  }
}

float SumOf(const Eight& total) {
  float half[4];
  for (int l = 0; l < 4; ++l) half[l] = total[l] + total[l + 4];
  return (half[0] + half[2]) + (half[1] + half[3]);
}

template <typename E, typename SE, typename W>
class Product {
 public:
  explicit Product(const CatalogCall& call)
      : m_(call.parameters[kM]),
        n_(call.parameters[kN]),
        k_(call.parameters[kK]),
        groups_(call.parameters[kGroups]),
        stride_(PaddedSize(k_)),
        from_(static_cast<const typename E::Storage*>(call.buffers[0])),
        weights_(static_cast<const W*>(call.buffers[1])),
        scales_(static_cast<const typename SE::Storage*>(call.buffers[2])),
        result_(static_cast<typename E::Storage*>(call.buffers[3])),
        x_(static_cast<float*>(call.workspace)) {}

  int64_t units() const { return (n_ + kWeightRows - 1) / kWeightRows; }
  int64_t grain() const { return 1 + kGrainProducts / (1 + m_ * k_); }

  void WidenX() const {
    for (int64_t i = 0; i < m_; ++i) {
      for (int64_t l = 0; l < stride_; ++l) x_[i * stride_ + l] = l < k_ ? E::Load(from_[i * k_ + l]) : 0.f;
    }
  }

  // Multiplies kWeightRows rows of weights with all rows of x.
  void RunUnit(int64_t unit) const {
    int64_t rows[kWeightRows];
    for (int w = 0; w < kWeightRows; ++w) rows[w] = std::min(unit * kWeightRows + w, n_ - 1);
    for (int64_t first = 0; first < m_; first += kRowsOfBlock) {
      const int64_t count = std::min(kRowsOfBlock, m_ - first);
      Eight totals[kRowsOfBlock][kWeightRows] = {};
      AddGroups(rows, first, count, totals);
      for (int64_t i = 0; i < count; ++i) {
        for (int w = 0; w < kWeightRows; ++w) {
          result_[(first + i) * n_ + rows[w]] = E::Store(SumOf(totals[i][w]));
        }
      }
    }
  }

 private:
  void AddGroups(const int64_t (&rows)[kWeightRows], int64_t first, int64_t count,
                 Eight (&totals)[kRowsOfBlock][kWeightRows]) const {
    const int64_t bytes = std::is_same_v<W, int8_t> ? k_ : k_ / 2, group = k_ / groups_;
    alignas(32) float numbers[kWeightRows * kPiece];
    for (int64_t begin = 0, end = 0; begin < k_; begin = end) {
      const int64_t number = begin / group;
      end = std::min(begin + kPiece, (number + 1) * group);
      float scales[kWeightRows];
      for (int w = 0; w < kWeightRows; ++w) {
        scales[w] = SE::Load(scales_[rows[w] * groups_ + number]);
        ReadNumbers(weights_ + rows[w] * bytes, begin, end, numbers + w * kPiece);
      }
      const float* const x = x_ + first * stride_ + begin;
      const int64_t size = PaddedSize(end - begin);
      int64_t i = 0;
      for (; i + 4 <= count; i += 4)
        AddProducts<4>(x + i * stride_, stride_, numbers, size, scales, totals + i);
      for (; i + 2 <= count; i += 2)
        AddProducts<2>(x + i * stride_, stride_, numbers, size, scales, totals + i);
      for (; i < count; ++i) AddProducts<1>(x + i * stride_, stride_, numbers, size, scales, totals + i);
    }
  }

  int64_t m_, n_, k_, groups_, stride_;
  const typename E::Storage* from_;
  const W* weights_;
  const typename SE::Storage* scales_;
  typename E::Storage* result_;
  float* x_;
};

template <typename E, typename SE, typename W>
void Multiply(const CatalogCall& call) {
  const Product<E, SE, W> product(call);
  product.WidenX();
  call.parallel.For(product.units(), product.grain(), [&](int64_t begin, int64_t end, int) {
    for (int64_t unit = begin; unit < end; ++unit) product.RunUnit(unit);
  });
}

void RunQuantized(const CatalogCall& call) {
  const std::span<const int64_t> p = call.parameters;
  WithFloatElement(static_cast<int>(p[kXDType]), [&](auto element) {
    WithFloatElement(static_cast<int>(p[kScaleDType]), [&](auto of_scale) {
      using E = decltype(element);
      using SE = decltype(of_scale);
      if constexpr (E::kDType != kF64 && SE::kDType != kF64) {
        p[kBits] == 8 ? Multiply<E, SE, int8_t>(call) : Multiply<E, SE, uint8_t>(call);
      }
    });
  });
}

}  // namespace

CatalogKernel QuantizedMatmulKernel() {
  return {"quantized_matmul",      3,           1, kQuantizedParameters, CheckQuantized,
          QuantizedWorkspaceBytes, RunQuantized};
}

}  // namespace sinter::kernels
