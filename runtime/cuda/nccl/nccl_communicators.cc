#include "sinter/runtime/cuda/nccl/nccl_communicators.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <iostream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/plan_generated.h"
#include "sinter/runtime/cuda/driver/cuda_handles.h"
#include "sinter/runtime/cuda/driver/lost_gpus.h"
#include "sinter/runtime/host/sha256.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/host/waited_time.h"
#include "sinter/runtime/plan/plan_devices.h"

namespace sinter {
namespace {

using Clock = std::chrono::steady_clock;

// Time limit of connecting. All ranks answered just before the communicators are made. NCCL spends most of
// the time on detecting the machine's topology: some seconds with eight GPUs.
constexpr std::chrono::seconds kConnectLimit(30);
// Time limit for the other members to end too, and again for NCCL to abort.
constexpr std::chrono::seconds kEndLimit(5);
constexpr std::chrono::microseconds kPollPause(20);

// Minimum time between checks of the world while waiting.
constexpr std::chrono::milliseconds kWorldPause(20);

absl::Status WithName(const absl::Status& status, std::string_view operation, const std::string& name) {
  return absl::Status(status.code(),
                      absl::StrCat(std::string(operation), ", ", name, ": ", status.message()));
}

// The messages that processes exchange before they connect: first one of these, then the ids.
struct Greeting {
  uint32_t is_ready = 0;
  uint32_t ids = 0;
};

// The id of a group, which the process of its first member makes. A process knows only the groups of its own
// program. So the key, a hash of the members, names the group.
struct GroupId {
  Sha256::Bytes key = {};
  ncclUniqueId id = {};
};

Sha256::Bytes KeyOf(const std::vector<uint32_t>& group) {
  Sha256 hash;
  hash.Update(std::as_bytes(std::span(group)));
  return hash.Digest();
}

// Gathers one list from every process, all of one length. Without a world there is one process.
template <typename T>
absl::StatusOr<std::vector<T>> GatherAll(World* world, const std::vector<T>& own) {
  if (world == nullptr) return own;
  std::vector<T> all(own.size() * static_cast<size_t>(world->size()));
  SINTER_RETURN_IF_ERROR(world->AllGather(
      std::as_bytes(std::span(own)), std::as_writable_bytes(std::span(all)), {.name = "connect the GPUs"}));
  return all;
}

// Returns the ids that the processes have made, of all groups. All processes call it. `ids`: this process's.
// `status`: this process's error, which the others learn.
absl::StatusOr<std::vector<std::vector<GroupId>>> GatherIds(World* world, std::vector<GroupId> ids,
                                                            const absl::Status& status) {
  SINTER_ASSIGN_OR_RETURN(const std::vector<Greeting> greetings,
                          GatherAll<Greeting>(world, {{.is_ready = status.ok() ? 1u : 0u,
                                                       .ids = static_cast<uint32_t>(ids.size())}}));
  SINTER_RETURN_IF_ERROR(status);
  uint32_t most = 1;
  for (size_t rank = 0; rank < greetings.size(); ++rank) {
    most = std::max(most, greetings[rank].ids);
    if (greetings[rank].is_ready != 0) continue;
    return absl::UnavailableError(absl::StrCat("rank ", rank, " cannot use NCCL: its own error says why"));
  }
  ids.resize(most);
  SINTER_ASSIGN_OR_RETURN(const std::vector<GroupId> all, GatherAll(world, ids));
  std::vector<std::vector<GroupId>> by_rank;
  for (size_t rank = 0; rank < greetings.size(); ++rank) {
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(rank * most);
    by_rank.emplace_back(first, first + greetings[rank].ids);
  }
  return by_rank;
}

}  // namespace

std::vector<std::vector<uint32_t>> GroupsOf(const fb::Plan& plan) {
  std::vector<std::vector<uint32_t>> groups;
  for (size_t f = 0; plan.functions() != nullptr && f < plan.functions()->size(); ++f) {
    const auto* const steps = plan.functions()->Get(static_cast<uint32_t>(f))->steps();
    for (size_t s = 0; steps != nullptr && s < steps->size(); ++s) {
      const fb::CollectiveStep* const step = steps->Get(static_cast<uint32_t>(s))->body_as_CollectiveStep();
      if (step == nullptr || !DeviceOf(plan, step->group()->Get(0)).is_gpu()) continue;
      std::vector<uint32_t> group(step->group()->begin(), step->group()->end());
      if (std::ranges::find(groups, group) == groups.end()) groups.push_back(std::move(group));
    }
  }
  return groups;
}

// NcclCommunicator.

absl::Status NcclCommunicator::State(bool* in_progress) {
  *in_progress = false;
  const std::lock_guard lock(mutex_);
  if (comm_ == nullptr) return all_->aborted();
  ncclResult_t state = ncclSuccess;
  SINTER_RETURN_IF_ERROR(all_->nccl_.Check(all_->nccl_.CommGetAsyncError(comm_, &state), "say how it goes"));
  *in_progress = state == ncclInProgress;
  return all_->nccl_.Check(state, "exchange");
}

absl::Status NcclCommunicator::Issue(
    std::string_view operation, std::chrono::milliseconds patience,
    const std::function<absl::Status(const Nccl& nccl, ncclComm_t comm)>& calls) {
  const Nccl& nccl = all_->nccl_;
  absl::Status status;
  {
    const std::lock_guard lock(mutex_);
    if (comm_ == nullptr) return all_->aborted();
    if (std::ranges::find(operations_, operation) == operations_.end()) operations_.emplace_back(operation);
    status = nccl.Check(nccl.GroupStart(), "begin a group of calls");
    if (status.ok()) {
      status = calls(nccl, comm_);
      // Also after an error: the thread must leave the group.
      status.Update(nccl.Check(nccl.GroupEnd(), "give its work to a GPU"));
    }
  }
  if (status.ok()) return all_->WaitUntilReady(*this, operation, patience);
  status = WithName(status, operation, name_);
  all_->Abort(status);
  return status;
}

std::string NcclCommunicator::Describe() {
  const std::lock_guard lock(mutex_);
  const std::string operations = absl::StrJoin(operations_, ", ");
  return absl::StrCat(operations, operations.empty() ? "" : ", ", name_);
}

// NcclCommunicators.

struct NcclCommunicators::Ending {
  std::thread thread;
  std::atomic<bool> is_done = false;
};

absl::StatusOr<std::unique_ptr<NcclCommunicators>> NcclCommunicators::Connect(
    const fb::Plan& plan, const std::vector<PlanGpu>& gpus, const LocalDevices& local, World* world) {
  const std::vector<std::vector<uint32_t>> groups = GroupsOf(plan);
  const absl::StatusOr<const Nccl*> nccl = LoadNccl();
  const int own_rank = world == nullptr ? 0 : world->rank();
  // Exchanged even if NCCL is missing, so that the other processes learn of it.
  std::vector<GroupId> own;
  absl::Status status = nccl.status();
  for (size_t i = 0; i < groups.size() && status.ok(); ++i) {
    if (local.RankOf(groups[i].front()) != own_rank) continue;
    own.push_back({.key = KeyOf(groups[i])});
    status = (*nccl)->Check((*nccl)->GetUniqueId(&own.back().id), "make an id for a group");
  }
  SINTER_ASSIGN_OR_RETURN(const std::vector<std::vector<GroupId>> ids,
                          GatherIds(world, std::move(own), status));
  std::unique_ptr<NcclCommunicators> made(new NcclCommunicators(**nccl, world));
  // All processes connect the groups that they have in common in one order, that of the program's exchanges.
  for (const std::vector<uint32_t>& group : groups) {
    const std::vector<GroupId>& of_first = ids[static_cast<size_t>(local.RankOf(group.front()))];
    const auto found = std::ranges::find(of_first, KeyOf(group), &GroupId::key);
    if (found == of_first.end()) {
      return absl::InternalError(absl::StrCat("rank ", local.RankOf(group.front()),
                                              " knows no group of devices ", absl::StrJoin(group, ", ")));
    }
    SINTER_RETURN_IF_ERROR(made->MakeGroup(plan, group, gpus, found->id));
  }
  return made;
}

absl::Status NcclCommunicators::MakeGroup(const fb::Plan& plan, const std::vector<uint32_t>& group,
                                          const std::vector<PlanGpu>& gpus, const ncclUniqueId& id) {
  const std::string names = absl::StrJoin(group, ", ", [&](std::string* out, uint32_t device) {
    absl::StrAppend(out, DeviceOf(plan, device).ToString());
  });
  const size_t first = members_.size();
  absl::Status status = nccl_.Check(nccl_.GroupStart(), "begin to connect");
  for (uint32_t rank = 0; rank < group.size() && status.ok(); ++rank) {
    const auto gpu = std::ranges::find(gpus, group[rank], &PlanGpu::device);
    if (gpu == gpus.end()) continue;
    auto member = std::make_unique<NcclCommunicator>();
    member->all_ = this;
    member->group_ = group;
    member->rank_ = rank;
    member->gpu_ = *gpu;
    member->name_ = absl::StrCat("rank ", rank, " of ", group.size(), " (", names, ")");
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    const CudaDeviceScope on(gpu->gpu);
    status = on.status();
    if (!status.ok()) break;
    status = nccl_.Check(nccl_.CommInitRankConfig(&member->comm_, static_cast<int>(group.size()), id,
                                                  static_cast<int>(rank), &config),
                         "connect");
    members_.push_back(std::move(member));
  }
  status.Update(nccl_.Check(nccl_.GroupEnd(), absl::StrCat("connect ", names)));
  for (size_t i = first; i < members_.size() && status.ok(); ++i) {
    status = WaitUntilReady(*members_[i], "connect", kConnectLimit);
  }
  if (absl::IsFailedPrecondition(status) && world_ != nullptr) {
    status = absl::FailedPreconditionError(
        absl::StrCat(std::string(status.message()),
                     "; each process needs GPUs of its own: set CUDA_VISIBLE_DEVICES for each"));
  }
  if (!status.ok()) Abort(status);
  return status;
}

absl::Status NcclCommunicators::WaitUntilReady(NcclCommunicator& member, std::string_view operation,
                                               std::chrono::milliseconds limit) {
  Clock::time_point asked = Clock::now();
  WaitedTime waited(asked);
  bool in_progress = true;
  while (true) {
    absl::Status status = member.State(&in_progress);
    if (status.ok() && !in_progress) return status;
    const Clock::time_point now = Clock::now();
    if (status.ok() && now - asked > kWorldPause) {
      asked = now;
      status = Check();
    }
    if (status.ok() && limit.count() > 0 && waited.At(now) > limit) {
      status =
          absl::UnavailableError(absl::StrCat("another member has not answered for ", limit.count(), " ms"));
    }
    if (!status.ok()) {
      status = WithName(status, operation, member.name());
      Abort(status);
      return status;
    }
    std::this_thread::sleep_for(kPollPause);
  }
}

absl::StatusOr<NcclCommunicator*> NcclCommunicators::Find(const std::vector<uint32_t>& group,
                                                          uint32_t device) const {
  for (const std::unique_ptr<NcclCommunicator>& member : members_) {
    if (member->gpu_.device == device && member->group_ == group) return member.get();
  }
  return absl::InternalError("a collective's group was not connected");
}

absl::Status NcclCommunicators::Check() {
  absl::Status status;
  for (const std::unique_ptr<NcclCommunicator>& member : members_) {
    bool in_progress = false;
    // NCCL may not know yet that a member's GPU is lost.
    status = CheckNotLost(member->gpu_.gpu);
    if (status.ok()) status = member->State(&in_progress);
    if (status.ok()) continue;
    if (!is_aborted_)
      status = absl::Status(status.code(), absl::StrCat(member->Describe(), ": ", status.message()));
    break;
  }
  if (status.ok() && world_ != nullptr) {
    {
      const std::lock_guard lock(mutex_);
      status = world_->Check();
    }
    if (!status.ok()) {
      const std::string waiting = absl::StrJoin(members_, "; ", [](std::string* out, const auto& member) {
        absl::StrAppend(out, member->Describe());
      });
      status = absl::Status(status.code(), absl::StrCat(status.message(), ", and is missing in ", waiting));
    }
  }
  if (!status.ok()) Abort(status);
  return status;
}

absl::Status NcclCommunicators::aborted() const {
  const std::lock_guard lock(mutex_);
  return reason_;
}

void NcclCommunicators::Abort(const absl::Status& reason) {
  {
    const std::lock_guard lock(mutex_);
    if (is_aborted_) return;
    is_aborted_ = true;
    reason_ = reason;
  }
  if (on_abort_ != nullptr) on_abort_(reason);
  EndEach([&nccl = nccl_](ncclComm_t comm) { (void)nccl.CommAbort(comm); });
}

void NcclCommunicators::EndEach(const std::function<void(ncclComm_t)>& end) {
  for (const std::unique_ptr<NcclCommunicator>& member : members_) {
    ncclComm_t comm = nullptr;
    {
      const std::lock_guard lock(member->mutex_);
      comm = std::exchange(member->comm_, nullptr);
    }
    if (comm == nullptr) continue;
    auto ending = std::make_shared<Ending>();
    ending->thread = std::thread([ending, comm, end] {
      end(comm);
      ending->is_done = true;
    });
    const std::lock_guard lock(mutex_);
    ending_.push_back(std::move(ending));
  }
}

NcclCommunicators::~NcclCommunicators() {
  // Work on a lost GPU never ends, so its communicators are aborted.
  for (const std::unique_ptr<NcclCommunicator>& member : members_) {
    if (const absl::Status status = CheckNotLost(member->gpu_.gpu); !status.ok()) Abort(status);
  }
  EndEach([&nccl = nccl_](ncclComm_t comm) {
    ncclResult_t state = nccl.CommFinalize(comm);
    const Clock::time_point limit = Clock::now() + kEndLimit;
    while (state == ncclInProgress && Clock::now() < limit) {
      std::this_thread::sleep_for(kPollPause);
      if (nccl.CommGetAsyncError(comm, &state) != ncclSuccess) state = ncclInternalError;
    }
    (void)(state == ncclSuccess ? nccl.CommDestroy(comm) : nccl.CommAbort(comm));
  });
  const Clock::time_point limit = Clock::now() + 2 * kEndLimit;
  for (const std::shared_ptr<Ending>& ending : ending_) {
    while (!ending->is_done && Clock::now() < limit) std::this_thread::sleep_for(kPollPause);
    if (ending->is_done) {
      ending->thread.join();
      continue;
    }
    // Leaking the communicator is better than blocking forever.
    ending->thread.detach();
    std::cerr << "sinter: NCCL did not give up a communicator within " << (2 * kEndLimit).count()
              << " seconds, and it is left behind" << std::endl;
  }
}

}  // namespace sinter
