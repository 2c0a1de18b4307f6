// A GPU for tests on machines without one: work that runs only when somebody waits for it, and not in order with that of
// other devices unless WaitFor says so. Whoever forgets to wait reads old values.
//
//   FakeGpus gpus;
//   absl::StatusOr<Session> session = gpus.MakeSession(plan);            // gpu:N of the plan are fake, cpu:N real.
//   session->Run("f", {{"x", x}});
//   EXPECT_EQ(gpus[0].counts().uploads, 1);
//
// Its kernels, by the names of the plan's, have as many elements as threads: add_f32 (a + b), scale_f32 (a * b[0]),
// count_f32 (i), and library_f32 (a + 1), which has its sums in a library workspace of as many elements first. It copies too;
// other steps are an error. Recorded steps must have run before, as libraries want it. Pieces of a recording run the latest
// first, as far as what they say that they come after lets them.
//
// Members of a collective run when all of them are next: whoever gives them in an order in which they wait for each other
// fails a check. They run on a stream of their own: until a step is given after Join, their results are old ones, and what
// they read may have been overwritten. Devices may be given work by threads of their own.
//
// Each piece of work takes kSecondsOfWork of a clock of its own: a kernel, a copy, a mark of a stopwatch, a wait; a collective
// takes two, one when it is begun and one when it is joined.
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
#include "sinter/runtime/memory/caching_allocator.h"
#include "sinter/runtime/session/session.h"
#include "sinter/tests/runtime/test_plan.h"

namespace sinter {

class FakeGpu;

// The members of one collective of one session, on fake GPUs.
class FakeMeeting;

class FakeGpu : public DeviceRuntime {
 public:
  // Work of a stream. A member of a collective has no work of its own.
  struct Work {
    std::function<void()> run;
    std::shared_ptr<FakeMeeting> meeting = nullptr;
    uint32_t rank = 0;
    bool is_join = false;  // Of the meeting.
  };

  struct Counts {
    int uploads = 0, downloads = 0;
    int waits = 0;
    int steps = 0;  // Run one by one, and once for each recording.
    int recordings = 0, launches = 0;
    int collectives = 0, joins = 0;  // Given, also by launches of recordings.
  };

  // `fault`: asked at each call that may fail, whose name it is given.
  FakeGpu(Device device, CachingAllocator* allocator,
          std::function<absl::Status(const char*)> fault = nullptr)
      : device_(device), allocator_(allocator), fault_(std::move(fault)) {}

  Device device() const override { return device_; }
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
  absl::StatusOr<std::unique_ptr<RecordedWork>> Record(const std::function<absl::Status()>& work) override;
  absl::Status BeginPiece(std::span<const uint32_t> before) override;
  absl::StatusOr<std::unique_ptr<Stopwatch>> MakeStopwatch(size_t marks) override;
  Traffic traffic() const override { return traffic_; }

  static constexpr double kSecondsOfWork = 1e-3;
  double seconds() const { return seconds_; }

  const Counts& counts() const { return counts_; }
  // Every call from now on that waits for it fails with this.
  void Break(absl::Status status) { broken_ = std::move(status); }
  // Uploads fail too.
  void BreakUploads() { breaks_uploads_ = true; }
  // The next recording fails with this.
  void BreakRecording(absl::Status status) { broken_recording_ = std::move(status); }
  // Why the session has given up; OK: it has not.
  absl::Status aborted() const;

  // Of the latest recording.
  struct Piece {
    std::vector<uint32_t> before;
    std::span<const std::byte> library_workspace = {};  // Of the step.
    size_t first_work = 0;
  };
  const std::vector<Piece>& pieces() const { return pieces_; }

  absl::Status Fault(const char* call) const { return fault_ == nullptr ? absl::OkStatus() : fault_(call); }
  // For its steps and recordings.
  void Give(Work work);
  void CountStep() { ++counts_.steps; }
  void UseLibraryWorkspace(std::span<const std::byte> bytes);
  void CountLaunch() { ++counts_.launches; }

 private:
  friend class FakeMeeting;

  // What the GPUs of one session share.
  struct Connection {
    std::mutex mutex;
    std::vector<FakeGpu*> peers;                                   // By the plan's index.
    std::map<const void*, std::shared_ptr<FakeMeeting>> meetings;  // By the step of the first member.
    LocalDevices local;
    absl::Status aborted;
  };

  std::unique_ptr<Step> MakeCollective(const fb::Plan& plan, const fb::Step& step);
  // Runs what was given, up to and including the piece of this number.
  void RunUpTo(size_t number);
  void RunOne(const Work& work);
  // Of pieces, the latest first.
  std::vector<Work> Reordered(const std::vector<Work>& recorded) const;

  Device device_;
  CachingAllocator* allocator_;
  std::function<absl::Status(const char*)> fault_;
  std::vector<Work> queue_;  // Given and not yet run.
  size_t given_ = 0, done_ = 0;
  double seconds_ = 0;
  bool is_running_ = false;
  std::deque<FakeMeeting*> begun_;  // Collectives under way.
  std::vector<Work>* recording_ = nullptr;
  std::vector<Piece> pieces_;
  absl::Status broken_;
  bool breaks_uploads_ = false;
  absl::Status broken_recording_;
  std::shared_ptr<Connection> connection_;
  Traffic traffic_;
  Counts counts_;
};

// The fake GPUs of one session, each with an allocator of its own.
class FakeGpus {
 public:
  absl::StatusOr<Session> MakeSession(const TestPlan& plan, const SessionOptions& options = {});

  // Of the last session made. It lives as long as the session.
  FakeGpu& operator[](int32_t index) const { return *gpus_.at(index); }
  CachingAllocator& allocator(int32_t index) { return *allocators_.at(index); }

  // Of all of them, the call of this number from now on fails, once.
  void FailCall(int number) { calls_left_ = number; }
  // "Upload of gpu:1"; empty: it has not come yet.
  const std::string& failed_call() const { return failed_call_; }

 private:
  absl::Status Fault(Device device, const char* call);

  int calls_left_ = 0;
  std::string failed_call_;
  std::map<int32_t, std::unique_ptr<CachingAllocator>> allocators_;
  std::map<int32_t, FakeGpu*> gpus_;
};

}  // namespace sinter

#endif  // SINTER_TESTS_RUNTIME_FAKE_GPU_H_
