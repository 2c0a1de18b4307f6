#include "sinter/tests/runtime/fake_gpu.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/plan_generated.h"
#include "sinter/runtime/cpu/host_collective.h"
#include "sinter/runtime/device/device_runtimes.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/host/thread_pool.h"
#include "sinter/runtime/memory/device_info.h"
#include "sinter/runtime/plan/collective.h"
#include "sinter/runtime/session/session_state.h"

namespace sinter {
namespace {

class FakeBackend : public Backend {
 public:
  explicit FakeBackend(DeviceKind kind) : kind_(kind) {}

  DeviceKind kind() const override { return kind_; }
  int Count() const override { return 2; }
  absl::Status Check(int32_t index) const override {
    if (index >= 0 && index < Count()) return absl::OkStatus();
    return absl::NotFoundError(
        absl::StrCat(Device::Of(kind_, index).ToString(), " does not exist: there are ", Count()));
  }
  std::vector<std::string> Architectures() const override { return {"fake"}; }
  absl::Status Describe(DeviceInfo& info) const override {
    info.name = "a fake device", info.architecture = "fake";
    return absl::OkStatus();
  }
  absl::StatusOr<std::unique_ptr<DeviceMemory>> MakeMemory(Device device) const override {
    return std::make_unique<HostMemory>(device);
  }
  absl::StatusOr<std::unique_ptr<DeviceRuntime>> MakeRuntime(Device device, CachingAllocator* allocator,
                                                             const StepContext&) const override {
    return std::make_unique<FakeGpu>(device, allocator);
  }

 private:
  DeviceKind kind_;
};

}  // namespace

const Backend& FakeBackendOf(DeviceKind kind) {
  static std::map<DeviceKind, std::unique_ptr<FakeBackend>>& backends =
      *new std::map<DeviceKind, std::unique_ptr<FakeBackend>>;
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  std::unique_ptr<FakeBackend>& backend = backends[kind];
  if (backend == nullptr) backend = std::make_unique<FakeBackend>(kind);
  return *backend;
}

DeviceKind SecondKind() {
  static const DeviceKind kind = *RegisterDeviceKind({.name = "second", .runs_gpu_kernels = true});
  return kind;
}

class FakeMeeting {
 public:
  FakeMeeting(const fb::Function& function, uint32_t first, const LocalDevices& local,
              const std::vector<FakeGpu*>& peers)
      : pool_(1) {
    CollectiveGroup group;
    for (const uint32_t device : *function.steps()->Get(first)->body_as_CollectiveStep()->group()) {
      group.steps.push_back(first + static_cast<uint32_t>(members_.size()));
      members_.push_back(peers[device]);
    }
    buffers_.resize(members_.size());
    numbers_.resize(members_.size());
    work_ = HostCollective::Make(function, group, {.pool = &pool_, .local = local, .name = "fake"});
    workspace_.resize(work_->WorkspaceBytes());
  }

  // Called by the thread that launches the member's work.
  void SetBuffers(uint32_t rank, void* const* buffers) { buffers_[rank] = buffers; }
  // `number`: position of the member's begin in its work. Requires the mutex of the connection.
  void Give(uint32_t rank, size_t number) { numbers_[rank].push_back(number); }

  // Runs the collective after all members have begun it and finished the collectives begun before it.
  void Execute() {
    for (size_t rank = 0; rank < members_.size(); ++rank) {
      SINTER_CHECK(!numbers_[rank].empty())
          << "rank " << rank << " was not given the collective: others hang";
      members_[rank]->RunUpTo(numbers_[rank].front());
    }
    for (FakeGpu* const member : members_) {
      while (member->begun_.front() != this) member->begun_.front()->Execute();
    }
    SINTER_CHECK(work_->Run(buffers_, workspace_.data(), /*run=*/0).ok());
    for (size_t rank = 0; rank < members_.size(); ++rank) {
      numbers_[rank].pop_front();
      members_[rank]->begun_.pop_front();
    }
  }

