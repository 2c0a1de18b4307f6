#include "sinter/tests/runtime/cuda/faulty_calls.h"

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <cudnn_graph.h>
#include <dlfcn.h>
#include <nccl.h>

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string_view>
#include <type_traits>

#include "sinter/tests/runtime/fault_points.h"

extern "C" {
cudaError_t __real_cudaGetDeviceCount(int* count);
void* __real_dlopen(const char* path, int mode);
void* __real_dlsym(void* handle, const char* name);
}

namespace sinter {
namespace {

enum class Fault {
  kNever,
  kInstead,  // Instead of making the call.
  kAfter,    // The call takes effect (frees, ends, waits) and then reports an error.
};

struct CallInfo {
  const char* name;
  int code = 0;  // The library's error code for a failure.
  Fault fault = Fault::kInstead;
  const char* object = nullptr;  // Kind of object that the call makes or destroys.
  int change = 0;
};

struct Counts {
  std::mutex mutex;
  std::map<std::string, int> live;
};
Counts& TheCounts() {
  static Counts& counts = *new Counts;
  return counts;
}

void Count(const CallInfo& info, bool is_success) {
  if (info.object == nullptr || (info.change > 0 && !is_success)) return;
  const std::lock_guard lock(TheCounts().mutex);
  TheCounts().live[info.object] += info.change;
}

// True for success. ncclInProgress is no failure of a non-blocking communicator.
template <typename Result>
bool IsSuccess(Result result) {
  if constexpr (std::is_same_v<Result, ncclResult_t>)
    return result == ncclSuccess || result == ncclInProgress;
  return static_cast<int>(result) == 0;
}

template <typename Function>
struct CallOf;
template <typename Result, typename... Arguments>
struct CallOf<Result(Arguments...)> {
  template <const CallInfo& info, typename Next>
  static Result Call(Next next, Arguments... arguments) {
    if constexpr (info.fault == Fault::kNever) {
      return next(arguments...);
    } else {
      const bool fails = FaultPoints::Fails(info.name);
      if (fails && info.fault == Fault::kInstead) return static_cast<Result>(info.code);
      const Result result = next(arguments...);
      Count(info, IsSuccess(result));
      return fails ? static_cast<Result>(info.code) : result;
    }
  }
  template <const CallInfo& info, auto* software, auto* real>
  static Result OfCuda(Arguments... arguments) {
    return Call<info>(UsesSoftwareGpu() ? software : real, arguments...);
  }
  // For a library that is opened at first use; `next` is null in software.
  template <const CallInfo& info, auto* software>
  static Result OfLibrary(Arguments... arguments) {
    return Call<info>(UsesSoftwareGpu() ? software : next<info>, arguments...);
  }
  // For a library that has no software version.
  template <const CallInfo& info>
  static Result OfRealLibrary(Arguments... arguments) {
    return Call<info>(next<info>, arguments...);
  }
  template <const CallInfo& info>
  static inline Result (*next)(Arguments...) = nullptr;
};

struct LibraryCall {
  void* wrapper;
  void** next;
};
std::map<std::string, LibraryCall, std::less<>>& LibraryCalls() {
  static auto& calls = *new std::map<std::string, LibraryCall, std::less<>>;
  return calls;
}

template <typename Pointer>
bool AddLibraryCall(const CallInfo& info, Pointer wrapper, Pointer* next) {
  LibraryCalls()[info.name] = {reinterpret_cast<void*>(wrapper), reinterpret_cast<void**>(next)};
  return true;
}

bool IsInSoftware(std::string_view path) {
  return path.find("libcublasLt.so") != path.npos || path.find("libnccl.so") != path.npos;
}

}  // namespace

bool UsesSoftwareGpu() {
  static const bool uses = [] {
    const char* const wanted = std::getenv("SINTER_SOFTWARE_GPU");
    if (wanted != nullptr && std::string_view(wanted) == "1") return true;
    int count = 0;
    return __real_cudaGetDeviceCount(&count) != cudaSuccess || count == 0;
  }();
  return uses;
}

std::map<std::string, int> LiveObjects() {
  const std::lock_guard lock(TheCounts().mutex);
  return TheCounts().live;
}

}  // namespace sinter

