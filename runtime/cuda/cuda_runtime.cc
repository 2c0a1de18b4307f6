#include "sinter/runtime/cuda/cuda_runtime.h"

#include <cstring>
#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sinter/runtime/cuda/context/captured_graph.h"
#include "sinter/runtime/cuda/context/cuda_context.h"
#include "sinter/runtime/cuda/context/cuda_event_timer.h"
#include "sinter/runtime/cuda/context/exchange_progress.h"
#include "sinter/runtime/cuda/context/graph_conditions.h"
#include "sinter/runtime/cuda/context/staging_ring.h"
#include "sinter/runtime/cuda/cuda_backend.h"
#include "sinter/runtime/cuda/cudnn/cudnn_session.h"
#include "sinter/runtime/cuda/driver/cublas_library.h"
#include "sinter/runtime/cuda/driver/cublaslt_library.h"
#include "sinter/runtime/cuda/driver/cuda_memory.h"
#include "sinter/runtime/cuda/driver/cudnn_library.h"
#include "sinter/runtime/cuda/driver/cufft_library.h"
#include "sinter/runtime/cuda/driver/cusolver_library.h"
#include "sinter/runtime/cuda/driver/lost_gpus.h"
#include "sinter/runtime/cuda/driver/peer_access.h"
#include "sinter/runtime/cuda/nccl/nccl_communicators.h"
#include "sinter/runtime/cuda/peer/peer_exchanges.h"
#include "sinter/runtime/cuda/steps/cuda_steps.h"

namespace sinter {
namespace {

// Minimum number of bytes for which another thread speeds up a copy.
constexpr int64_t kCopyGrain = int64_t{128} << 10;

// Loads libraries on a separate thread and joins it at destruction; the system's loader takes up to 70 ms.
// Load times are not recorded here, because LoadTimes belongs to the thread that makes the session.
class OpenedMeanwhile {
 public:
  explicit OpenedMeanwhile(const CudaLibraries& needed) {
    if (!needed.cublaslt && !needed.cudnn && !needed.cufft && !needed.cublas && !needed.cusolver) return;
    thread_ = std::thread([needed] {
      if (needed.cublaslt) LoadCublasLt().IgnoreError();
      if (needed.cudnn) LoadCudnn().IgnoreError();
      if (needed.cufft) LoadCufft().IgnoreError();
      if (needed.cublas) LoadCublas().IgnoreError();
      if (needed.cusolver) LoadCusolver().IgnoreError();
    });
  }
  ~OpenedMeanwhile() {
    if (thread_.joinable()) thread_.join();
  }
  OpenedMeanwhile(const OpenedMeanwhile&) = delete;
  OpenedMeanwhile& operator=(const OpenedMeanwhile&) = delete;

 private:
  std::thread thread_;
};

class CudaRuntime : public DeviceRuntime {
 public:
  static absl::StatusOr<std::unique_ptr<DeviceRuntime>> Make(int index, const CudaRuntimeOptions& options);
  // The members' destructors wait for the work.
  ~CudaRuntime() override = default;

  Device device() const override { return context_->device(); }
  const Backend& backend() const override { return CudaBackend(); }
  CachingAllocator& allocator() override { return context_->allocator(); }
  bool is_host_memory() const override { return false; }
  int64_t alignment() const override { return 256; }

  absl::Status Connect(const fb::Plan& plan, std::span<DeviceRuntime* const> peers, const LocalDevices& local,
                       World* world) override;
  void Prepare(const fb::Plan& plan, uint32_t device) override {
    // Before attention is prepared, because cuDNN calls cuBLASLt too.
    if (needs_cublaslt_) context_->PrepareCublas();
    PrepareCudaSteps(*context_, plan, device);
  }
  void Abort(const absl::Status& reason) override {
    if (context_->communicators() != nullptr) context_->communicators()->Abort(reason);
  }
  absl::StatusOr<std::unique_ptr<Step>> MakeStep(const fb::Plan& plan, const fb::Step& step) override {
    return MakeCudaStep(*context_, libraries_, plan, step);
  }

