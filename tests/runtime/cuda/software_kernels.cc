// Kernels of GPUs in software.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <string_view>
#include <utility>

#include "sinter/kernels/cuda/exchange/exchange_kernel.h"
#include "sinter/tests/runtime/cuda/software_gpu.h"

namespace sinter::software {
namespace {

using Lock = std::lock_guard<std::recursive_mutex>;

// A kernel's handle is its name.
constexpr const char* kKernels[] = {"add_f32", "scale_f32", "trap_f32", kernels::kExchangeKernel,
                                    kernels::kSumKernel};
constexpr size_t kPointers = 3;

void RunKernel(std::string_view name, const std::vector<float*>& p, size_t count, int device) {
  if (name == "trap_f32") {
    TheMachine().lost[device] = cudaErrorLaunchFailure;
    return;
  }
  for (size_t i = 0; i < count; ++i) {
    p[2][i] = name == "add_f32" ? p[0][i] + p[1][i] : p[0][i] * p[1][0];
  }
}

// The meetings of a block of a kernel of exchanges.
template <typename Parameters>
class BlockThatMeets {
 public:
  BlockThatMeets(const Parameters& parameters, uint32_t block, int device)
      : p_(parameters), block_(block), device_(device) {}

 protected:
  // Such a GPU does nothing.
  bool IsAbsent() const { return TheMachine().absent == device_; }
  static std::atomic_ref<uint32_t> At(uint32_t* number) { return std::atomic_ref(*number); }
  bool IsOver() const {
    return p_.is_over != nullptr && std::atomic_ref(*const_cast<uint32_t*>(p_.is_over)).load() != 0;
  }
  void Begin() {
    Mark(p_.peers == 0 ? 1 : 2 * p_.peer[0].count[0] + 1);
    Come(0);
  }
  void Mark(uint32_t value) const {
    if (p_.mark != nullptr && block_ == 0) At(p_.mark).store(value);
  }
  void Come(uint32_t meeting) {
    for (uint32_t i = 0; i < p_.peers; ++i) {
      const uint32_t at = 2 * block_ + meeting;
      At(p_.peer[i].there + at).store(++p_.peer[i].count[at]);
    }
  }
  bool HaveCome(uint32_t meeting) const {
    if (IsOver()) return true;
    for (uint32_t i = 0; i < p_.peers; ++i) {
      const uint32_t at = 2 * block_ + meeting;
      if (static_cast<int32_t>(At(p_.peer[i].here + at).load() - p_.peer[i].count[at]) < 0) return false;
    }
    return true;
  }

  const Parameters p_;
  const uint32_t block_;
  const int device_;
};

class ExchangeBlock : public BlockThatMeets<kernels::ExchangeParameters> {
 public:
  ExchangeBlock(const kernels::ExchangeParameters& parameters, uint32_t block, uint32_t blocks, int device)
      : BlockThatMeets(parameters, block, device), blocks_(blocks) {}

  // As Work.
  bool Run() {
    if (IsAbsent()) return true;
    if (stage_ == 0 && p_.meets_before != 0) Begin();
    if (stage_ == 0) stage_ = 1;
    if (stage_ == 1) {
      if (p_.meets_before != 0 && !HaveCome(0)) return false;
      if (IsOver()) return true;
      for (uint32_t i = 0; i < p_.moves; ++i) Move(p_.move[i]);
      if (p_.meets_after == 0) return true;
      Come(1);
      stage_ = 2;
    }
    if (!HaveCome(1)) return false;
    if (!IsOver()) Mark(0);
    return true;
  }

 private:
  void Move(const kernels::ExchangeMove& move) const {
    const uint64_t share = (move.bytes + blocks_ - 1) / blocks_, begin = std::min(move.bytes, share * block_);
    std::memcpy(move.to + begin, move.from + begin, std::min(move.bytes - begin, share));
  }

  const uint32_t blocks_;
  int stage_ = 0;
};

// The kernel of sums as one block with one round; f32 alone.
class SumKernel : public BlockThatMeets<kernels::SumParameters> {
 public:
  SumKernel(const kernels::SumParameters& parameters, int device) : BlockThatMeets(parameters, 0, device) {}

  // As Work.
  bool Run() {
    if (IsAbsent()) return true;
    if (stage_ == 0) {
      Begin();
      stage_ = 1;
    }
    if (stage_ == 1) {
      if (!HaveCome(0)) return false;
      for (uint32_t i = 0; i < p_.sums && !IsOver(); ++i) Add(p_.sum[i]);
      Come(1);
      stage_ = 2;
    }
    if (!HaveCome(1)) return false;
    if (IsOver()) return true;
    for (uint32_t i = 0; i < p_.sums; ++i) {
      std::memcpy(p_.sum[i].to, results_[i].data(), results_[i].size() * sizeof(float));
    }
    Mark(0);
    return true;
  }

