// A fake GPU for tests on machines without one; it shows missing waits.
// Work runs only when something waits for it. Only WaitFor orders it with the work of other devices, so a
// missing wait reads old values.
//
//   FakeGpus gpus;
//   absl::StatusOr<Session> session = gpus.MakeSession(plan);   // cpu:N are real, others fake.
//   session->Run("f", {{"x", x}});
//   EXPECT_EQ(gpus[0].counts().uploads, 1);
//
// Its kernels, by their names in the plan, process one element per thread: add_f32 (a + b), scale_f32 (a *
// b[0]), count_f32 (i), and library_f32 (a + 1), which first stores its sums in a library workspace of the
// same size. It supports copies; all other steps are an error. A step must have run once before it is
// captured, as libraries require. The branches of a capture run in reverse order, as far as their declared
// predecessors allow.
//
// The members of a collective run when each of them is next. A launch order in which members wait for each
// other fails a check. Collectives run on their own stream: steps given before Wait may read old results, and
// their writes may change the collective's inputs. Each device may have its own launching thread.
//
// Each piece of work takes kSecondsOfWork on the device's own clock: a kernel, a copy, an event, a
// wait. A collective takes two, one when it begins and one when it is waited for.
#ifndef SINTER_TESTS_RUNTIME_FAKE_GPU_H_
#define SINTER_TESTS_RUNTIME_FAKE_GPU_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sinter/runtime/device/device_runtime.h"
#include "sinter/runtime/memory/backend.h"
#include "sinter/runtime/memory/caching_allocator.h"
#include "sinter/runtime/session/session.h"
#include "sinter/tests/runtime/test_plan.h"

namespace sinter {

class FakeGpu;

// The back end of the fake GPUs of a kind; each kind has its own. With RegisterBackend it is one for
// Session::Create too: it then has two devices of the kind, in main memory.
const Backend& FakeBackendOf(DeviceKind kind);

// "second", a registered kind of devices with the traits of GPUs, for plans with two back ends of fake GPUs.
DeviceKind SecondKind();

// The members of one collective in one session, on fake GPUs.
class FakeMeeting;

class FakeGpu : public DeviceRuntime {
 public:
  // One piece of work on a stream. A member of a collective has no `run`.
  struct Work {
    std::function<void()> run;
    std::shared_ptr<FakeMeeting> meeting = nullptr;
    uint32_t rank = 0;
    bool is_wait = false;  // Waits for `meeting`.
  };

  struct Counts {
    int uploads = 0, downloads = 0;
    int waits = 0;
    int steps = 0;  // Steps that ran alone; each capture also counts them once.
    int captures = 0, launches = 0;
    int collectives = 0, collective_waits = 0;  // Begun and waited for, also by launches of captures.
  };

  // `fault` is called with the name of each call that may fail; an error makes that call fail.
  FakeGpu(Device device, CachingAllocator* allocator,
          std::function<absl::Status(const char*)> fault = nullptr)
      : FakeGpu(device, FakeBackendOf(device.kind()), allocator, std::move(fault)) {}

  Device device() const override { return device_; }
  const Backend& backend() const override { return *backend_; }
  CachingAllocator& allocator() override { return *allocator_; }
  bool is_host_memory() const override { return false; }
  int64_t alignment() const override { return 256; }
  absl::Status Connect(const fb::Plan& plan, std::span<DeviceRuntime* const> peers, const LocalDevices& local,
                       World* world) override;
  void Abort(const absl::Status& reason) override;
  absl::StatusOr<std::unique_ptr<Step>> MakeStep(const fb::Plan& plan, const fb::Step& step) override;
  absl::Status Upload(void* to, const void* from, size_t bytes) override;
  absl::Status Download(void* to, const void* from, size_t bytes) override;
  absl::Status Fill(void* to, uint8_t value, size_t bytes) override;
  absl::Status Synchronize() override;
  absl::Status WaitFor(DeviceRuntime& other) override;
  absl::Status CopyFrom(DeviceRuntime& other, void* to, const void* from, size_t bytes) override;
  absl::StatusOr<std::unique_ptr<CapturedGraph>> Capture(const std::function<absl::Status()>& work) override;
  absl::Status BeginBranch(std::span<const uint32_t> before) override;
  absl::StatusOr<std::unique_ptr<EventTimer>> MakeEventTimer(size_t events) override;
  Traffic traffic() const override { return traffic_; }

  static constexpr double kSecondsOfWork = 1e-3;
  double seconds() const { return seconds_; }