// CUDA's runtime is linked statically. With --wrap, the linker redirects calls of `name` to __wrap_`name`.
#define SINTER_CUDA_CALL_AS(type, name, ...)                                                         \
  namespace sinter::software {                                                                       \
  type name;                                                                                         \
  }                                                                                                  \
  extern "C" type __real_##name;                                                                     \
  namespace sinter {                                                                                 \
  static constexpr CallInfo k_##name{#name __VA_OPT__(, ) __VA_ARGS__};                              \
  }                                                                                                  \
  extern "C" std::add_pointer_t<type> sinter_resolve_##name() {                                      \
    return &sinter::CallOf<type>::OfCuda<sinter::k_##name, &sinter::software::name, &__real_##name>; \
  }                                                                                                  \
  extern "C" type __wrap_##name __attribute__((ifunc("sinter_resolve_" #name)));
#define SINTER_CUDA_CALL(name, ...) SINTER_CUDA_CALL_AS(decltype(::name), name, __VA_ARGS__)

#define SINTER_LIBRARY_CALL(name, ...)                                                          \
  namespace sinter::software {                                                                  \
  decltype(::name) name;                                                                        \
  }                                                                                             \
  namespace sinter {                                                                            \
  static constexpr CallInfo k_##name{#name __VA_OPT__(, ) __VA_ARGS__};                         \
  static const bool has_##name =                                                                \
      AddLibraryCall(k_##name, &CallOf<decltype(::name)>::OfLibrary<k_##name, &software::name>, \
                     &CallOf<decltype(::name)>::next<k_##name>);                                \
  }

#define SINTER_REAL_LIBRARY_CALL(name, ...)                                        \
  namespace sinter {                                                               \
  static constexpr CallInfo k_##name{#name __VA_OPT__(, ) __VA_ARGS__};            \
  static const bool has_##name =                                                   \
      AddLibraryCall(k_##name, &CallOf<decltype(::name)>::OfRealLibrary<k_##name>, \
                     &CallOf<decltype(::name)>::next<k_##name>);                   \
  }

// NOLINTBEGIN(bugprone-reserved-identifier): names that the linker wants.
using sinter::Fault;
constexpr int kNoMemory = cudaErrorMemoryAllocation, kSystem = cudaErrorOperatingSystem,
              kResources = cudaErrorLaunchOutOfResources;

SINTER_CUDA_CALL(cudaGetLastError, 0, Fault::kNever)
SINTER_CUDA_CALL(cudaPeekAtLastError, 0, Fault::kNever)
SINTER_CUDA_CALL(cudaGetDeviceCount, cudaErrorInitializationError)
SINTER_CUDA_CALL(cudaGetDevice, kSystem)
SINTER_CUDA_CALL(cudaSetDevice, cudaErrorDevicesUnavailable)
SINTER_CUDA_CALL(cudaDriverGetVersion, kSystem)
SINTER_CUDA_CALL(cudaGetDeviceProperties, kSystem)
SINTER_CUDA_CALL(cudaDeviceGetStreamPriorityRange, kSystem)
SINTER_CUDA_CALL(cudaDeviceCanAccessPeer, kSystem)
SINTER_CUDA_CALL(cudaDeviceEnablePeerAccess, kNoMemory)
SINTER_CUDA_CALL(cudaDeviceSynchronize, kSystem, Fault::kAfter)
// CUDA's C++ headers overload these functions.
using MallocType = cudaError_t(void**, size_t);
using HostAllocType = cudaError_t(void**, size_t, unsigned);
using GraphInstantiateType = cudaError_t(cudaGraphExec_t*, cudaGraph_t, unsigned long long);
SINTER_CUDA_CALL_AS(MallocType, cudaMalloc, kNoMemory, Fault::kInstead, "memory", 1)
SINTER_CUDA_CALL(cudaFree, kSystem, Fault::kAfter, "memory", -1)
SINTER_CUDA_CALL_AS(HostAllocType, cudaHostAlloc, kNoMemory, Fault::kInstead, "pinned memory", 1)
SINTER_CUDA_CALL(cudaFreeHost, kSystem, Fault::kAfter, "pinned memory", -1)
SINTER_CUDA_CALL(cudaMemGetInfo, kSystem)
SINTER_CUDA_CALL(cudaMemset, kSystem)
SINTER_CUDA_CALL(cudaMemsetAsync, kResources)
SINTER_CUDA_CALL(cudaMemcpyAsync, kResources)
// Only asks which memory an address is in: a failure is the answer that it is in none.
SINTER_CUDA_CALL(cudaPointerGetAttributes, 0, Fault::kNever)
SINTER_CUDA_CALL(cudaMemcpyPeerAsync, kResources)
SINTER_CUDA_CALL(cudaStreamCreateWithPriority, kNoMemory, Fault::kInstead, "stream", 1)
SINTER_CUDA_CALL(cudaStreamDestroy, kSystem, Fault::kAfter, "stream", -1)
SINTER_CUDA_CALL(cudaStreamSynchronize, kSystem, Fault::kAfter)
SINTER_CUDA_CALL(cudaStreamQuery, kSystem, Fault::kAfter)
SINTER_CUDA_CALL(cudaStreamWaitEvent, kResources)
SINTER_CUDA_CALL(cudaEventCreateWithFlags, kNoMemory, Fault::kInstead, "event", 1)
SINTER_CUDA_CALL(cudaEventDestroy, kSystem, Fault::kAfter, "event", -1)
SINTER_CUDA_CALL(cudaEventRecord, kResources)
SINTER_CUDA_CALL(cudaEventRecordWithFlags, kResources)
SINTER_CUDA_CALL(cudaEventQuery, kSystem, Fault::kAfter)
SINTER_CUDA_CALL(cudaEventSynchronize, kSystem, Fault::kAfter)
SINTER_CUDA_CALL(cudaEventElapsedTime, kSystem)
SINTER_CUDA_CALL(cudaLibraryLoadData, kNoMemory, Fault::kInstead, "library", 1)
SINTER_CUDA_CALL(cudaLibraryUnload, kSystem, Fault::kAfter, "library", -1)
SINTER_CUDA_CALL(cudaLibraryGetKernel, cudaErrorSymbolNotFound)
SINTER_CUDA_CALL(cudaKernelSetAttributeForDevice, kSystem)
SINTER_CUDA_CALL(cudaFuncGetParamInfo, kSystem)
SINTER_CUDA_CALL(cudaFuncGetAttributes, kNoMemory)
SINTER_CUDA_CALL(cudaLaunchKernelExC, kResources)
SINTER_CUDA_CALL(cudaStreamBeginCapture, kNoMemory)
SINTER_CUDA_CALL(cudaStreamIsCapturing, kSystem)
SINTER_CUDA_CALL(cudaStreamGetCaptureInfo, kSystem)
SINTER_CUDA_CALL(cudaStreamUpdateCaptureDependencies, kNoMemory)
SINTER_CUDA_CALL(cudaGraphDestroy, kSystem, Fault::kAfter, "graph", -1)
SINTER_CUDA_CALL(cudaGraphGetNodes, kSystem)
SINTER_CUDA_CALL(cudaGraphGetEdges, kSystem)
SINTER_CUDA_CALL(cudaGraphNodeGetType, kSystem)
SINTER_CUDA_CALL(cudaGraphKernelNodeGetAttribute, kSystem)
SINTER_CUDA_CALL(cudaGraphKernelNodeSetAttribute, kSystem)
SINTER_CUDA_CALL_AS(GraphInstantiateType, cudaGraphInstantiate, kNoMemory, Fault::kInstead, "capture", 1)
SINTER_CUDA_CALL(cudaGraphUpload, kNoMemory)
SINTER_CUDA_CALL(cudaGraphLaunch, kResources)
SINTER_CUDA_CALL(cudaGraphExecDestroy, kSystem, Fault::kAfter, "capture", -1)

// A capture whose end fails is over and gives no graph.
namespace sinter::software {
decltype(::cudaStreamEndCapture) cudaStreamEndCapture;
}
extern "C" decltype(cudaStreamEndCapture) __real_cudaStreamEndCapture;
extern "C" cudaError_t __wrap_cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  auto* const next =
      sinter::UsesSoftwareGpu() ? &sinter::software::cudaStreamEndCapture : &__real_cudaStreamEndCapture;
  const cudaError_t code = next(stream, graph);
  if (code != cudaSuccess) return code;
  sinter::Count({.name = "cudaStreamEndCapture", .object = "graph", .change = 1}, true);
  if (!sinter::FaultPoints::Fails("cudaStreamEndCapture")) return code;
  (void)cudaGraphDestroy(*graph);
  *graph = nullptr;
  return cudaErrorStreamCaptureInvalidated;
}

SINTER_LIBRARY_CALL(cublasLtGetVersion, 0, Fault::kNever)
SINTER_LIBRARY_CALL(cublasLtCreate, CUBLAS_STATUS_ALLOC_FAILED, Fault::kInstead, "cuBLASLt", 1)
SINTER_LIBRARY_CALL(cublasLtDestroy, CUBLAS_STATUS_INTERNAL_ERROR, Fault::kAfter, "cuBLASLt", -1)
SINTER_LIBRARY_CALL(cublasLtMatmul, CUBLAS_STATUS_EXECUTION_FAILED)
SINTER_LIBRARY_CALL(cublasLtMatmulDescCreate, CUBLAS_STATUS_ALLOC_FAILED, Fault::kInstead, "matmul", 1)
SINTER_LIBRARY_CALL(cublasLtMatmulDescDestroy, CUBLAS_STATUS_INTERNAL_ERROR, Fault::kAfter, "matmul", -1)
SINTER_LIBRARY_CALL(cublasLtMatmulDescSetAttribute, CUBLAS_STATUS_INVALID_VALUE)
SINTER_LIBRARY_CALL(cublasLtMatrixLayoutCreate, CUBLAS_STATUS_ALLOC_FAILED, Fault::kInstead, "layout", 1)
SINTER_LIBRARY_CALL(cublasLtMatrixLayoutDestroy, CUBLAS_STATUS_INTERNAL_ERROR, Fault::kAfter, "layout", -1)
SINTER_LIBRARY_CALL(cublasLtMatrixLayoutSetAttribute, CUBLAS_STATUS_INVALID_VALUE)
SINTER_LIBRARY_CALL(cublasLtMatmulPreferenceCreate, CUBLAS_STATUS_ALLOC_FAILED, Fault::kInstead, "preference",
                    1)
SINTER_LIBRARY_CALL(cublasLtMatmulPreferenceDestroy, CUBLAS_STATUS_INTERNAL_ERROR, Fault::kAfter,
                    "preference", -1)
SINTER_LIBRARY_CALL(cublasLtMatmulPreferenceSetAttribute, CUBLAS_STATUS_INVALID_VALUE)
SINTER_LIBRARY_CALL(cublasLtMatmulAlgoGetHeuristic, CUBLAS_STATUS_INTERNAL_ERROR)
SINTER_LIBRARY_CALL(cublasLtMatmulAlgoConfigGetAttribute, CUBLAS_STATUS_INVALID_VALUE)

SINTER_LIBRARY_CALL(ncclGetVersion, ncclSystemError)
SINTER_LIBRARY_CALL(ncclGetErrorString, 0, Fault::kNever)
SINTER_LIBRARY_CALL(ncclGetLastError, 0, Fault::kNever)
SINTER_LIBRARY_CALL(ncclGetUniqueId, ncclSystemError)
SINTER_LIBRARY_CALL(ncclCommInitRankConfig, ncclUnhandledCudaError, Fault::kInstead, "communicator", 1)
SINTER_LIBRARY_CALL(ncclCommGetAsyncError, ncclInternalError)
SINTER_LIBRARY_CALL(ncclCommFinalize, ncclSystemError, Fault::kAfter)
SINTER_LIBRARY_CALL(ncclCommDestroy, ncclSystemError, Fault::kAfter, "communicator", -1)
SINTER_LIBRARY_CALL(ncclCommAbort, ncclSystemError, Fault::kAfter, "communicator", -1)
SINTER_LIBRARY_CALL(ncclGroupStart, ncclInternalError)
SINTER_LIBRARY_CALL(ncclGroupEnd, ncclSystemError, Fault::kAfter)
SINTER_LIBRARY_CALL(ncclAllReduce, ncclUnhandledCudaError)
SINTER_LIBRARY_CALL(ncclReduce, ncclUnhandledCudaError)
SINTER_LIBRARY_CALL(ncclBroadcast, ncclUnhandledCudaError)
SINTER_LIBRARY_CALL(ncclAllGather, ncclUnhandledCudaError)
SINTER_LIBRARY_CALL(ncclReduceScatter, ncclUnhandledCudaError)
SINTER_LIBRARY_CALL(ncclSend, ncclUnhandledCudaError)
SINTER_LIBRARY_CALL(ncclRecv, ncclUnhandledCudaError)

constexpr int kCudnnMemory = CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
SINTER_REAL_LIBRARY_CALL(cudnnCreate, kCudnnMemory, Fault::kInstead, "cuDNN", 1)
SINTER_REAL_LIBRARY_CALL(cudnnDestroy, CUDNN_STATUS_INTERNAL_ERROR, Fault::kAfter, "cuDNN", -1)
SINTER_REAL_LIBRARY_CALL(cudnnSetStream, CUDNN_STATUS_INTERNAL_ERROR)
SINTER_REAL_LIBRARY_CALL(cudnnBackendCreateDescriptor, kCudnnMemory, Fault::kInstead, "descriptor", 1)
SINTER_REAL_LIBRARY_CALL(cudnnBackendDestroyDescriptor, CUDNN_STATUS_INTERNAL_ERROR, Fault::kAfter,
                         "descriptor", -1)
SINTER_REAL_LIBRARY_CALL(cudnnBackendFinalize, CUDNN_STATUS_INTERNAL_ERROR)
SINTER_REAL_LIBRARY_CALL(cudnnBackendSetAttribute, kCudnnMemory)
SINTER_REAL_LIBRARY_CALL(cudnnBackendGetAttribute, CUDNN_STATUS_INTERNAL_ERROR)
SINTER_REAL_LIBRARY_CALL(cudnnBackendExecute, CUDNN_STATUS_EXECUTION_FAILED)

// The libraries in software are part of this program, so dlopen returns the program.
extern "C" void* __wrap_dlopen(const char* path, int mode) {
  // Checks the path first, which avoids a recursion: UsesSoftwareGpu makes CUDA's runtime open its driver by
  // dlopen.
  const bool is_in_software = path != nullptr && sinter::IsInSoftware(path) && sinter::UsesSoftwareGpu();
  return __real_dlopen(is_in_software ? nullptr : path, mode);
}

extern "C" void* __wrap_dlsym(void* handle, const char* name) {
  const auto call = sinter::LibraryCalls().find(std::string_view(name));
  if (call == sinter::LibraryCalls().end()) return __real_dlsym(handle, name);
  void* const next = __real_dlsym(handle, name);
  if (next != nullptr) *call->second.next = next;
  const bool is_there = next != nullptr || sinter::UsesSoftwareGpu();
  return is_there ? call->second.wrapper : nullptr;
}
// NOLINTEND(bugprone-reserved-identifier)
