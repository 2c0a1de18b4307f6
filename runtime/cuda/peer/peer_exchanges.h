// Exchanges between the GPUs of this process by their copy engines. Unlike NCCL's kernels, these leave all
// multiprocessors to the other steps.
//
//   SINTER_ASSIGN_OR_RETURN(std::shared_ptr<PeerExchanges> peers, PeerExchanges::Create(gpus));
//   if (peers != nullptr && peers->Has(group)) ...
//   SINTER_ASSIGN_OR_RETURN(const auto inputs, peers->Meet(place, rank, ranks, own, patience));
//   const PeerExchanges::Part part = {.device = 0, .reads = {{1, from, to, bytes}}, .readers = {1}};
//   SINTER_RETURN_IF_ERROR(peers->Give(part, stream));
//
// Each member reads from the others. A flag in pinned memory tells a reader that the values are there,
// another tells their owner that they have been read. The streams themselves write and await the flags, so a
// captured graph contains them. All members give their exchanges to one stream each, in the same order.
//
// Thread-safe: each GPU has a thread of its own.
#ifndef SINTER_RUNTIME_CUDA_PEER_PEER_EXCHANGES_H_
#define SINTER_RUNTIME_CUDA_PEER_PEER_EXCHANGES_H_

#include <cuda_runtime_api.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sinter/runtime/cuda/context/plan_gpu.h"
#include "sinter/runtime/cuda/driver/stream_memory_ops.h"
#include "sinter/runtime/memory/device_memory.h"

namespace sinter {

class PeerExchanges {
 public:
  // Null if there are fewer than two GPUs, or if one cannot access the memory of another directly.
  static absl::StatusOr<std::shared_ptr<PeerExchanges>> Create(const std::vector<PlanGpu>& gpus);
  ~PeerExchanges();
  PeerExchanges(const PeerExchanges&) = delete;
  PeerExchanges& operator=(const PeerExchanges&) = delete;

  // True if the group's devices are all GPUs of this process.
  bool Has(const std::vector<uint32_t>& group) const;

  // An exchange of a plan: its function, the first step of its channel, and its first member.
  using Place = std::tuple<uint32_t, uint32_t, uint32_t>;
  // The addresses of the members' inputs, by rank.
  using Inputs = std::vector<std::vector<const std::byte*>>;

  // Gives the addresses of this member's inputs, and returns those of all `ranks` members when the last one
  // has come. Unavailable if that takes longer than `patience` (0: no limit). After Abort: its reason.
  absl::StatusOr<std::shared_ptr<const Inputs>> Meet(const Place& place, uint32_t rank, uint32_t ranks,
                                                     std::vector<const std::byte*> own,
                                                     std::chrono::milliseconds patience);

  // A copy from a device of the plan, which may be the reader's own.
  struct Read {
    uint32_t owner;
    const std::byte* from;
    std::byte* to;
    size_t bytes;
  };
  // The reads and the readers of a device in an exchange.
  struct Part {
    uint32_t device;
    std::vector<Read> reads;
    std::vector<uint32_t> readers;  // Other devices that read from this one.
  };
  // Gives the device's part to its stream, also in a capture. When the stream has done it, the values have
  // arrived, and the device's own values have been read.
  absl::Status Give(const Part& part, cudaStream_t stream) const;

  // Ends all waits. The values of exchanges under way are arbitrary. Only the first reason is kept.
  void Abort(const absl::Status& reason);

 private:
  struct Meeting {
    uint32_t come = 0;
    std::shared_ptr<Inputs> inputs;  // Addresses from those who have come.
  };

  PeerExchanges(const std::vector<PlanGpu>& gpus, const StreamMemoryOps& ops) : gpus_(gpus), ops_(ops) {}
  size_t PositionOf(uint32_t device) const;
  // Set by the owner for the reader when its values are there, and back by the reader.
  uint32_t* ReadyFlag(uint32_t owner, uint32_t reader) const;
  uint32_t* ReadFlag(uint32_t owner, uint32_t reader) const;

  const std::vector<PlanGpu> gpus_;
  const StreamMemoryOps ops_;
  std::unique_ptr<DeviceMemory> memory_;
  uint32_t* flags_ = nullptr;
  std::mutex mutex_;  // Guards the members below.
  std::condition_variable changed_;
  std::map<Place, Meeting> meetings_;
  absl::Status reason_;
  std::thread releasing_;  // Ends the waits of streams after an abort.
  std::atomic<bool> is_over_ = false;
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_CUDA_PEER_PEER_EXCHANGES_H_