  const Counts& counts() const { return counts_; }
  // Makes every later call that waits for this GPU fail with `status`.
  void Break(absl::Status status) { broken_ = std::move(status); }
  // Makes uploads fail too, with the status of Break.
  void BreakUploads() { breaks_uploads_ = true; }
  // Makes the next capture fail with `status`.
  void BreakCapture(absl::Status status) { broken_capture_ = std::move(status); }
  // The reason why the session was aborted; OK if it was not.
  absl::Status aborted() const;

  // A branch of the latest capture.
  struct Branch {
    std::vector<uint32_t> before;
    std::span<const std::byte> library_workspace = {};  // Workspace of the step.
    size_t first_work = 0;
  };
  const std::vector<Branch>& branches() const { return branches_; }

  absl::Status Fault(const char* call) const { return fault_ == nullptr ? absl::OkStatus() : fault_(call); }
  // For the steps and captures of this GPU.
  void Give(Work work);
  // Returns a step of one piece of work, which gets the step's `operands` buffers.
  std::unique_ptr<Step> MakeWorkStep(size_t operands, std::function<void(const std::vector<void*>&)> work);
  void CountStep() { ++counts_.steps; }
  bool is_capturing() const { return capture_ != nullptr; }
  void UseLibraryWorkspace(std::span<const std::byte> bytes);
  void CountLaunch() { ++counts_.launches; }

 protected:
  // For devices of other back ends with the queue, the captures and the collectives of this one, and with
  // steps of their own.
  FakeGpu(Device device, const Backend& backend, CachingAllocator* allocator,
          std::function<absl::Status(const char*)> fault)
      : device_(device), backend_(&backend), allocator_(allocator), fault_(std::move(fault)) {}

 private:
  friend class FakeMeeting;

  // State that the GPUs of one session share.
  struct Connection {
    std::mutex mutex;
    std::vector<FakeGpu*> peers;                                   // By the plan's device index.
    std::map<const void*, std::shared_ptr<FakeMeeting>> meetings;  // By the step of the first member.
    LocalDevices local;
    absl::Status aborted;
  };

  // Fails a check if the device is of another back end.
  FakeGpu& OfThisKind(DeviceRuntime& other) const;
  std::unique_ptr<Step> MakeCollective(const fb::Plan& plan, const fb::Step& step);
  // Runs the queued work up to and including this number.
  void RunUpTo(size_t number);
  void RunOne(const Work& work);
  // Orders the work of branches, the latest branch first.
  std::vector<Work> Reordered(const std::vector<Work>& captured) const;

  Device device_;
  const Backend* backend_;
  CachingAllocator* allocator_;
  std::function<absl::Status(const char*)> fault_;
  std::vector<Work> queue_;  // Work given and not yet run.
  size_t given_ = 0, done_ = 0;
  double seconds_ = 0;
  bool is_running_ = false;
  std::deque<FakeMeeting*> begun_;  // Pending collectives.
  std::vector<Work>* capture_ = nullptr;
  std::vector<Branch> branches_;
  absl::Status broken_;
  bool breaks_uploads_ = false;
  absl::Status broken_capture_;
  std::shared_ptr<Connection> connection_;
  Traffic traffic_;
  Counts counts_;
};

// The fake GPUs of one session, each with its own allocator.
class FakeGpus {
 public:
  absl::StatusOr<Session> MakeSession(const TestPlan& plan, const SessionOptions& options = {});

  // The GPU of the last session. It lives as long as that session.
  FakeGpu& operator[](int32_t index) const { return *gpus_.at(Device::Gpu(index)); }
  FakeGpu& operator[](Device device) const { return *gpus_.at(device); }
  CachingAllocator& allocator(int32_t index) { return *allocators_.at(Device::Gpu(index)); }

  // Called at the begin of each call that may fail, with the GPU and the call's name; from any thread.
  std::function<void(Device device, const char* call)> on_call;
  // Makes the call with this number, counted over all GPUs, fail once.
  void FailCall(int number) { calls_left_ = number; }
  // E.g. "Upload of gpu:1". Empty if no call has failed yet.
  const std::string& failed_call() const { return failed_call_; }

 private:
  absl::Status Fault(Device device, const char* call);

  int calls_left_ = 0;
  std::string failed_call_;
  std::map<Device, std::unique_ptr<CachingAllocator>> allocators_;
  std::map<Device, FakeGpu*> gpus_;
};

}  // namespace sinter

#endif  // SINTER_TESTS_RUNTIME_FAKE_GPU_H_
