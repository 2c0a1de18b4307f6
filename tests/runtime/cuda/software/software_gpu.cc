// Devices, memory, streams and events of GPUs in software. software_graphs.cc holds the graphs, and
// software_kernels.cc the kernels.
#include "sinter/tests/runtime/cuda/software/software_gpu.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>
#include <utility>

#include "sinter/tests/runtime/fault_points.h"

namespace sinter::software {
namespace {

// Time limit of a wait: work that cannot continue is a fault of the test.
constexpr std::chrono::seconds kLimit(20);
constexpr double kSecondsOfWork = 1e-6;
constexpr size_t kAlignment = 512;

thread_local int current_device = 0;
thread_local cudaError_t last_error = cudaSuccess;

using Lock = std::lock_guard<std::recursive_mutex>;

cudaError_t Allocate(void** made, size_t bytes, int device) {
  void* const data = std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
  if (data == nullptr) return Answer(cudaErrorMemoryAllocation);
  // Fresh memory has arbitrary contents, as on a GPU. Only the beginning is filled, because pinned memory is
  // large.
  std::memset(data, 0xa5, std::min(bytes, size_t{1} << 16));
  TheMachine().memory[data] = {bytes, device};
  *made = data;
  return cudaSuccess;
}

}  // namespace

Machine& TheMachine() {
  static Machine& machine = *new Machine;
  return machine;
}

int CurrentDevice() { return current_device; }

cudaError_t Answer(cudaError_t code) {
  if (code != cudaSuccess && code != cudaErrorNotReady) last_error = code;
  return code;
}

cudaError_t Lost() { return TheMachine().lost[current_device]; }

bool Machine::RunOne() {
  for (Stream* const stream : streams) {
    if (lost[stream->device] != cudaSuccess) stream->work.clear();
    if (stream->work.empty() || !stream->work.front()()) continue;
    stream->work.pop_front();
    seconds += kSecondsOfWork;
    return true;
  }
  return false;
}

bool Machine::WaitUntil(const std::function<bool()>& is_true) {
  const auto limit = std::chrono::steady_clock::now() + kLimit;
  while (true) {
    {
      const Lock lock(mutex);
      for (bool has_moved = true; has_moved; has_moved = RunOne()) {
        if (is_true()) return true;
      }
    }
    if (std::chrono::steady_clock::now() > limit) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

size_t Machine::FreeBytes(int device) const {
  size_t used = 0;
  for (const auto& [data, piece] : memory) used += piece.second == device ? piece.first : 0;
  return used < kBytes ? kBytes - used : 0;
}

bool Machine::IsPinned(const void* data) const {
  auto after = memory.upper_bound(data);
  if (after == memory.begin()) return false;
  const auto& [begin, piece] = *--after;
  return piece.second < 0 && static_cast<const char*>(data) < static_cast<const char*>(begin) + piece.first;
}

bool SpoilsCapture() {
  for (Stream* const stream : TheMachine().streams) {
    if (!stream->is_origin || stream->thread != std::this_thread::get_id()) continue;
    stream->capture->is_spoiled = true;
    return true;
  }
  return false;
}

void Give(cudaStream_t to, MakeWork make, cudaGraphNodeType type) {
  Stream& stream = *Of(to);
  if (stream.capture == nullptr) {
    stream.work.push_back(make());
    return;
  }
  auto node = std::make_unique<Node>(Node{std::move(make), stream.after, type, stream.priority});
  stream.after = {stream.capture->nodes.size()};
  stream.capture->nodes.push_back(std::move(node));
}

// Devices and errors
// ------------------------------------------------------------------------------------------

cudaError_t cudaGetDeviceCount(int* count) {
  *count = Machine::kGpus;
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  *device = current_device;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  if (device < 0 || device >= Machine::kGpus) return Answer(cudaErrorInvalidDevice);
  current_device = device;
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) {
  *version = 13000;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  *properties = {};
  std::strcpy(properties->name, "a GPU in software");
  properties->major = 9;
  properties->multiProcessorCount = 1;
  properties->maxThreadsPerBlock = 1024;
  properties->sharedMemPerBlockOptin = 200 << 10;
  properties->totalGlobalMem = Machine::kBytes;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* lowest, int* highest) {
  *lowest = 0, *highest = -5;
  return cudaSuccess;
}
cudaError_t cudaDeviceCanAccessPeer(int* can, int, int) {
  *can = 1;
  return cudaSuccess;
}
cudaError_t cudaDeviceEnablePeerAccess(int, unsigned) { return cudaSuccess; }
cudaError_t cudaGetLastError() {
  const cudaError_t code = std::exchange(last_error, cudaSuccess);
  return Lost() != cudaSuccess ? Lost() : code;
}
cudaError_t cudaPeekAtLastError() { return Lost() != cudaSuccess ? Lost() : last_error; }

// Memory
// ------------------------------------------------------------------------------------------------------

cudaError_t cudaMalloc(void** made, size_t bytes) {
  const Lock lock(TheMachine().mutex);
  if (Lost() != cudaSuccess) return Answer(Lost());
  if (SpoilsCapture()) return Answer(cudaErrorStreamCaptureUnsupported);
  if (bytes > TheMachine().FreeBytes(current_device)) return Answer(cudaErrorMemoryAllocation);
  return Allocate(made, bytes, current_device);
}
cudaError_t cudaHostAlloc(void** made, size_t bytes, unsigned) {
  const Lock lock(TheMachine().mutex);
  if (Lost() != cudaSuccess) return Answer(Lost());
  if (SpoilsCapture()) return Answer(cudaErrorStreamCaptureUnsupported);
  return Allocate(made, bytes, -1);
}
cudaError_t cudaDeviceSynchronize() {
  Machine& machine = TheMachine();
  const bool is_done = machine.WaitUntil([&] {
    for (Stream* const stream : machine.streams) {
      if (stream->device == current_device && !stream->work.empty()) return false;
    }
    return true;
  });
  return Answer(Lost() != cudaSuccess ? Lost() : is_done ? cudaSuccess : cudaErrorLaunchTimeout);
}
// Waits for the GPU, as in CUDA.
cudaError_t cudaFree(void* data) {
  if (data == nullptr) return cudaSuccess;
  if (const cudaError_t code = cudaDeviceSynchronize(); code != cudaSuccess) return code;
  const Lock lock(TheMachine().mutex);
  if (TheMachine().memory.erase(data) == 0) return Answer(cudaErrorInvalidValue);
  std::free(data);
  return cudaSuccess;
}
cudaError_t cudaFreeHost(void* data) { return cudaFree(data); }
cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  const Lock lock(TheMachine().mutex);
  if (Lost() != cudaSuccess) return Answer(Lost());
  *free = TheMachine().FreeBytes(current_device);
  *total = Machine::kBytes;
  return cudaSuccess;
}
cudaError_t cudaMemset(void* to, int value, size_t bytes) {
  const cudaError_t code = cudaDeviceSynchronize();
  if (code == cudaSuccess) std::memset(to, value, bytes);
  return code;
}

cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream) {
  const Lock lock(TheMachine().mutex);
  if (Lost() != cudaSuccess) return Answer(Lost());
  const auto work = [=] { return std::memset(to, value, bytes) != nullptr; };
  Give(stream, [=] { return work; }, cudaGraphNodeTypeMemset);
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  Machine& machine = TheMachine();
  std::shared_ptr<std::vector<std::byte>> staged;
  bool waits = false;
  {
    const Lock lock(machine.mutex);
    if (Lost() != cudaSuccess) return Answer(Lost());
    // Pageable memory is read before this call returns; copies to pageable memory wait.
    if (kind == cudaMemcpyHostToDevice && !machine.IsPinned(from)) {
      const auto* const data = static_cast<const std::byte*>(from);
      staged = std::make_shared<std::vector<std::byte>>(data, data + bytes);
    }
    waits = kind == cudaMemcpyDeviceToHost && !machine.IsPinned(to);
    const auto work = [=] {
      return std::memmove(to, staged == nullptr ? from : staged->data(), bytes) != nullptr;
    };
    Give(stream, [=] { return work; }, cudaGraphNodeTypeMemcpy);
  }
  if (waits) machine.WaitUntil([&] { return Of(stream)->work.empty(); });
  return Answer(Lost());
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* data) {
  const Lock lock(TheMachine().mutex);
  *attributes = {};
  attributes->type = TheMachine().IsPinned(data) ? cudaMemoryTypeHost : cudaMemoryTypeUnregistered;
  return Answer(Lost());
}
cudaError_t cudaMemcpyPeerAsync(void* to, int, const void* from, int, size_t bytes, cudaStream_t stream) {
  return software::cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream);
}

