// Kernels of GPUs in software.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <string_view>
#include <utility>

#include "sinter/kernels/cuda/exchange/exchange_kernel.h"
#include "sinter/tests/runtime/cuda/software/software_gpu.h"

namespace sinter::software {
namespace {

using Lock = std::lock_guard<std::recursive_mutex>;

// A kernel's handle is its name.
constexpr const char* kKernels[] = {
    "add_f32", "scale_f32", "trap_f32", kernels::kExchangeKernel, kernels::kSumKernel, kernels::kShareKernel};
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
  // As often as this block had `ago` times ago.
  bool HaveCome(uint32_t meeting, uint32_t ago = 0) const {
    if (IsOver()) return true;
    for (uint32_t i = 0; i < p_.peers; ++i) {
      const uint32_t at = 2 * block_ + meeting;
      const uint32_t count = p_.peer[i].count[at] - ago;
      if (static_cast<int32_t>(At(p_.peer[i].here + at).load() - count) < 0) return false;
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

// f32 alone.
class ShareBlock : public BlockThatMeets<kernels::ShareParameters> {
 public:
  ShareBlock(const kernels::ShareParameters& parameters, uint32_t block, uint32_t blocks, int device)
      : BlockThatMeets(parameters, block, device),
        blocks_(blocks),
        of_unit_(p_.has_units_of_1 != 0 ? 1 : 4) {}

  // As Work.
  bool Run() {
    if (IsAbsent()) return true;
    if (stage_ == 0) {
      Begin();
      stage_ = 1;
    }
    if (stage_ == 1) {
      if (!HaveCome(0)) return false;
      stage_ = 2;
    }
    for (; stage_ == 2 && round_ <= p_.rounds; ++round_, has_sent_ = false) {
      if (IsOver()) return true;
      if (round_ < p_.rounds && !has_sent_) {
        SendTerms();
        Come(1);
        has_sent_ = true;
      }
      if (round_ == 0) continue;
      if (!HaveCome(1, round_ < p_.rounds ? 1 : 0)) return false;
      if (!IsOver()) AddShare(round_ - 1);
    }
    if (stage_ == 2) {
      Come(1);
      stage_ = 3;
    }
    if (!HaveCome(1)) return false;
    if (!IsOver()) Mark(0);
    return true;
  }

 private:
  static constexpr uint32_t kChunk = kernels::kSumUnits * kernels::kExchangeThreads;

  // Calls f(tensor, first element, elements, unit of the chunk) for the units of a share of a round.
  template <typename F>
  void ForUnits(uint32_t round, uint32_t share, F&& f) const {
    for (uint32_t i = 0; i < kChunk; ++i) {
      uint64_t at = uint64_t{(round * blocks_ + block_) * p_.ranks + share} * kChunk + i;
      for (uint32_t t = 0; t < p_.tensors; ++t) {
        const uint32_t elements = p_.tensor[t].elements, units = (elements + of_unit_ - 1) / of_unit_;
        if (at >= units) {
          at -= units;
          continue;
        }
        const auto first = static_cast<uint32_t>(at * of_unit_);
        f(p_.tensor[t], first, std::min(elements - first, of_unit_), i);
        break;
      }
    }
  }
  float* Term(uint32_t round, uint32_t adder, uint32_t rank, uint32_t unit) const {
    const uint32_t buffer = block_ * kernels::kShareBuffers + round % kernels::kShareBuffers;
    const uint32_t place = buffer * (p_.ranks - 1) + (rank < adder ? rank : rank - 1);
    return reinterpret_cast<float*>(p_.workspace[adder] + size_t{place} * kernels::kShareBytes) +
           size_t{unit} * of_unit_;
  }
  void SendTerms() const {
    for (uint32_t adder = 0; adder < p_.ranks; ++adder) {
      if (adder == p_.rank) continue;
      ForUnits(round_, adder, [&](const auto& tensor, uint32_t first, uint32_t elements, uint32_t unit) {
        std::copy_n(reinterpret_cast<const float*>(tensor.from) + first, elements,
                    Term(round_, adder, p_.rank, unit));
      });
    }
  }
  void AddShare(uint32_t round) const {
    ForUnits(round, p_.rank, [&](const auto& tensor, uint32_t first, uint32_t elements, uint32_t unit) {
      for (uint32_t e = 0; e < elements; ++e) {
        float sum = 0;
        for (uint32_t rank = 0; rank < p_.ranks; ++rank) {
          const float term = rank == p_.rank ? reinterpret_cast<const float*>(tensor.from)[first + e]
                                             : Term(round, p_.rank, rank, unit)[e];
          sum = rank == 0 ? term : sum + term;
        }
        sum /= p_.divisor;
        for (uint32_t rank = 0; rank < p_.ranks; ++rank) {
          reinterpret_cast<float*>(tensor.to[rank])[first + e] = sum;
        }
      }
    });
  }

  const uint32_t blocks_, of_unit_;
  uint32_t round_ = 0;
  bool has_sent_ = false;
  int stage_ = 0;
};

// Blocks run one after the other: all GPUs give them in the same order.
template <typename Block, typename Parameters>
MakeWork ExchangeWork(const cudaLaunchConfig_t& config, const void* parameters) {
  const auto& p = *static_cast<const Parameters*>(parameters);
  return [p, blocks = config.gridDim.x, device = Of(config.stream)->device]() -> Work {
    std::vector<Block> made;
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
    Give(config->stream, ExchangeWork<ExchangeBlock, kernels::ExchangeParameters>(*config, arguments[0]),
         cudaGraphNodeTypeKernel);
    return cudaSuccess;
  }
  if (std::strcmp(static_cast<const char*>(function), kernels::kShareKernel) == 0) {
    const auto& p = *static_cast<const kernels::ShareParameters*>(arguments[0]);
    if (p.type != kernels::SumType::kF32) return Answer(cudaErrorNotSupported);
    Give(config->stream, ExchangeWork<ShareBlock, kernels::ShareParameters>(*config, arguments[0]),
         cudaGraphNodeTypeKernel);
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
