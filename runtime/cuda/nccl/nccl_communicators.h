// NCCL's communicators of one session: one for each group of devices that its plan's collectives name, and each of its GPUs
// in that group.
//
//   SINTER_ASSIGN_OR_RETURN(auto all, NcclCommunicators::Connect(plan, gpus, local, world));
//   SINTER_ASSIGN_OR_RETURN(NcclCommunicator * member, all->Find(group, device));
//   SINTER_RETURN_IF_ERROR(member->Issue("all_reduce", [&](const Nccl& nccl, ncclComm_t comm) { ... }));
//   SINTER_RETURN_IF_ERROR(all->Check());              // While waiting for the work: is anything wrong?
//
// They never block: a call that another rank does not answer is given up when a communicator reports an error, when the world
// knows of one, or when Abort is called. From then on every call returns that error, and what the GPUs have under way ends.
//
// Thread-safe. The graphs that hold calls of a communicator must be destroyed before it.
#ifndef SINTER_RUNTIME_CUDA_NCCL_NCCL_COMMUNICATORS_H_
#define SINTER_RUNTIME_CUDA_NCCL_NCCL_COMMUNICATORS_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sinter/runtime/cuda/driver/nccl_library.h"
#include "sinter/runtime/world/local_devices.h"
#include "sinter/runtime/world/world.h"
#include "sinter/runtime/cuda/context/exchange_watch.h"

namespace sinter {

// A GPU of this process: index into the plan's devices, and CUDA's.
struct PlanGpu {
  uint32_t device;
  int gpu;
};

// The groups of GPUs that the plan's collectives name: each once, in the order of the plan.
std::vector<std::vector<uint32_t>> GroupsOf(const fb::Plan& plan);

class NcclCommunicators;

// One member of one group.
class NcclCommunicator {
 public:
  uint32_t rank() const { return rank_; }
  // "rank 1 of 2 (gpu:0, gpu:1)".
  const std::string& name() const { return name_; }

  // Calls NCCL, within a group of calls, and returns when all is given to the stream. `operation` completes "could not ...".
  absl::Status Issue(std::string_view operation,
                     const std::function<absl::Status(const Nccl& nccl, ncclComm_t comm)>& calls);

 private:
  friend class NcclCommunicators;

  // What it says is wrong; OK also while it is at work, which `in_progress` tells.
  absl::Status State(bool* in_progress);
  // "all_reduce, broadcast, rank 1 of 2 (gpu:0, gpu:1)": all that it was ever given.
  std::string Describe();

  NcclCommunicators* all_ = nullptr;
  std::vector<uint32_t> group_;
  uint32_t rank_ = 0;
  PlanGpu gpu_ = {};
  std::string name_;
  std::mutex mutex_;  // Of what follows: one call at a time.
  ncclComm_t comm_ = nullptr;
  std::vector<std::string> operations_;  // Each once.
};

class NcclCommunicators : public ExchangeWatch {
 public:
  // Errors: FailedPrecondition (no NCCL; two members of a group are one GPU), Unavailable (a rank does not answer).
  static absl::StatusOr<std::unique_ptr<NcclCommunicators>> Connect(const fb::Plan& plan,
                                                                    const std::vector<PlanGpu>& gpus,
                                                                    const LocalDevices& local, World* world);
  // Waits for the other members to end as well, a few seconds at most.
  ~NcclCommunicators() override;
  NcclCommunicators(const NcclCommunicators&) = delete;
  NcclCommunicators& operator=(const NcclCommunicators&) = delete;

  // Internal: there is none, which the verifier and Connect rule out.
  absl::StatusOr<NcclCommunicator*> Find(const std::vector<uint32_t>& group, uint32_t device) const;

  // Anything wrong with any of them, which is then aborted together with all others. Costs under a microsecond each.
  absl::Status Check() override;
  // Ends whatever is under way. The first reason counts.
  void Abort(const absl::Status& reason);
  // The reason; OK if nothing was aborted.
  absl::Status aborted() const override;

 private:
  friend class NcclCommunicator;

  NcclCommunicators(const Nccl& nccl, World* world) : nccl_(nccl), world_(world) {}

  absl::Status MakeGroup(const fb::Plan& plan, const std::vector<uint32_t>& group,
                         const std::vector<PlanGpu>& gpus, const ncclUniqueId& id);
  // Until it is not at work any more, or something is wrong, or for so long.
  absl::Status WaitUntilReady(NcclCommunicator& member, std::string_view operation,
                              std::optional<std::chrono::seconds> limit = std::nullopt);
  // A thread for each: they wait for each other.
  void EndEach(const std::function<void(ncclComm_t)>& end);

  const Nccl& nccl_;
  World* world_;
  std::vector<std::unique_ptr<NcclCommunicator>> members_;
  mutable std::mutex mutex_;  // Of `reason_` and `ending_`.
  std::atomic<bool> is_aborted_ = false;
  absl::Status reason_;
  struct Ending;
  std::vector<std::shared_ptr<Ending>> ending_;
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_CUDA_NCCL_NCCL_COMMUNICATORS_H_
