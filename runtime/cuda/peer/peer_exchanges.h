// Exchanges between the GPUs of this process, each of which writes into the memory of the others.
//
//   SINTER_ASSIGN_OR_RETURN(std::shared_ptr<PeerExchanges> peers, PeerExchanges::Create(gpus));
//   if (peers != nullptr && peers->Has(group)) ...
//   SINTER_ASSIGN_OR_RETURN(const auto outputs, peers->Meet(place, rank, ranks, own, patience));
//   const auto way = PeerExchanges::WayOf({{bytes}, {bytes}});
//   const PeerExchanges::Part part = {.device = 0, .others = {1}, .sends = {{from, to, bytes}}, .way = way};
//   SINTER_RETURN_IF_ERROR(peers->Give(part, stream));
//
// A kernel of few blocks writes small tensors, and all if there are few bytes. Copy engines write large ones,
// so that the multiprocessors stay free for other steps. In a kernel before and after them the GPUs wait for
// each other, so a captured graph contains the waits. All members give their exchanges to one stream each, in
// the same order.
//
// Copy engines never read from another GPU's memory: in captured graphs on two H200s (driver 580), those that
// read stopped now and then, and those that wrote never.
//
// Kernels also add the terms of all ranks. If there are few bytes or if each rank adds its own part, a GPU
// reads the terms of the others. Large sums that all need whole are added in shares: a GPU sends the others
// their terms, and its sums.
//
// Thread-safe: each GPU has a thread of its own.
#ifndef SINTER_RUNTIME_CUDA_PEER_PEER_EXCHANGES_H_
#define SINTER_RUNTIME_CUDA_PEER_PEER_EXCHANGES_H_

#include <cuda_runtime_api.h>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sinter/kernels/cuda/exchange/exchange_kernel.h"
#include "sinter/runtime/cuda/context/plan_gpu.h"
#include "sinter/runtime/memory/device_memory.h"

namespace sinter {

class PeerExchanges {
 public:
  // Null if there are fewer than two GPUs or more than 16, or if one cannot access the memory of another
  // directly.
  static absl::StatusOr<std::shared_ptr<PeerExchanges>> Create(const std::vector<PlanGpu>& gpus);
  ~PeerExchanges();
  PeerExchanges(const PeerExchanges&) = delete;
  PeerExchanges& operator=(const PeerExchanges&) = delete;

  // True if the group's devices are all GPUs of this process.
  bool Has(const std::vector<uint32_t>& group) const;

  // An exchange of a plan: its function, the first step of its channel, and its first member.
  using Place = std::tuple<uint32_t, uint32_t, uint32_t>;
  // Addresses in the memory of each member, by rank.
  using Addresses = std::vector<std::vector<std::byte*>>;

  // Gives addresses of this member, and returns those of all `ranks` members when the last one has come. Null
  // if that takes longer than `patience` (0: no limit). After Abort: its reason.
  absl::StatusOr<std::shared_ptr<const Addresses>> Meet(const Place& place, uint32_t rank, uint32_t ranks,
                                                        std::vector<std::byte*> own,
                                                        std::chrono::milliseconds patience);

  // Bytes of this device that go to the memory of any device.
  struct Send {
    const std::byte* from;
    std::byte* to;
    size_t bytes;
  };
  // How an exchange moves its bytes, the same for all members.
  struct Way {
    size_t least_of_engines;  // Copy engines make the sends of at least so many bytes; SIZE_MAX: none.
    uint32_t blocks;          // Size of the kernel that makes the others.

    bool has_engines() const { return least_of_engines != SIZE_MAX; }
  };
  // Returns the way for the bytes of each send to another device, by member.
  static Way WayOf(const std::vector<std::vector<size_t>>& sends);
  // The part of a device in an exchange.
  struct Part {
    uint32_t device;
    std::vector<uint32_t> others;  // Devices of the plan that send to this one or receive from it.
    std::vector<Send> sends;
    Way way;
    uint32_t* mark = nullptr;  // In pinned memory: not 0 while the exchange is under way. Null: none.
  };
  // Gives the device's part to its stream, also in a capture. When the stream has done it, the device has
  // received and sent everything.
  absl::Status Give(const Part& part, cudaStream_t stream) const;