  absl::Status Upload(void* to, const void* from, size_t bytes) override;
  absl::Status Download(void* to, const void* from, size_t bytes) override;
  bool uses_input_staging() const override { return true; }
  absl::Status UploadInputs(void* to, void* input_staging, std::span<const InputPiece> pieces,
                            size_t bytes) override;
  absl::Status FinishInputs() override;
  absl::Status Fill(void* to, uint8_t value, size_t bytes) override;
  absl::Status Synchronize() override;
  bool MayStillWork() const override { return context_->may_still_work(); }
  absl::Status WaitFor(DeviceRuntime& other) override;
  absl::Status CopyFrom(DeviceRuntime& other, void* to, const void* from, size_t bytes) override;
  absl::StatusOr<std::unique_ptr<CapturedGraph>> Capture(const std::function<absl::Status()>& work) override {
    const CudaDeviceScope on(context_->index());
    return CaptureGraph(*context_, [&]() -> absl::Status {
      const absl::Status worked = work(), ended = branches_.End(*context_);
      SINTER_RETURN_IF_ERROR(worked.ok() ? ended : worked);
      return EndExchanges();
    });
  }
  absl::Status BeginBranch(std::span<const uint32_t> before) override {
    const CudaDeviceScope on(context_->index());
    return branches_.Begin(*context_, before);
  }
  absl::Status PrepareWhile() override;
  absl::Status RunWhile(const void* flag, void* count, int64_t trips,
                        absl::FunctionRef<absl::Status()> body) override;
  absl::StatusOr<std::unique_ptr<EventTimer>> MakeEventTimer(size_t events) override;
  Traffic traffic() const override { return traffic_; }

 private:
  CudaRuntime() = default;

  // Internal: the device is of another back end. It is a bug to give one.
  static absl::StatusOr<CudaRuntime*> Cast(DeviceRuntime& other) {
    if (&other.backend() == &CudaBackend()) return static_cast<CudaRuntime*>(&other);
    return absl::InternalError(absl::StrCat(other.device().ToString(),
                                            " is no GPU of CUDA: values go to it through "
                                            "main memory"));
  }

  cudaStream_t stream() const { return context_->stream(); }
  absl::Status UploadBy(StagingRing& ring, cudaStream_t stream, std::byte* to, const void* from, size_t bytes,
                        const ThreadPool& pool = ThreadPool(1));
  absl::Status CopyThroughPinned(CudaRuntime& other, std::byte* to, const std::byte* from, size_t bytes);
  // At the end of a capture: marks the end of its exchanges, if they have a time limit.
  absl::Status EndExchanges();
  // Makes this stream wait for all work submitted to `other`'s stream so far, by an event of that GPU.
  absl::Status WaitForStream(CudaRuntime& other);

