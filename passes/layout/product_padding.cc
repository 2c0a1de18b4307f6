#include "sinter/passes/layout/product_padding.h"

#include <algorithm>

#include "sinter/ir/dialect/tensor_types.h"
#include "sinter/ir/library/matmul_sizes.h"
#include "sinter/ir/target/target_model.h"

namespace sinter {

namespace {

// True if rows of so many elements begin where the copy engine cannot begin.
bool IsUneven(int64_t size, mlir::Type element, int64_t alignment) {
  return size * ir::ElementBytes(element) % alignment != 0;
}

// Rates of cuBLASLt's kernels for rows that are no multiples of 16 bytes, in flops a second: of 4-byte
// elements, of pairs of 2-byte elements, and of single ones. The bytes a second that they read and write.
// Measured on an H200 (docs/performance-notes.md).
constexpr double kWideElements = 130e12, kPairs = 280e12, kSingle = 140e12, kBytes = 1.3e12;
// Seconds that such a kernel takes besides, however small the product.
constexpr double kStart = 5e-6;
// Products of fewer rows or columns have kernels that read vectors from any address. Products of fewer flops
// are too small to gain.
constexpr int64_t kFewRows = 8;
constexpr double kFewFlops = 1 << 24;

double RateOf(int64_t size, mlir::Type element) {
  if (ir::ElementBytes(element) == 4) return kWideElements;
  return size % 2 == 0 ? kPairs : kSingle;
}

}  // namespace

PaddedSizes PaddedSizes::Wanted(ir::MatmulOp op, int64_t least_size) {
  const mlir::Type element = op.getA().getType().getElementType(), of_result = op.getType().getElementType();
  const int64_t alignment = ir::TargetModel::Of(op.getOperation()).product_alignment;
  const bool has_tensor_cores =
      element.isBF16() || element.isF16() || (element.isF32() && op.getMath() == ir::MathMode::tf32);
  PaddedSizes padded;
  if (!has_tensor_cores || op.getType().getNumElements() == 0) return padded;
  const ir::MatmulSizes s = ir::MatmulSizes::Of(op);
  padded.transpose_a = op.getTransposeA(), padded.transpose_b = op.getTransposeB();
  padded.rank = static_cast<size_t>(op.getType().getRank());
  auto is_uneven = [&](int64_t size, mlir::Type type) {
    return size >= least_size && IsUneven(size, type, alignment);
  };
  padded.m = op.getTransposeA() && is_uneven(s.m, element);
  padded.n = is_uneven(s.n, of_result) || (!op.getTransposeB() && is_uneven(s.n, element));
  padded.k = (!op.getTransposeA() || op.getTransposeB()) && is_uneven(s.k, element);
  return padded;
}

double PaddedSizes::gain(ir::MatmulOp op, double seconds) const {
  const ir::MatmulSizes s = ir::MatmulSizes::Of(op);
  const double flops = 2.0 * static_cast<double>(s.batch * s.m) * static_cast<double>(s.n * s.k);
  if (std::min(s.m, s.n) < kFewRows || flops < kFewFlops) return 0;
  const mlir::Type element = op.getA().getType().getElementType();
  double rate = kPairs;
  for (auto [is_padded, size] : {std::pair(m, s.m), std::pair(n, s.n), std::pair(k, s.k)}) {
    if (is_padded) rate = std::min(rate, RateOf(size, element));
  }
  const int64_t bytes = ir::NumBytes(op.getA()) + ir::NumBytes(op.getB()) + ir::NumBytes(op.getResult());
  return std::max(0.0, kStart + std::max(flops / rate, static_cast<double>(bytes) / kBytes) - seconds);
}

std::string PaddedSizes::text(ir::MatmulOp op) const {
  const ir::MatmulSizes s = ir::MatmulSizes::Of(op);
  std::string text;
  auto add = [&](const char* name, bool is_padded, int64_t size) {
    if (!is_padded) return;
    text += (text.empty() ? " " : ", ") + std::string(name) + " from " + std::to_string(size) + " to " +
            std::to_string(WideSize(size));
  };
  add("m", m, s.m);
  add("n", n, s.n);
  add("k", k, s.k);
  return text;
}

}  // namespace sinter
