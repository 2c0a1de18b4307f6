#include "sinter/runtime/cuda/trial_operands.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "sinter/runtime/cuda/cuda_status.h"
#include "sinter/runtime/dtype.h"
#include "sinter/runtime/half.h"
#include "sinter/runtime/status.h"

namespace sinter {
namespace {

constexpr int64_t kBlockElements = (1 << 16) + 1;

}  // namespace

std::vector<std::byte> RandomBlock(fb::DType dtype) {
  const size_t size = static_cast<size_t>(SizeOf(static_cast<DType>(dtype)));
  std::vector<std::byte> block(kBlockElements * size);
  uint64_t state = 1;
  for (int64_t i = 0; i < kBlockElements; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const double f64 = std::ldexp(static_cast<double>(state >> 11), -52) - 1;
    const float f32 = static_cast<float>(f64);
    const uint16_t bf16 = BFloat16::FromFloat(f32).bits, f16 = Float16::FromFloat(f32).bits;
    const void* const value = dtype == fb::DType::F64    ? static_cast<const void*>(&f64)
                              : dtype == fb::DType::F32  ? static_cast<const void*>(&f32)
                              : dtype == fb::DType::BF16 ? static_cast<const void*>(&bf16)
                                                         : static_cast<const void*>(&f16);
    std::memcpy(block.data() + static_cast<size_t>(i) * size, value, size);
  }
  return block;
}

absl::Status Repeat(const CudaContext& context, const std::vector<std::byte>& block, std::byte* to,
                    int64_t bytes) {
  if (bytes == 0) return absl::OkStatus();
  int64_t done = std::min(bytes, static_cast<int64_t>(block.size()));
  SINTER_RETURN_IF_ERROR(CudaStatus(
      cudaMemcpyAsync(to, block.data(), static_cast<size_t>(done), cudaMemcpyHostToDevice, context.stream()),
      "upload"));
  // Each copy doubles what there is; the period stays that of the block.
  while (done < bytes) {
    const int64_t more = std::min(done, bytes - done);
    SINTER_RETURN_IF_ERROR(CudaStatus(
        cudaMemcpyAsync(to + done, to, static_cast<size_t>(more), cudaMemcpyDeviceToDevice, context.stream()),
        "copy"));
    done += more;
  }
  return CudaStatus(cudaStreamSynchronize(context.stream()), "upload");
}

}  // namespace sinter