  std::unique_ptr<CachingAllocator> own_allocator_;
  std::unique_ptr<CudaContext> context_;
  std::unique_ptr<CudnnSession> cudnn_;
  KernelLibraries libraries_;
  CaptureBranches branches_;
  std::unique_ptr<GraphConditions> conditions_;  // Null: no step needs them.
  std::unique_ptr<StagingRing> ring_, input_ring_;
  CudaEvent given_;    // Recorded on this stream when another stream waits for it.
  CudaEvent arrived_;  // Recorded at the end of a download.
  CudaEvent arrived_before_;
  CudaEvent staged_;                         // The inputs of a run are in the staging buffer.
  CudaEvent cleared_;                        // The staging buffer is free again.
  bool reads_inputs_ = false;                // The GPU may still read the caller's pinned memory.
  CudaEvent exchanged_;                      // The exchanges of a capture have ended.
  std::optional<double> seconds_per_event_;  // Measured on first use.
  ThreadPool pool_{1};
  bool needs_cublaslt_ = false;
  Traffic traffic_;
};

absl::StatusOr<std::unique_ptr<DeviceRuntime>> CudaRuntime::Make(int index,
                                                                 const CudaRuntimeOptions& options) {
  SINTER_RETURN_IF_ERROR(CheckNotLost(index));
  SINTER_RETURN_IF_ERROR(PeerAccessIsDisabled().status());
  SINTER_ASSIGN_OR_RETURN(const GpuSwitches switches, GpuSwitches::FromEnvironment());
  const CudaLibraries needed = options.plan == nullptr ? CudaLibraries{} : LibrariesOf(*options.plan);
  const OpenedMeanwhile libraries(needed);
  std::unique_ptr<CudaRuntime> runtime(new CudaRuntime);
  CachingAllocator* allocator = options.allocator;
  if (allocator == nullptr) {
    SINTER_ASSIGN_OR_RETURN(std::unique_ptr<DeviceMemory> memory, MakeCudaMemory(index));
    SINTER_ASSIGN_OR_RETURN(runtime->own_allocator_, CachingAllocator::Create(std::move(memory)));
    allocator = runtime->own_allocator_.get();
  } else if (allocator->device() != Device::Gpu(index)) {
    return absl::InvalidArgumentError(absl::StrCat("an allocator of ", allocator->device().ToString(),
                                                   " cannot serve ", Device::Gpu(index).ToString()));
  }
  SINTER_ASSIGN_OR_RETURN(runtime->context_, CudaContext::Create(index, allocator));
  runtime->cudnn_ = std::make_unique<CudnnSession>(*runtime->context_);
  runtime->context_->set_cudnn(runtime->cudnn_.get());
  runtime->context_->set_tuning(options.tuning);
  runtime->context_->set_load_times(options.load_times);
  runtime->context_->set_switches(switches);
  runtime->pool_ = options.pool;
  runtime->context_->set_patience(options.exchange_patience);
  runtime->needs_cublaslt_ = needed.cublaslt;
  const CudaDeviceScope on(index);
  SINTER_RETURN_IF_ERROR(on.status());
  const CudaContext& context = *runtime->context_;
  SINTER_ASSIGN_OR_RETURN(runtime->ring_, StagingRing::Create(&context, context.stream()));
  SINTER_ASSIGN_OR_RETURN(runtime->input_ring_, StagingRing::Create(&context, context.input_stream()));
  for (CudaEvent* event : {&runtime->given_, &runtime->arrived_, &runtime->arrived_before_, &runtime->staged_,
                           &runtime->cleared_, &runtime->exchanged_}) {
    SINTER_ASSIGN_OR_RETURN(*event, MakeCudaEvent());
  }
  return runtime;
}

absl::Status CudaRuntime::Connect(const fb::Plan& plan, std::span<DeviceRuntime* const> peers,
                                  const LocalDevices& local, World* world) {
  std::vector<PlanGpu> gpus;
  std::vector<CudaRuntime*> runtimes;
  for (uint32_t device = 0; device < peers.size(); ++device) {
    if (peers[device] == nullptr) continue;
    SINTER_ASSIGN_OR_RETURN(runtimes.emplace_back(), Cast(*peers[device]));
    gpus.push_back({device, peers[device]->device().index()});
  }
  if (world != nullptr && !world->connects()) {
    for (CudaRuntime* const runtime : runtimes) runtime->context_->set_is_alone();
    return absl::OkStatus();
  }
  SINTER_ASSIGN_OR_RETURN(std::shared_ptr<NcclCommunicators> communicators,
                          NcclCommunicators::Connect(plan, gpus, local, world));
  SINTER_ASSIGN_OR_RETURN(std::shared_ptr<PeerExchanges> exchanges, PeerExchanges::Create(gpus));
  if (exchanges != nullptr) {
    communicators->OnAbort([exchanges](const absl::Status& reason) { exchanges->Abort(reason); });
  }
  for (CudaRuntime* const runtime : runtimes) {
    runtime->context_->set_peers(exchanges);
    runtime->context_->set_communicators(communicators, communicators.get());
    if (!runtime->context_->patience().has_limit()) continue;
    SINTER_ASSIGN_OR_RETURN(std::unique_ptr<ExchangeProgress> progress, ExchangeProgress::Create());
    if (exchanges != nullptr) {
      progress->set_marker(
          [exchanges](uint32_t* mark, cudaStream_t on) { return exchanges->SetMark(mark, on); });
    }
    runtime->context_->set_progress(std::move(progress));
  }
  return absl::OkStatus();
}

absl::Status CudaRuntime::EndExchanges() {
  if (context_->progress() == nullptr) return absl::OkStatus();
  cudaStream_t exchanges = context_->collective_stream();
  cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
  SINTER_RETURN_IF_ERROR(
      CudaStatus(cudaStreamIsCapturing(exchanges, &capture), "ask whether exchanges are captured"));
  if (capture == cudaStreamCaptureStatusNone) return absl::OkStatus();
  SINTER_RETURN_IF_ERROR(context_->progress()->End(exchanges));
  SINTER_RETURN_IF_ERROR(CudaStatus(cudaEventRecord(exchanged_.get(), exchanges), "end exchanges"));
  return CudaStatus(cudaStreamWaitEvent(stream(), exchanged_.get(), 0), "wait for exchanges");
}

absl::Status CudaRuntime::PrepareWhile() {
  if (conditions_ != nullptr) return absl::OkStatus();
  const CudaDeviceScope on(context_->index());
  SINTER_ASSIGN_OR_RETURN(conditions_, GraphConditions::Load());
  return absl::OkStatus();
}

absl::Status CudaRuntime::RunWhile(const void* flag, void* count, int64_t trips,
                                   absl::FunctionRef<absl::Status()> body) {
  const CudaDeviceScope on(context_->index());
  cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
  SINTER_RETURN_IF_ERROR(
      CudaStatus(cudaStreamIsCapturing(stream(), &capture), "ask whether steps are captured"));
  if (capture == cudaStreamCaptureStatusNone) return DeviceRuntime::RunWhile(flag, count, trips, body);
  // The exchanges so far have ended for the steps (FindCollectiveWaits); their stream leaves the capture.
  SINTER_RETURN_IF_ERROR(EndExchanges());
  return conditions_->Capture(*context_, {.flag = flag, .count = count, .trips = trips}, body);
}

absl::Status CudaRuntime::UploadBy(StagingRing& ring, cudaStream_t stream, std::byte* to, const void* from,
                                   size_t bytes, const ThreadPool& pool) {
  traffic_.uploaded += static_cast<int64_t>(bytes);
  for (size_t done = 0; done < bytes;) {
    SINTER_ASSIGN_OR_RETURN(const std::span<std::byte> piece, ring.Take(bytes - done));
    const std::byte* const source = static_cast<const std::byte*>(from) + done;
    pool.ParallelFor(static_cast<int64_t>(piece.size()), kCopyGrain, [&](int64_t begin, int64_t end, int) {
      std::memcpy(piece.data() + begin, source + begin, static_cast<size_t>(end - begin));
    });
    SINTER_RETURN_IF_ERROR(CudaStatus(
        cudaMemcpyAsync(to + done, piece.data(), piece.size(), cudaMemcpyHostToDevice, stream), "upload"));
    done += piece.size();
  }
  return absl::OkStatus();
}

absl::Status CudaRuntime::Upload(void* to, const void* from, size_t bytes) {
  const CudaDeviceScope on(context_->index());
  return UploadBy(*ring_, stream(), static_cast<std::byte*>(to), from, bytes, pool_);
}

absl::Status CudaRuntime::UploadInputs(void* to, void* input_staging, std::span<const InputPiece> pieces,
                                       size_t bytes) {
  const CudaDeviceScope on(context_->index());
  cudaStream_t input_stream = context_->input_stream();
  SINTER_RETURN_IF_ERROR(CudaStatus(cudaStreamWaitEvent(input_stream, cleared_.get(), 0),
                                    "wait for the inputs of the last run"));
  for (const InputPiece& piece : pieces) {
    std::byte* const target = static_cast<std::byte*>(input_staging) + piece.offset;
    if (IsPinned(piece.from, piece.bytes)) {
      SINTER_RETURN_IF_ERROR(CudaStatus(
          cudaMemcpyAsync(target, piece.from, piece.bytes, cudaMemcpyHostToDevice, input_stream), "upload"));
      traffic_.uploaded += static_cast<int64_t>(piece.bytes);
      traffic_.from_pinned += static_cast<int64_t>(piece.bytes);
      reads_inputs_ = true;
      continue;
    }
    SINTER_RETURN_IF_ERROR(UploadBy(*input_ring_, input_stream, target, piece.from, piece.bytes));
  }
  SINTER_RETURN_IF_ERROR(CudaStatus(cudaEventRecord(staged_.get(), input_stream), "record an event"));
  SINTER_RETURN_IF_ERROR(CudaStatus(cudaStreamWaitEvent(stream(), staged_.get(), 0), "wait for inputs"));
  SINTER_RETURN_IF_ERROR(CudaStatus(
      cudaMemcpyAsync(to, input_staging, bytes, cudaMemcpyDeviceToDevice, stream()), "place inputs"));
  return CudaStatus(cudaEventRecord(cleared_.get(), stream()), "record an event");
}

absl::Status CudaRuntime::FinishInputs() {
  if (!std::exchange(reads_inputs_, false)) return absl::OkStatus();
  const CudaDeviceScope on(context_->index());
  return context_->WaitForInputs("upload inputs from pinned memory");
}

// Overlaps the CPU's copy of one piece out of pinned memory with the transfer of the next piece.
absl::Status CudaRuntime::Download(void* to, const void* from, size_t bytes) {
  const CudaDeviceScope on(context_->index());
  traffic_.downloaded += static_cast<int64_t>(bytes);
  ++traffic_.downloads;
  std::span<std::byte> before;
  std::byte* target = static_cast<std::byte*>(to);
  const auto finish_before = [&]() -> absl::Status {
    SINTER_RETURN_IF_ERROR(context_->WaitFor(arrived_before_.get(), "download"));
    std::memcpy(target, before.data(), before.size());
    target += before.size();
    return absl::OkStatus();
  };
  for (size_t asked = 0; asked < bytes;) {
    SINTER_ASSIGN_OR_RETURN(const std::span<std::byte> piece, ring_->Take(bytes - asked));
    SINTER_RETURN_IF_ERROR(
        CudaStatus(cudaMemcpyAsync(piece.data(), static_cast<const std::byte*>(from) + asked, piece.size(),
                                   cudaMemcpyDeviceToHost, stream()),
                   "download"));
    SINTER_RETURN_IF_ERROR(CudaStatus(cudaEventRecord(arrived_.get(), stream()), "record an event"));
    if (!before.empty()) SINTER_RETURN_IF_ERROR(finish_before());
    before = piece;
    std::swap(arrived_, arrived_before_);
    asked += piece.size();
  }
  return before.empty() ? absl::OkStatus() : finish_before();
}

absl::Status CudaRuntime::Fill(void* to, uint8_t value, size_t bytes) {
  if (bytes == 0) return absl::OkStatus();
  const CudaDeviceScope on(context_->index());
  return CudaStatus(cudaMemsetAsync(to, value, bytes, stream()), "fill memory");
}

absl::Status CudaRuntime::Synchronize() {
  const CudaDeviceScope on(context_->index());
  return context_->WaitForStream(absl::StrCat("finish the work of ", device().ToString()));
}

absl::Status CudaRuntime::WaitForStream(CudaRuntime& other) {
  {
    const CudaDeviceScope on(other.context_->index());
    SINTER_RETURN_IF_ERROR(
        CudaStatus(cudaEventRecord(other.given_.get(), other.stream()), "record an event"));
  }
  const CudaDeviceScope on(context_->index());
  return CudaStatus(cudaStreamWaitEvent(stream(), other.given_.get(), 0),
                    absl::StrCat("let ", device().ToString(), " wait for ", other.device().ToString()));
}

absl::Status CudaRuntime::WaitFor(DeviceRuntime& other) {
  if (other.is_host_memory() || &other == this) return absl::OkStatus();
  SINTER_ASSIGN_OR_RETURN(CudaRuntime* const runtime, Cast(other));
  return WaitForStream(*runtime);
}

absl::Status CudaRuntime::CopyFrom(DeviceRuntime& other, void* to, const void* from, size_t bytes) {
  if (bytes == 0) return absl::OkStatus();
  if (other.is_host_memory()) {
    return UploadBy(*ring_, stream(), static_cast<std::byte*>(to), from, bytes);
  }
  SINTER_ASSIGN_OR_RETURN(CudaRuntime* const cast, Cast(other));
  CudaRuntime& owner = *cast;
  traffic_.copied += static_cast<int64_t>(bytes);
  const int reader_index = context_->index(), owner_index = owner.context_->index();
  SINTER_ASSIGN_OR_RETURN(const bool direct, EnablePeerAccess(reader_index, owner_index));
  if (!direct) {
    return CopyThroughPinned(owner, static_cast<std::byte*>(to), static_cast<const std::byte*>(from), bytes);
  }
  const CudaDeviceScope on(reader_index);
  return CudaStatus(cudaMemcpyPeerAsync(to, reader_index, from, owner_index, bytes, stream()),
                    absl::StrCat("copy from ", owner.device().ToString(), " to ", device().ToString()));
}

absl::Status CudaRuntime::CopyThroughPinned(CudaRuntime& other, std::byte* to, const std::byte* from,
                                            size_t bytes) {
  for (size_t done = 0; done < bytes;) {
    absl::StatusOr<std::span<std::byte>> piece = [&] {
      const CudaDeviceScope on(context_->index());
      return ring_->Take(bytes - done);
    }();
    SINTER_RETURN_IF_ERROR(piece.status());
    {
      const CudaDeviceScope on(other.context_->index());
      SINTER_RETURN_IF_ERROR(CudaStatus(
          cudaMemcpyAsync(piece->data(), from + done, piece->size(), cudaMemcpyDeviceToHost, other.stream()),
          absl::StrCat("copy from ", other.device().ToString())));
    }
    SINTER_RETURN_IF_ERROR(WaitForStream(other));
    const CudaDeviceScope on(context_->index());
    SINTER_RETURN_IF_ERROR(
        CudaStatus(cudaMemcpyAsync(to + done, piece->data(), piece->size(), cudaMemcpyHostToDevice, stream()),
                   absl::StrCat("copy to ", device().ToString())));
    done += piece->size();
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<EventTimer>> CudaRuntime::MakeEventTimer(size_t events) {
  if (!seconds_per_event_.has_value()) {
    SINTER_ASSIGN_OR_RETURN(seconds_per_event_, MeasureCudaMark(*context_));
  }
  return MakeCudaEventTimer(*context_, events, *seconds_per_event_);
}

}  // namespace

absl::StatusOr<std::unique_ptr<DeviceRuntime>> MakeCudaRuntime(Device device,
                                                               const CudaRuntimeOptions& options) {
  if (!device.is_gpu()) {
    return absl::InvalidArgumentError(absl::StrCat(device.ToString(), " is no GPU"));
  }
  return CudaRuntime::Make(device.index(), options);
}

}  // namespace sinter
