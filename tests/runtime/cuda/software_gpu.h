// GPUs in software, for tests of runtime/cuda where there is none: the part of CUDA's runtime, cuBLASLt and NCCL that Sinter
// calls, with the rules that it must keep. Functions have the names of those that they stand for.
//
//   namespace sinter::software: cudaMalloc(&ptr, bytes), cudaLaunchKernelExC(...), ...   // Put in place by faulty_calls.cc.
//
// Work of a stream runs when somebody waits for it, and among streams in no order but that of events: whoever forgets to wait
// reads old values. The nodes of a graph run the latest first, as far as their edges let them. What may not be done while a
// stream is captured (to allocate, to wait) fails and spoils the capture. An error that ends a device's context stays.
//
// Kernels, by name, whatever the image: add_f32, scale_f32 (test_plan.h) and trap_f32, which ends the context of its GPU. Of
// cuBLASLt: products of f32 without an epilogue. Of NCCL: sums and means of f32 by all members. There are two GPUs.
#ifndef SINTER_TESTS_RUNTIME_CUDA_SOFTWARE_GPU_H_
#define SINTER_TESTS_RUNTIME_CUDA_SOFTWARE_GPU_H_

#include <cuda_runtime_api.h>

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

namespace sinter::software {

// Work under way: true when it is done. It may have to wait for other streams.
using Work = std::function<bool()>;
// Of a graph: work for one launch.
using MakeWork = std::function<Work()>;

// A place in a stream.
struct Mark {
  int device = 0;
  bool is_done = false;
  double seconds = 0;
};

struct Node {
  MakeWork make;
  std::vector<size_t> before;
  cudaGraphNodeType type;
};

struct Graph {
  std::vector<std::unique_ptr<Node>> nodes;
  std::vector<cudaGraphNode_t> last;  // What cudaStreamGetCaptureInfo shows.
  bool is_spoiled = false;
};

struct Stream {
  int device = 0;
  std::deque<Work> work;
  Graph* capture = nullptr;  // Null: it is not captured.
  bool is_origin = false;
  std::thread::id thread;     // Which began the capture.
  std::vector<size_t> after;  // Nodes that the next one comes after.
};

struct Event {
  std::shared_ptr<Mark> mark;  // Null: never recorded.
  Graph* capture = nullptr;    // Where it was recorded, if that was captured.
  std::vector<size_t> after;
};

// All of a process. Every function locks it.
struct Machine {
  static constexpr int kGpus = 2;
  static constexpr size_t kBytes = size_t{1} << 30;  // Of each GPU.

  std::recursive_mutex mutex;
  std::set<Stream*> streams;
  std::map<const void*, std::pair<size_t, int>> memory;  // Bytes and GPU; -1: pinned.
  cudaError_t lost[kGpus] = {};                          // cudaSuccess: it is not.
  double seconds = 0;                                    // A clock that each piece of work moves on.

  // Runs a piece of work that can run. False: none can.
  bool RunOne();
  // Until it is true, running no more than that needs: false after many seconds.
  bool WaitUntil(const std::function<bool()>& is_true);
  size_t FreeBytes(int device) const;
  bool IsPinned(const void* data) const;
};
Machine& TheMachine();

// Of this thread.
int CurrentDevice();
// What the function returns, kept for cudaGetLastError.
cudaError_t Answer(cudaError_t code);
// The error that ended the current device's context.
cudaError_t Lost();
// Whether this thread captures a stream: then the capture is spoiled, for the call is none that may be captured.
bool SpoilsCapture();
// To the stream, or into what it is captured to.
void Give(cudaStream_t stream, MakeWork make, cudaGraphNodeType type);

inline Stream* Of(cudaStream_t stream) { return reinterpret_cast<Stream*>(stream); }
inline Event* Of(cudaEvent_t event) { return reinterpret_cast<Event*>(event); }
inline Graph* Of(cudaGraph_t graph) { return reinterpret_cast<Graph*>(graph); }

}  // namespace sinter::software

#endif  // SINTER_TESTS_RUNTIME_CUDA_SOFTWARE_GPU_H_
