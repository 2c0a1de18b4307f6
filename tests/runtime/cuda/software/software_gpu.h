// Simulates two GPUs in software, for tests of runtime/cuda on machines without GPUs.
// It has the functions of CUDA's runtime, cuBLASLt and NCCL that Sinter calls, under their own names, and
// checks their rules.
//
//   namespace sinter::software: cudaMalloc(&ptr, bytes), ...   // faulty_calls.cc redirects the calls here.
//
// A stream's work runs when something waits for it. Only events order the work of different streams, so a
// missing wait reads old values. The nodes of a graph run in reverse order, as far as its edges allow. Calls
// that are forbidden during a capture (allocations, waits) fail and invalidate the capture. An error that
// ends a device's context is permanent.
//
// Kernels are found by name, whatever the image: add_f32, scale_f32 (test_plan.h), trap_f32, which ends the
// context of its GPU, and that of exchanges (kernels/cuda/exchange). cuBLASLt supports f32 matmuls without an
// epilogue; NCCL supports f32 sums and means by all members.
#ifndef SINTER_TESTS_RUNTIME_CUDA_SOFTWARE_SOFTWARE_GPU_H_
#define SINTER_TESTS_RUNTIME_CUDA_SOFTWARE_SOFTWARE_GPU_H_

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

// A piece of work on a stream. Returns true when done, false while it waits for other streams.
using Work = std::function<bool()>;
// Makes the work of a graph node for one launch.
using MakeWork = std::function<Work()>;

// A position in a stream.
struct Mark {
  int device = 0;
  bool is_done = false;
  double seconds = 0;
};

struct Node {
  MakeWork make;
  std::vector<size_t> before;
  cudaGraphNodeType type;
  int priority;
};

struct Graph {
  std::vector<std::unique_ptr<Node>> nodes;
  std::vector<cudaGraphNode_t> last;  // Last nodes, as cudaStreamGetCaptureInfo reports.
  bool is_spoiled = false;
};

struct Stream {
  int device = 0;
  int priority = 0;
  std::deque<Work> work;
  Graph* capture = nullptr;  // Null if the stream is not captured.
  bool is_origin = false;
  std::thread::id thread;     // The thread that began the capture.
  std::vector<size_t> after;  // Nodes that the next node comes after.
};

struct Event {
  std::shared_ptr<Mark> mark;  // Null if never recorded.
  Graph* capture = nullptr;    // Capture in which it was captured, else null.
  std::vector<size_t> after;
};

// The state of the process. Every function locks the mutex.
struct Machine {
  static constexpr int kGpus = 4;
  static constexpr size_t kBytes = size_t{1} << 30;  // Memory of each GPU.

  std::recursive_mutex mutex;
  std::set<Stream*> streams;
  std::map<const void*, std::pair<size_t, int>> memory;  // Bytes and GPU; -1 for pinned memory.
  cudaError_t lost[kGpus] = {};                          // cudaSuccess if the GPU is not lost.
  double seconds = 0;                                    // A clock that each piece of work advances.
  int absent = -1;  // A GPU that takes no part in collectives, and does not wait for them; -1: none.

  // Runs a piece of work that can run. False if there is none.
  bool RunOne();
  // Runs work until `is_true` returns true, and no more work than that. False after a time limit.
  bool WaitUntil(const std::function<bool()>& is_true);
  size_t FreeBytes(int device) const;
  bool IsPinned(const void* data) const;
};
Machine& TheMachine();

// The current GPU of this thread.
int CurrentDevice();
// Stores `code` for cudaGetLastError and returns it.
cudaError_t Answer(cudaError_t code);
// The error that ended the current device's context, or cudaSuccess.
cudaError_t Lost();
// True if this thread captures a stream. Then it invalidates the capture, because the caller must not be
// captured.
bool SpoilsCapture();
// Adds the work to the stream, or to the graph if the stream is captured.
void Give(cudaStream_t stream, MakeWork make, cudaGraphNodeType type);

inline Stream* Of(cudaStream_t stream) { return reinterpret_cast<Stream*>(stream); }
inline Event* Of(cudaEvent_t event) { return reinterpret_cast<Event*>(event); }
inline Graph* Of(cudaGraph_t graph) { return reinterpret_cast<Graph*>(graph); }

}  // namespace sinter::software

#endif  // SINTER_TESTS_RUNTIME_CUDA_SOFTWARE_SOFTWARE_GPU_H_
