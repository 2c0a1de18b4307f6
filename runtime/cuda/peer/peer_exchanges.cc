#include "sinter/runtime/cuda/peer/peer_exchanges.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <iterator>
#include <utility>

#include "sinter/runtime/cuda/driver/cuda_devices.h"
#include "sinter/runtime/cuda/driver/cuda_handles.h"
#include "sinter/runtime/cuda/driver/cuda_memory.h"
#include "sinter/runtime/cuda/driver/peer_access.h"
#include "sinter/runtime/host/status.h"

namespace sinter {
namespace {

using kernels::ExchangeParameters;
using kernels::kMostExchangeBlocks;
using kernels::kMostExchangeMoves;
using kernels::ShareParameters;
using kernels::SumParameters;

// A kernel is quicker for fewer bytes: on two H200s it takes 9 us for 1 MiB where a copy engine takes 19, and
// 197 us for 64 MiB where the copy engine takes 190.
constexpr size_t kMostKernelBytes = size_t{2} << 20;
constexpr size_t kBytesOfBlock = size_t{32} << 10;
// Beside large sends, copy engines take the others from this size on. A guess, not measured.
constexpr size_t kLeastEngineBytes = size_t{256} << 10;
constexpr uint32_t kWarp = 32;

constexpr uint32_t kMostMovingBlocks = 8;
// For small sums. With 16, 24 and 32 blocks, two H200s scatter the sum of 64 MiB in 214, 153 and 122
// us: each block has only so many bytes on the way.
constexpr size_t kFewBlocks = 16;
constexpr size_t kMostSmallSum = size_t{1} << 20;
constexpr size_t kBytesOfUnit = 16;

// How often the members have come, for each meeting of each block.
constexpr size_t kNumbers = size_t{2} * kMostExchangeBlocks;
static_assert(kernels::kMostShareBlocks <= kMostExchangeBlocks);

template <typename Parameters>
absl::Status Start(const void* kernel, const Parameters& parameters, uint32_t blocks, uint32_t threads,
                   cudaStream_t stream) {
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(blocks);
  config.blockDim = dim3(threads);
  config.stream = stream;
  void* arguments[] = {const_cast<Parameters*>(&parameters)};
  return CudaStatus(cudaLaunchKernelExC(&config, kernel, arguments), "start an exchange");
}

}  // namespace

absl::StatusOr<std::shared_ptr<PeerExchanges>> PeerExchanges::Create(const std::vector<PlanGpu>& gpus) {
  if (gpus.size() < 2 || gpus.size() > kernels::kMostExchangePeers + 1) return nullptr;
  for (const PlanGpu& writer : gpus) {
    for (const PlanGpu& owner : gpus) {
      if (writer.gpu == owner.gpu) continue;
      SINTER_ASSIGN_OR_RETURN(const bool direct, EnablePeerAccess(writer.gpu, owner.gpu));
      if (!direct) return nullptr;
    }
  }
  std::shared_ptr<PeerExchanges> made(new PeerExchanges(gpus));
  SINTER_RETURN_IF_ERROR(made->Load());
  return made;
}

absl::Status PeerExchanges::Load() {
  const auto allocate = [](Numbers& numbers, int64_t bytes) -> absl::Status {
    SINTER_ASSIGN_OR_RETURN(void* const data, numbers.memory->Allocate(bytes));
    numbers.data = static_cast<uint32_t*>(data);
    return absl::OkStatus();
  };
  SINTER_ASSIGN_OR_RETURN(is_over_.memory, MakePinnedMemory());
  SINTER_RETURN_IF_ERROR(allocate(is_over_, sizeof(uint32_t)));
  *is_over_.data = 0;
  SINTER_RETURN_IF_ERROR(CudaStatus(
      cudaLibraryLoadData(&library_, kernels::ExchangePtx(), nullptr, nullptr, 0, nullptr, nullptr, 0),
      "load the kernel of exchanges"));
  for (const auto& [name, found] :
       {std::pair(kernels::kExchangeKernel, &kernel_), std::pair(kernels::kSumKernel, &sum_kernel_),
        std::pair(kernels::kShareKernel, &share_kernel_)}) {
    cudaKernel_t kernel = nullptr;
    SINTER_RETURN_IF_ERROR(
        CudaStatus(cudaLibraryGetKernel(&kernel, library_, name), "find a kernel of exchanges"));
    *found = reinterpret_cast<const void*>(kernel);
  }
  for (const PlanGpu& gpu : gpus_) {
    const CudaDeviceScope on(gpu.gpu);
    SINTER_RETURN_IF_ERROR(on.status());
    Numbers& numbers = numbers_.emplace_back();
    SINTER_ASSIGN_OR_RETURN(numbers.memory, MakeCudaMemory(gpu.gpu));
    SINTER_RETURN_IF_ERROR(allocate(numbers, BytesOfNumbers()));
    SINTER_ASSIGN_OR_RETURN(const CudaStream stream, MakeCudaStream());
    SINTER_RETURN_IF_ERROR(
        CudaStatus(cudaMemsetAsync(numbers.data, 0, static_cast<size_t>(BytesOfNumbers()), stream.get()),
                   "clear the numbers of exchanges"));
    // The driver loads a kernel at its first launch, and may wait for other work then: an exchange would wait
    // for itself.
    SINTER_RETURN_IF_ERROR(Start(kernel_, ExchangeParameters{}, 1, kWarp, stream.get()));
    SINTER_RETURN_IF_ERROR(Start(sum_kernel_, SumParameters{}, 1, kWarp, stream.get()));
    SINTER_RETURN_IF_ERROR(Start(share_kernel_, ShareParameters{}, 1, kWarp, stream.get()));
    SINTER_RETURN_IF_ERROR(CudaStatus(cudaStreamSynchronize(stream.get()), "load the kernel of exchanges"));
  }
  return absl::OkStatus();
}

PeerExchanges::~PeerExchanges() {
  for (const Numbers& numbers : numbers_) {
    if (numbers.data != nullptr) numbers.memory->Free(numbers.data, BytesOfNumbers());
  }
  if (is_over_.data != nullptr) is_over_.memory->Free(is_over_.data, sizeof(uint32_t));
  if (library_ != nullptr) (void)cudaLibraryUnload(library_);
}

int64_t PeerExchanges::BytesOfNumbers() const {
  return static_cast<int64_t>(2 * gpus_.size() * kNumbers * sizeof(uint32_t));
}

uint32_t* PeerExchanges::NumbersOf(size_t of, size_t other, bool is_own) const {
  return numbers_[of].data + ((is_own ? gpus_.size() : 0) + other) * kNumbers;
}

size_t PeerExchanges::PositionOf(uint32_t device) const {
  return static_cast<size_t>(std::ranges::find(gpus_, device, &PlanGpu::device) - gpus_.begin());
}

bool PeerExchanges::Has(const std::vector<uint32_t>& group) const {
  return std::ranges::all_of(group, [&](uint32_t device) { return PositionOf(device) < gpus_.size(); });
}

absl::StatusOr<std::shared_ptr<const PeerExchanges::Addresses>> PeerExchanges::Meet(
    const Place& place, uint32_t rank, uint32_t ranks, std::vector<std::byte*> own,
    std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  Meeting& meeting = meetings_[place];
  if (meeting.come == 0) meeting.addresses = std::make_shared<Addresses>(ranks);
  // The next exchange at this place has a list of its own.
  const std::shared_ptr<Addresses> addresses = meeting.addresses;
  (*addresses)[rank] = std::move(own);
  if (++meeting.come == ranks) {
    meeting = {};
    changed_.notify_all();
  }
  const auto is_over = [&] { return !reason_.ok() || meetings_[place].addresses != addresses; };
  if (patience.count() == 0) {
    changed_.wait(lock, is_over);
  } else if (!changed_.wait_for(lock, patience, is_over)) {
    return nullptr;
  }
  SINTER_RETURN_IF_ERROR(reason_);
  return addresses;
}

uint32_t PeerExchanges::SetPeers(uint32_t device, const std::vector<uint32_t>& others,
                                 kernels::ExchangePeer* peers) const {
  const size_t self = PositionOf(device);
  for (size_t i = 0; i < others.size(); ++i) {
    const size_t other = PositionOf(others[i]);
    peers[i] = {.there = NumbersOf(other, self, false),
                .here = NumbersOf(self, other, false),
                .count = NumbersOf(self, other, true)};
  }
  return static_cast<uint32_t>(others.size());
}

PeerExchanges::Way PeerExchanges::WayOf(const std::vector<std::vector<size_t>>& sends) {
  Way way = {.least_of_engines = SIZE_MAX, .blocks = 1};
  const auto bytes_of_kernel = [&] {
    size_t most = 0;
    for (const std::vector<size_t>& member : sends) {
      size_t bytes = 0;
      for (const size_t send : member) bytes += send < way.least_of_engines ? send : 0;
      most = std::max(most, bytes);
    }
    return most;
  };
  if (bytes_of_kernel() > kMostKernelBytes) way.least_of_engines = kLeastEngineBytes;
  const size_t blocks = std::clamp<size_t>(bytes_of_kernel() / kBytesOfBlock, 1, kMostMovingBlocks);
  way.blocks = static_cast<uint32_t>(blocks);
  return way;
}

absl::Status PeerExchanges::Give(const Part& part, cudaStream_t stream) const {
  ExchangeParameters parameters = {};
  parameters.is_over = is_over_.data;
  parameters.mark = part.mark;
  parameters.peers = SetPeers(part.device, part.others, parameters.peer);
  parameters.meets_before = 1;
  if (part.way.has_engines()) {
    SINTER_RETURN_IF_ERROR(Start(kernel_, parameters, 1, kWarp, stream));
    parameters.meets_before = 0;
  }
  for (const Send& send : part.sends) {
    if (send.from == send.to || send.bytes == 0) continue;
    if (send.bytes >= part.way.least_of_engines) {
      SINTER_RETURN_IF_ERROR(
          CudaStatus(cudaMemcpyAsync(send.to, send.from, send.bytes, cudaMemcpyDeviceToDevice, stream),
                     "copy to another GPU"));
      continue;
    }
    if (parameters.moves == kMostExchangeMoves) {
      SINTER_RETURN_IF_ERROR(Start(kernel_, parameters, part.way.blocks, kernels::kExchangeThreads, stream));
      parameters.meets_before = parameters.moves = 0;
    }
    parameters.move[parameters.moves++] = {.from = reinterpret_cast<const unsigned char*>(send.from),
                                           .to = reinterpret_cast<unsigned char*>(send.to),
                                           .bytes = send.bytes};
  }
  parameters.meets_after = 1;
  return Start(kernel_, parameters, part.way.blocks, parameters.moves > 0 ? kernels::kExchangeThreads : kWarp,
               stream);
}

absl::Status PeerExchanges::GiveSum(const SumPart& part, cudaStream_t stream) const {
  const size_t element = part.type == kernels::SumType::kF32 ? 4 : 2;
  const size_t unit = part.is_aligned ? kBytesOfUnit : element;
  SumParameters parameters = {};
  parameters.is_over = is_over_.data;
  parameters.mark = part.mark;
  parameters.peers = SetPeers(part.device, part.others, parameters.peer);
  parameters.terms = static_cast<uint32_t>(part.others.size()) + 1;
  parameters.type = part.type;
  parameters.has_units_of_16 = part.is_aligned ? 1 : 0;
  parameters.meets_in_rounds = part.may_be_in_place ? 1 : 0;
  parameters.divisor = part.is_mean ? static_cast<float>(parameters.terms) : 1.0f;
  for (const Sum& sum : part.sums) {
    kernels::ExchangeSum& made = parameters.sum[parameters.sums++];
    for (size_t rank = 0; rank < sum.terms.size(); ++rank) {
      made.term[rank] = reinterpret_cast<const unsigned char*>(sum.terms[rank]);
    }
    made.to = reinterpret_cast<unsigned char*>(sum.to);
    made.units = static_cast<uint32_t>(sum.elements * element / unit);
  }
  const size_t units = part.most_elements * element / unit;
  constexpr size_t kUnitsOfBlock = size_t{kernels::kSumUnits} * kernels::kExchangeThreads;
  const size_t most = units * unit <= kMostSmallSum ? kFewBlocks : kMostExchangeBlocks;
  const size_t blocks = std::clamp<size_t>((units + kUnitsOfBlock - 1) / kUnitsOfBlock, 1, most);
  const size_t of_round = kUnitsOfBlock * blocks;
  parameters.rounds = static_cast<uint32_t>((units + of_round - 1) / of_round);
  return Start(sum_kernel_, parameters, static_cast<uint32_t>(blocks), kernels::kExchangeThreads, stream);
}

absl::Status PeerExchanges::GiveShares(const SharePart& part, cudaStream_t stream) const {
  std::vector<uint32_t> others;
  std::ranges::remove_copy(part.group, std::back_inserter(others), part.group[part.rank]);
  ShareParameters parameters = {};
  parameters.is_over = is_over_.data;
  parameters.mark = part.mark;
  parameters.peers = SetPeers(part.group[part.rank], others, parameters.peer);
  parameters.ranks = static_cast<uint32_t>(part.group.size());
  parameters.rank = part.rank;
  parameters.type = part.type;
  parameters.has_units_of_1 = part.is_aligned ? 0 : 1;
  parameters.divisor = part.is_mean ? static_cast<float>(parameters.ranks) : 1.0f;
  const auto address = [](std::byte* at) { return reinterpret_cast<unsigned char*>(at); };
  std::ranges::transform(part.workspaces, parameters.workspace, address);
  const size_t element = part.type == kernels::SumType::kF32 ? 4 : 2;
  const size_t of_unit = part.is_aligned ? kBytesOfUnit / element : 1;
  size_t units = 0;
  for (const SharedTensor& tensor : part.tensors) {
    kernels::SharedTensor& made = parameters.tensor[parameters.tensors++];
    made.from = reinterpret_cast<const unsigned char*>(tensor.from);
    std::ranges::transform(tensor.to, made.to, address);
    made.elements = static_cast<uint32_t>(tensor.elements);
    units += (tensor.elements + of_unit - 1) / of_unit;
  }
  const size_t of_block = size_t{kernels::kSumUnits} * kernels::kExchangeThreads * part.group.size();
  const auto parts = [](size_t all, size_t part) { return std::max<size_t>(1, (all + part - 1) / part); };
  const size_t blocks = std::min<size_t>(parts(units, of_block), kernels::kMostShareBlocks);
  parameters.rounds = static_cast<uint32_t>(parts(units, of_block * blocks));
  return Start(share_kernel_, parameters, static_cast<uint32_t>(blocks), kernels::kExchangeThreads, stream);
}

absl::Status PeerExchanges::SetMark(uint32_t* mark, cudaStream_t stream) const {
  // A meeting of one.
  ExchangeParameters parameters = {};
  parameters.is_over = is_over_.data;
  parameters.mark = mark;
  parameters.meets_before = 1;
  return Start(kernel_, parameters, 1, kWarp, stream);
}

void PeerExchanges::Abort(const absl::Status& reason) {
  const std::lock_guard lock(mutex_);
  if (!reason_.ok()) return;
  reason_ = reason;
  changed_.notify_all();
  std::atomic_ref(*is_over_.data).store(1);
}

}  // namespace sinter