 private:
  ThreadPool pool_;
  std::vector<FakeGpu*> members_;
  std::vector<void* const*> buffers_;
  std::vector<std::deque<size_t>> numbers_;  // For each member: collectives given and not yet executed.
  std::unique_ptr<HostCollective> work_;
  std::vector<std::byte> workspace_;
};

namespace {

using Kernel = void (*)(const std::vector<void*>& buffers, int64_t count);

float* Floats(void* buffer) { return static_cast<float*>(buffer); }

void Add(const std::vector<void*>& b, int64_t count) {
  for (int64_t i = 0; i < count; ++i) Floats(b[2])[i] = Floats(b[0])[i] + Floats(b[1])[i];
}
void Scale(const std::vector<void*>& b, int64_t count) {
  for (int64_t i = 0; i < count; ++i) Floats(b[2])[i] = Floats(b[0])[i] * Floats(b[1])[0];
}
void Count(const std::vector<void*>& b, int64_t count) {
  for (int64_t i = 0; i < count; ++i) Floats(b[0])[i] = static_cast<float>(i);
}

class FakeStep : public Step {
 public:
  FakeStep(FakeGpu* gpu, size_t operands, std::function<void(const std::vector<void*>&)> work)
      : gpu_(gpu), operands_(operands), work_(std::move(work)) {}

  absl::Status Run(const StepArgs& args) override {
    SINTER_RETURN_IF_ERROR(gpu_->Fault("step"));
    gpu_->CountStep();
    gpu_->Give({[work = work_, buffers = std::vector<void*>(args.buffers, args.buffers + operands_)] {
      work(buffers);
    }});
    return absl::OkStatus();
  }

 private:
  FakeGpu* gpu_;
  size_t operands_;
  std::function<void(const std::vector<void*>&)> work_;
};

// A step in two pieces of work, so that other work can run between them.
class FakeLibraryStep : public Step {
 public:
  FakeLibraryStep(FakeGpu* gpu, int64_t count, CaptureLimit limit)
      : gpu_(gpu), count_(count), limit_(limit) {}

  CaptureLimit capture_limit() const override { return limit_; }

  size_t LibraryWorkspaceBytes() const override { return static_cast<size_t>(count_) * sizeof(float); }

  absl::Status Run(const StepArgs& args) override {
    if (limit_ == CaptureLimit::kNowhere && gpu_->is_capturing()) {
      return absl::InternalError("a step that waits is captured");
    }
    gpu_->CountStep();
    auto* const sums = static_cast<float*>(args.library_workspace);
    gpu_->UseLibraryWorkspace(
        {static_cast<const std::byte*>(args.library_workspace), LibraryWorkspaceBytes()});
    gpu_->Give({[sums, from = Floats(args.buffers[0]), count = count_] {
      for (int64_t i = 0; i < count; ++i) sums[i] = from[i] + 1;
    }});
    gpu_->Give({[sums, to = Floats(args.buffers[1]), count = count_] { std::copy_n(sums, count, to); }});
    return absl::OkStatus();
  }

 private:
  FakeGpu* gpu_;
  int64_t count_;
  CaptureLimit limit_;
};

class FakeCollectiveStep : public Step {
 public:
  FakeCollectiveStep(FakeGpu* gpu, std::shared_ptr<FakeMeeting> meeting, uint32_t rank)
      : gpu_(gpu), meeting_(std::move(meeting)), rank_(rank) {}

  absl::Status Run(const StepArgs& args) override {
    gpu_->CountStep();
    meeting_->SetBuffers(rank_, args.buffers);
    gpu_->Give({[] {}, meeting_, rank_});
    return absl::OkStatus();
  }
  absl::Status Wait() override {
    gpu_->Give({[] {}, meeting_, rank_, /*is_wait=*/true});
    return absl::OkStatus();
  }

 private:
  FakeGpu* gpu_;
  std::shared_ptr<FakeMeeting> meeting_;
  uint32_t rank_;
};

class FakeCapture : public CapturedGraph {
 public:
  FakeCapture(FakeGpu* gpu, std::vector<FakeGpu::Work> work) : gpu_(gpu), work_(std::move(work)) {}

  absl::Status Launch() override {
    SINTER_RETURN_IF_ERROR(gpu_->Fault("Launch"));
    gpu_->CountLaunch();
    for (const FakeGpu::Work& work : work_) gpu_->Give(work);
    return absl::OkStatus();
  }