  // The most tensors of a SumPart, and of a SharePart.
  static constexpr size_t kMostSums = kernels::kMostSums, kMostShared = kernels::kMostShared;
  // A tensor that a device adds up: the terms of all ranks, in their order. The result may have the place of
  // this device's term if no other device reads that, or if `may_be_in_place`.
  struct Sum {
    std::vector<const std::byte*> terms;
    std::byte* to;
    size_t elements;
  };
  struct SumPart {
    uint32_t device;
    std::vector<uint32_t> others;
    kernels::SumType type;
    bool is_mean;
    bool may_be_in_place;
    std::vector<Sum> sums;
    size_t most_elements;  // In all tensors together, of any member.
    bool is_aligned;       // All addresses and sizes of all members are multiples of 16 bytes.
    uint32_t* mark = nullptr;
  };
  // As Give: the results are there when the stream has done it, and the terms have been read.
  absl::Status GiveSum(const SumPart& part, cudaStream_t stream) const;

  // A tensor of which each device adds a share.
  struct SharedTensor {
    const std::byte* from;       // This device's term.
    std::vector<std::byte*> to;  // The results, by rank. Its own may have the place of its term.
    size_t elements;
  };
  struct SharePart {
    std::vector<uint32_t> group;  // Devices of the plan, by rank.
    uint32_t rank;
    kernels::SumType type;
    bool is_mean;
    std::vector<SharedTensor> tensors;
    bool is_aligned;                     // All addresses of all members are multiples of 16 bytes.
    std::vector<std::byte*> workspaces;  // By rank; ShareWorkspaceBytes (runtime/plan/sum_shares.h).
    uint32_t* mark = nullptr;
  };
  // As GiveSum, for large tensors.
  absl::Status GiveShares(const SharePart& part, cudaStream_t stream) const;

  // Sets a number in pinned memory to 1, by a kernel.
  absl::Status SetMark(uint32_t* mark, cudaStream_t stream) const;

  // Ends all waits. The values of exchanges under way are arbitrary. Only the first reason is kept.
  void Abort(const absl::Status& reason);

 private:
  struct Meeting {
    uint32_t come = 0;
    std::shared_ptr<Addresses> addresses;  // Those of the members who have come.
  };

  explicit PeerExchanges(const std::vector<PlanGpu>& gpus) : gpus_(gpus) {}
  absl::Status Load();
  // The others as the kernels see them. Returns their number.
  uint32_t SetPeers(uint32_t device, const std::vector<uint32_t>& others, kernels::ExchangePeer* peers) const;
  size_t PositionOf(uint32_t device) const;
  // The numbers that `of` has for `other`: how often the other has come, or if `is_own`, itself.
  uint32_t* NumbersOf(size_t of, size_t other, bool is_own) const;
  int64_t BytesOfNumbers() const;

  const std::vector<PlanGpu> gpus_;
  cudaLibrary_t library_ = nullptr;
  const void* kernel_ = nullptr;
  const void* sum_kernel_ = nullptr;
  const void* share_kernel_ = nullptr;
  struct Numbers {
    std::unique_ptr<DeviceMemory> memory;
    uint32_t* data = nullptr;
  };
  std::vector<Numbers> numbers_;  // By position, in the GPU's memory.
  Numbers is_over_;               // One number, in pinned memory.
  std::mutex mutex_;              // Guards the members below.
  std::condition_variable changed_;
  std::map<Place, Meeting> meetings_;
  absl::Status reason_;
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_CUDA_PEER_PEER_EXCHANGES_H_
