// NCCL communicators of a session: one for each local GPU in each group of the plan's collectives.
//
//   SINTER_ASSIGN_OR_RETURN(auto all, NcclCommunicators::Connect(plan, gpus, local, world));
//   SINTER_ASSIGN_OR_RETURN(NcclCommunicator * member, all->Find(group, device));
//   SINTER_RETURN_IF_ERROR(
//       member->Issue("all_reduce", patience, [&](const Nccl& nccl, ncclComm_t comm) { ... }));
//   SINTER_RETURN_IF_ERROR(all->Check());              // While waiting for the work: checks for errors.
//
// Calls never block forever. A call that another rank does not answer is given up when a communicator reports
// an error, when the world reports one, or when Abort is called. After that every call returns this error,
// and pending work on the GPUs ends.
//
// Thread-safe. Destroy graphs that contain a communicator's calls before the communicator.
#ifndef SINTER_RUNTIME_CUDA_NCCL_NCCL_COMMUNICATORS_H_
#define SINTER_RUNTIME_CUDA_NCCL_NCCL_COMMUNICATORS_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sinter/runtime/cuda/context/exchange_watch.h"
#include "sinter/runtime/cuda/context/plan_gpu.h"
#include "sinter/runtime/cuda/driver/nccl_library.h"
#include "sinter/runtime/world/local_devices.h"
#include "sinter/runtime/world/world.h"

namespace sinter {

// Returns the distinct groups of GPUs in the plan's collectives, in the order of the plan.
std::vector<std::vector<uint32_t>> GroupsOf(const fb::Plan& plan);

class NcclCommunicators;

// One member of one group.
class NcclCommunicator {
 public:
  uint32_t rank() const { return rank_; }
  // For example "rank 1 of 2 (gpu:0, gpu:1)".
  const std::string& name() const { return name_; }

  // Runs `calls` in an NCCL group and returns when all work is submitted to the stream. `operation` completes
  // "could not ...".
  absl::Status Issue(std::string_view operation, std::chrono::milliseconds patience,
                     const std::function<absl::Status(const Nccl& nccl, ncclComm_t comm)>& calls);

 private:
  friend class NcclCommunicators;

  // Returns the communicator's error. OK if it works or is still busy; `in_progress` distinguishes the two.
  absl::Status State(bool* in_progress);
  // Returns a text of all operations issued so far, such as "all_reduce, broadcast, rank 1 of 2 (gpu:0,
  // gpu:1)".
  std::string Describe();

  NcclCommunicators* all_ = nullptr;
  std::vector<uint32_t> group_;
  uint32_t rank_ = 0;
  PlanGpu gpu_ = {};
  std::string name_;
  std::mutex mutex_;  // Guards the members below; one NCCL call at a time.
  ncclComm_t comm_ = nullptr;
  std::vector<std::string> operations_;  // Each operation once.
};

class NcclCommunicators : public ExchangeWatch {
 public:
  // Connects the groups. FailedPrecondition if NCCL is missing or two members of a group are the same GPU.
  // Unavailable if a rank does not answer.
  static absl::StatusOr<std::unique_ptr<NcclCommunicators>> Connect(const fb::Plan& plan,
                                                                    const std::vector<PlanGpu>& gpus,
                                                                    const LocalDevices& local, World* world);
  // Waits up to 10 seconds for the other members to end too.
  ~NcclCommunicators() override;
  NcclCommunicators(const NcclCommunicators&) = delete;
  NcclCommunicators& operator=(const NcclCommunicators&) = delete;

  // Returns the communicator of a device. Internal if it does not exist, which the verifier and Connect rule
  // out.
  absl::StatusOr<NcclCommunicator*> Find(const std::vector<uint32_t>& group, uint32_t device) const;

  // Returns the error of any communicator, and then aborts all of them. Takes less than a microsecond for
  // each.
  absl::Status Check() override;
  void Abort(const absl::Status& reason) override;
  // `call` is made with the reason at Abort, before communicators end. Load phase.
  void OnAbort(std::function<void(const absl::Status& reason)> call) { on_abort_ = std::move(call); }
  // Returns the reason; OK if nothing was aborted.
  absl::Status aborted() const override;

 private:
  friend class NcclCommunicator;

  NcclCommunicators(const Nccl& nccl, World* world) : nccl_(nccl), world_(world) {}

  absl::Status MakeGroup(const fb::Plan& plan, const std::vector<uint32_t>& group,
                         const std::vector<PlanGpu>& gpus, const ncclUniqueId& id);
  // Waits until the communicator is no longer busy, an error occurs or the limit is reached; 0: no limit.
  absl::Status WaitUntilReady(NcclCommunicator& member, std::string_view operation,
                              std::chrono::milliseconds limit);
  // Calls `end` for each communicator on a separate thread, because the calls wait for each other.
  void EndEach(const std::function<void(ncclComm_t)>& end);

  const Nccl& nccl_;
  World* world_;
  std::vector<std::unique_ptr<NcclCommunicator>> members_;
  mutable std::mutex mutex_;  // Guards `reason_`, `ending_` and calls of `world_`.
  std::atomic<bool> is_aborted_ = false;
  absl::Status reason_;
  std::function<void(const absl::Status& reason)> on_abort_;
  struct Ending;
  std::vector<std::shared_ptr<Ending>> ending_;
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_CUDA_NCCL_NCCL_COMMUNICATORS_H_