 private:
  FakeGpu* gpu_;
  std::vector<FakeGpu::Work> work_;
};

class FakeEventTimer : public EventTimer {
 public:
  FakeEventTimer(FakeGpu* gpu, size_t events) : gpu_(gpu), times_(events) {}

  absl::Status RecordEvent(size_t index) override {
    gpu_->Give({[this, index] { times_[index] = gpu_->seconds(); }});
    return absl::OkStatus();
  }
  absl::StatusOr<double> SecondsBetween(size_t first, size_t second) const override {
    return times_[second] - times_[first];
  }
  double SecondsPerEvent() const override { return FakeGpu::kSecondsOfWork; }

 private:
  FakeGpu* gpu_;
  std::vector<double> times_;
};

}  // namespace

absl::Status FakeGpu::Connect(const fb::Plan&, std::span<DeviceRuntime* const> peers,
                              const LocalDevices& local, World*) {
  SINTER_RETURN_IF_ERROR(Fault("Connect"));
  auto connection = std::make_shared<Connection>();
  connection->local = local;
  for (DeviceRuntime* const peer : peers)
    connection->peers.push_back(peer == nullptr ? nullptr : &OfThisKind(*peer));
  for (FakeGpu* const peer : connection->peers) {
    if (peer != nullptr) peer->connection_ = connection;
  }
  return absl::OkStatus();
}

FakeGpu& FakeGpu::OfThisKind(DeviceRuntime& other) const {
  SINTER_CHECK(&other.backend() == &backend())
      << other.device() << " and " << device_ << " do not know each other";
  return static_cast<FakeGpu&>(other);
}

void FakeGpu::Abort(const absl::Status& reason) {
  const std::lock_guard lock(connection_->mutex);
  connection_->aborted.Update(reason);
}

absl::Status FakeGpu::aborted() const {
  const std::lock_guard lock(connection_->mutex);
  return connection_->aborted;
}

std::unique_ptr<Step> FakeGpu::MakeCollective(const fb::Plan& plan, const fb::Step& step) {
  const uint32_t rank = step.body_as_CollectiveStep()->rank();
  for (const fb::Function* function : *plan.functions()) {
    for (uint32_t i = 0; function->steps() != nullptr && i < function->steps()->size(); ++i) {
      if (function->steps()->Get(i) != &step) continue;
      const uint32_t first = i - rank;
      std::shared_ptr<FakeMeeting>& meeting = connection_->meetings[function->steps()->Get(first)];
      if (meeting == nullptr) {
        meeting = std::make_shared<FakeMeeting>(*function, first, connection_->local, connection_->peers);
      }
      return std::make_unique<FakeCollectiveStep>(this, meeting, rank);
    }
  }
  return nullptr;
}

std::unique_ptr<Step> FakeGpu::MakeWorkStep(size_t operands,
                                            std::function<void(const std::vector<void*>&)> work) {
  return std::make_unique<FakeStep>(this, operands, std::move(work));
}

absl::StatusOr<std::unique_ptr<Step>> FakeGpu::MakeStep(const fb::Plan& plan, const fb::Step& step) {
  SINTER_RETURN_IF_ERROR(Fault("MakeStep"));
  if (step.body_type() == fb::StepBody::CollectiveStep) {
    SINTER_CHECK(connection_ != nullptr) << "a collective of devices that are not connected";
    return MakeCollective(plan, step);
  }
  static const std::map<std::string, Kernel> kKernels = {
      {"add_f32", Add}, {"scale_f32", Scale}, {"count_f32", Count}};
  size_t operands = 0;
  for (const auto* list : {step.inputs(), step.outputs()}) operands += list == nullptr ? 0 : list->size();
  if (const fb::CopyStep* copy = step.body_as_CopyStep(); copy != nullptr) {
    return MakeWorkStep(
        operands, [bytes = copy->bytes()](const std::vector<void*>& b) { std::memmove(b[1], b[0], bytes); });
  }
  const fb::GpuKernelStep* const kernel = step.body_as_GpuKernelStep();
  if (kernel == nullptr) return absl::UnimplementedError("a fake GPU runs kernels, copies and collectives");
  const std::string symbol = plan.gpu_kernels()->Get(kernel->kernel())->symbol()->str();
  const int64_t count = int64_t{kernel->grid()} * kernel->block();
  for (const auto& [name, limit] : {std::pair("library_f32", CaptureLimit::kAnywhere),
                                    std::pair("allocating_f32", CaptureLimit::kNotInConditions),
                                    std::pair("waiting_f32", CaptureLimit::kNowhere)}) {
    if (symbol == name) return std::make_unique<FakeLibraryStep>(this, count, limit);
  }
  const auto found = kKernels.find(symbol);
  if (found == kKernels.end()) return absl::NotFoundError(absl::StrCat("a fake GPU has no kernel ", symbol));
  return MakeWorkStep(operands, [count, run = found->second](const std::vector<void*>& b) { run(b, count); });
}

void FakeGpu::Give(Work work) {
  if (capture_ != nullptr) {
    capture_->push_back(std::move(work));
    return;
  }
  ++given_;
  if (work.meeting != nullptr) {
    ++(work.is_wait ? counts_.collective_waits : counts_.collectives);
    const std::lock_guard lock(connection_->mutex);
    if (!work.is_wait) work.meeting->Give(work.rank, given_);
  }
  queue_.push_back(std::move(work));
}

void FakeGpu::RunUpTo(size_t number) {
  while (done_ < number) {
    SINTER_CHECK(!is_running_) << "device " << device_ << " waits for itself";
    is_running_ = true;
    const Work work = std::move(queue_.front());
    queue_.erase(queue_.begin());
    ++done_;
    RunOne(work);
    is_running_ = false;
  }
}

// Begins a collective, and executes it as late as possible: at its first wait.
void FakeGpu::RunOne(const Work& work) {
  FakeMeeting* const meeting = work.meeting.get();
  if (meeting == nullptr) {
    work.run();
  } else if (!work.is_wait) {
    begun_.push_back(meeting);
  } else {
    while (std::ranges::find(begun_, meeting) != begun_.end()) begun_.front()->Execute();
  }
  seconds_ += kSecondsOfWork;
}

absl::Status FakeGpu::Upload(void* to, const void* from, size_t bytes) {
  SINTER_CHECK(capture_ == nullptr) << "an upload in a capture";
  if (breaks_uploads_) return broken_;
  SINTER_RETURN_IF_ERROR(Fault("Upload"));
  ++counts_.uploads;
  traffic_.uploaded += static_cast<int64_t>(bytes);
  const std::byte* const data = static_cast<const std::byte*>(from);
  Give({[to, copy = std::vector<std::byte>(data, data + bytes)] {
    std::memcpy(to, copy.data(), copy.size());
  }});
  return absl::OkStatus();
}

absl::Status FakeGpu::Download(void* to, const void* from, size_t bytes) {
  SINTER_RETURN_IF_ERROR(Fault("Download"));
  SINTER_RETURN_IF_ERROR(Synchronize());
  ++counts_.downloads;
  traffic_.downloaded += static_cast<int64_t>(bytes);
  ++traffic_.downloads;
  std::memcpy(to, from, bytes);
  return absl::OkStatus();
}

absl::Status FakeGpu::Fill(void* to, uint8_t value, size_t bytes) {
  SINTER_CHECK(capture_ == nullptr) << "a fill in a capture";
  SINTER_RETURN_IF_ERROR(Fault("Fill"));
  Give({[=] { std::memset(to, value, bytes); }});
  return absl::OkStatus();
}

absl::Status FakeGpu::Synchronize() {
  SINTER_CHECK(capture_ == nullptr) << "a wait in a capture";
  RunUpTo(given_);
  SINTER_RETURN_IF_ERROR(Fault("Synchronize"));
  return broken_;
}

absl::Status FakeGpu::WaitFor(DeviceRuntime& other) {
  SINTER_CHECK(capture_ == nullptr) << "a wait in a capture";
  SINTER_RETURN_IF_ERROR(Fault("WaitFor"));
  ++counts_.waits;
  if (other.is_host_memory()) return absl::OkStatus();
  FakeGpu* const gpu = &OfThisKind(other);
  Give({[gpu, number = gpu->given_] { gpu->RunUpTo(number); }});
  return absl::OkStatus();
}

absl::Status FakeGpu::CopyFrom(DeviceRuntime& other, void* to, const void* from, size_t bytes) {
  SINTER_CHECK(capture_ == nullptr) << "a copy between devices in a capture";
  if (other.is_host_memory()) return Upload(to, from, bytes);
  OfThisKind(other);
  SINTER_RETURN_IF_ERROR(Fault("CopyFrom"));
  traffic_.copied += static_cast<int64_t>(bytes);
  Give({[=] { std::memcpy(to, from, bytes); }});
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<CapturedGraph>> FakeGpu::Capture(const std::function<absl::Status()>& work) {
  SINTER_CHECK(capture_ == nullptr) << "a capture in a capture";
  if (!broken_capture_.ok()) return std::exchange(broken_capture_, absl::OkStatus());
  SINTER_RETURN_IF_ERROR(Fault("Capture"));
  ++counts_.captures;
  std::vector<Work> captured;
  branches_.clear();
  capture_ = &captured;
  const absl::Status status = work();
  capture_ = nullptr;
  SINTER_RETURN_IF_ERROR(status);
  if (!branches_.empty()) captured = Reordered(captured);
  return std::make_unique<FakeCapture>(this, std::move(captured));
}

absl::Status FakeGpu::BeginBranch(std::span<const uint32_t> before) {
  SINTER_CHECK(capture_ != nullptr && (!branches_.empty() || capture_->empty()))
      << "a branch behind work that is in none";
  branches_.push_back({.before = {before.begin(), before.end()}, .first_work = capture_->size()});
  return absl::OkStatus();
}

void FakeGpu::UseLibraryWorkspace(std::span<const std::byte> bytes) {
  if (capture_ != nullptr && !branches_.empty()) branches_.back().library_workspace = bytes;
}

// Orders the work of branches. Among the branches whose predecessors are done, the latest branch runs next.
std::vector<FakeGpu::Work> FakeGpu::Reordered(const std::vector<Work>& captured) const {
  std::vector<Work> order;
  std::vector<size_t> next, end;  // For each branch: its remaining work.
  for (size_t p = 0; p < branches_.size(); ++p) {
    next.push_back(branches_[p].first_work);
    end.push_back(p + 1 < branches_.size() ? branches_[p + 1].first_work : captured.size());
  }
  const auto is_ready = [&](size_t p) {
    return next[p] < end[p] &&
           std::ranges::all_of(branches_[p].before, [&](uint32_t k) { return next[k] == end[k]; });
  };
  while (order.size() < captured.size()) {
    for (size_t p = branches_.size(); p-- > 0;) {
      if (is_ready(p)) order.push_back(captured[next[p]++]);
    }
  }
  return order;
}

absl::StatusOr<std::unique_ptr<EventTimer>> FakeGpu::MakeEventTimer(size_t events) {
  SINTER_CHECK(capture_ == nullptr) << "a timer made in a capture";
  return std::make_unique<FakeEventTimer>(this, events);
}

absl::Status FakeGpus::Fault(Device device, const char* call) {
  if (on_call != nullptr) on_call(device, call);
  if (calls_left_ == 0 || --calls_left_ > 0) return absl::OkStatus();
  failed_call_ = absl::StrCat(call, " of ", device.ToString());
  return absl::InternalError("the call fails, as a test wants it");
}

absl::StatusOr<Session> FakeGpus::MakeSession(const TestPlan& test_plan, const SessionOptions& options) {
  SINTER_ASSIGN_OR_RETURN(Plan plan, test_plan.Make());
  gpus_.clear();
  const auto make = [this](Device device, CachingAllocator* allocator,
                           const StepContext& context) -> absl::StatusOr<std::unique_ptr<DeviceRuntime>> {
    if (device.is_cpu()) return MakeDeviceRuntime(device, allocator, context);
    if (allocator == nullptr) {
      std::unique_ptr<CachingAllocator>& own = allocators_[device];
      if (own == nullptr) {
        SINTER_ASSIGN_OR_RETURN(own, CachingAllocator::Create(std::make_unique<HostMemory>(device)));
      }
      allocator = own.get();
    }
    SINTER_RETURN_IF_ERROR(Fault(device, "Make"));
    auto gpu = std::make_unique<FakeGpu>(device, allocator,
                                         [this, device](const char* call) { return Fault(device, call); });
    gpus_[device] = gpu.get();
    return gpu;
  };
  return internal_session::SessionState::MakeSession(std::move(plan), options, make);
}

}  // namespace sinter