 private:
  void Add(const kernels::ExchangeSum& sum) {
    std::vector<float>& result = results_.emplace_back(sum.units * (p_.has_units_of_16 != 0 ? 4 : 1));
    for (size_t i = 0; i < result.size(); ++i) {
      for (uint32_t rank = 0; rank < p_.terms; ++rank) {
        const float term = reinterpret_cast<const float*>(sum.term[rank])[i];
        result[i] = rank == 0 ? term : result[i] + term;
      }
      result[i] /= p_.divisor;
    }
  }

  std::vector<std::vector<float>> results_;
  int stage_ = 0;
};

// Blocks run one after the other: all GPUs give them in the same order.
MakeWork ExchangeWork(const cudaLaunchConfig_t& config, const void* parameters) {
  const auto& p = *static_cast<const kernels::ExchangeParameters*>(parameters);
  return [p, blocks = config.gridDim.x, device = Of(config.stream)->device]() -> Work {
    std::vector<ExchangeBlock> made;
    for (uint32_t block = 0; block < blocks; ++block) made.emplace_back(p, block, blocks, device);
    return [made, next = size_t{0}]() mutable {
      while (next < made.size() && made[next].Run()) ++next;
      return next == made.size();
    };
  };
}

}  // namespace

cudaError_t cudaLibraryLoadData(cudaLibrary_t* made, const void*, cudaJitOption*, void**, unsigned,
                                cudaLibraryOption*, void**, unsigned) {
  const Lock lock(TheMachine().mutex);
  if (Lost() != cudaSuccess) return Answer(Lost());
  *made = reinterpret_cast<cudaLibrary_t>(new int);
  return cudaSuccess;
}
cudaError_t cudaLibraryUnload(cudaLibrary_t library) {
  const Lock lock(TheMachine().mutex);
  delete reinterpret_cast<int*>(library);
  return Answer(Lost());
}
cudaError_t cudaLibraryGetKernel(cudaKernel_t* found, cudaLibrary_t, const char* name) {
  for (const char* const kernel : kKernels) {
    if (std::strcmp(kernel, name) != 0) continue;
    *found = reinterpret_cast<cudaKernel_t>(const_cast<char*>(kernel));
    return cudaSuccess;
  }
  return Answer(cudaErrorSymbolNotFound);
}
cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t, cudaFuncAttribute, int, int) {
  return Answer(Lost());
}
cudaError_t cudaFuncGetParamInfo(const void*, size_t, size_t* offset, size_t* bytes) {
  *offset = 0, *bytes = kPointers * sizeof(void*);
  return Answer(Lost());
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void*) {
  *attributes = {};
  attributes->maxThreadsPerBlock = 1024;
  return Answer(Lost());
}
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function, void** arguments) {
  const Lock lock(TheMachine().mutex);
  if (Lost() != cudaSuccess) return Answer(Lost());
  if (std::strcmp(static_cast<const char*>(function), kernels::kExchangeKernel) == 0) {
    Give(config->stream, ExchangeWork(*config, arguments[0]), cudaGraphNodeTypeKernel);
    return cudaSuccess;
  }
  if (std::strcmp(static_cast<const char*>(function), kernels::kSumKernel) == 0) {
    const auto& p = *static_cast<const kernels::SumParameters*>(arguments[0]);
    if (p.type != kernels::SumType::kF32) return Answer(cudaErrorNotSupported);
    const int device = Of(config->stream)->device;
    const auto make = [p, device]() -> Work {
      return [kernel = SumKernel(p, device)]() mutable { return kernel.Run(); };
    };
    Give(config->stream, make, cudaGraphNodeTypeKernel);
    return cudaSuccess;
  }
  const auto* const pointers = static_cast<float* const*>(arguments[0]);
  const std::vector<float*> p(pointers, pointers + kPointers);
  const size_t count = size_t{config->gridDim.x} * config->blockDim.x;
  const auto work = [=, device = Of(config->stream)->device, name = static_cast<const char*>(function)] {
    RunKernel(name, p, count, device);
    return true;
  };
  Give(config->stream, [=] { return work; }, cudaGraphNodeTypeKernel);
  return cudaSuccess;
}

}  // namespace sinter::software