// Streams and events
// ------------------------------------------------------------------------------------------

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* made, unsigned, int priority) {
  const Lock lock(TheMachine().mutex);
  if (Lost() != cudaSuccess) return Answer(Lost());
  auto* const stream = new Stream;
  stream->device = current_device;
  stream->priority = priority;
  TheMachine().streams.insert(stream);
  *made = reinterpret_cast<cudaStream_t>(stream);
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  {
    const Lock lock(TheMachine().mutex);
    if (Of(stream)->capture != nullptr) {
      Of(stream)->capture->is_spoiled = true;
      return Answer(cudaErrorStreamCaptureUnsupported);
    }
  }
  const bool is_done = TheMachine().WaitUntil([&] { return Of(stream)->work.empty(); });
  if (const cudaError_t code = TheMachine().lost[Of(stream)->device]; code != cudaSuccess)
    return Answer(code);
  return Answer(is_done ? cudaSuccess : cudaErrorLaunchTimeout);
}
// Runs the stream's pending work first.
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const cudaError_t code = software::cudaStreamSynchronize(stream);
  const Lock lock(TheMachine().mutex);
  TheMachine().streams.erase(Of(stream));
  delete Of(stream);
  return code;
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  const Lock lock(TheMachine().mutex);
  if (!Of(stream)->work.empty()) TheMachine().RunOne();
  if (const cudaError_t code = TheMachine().lost[Of(stream)->device]; code != cudaSuccess)
    return Answer(code);
  return Of(stream)->work.empty() ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* made, unsigned) {
  const Lock lock(TheMachine().mutex);
  if (Lost() != cudaSuccess) return Answer(Lost());
  *made = reinterpret_cast<cudaEvent_t>(new Event);
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  const Lock lock(TheMachine().mutex);
  delete Of(event);
  return Answer(Lost());
}
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags) {
  const Lock lock(TheMachine().mutex);
  if (Lost() != cudaSuccess) return Answer(Lost());
  Stream& s = *Of(stream);
  if (s.capture != nullptr && flags != cudaEventRecordExternal) {
    Of(event)->capture = s.capture;
    Of(event)->after = s.after;
    return cudaSuccess;
  }
  Of(event)->capture = nullptr;
  const auto make = [event, device = s.device]() -> Work {
    auto mark = std::make_shared<Mark>(Mark{.device = device});
    Of(event)->mark = mark;
    return [mark] {
      mark->seconds = TheMachine().seconds;
      return mark->is_done = true;
    };
  };
  Give(stream, make, cudaGraphNodeTypeEventRecord);
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return software::cudaEventRecordWithFlags(event, stream, cudaEventRecordDefault);
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  const Lock lock(TheMachine().mutex);
  if (Lost() != cudaSuccess) return Answer(Lost());
  Stream& s = *Of(stream);
  Event& e = *Of(event);
  if (e.capture != nullptr) {
    const bool is_over = std::ranges::none_of(TheMachine().streams,
                                              [&](Stream* other) { return other->capture == e.capture; });
    if (is_over) return Answer(cudaErrorCapturedEvent);
    // The stream joins the capture, or belongs to it already.
    if (s.capture != nullptr && s.capture != e.capture) return Answer(cudaErrorStreamCaptureMerge);
    if (s.capture == nullptr) s.after.clear();  // Nodes of an earlier capture.
    s.capture = e.capture;
    s.after.insert(s.after.end(), e.after.begin(), e.after.end());
    return cudaSuccess;
  }
  if (s.capture != nullptr) {
    s.capture->is_spoiled = true;
    return Answer(cudaErrorStreamCaptureIsolation);
  }
  if (e.mark == nullptr) return cudaSuccess;
  const auto wait = [mark = e.mark] {
    return mark->is_done || TheMachine().lost[mark->device] != cudaSuccess;
  };
  s.work.emplace_back(wait);
  return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  const Lock lock(TheMachine().mutex);
  const std::shared_ptr<Mark> mark = Of(event)->mark;
  if (mark != nullptr && !mark->is_done) TheMachine().RunOne();
  if (mark == nullptr || mark->is_done) return Answer(Lost());
  if (const cudaError_t code = TheMachine().lost[mark->device]; code != cudaSuccess) return Answer(code);
  return cudaErrorNotReady;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  cudaError_t code = cudaErrorNotReady;
  const auto has_ended = [&] { return (code = software::cudaEventQuery(event)) != cudaErrorNotReady; };
  return TheMachine().WaitUntil(has_ended) ? code : Answer(cudaErrorLaunchTimeout);
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t first, cudaEvent_t second) {
  const Lock lock(TheMachine().mutex);
  if (Lost() != cudaSuccess) return Answer(Lost());
  const std::shared_ptr<Mark> a = Of(first)->mark, b = Of(second)->mark;
  if (a == nullptr || b == nullptr) return Answer(cudaErrorInvalidResourceHandle);
  if (!a->is_done || !b->is_done) return Answer(cudaErrorNotReady);
  *milliseconds = static_cast<float>((b->seconds - a->seconds) * 1e3);
  return cudaSuccess;
}

}  // namespace sinter::software
