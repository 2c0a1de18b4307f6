#include "sinter/runtime/cuda/context/trial_operands.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <utility>

#include "sinter/runtime/cuda/driver/cuda_status.h"
#include "sinter/runtime/host/dtype.h"
#include "sinter/runtime/host/float8.h"
#include "sinter/runtime/host/half.h"
#include "sinter/runtime/host/status.h"

namespace sinter {
namespace {

constexpr int64_t kBlockElements = (1 << 16) + 1;

// The generator of Knuth's MMIX.
uint64_t Next(uint64_t& state) { return state = state * 6364136223846793005u + 1442695040888963407u; }

// Integers get the value from -1 to 1 as one from -127 to 127.
void Store(fb::DType dtype, double f64, std::byte* to) {
  const float f32 = static_cast<float>(f64);
  const int32_t i32 = static_cast<int32_t>(std::lround(127 * std::clamp(f64, -1.0, 1.0)));
  const int8_t i8 = static_cast<int8_t>(i32);
  const uint16_t bf16 = BFloat16::FromFloat(f32).bits, f16 = Float16::FromFloat(f32).bits;
  const uint8_t e4m3 = Float8E4M3::FromFloat(f32).bits, e5m2 = Float8E5M2::FromFloat(f32).bits;
  const void* const value = dtype == fb::DType::F8E4M3   ? static_cast<const void*>(&e4m3)
                            : dtype == fb::DType::F8E5M2 ? static_cast<const void*>(&e5m2)
                            : dtype == fb::DType::F64    ? static_cast<const void*>(&f64)
                            : dtype == fb::DType::F32    ? static_cast<const void*>(&f32)
                            : dtype == fb::DType::I32    ? static_cast<const void*>(&i32)
                            : dtype == fb::DType::I8     ? static_cast<const void*>(&i8)
                            : dtype == fb::DType::BF16   ? static_cast<const void*>(&bf16)
                                                         : static_cast<const void*>(&f16);
  std::memcpy(to, value, static_cast<size_t>(SizeOf(static_cast<DType>(dtype))));
}

// Repeats the first `done` bytes at `to` up to `bytes`. Each copy doubles the filled part and keeps the
// period.
absl::Status Double(const CudaContext& context, std::byte* to, int64_t done, int64_t bytes) {
  while (done < bytes) {
    const int64_t more = std::min(done, bytes - done);
    SINTER_RETURN_IF_ERROR(CudaStatus(
        cudaMemcpyAsync(to + done, to, static_cast<size_t>(more), cudaMemcpyDeviceToDevice, context.stream()),
        "copy"));
    done += more;
  }
  return CudaStatus(cudaStreamSynchronize(context.stream()), "upload");
}

}  // namespace

std::vector<std::byte> RandomBlock(fb::DType dtype, uint64_t seed) {
  const size_t size = static_cast<size_t>(SizeOf(static_cast<DType>(dtype)));
  std::vector<std::byte> block(kBlockElements * size);
  uint64_t state = seed;
  for (int64_t i = 0; i < kBlockElements; ++i) {
    Store(dtype, std::ldexp(static_cast<double>(Next(state) >> 11), -52) - 1,
          block.data() + static_cast<size_t>(i) * size);
  }
  return block;
}

CancellingFactors CancellingFactorsOf(fb::DType dtype, int64_t k, uint64_t seed) {
  const size_t size = static_cast<size_t>(SizeOf(static_cast<DType>(dtype)));
  uint64_t state = seed;
  for (int i = 0; i < 8; ++i) Next(state);  // Separates the sequences of adjacent seeds.
  std::vector<int64_t> order(static_cast<size_t>(k));
  std::iota(order.begin(), order.end(), int64_t{0});
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[(Next(state) >> 33) % i]);
  // Returns a magnitude from 2^-6 to 2^6 with a random sign, so that f16 holds the result of multiplying two
  // of them.
  const auto factor = [&] {
    const double significand = 1 + std::ldexp(static_cast<double>(Next(state) >> 12), -52);
    const int exponent = static_cast<int>((Next(state) >> 33) % 12) - 6;
    return std::ldexp((Next(state) >> 63) != 0 ? significand : -significand, exponent);
  };
  CancellingFactors factors;
  for (std::vector<std::byte>* table : {&factors.a, &factors.b}) {
    table->resize(static_cast<size_t>(CancellingFactors::kRows * k) * size);
    const bool is_b = table == &factors.b;
    for (int64_t row = 0; row < CancellingFactors::kRows; ++row) {
      std::byte* const to = table->data() + static_cast<size_t>(row * k) * size;
      // An unpaired element is 0 in b.
      if (k % 2 != 0) Store(dtype, is_b ? 0 : factor(), to + static_cast<size_t>(order.back()) * size);
      for (size_t i = 0; i + 1 < order.size(); i += 2) {
        const double value = factor();
        Store(dtype, value, to + static_cast<size_t>(order[i]) * size);
        Store(dtype, is_b ? -value : value, to + static_cast<size_t>(order[i + 1]) * size);
      }
    }
  }
  return factors;
}

absl::Status FillRows(const CudaContext& context, const std::vector<std::byte>& table,
                      const FactorLayout& layout, std::byte* to) {
  const int64_t bytes = layout.batch * layout.rows * layout.k * layout.size;
  if (layout.k_runs) return Repeat(context, table, to, bytes);
  // The transposed table is uploaded to the start of each of the operand's rows, and is then doubled along
  // them.
  const auto size = static_cast<size_t>(layout.size), k = static_cast<size_t>(layout.k),
             pitch = static_cast<size_t>(layout.rows) * size;
  constexpr size_t kRows = static_cast<size_t>(CancellingFactors::kRows);
  std::vector<std::byte> turned(table.size());
  for (size_t row = 0; row < kRows; ++row) {
    for (size_t i = 0; i < k; ++i)
      std::memcpy(turned.data() + (i * kRows + row) * size, table.data() + (row * k + i) * size, size);
  }
  size_t done = std::min(pitch, kRows * size);
  SINTER_RETURN_IF_ERROR(CudaStatus(cudaMemcpy2DAsync(to, pitch, turned.data(), kRows * size, done, k,
                                                      cudaMemcpyHostToDevice, context.stream()),
                                    "upload"));
  while (done < pitch) {
    const size_t more = std::min(done, pitch - done);
    SINTER_RETURN_IF_ERROR(CudaStatus(
        cudaMemcpy2DAsync(to + done, pitch, to, pitch, more, k, cudaMemcpyDeviceToDevice, context.stream()),
        "copy"));
    done += more;
  }
  return Double(context, to, layout.rows * layout.k * layout.size, bytes);
}

absl::Status Repeat(const CudaContext& context, const std::vector<std::byte>& block, std::byte* to,
                    int64_t bytes) {
  if (bytes == 0) return absl::OkStatus();
  const int64_t done = std::min(bytes, static_cast<int64_t>(block.size()));
  SINTER_RETURN_IF_ERROR(CudaStatus(
      cudaMemcpyAsync(to, block.data(), static_cast<size_t>(done), cudaMemcpyHostToDevice, context.stream()),
      "upload"));
  return Double(context, to, done, bytes);
}

}  // namespace sinter
