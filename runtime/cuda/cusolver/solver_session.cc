#include "sinter/runtime/cuda/cusolver/solver_session.h"

#include <algorithm>
#include <utility>

#include "sinter/runtime/cuda/driver/cuda_handles.h"
#include "sinter/runtime/cuda/driver/cuda_status.h"
#include "sinter/runtime/host/status.h"

namespace sinter {
namespace {

constexpr int64_t kAnyMemoryBytes = 256;

// Returns the size that cuBLAS recommends for its workspace ("cublasSetWorkspace"). With its own workspace, a
// call within a capture would allocate.
int64_t BlasWorkspaceBytes(const CudaContext& context) {
  return int64_t{context.info().major >= 9 ? 32 : 4} << 20;
}

struct CapturePosition {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  unsigned long long capture = 0;
  cudaGraph_t graph = nullptr;
  std::vector<cudaGraphNode_t> nodes;  // The next work comes after them.

  bool is_captured() const { return status == cudaStreamCaptureStatusActive; }
};

absl::StatusOr<CapturePosition> CapturePositionOf(cudaStream_t stream) {
  CapturePosition position;
  const cudaGraphNode_t* nodes = nullptr;
  const cudaGraphEdgeData* edges = nullptr;
  size_t count = 0;
  SINTER_RETURN_IF_ERROR(CudaStatus(cudaStreamGetCaptureInfo(stream, &position.status, &position.capture,
                                                             &position.graph, &nodes, &edges, &count),
                                    "see where a capture is"));
  if (position.is_captured()) position.nodes.assign(nodes, nodes + count);
  return position;
}

absl::StatusOr<std::vector<cudaGraphNode_t>> AllNodesOf(cudaGraph_t graph) {
  size_t count = 0;
  SINTER_RETURN_IF_ERROR(CudaStatus(cudaGraphGetNodes(graph, nullptr, &count), "count what was captured"));
  std::vector<cudaGraphNode_t> nodes(count);
  SINTER_RETURN_IF_ERROR(CudaStatus(cudaGraphGetNodes(graph, nodes.data(), &count), "see what was captured"));
  return nodes;
}

}  // namespace

absl::StatusOr<SolverSession*> SolverSession::Of(CudaContext& context) {
  if (context.solver() == nullptr) {
    std::shared_ptr<SolverSession> made(new SolverSession(context));
    SINTER_RETURN_IF_ERROR(made->Make());
    context.set_solver(std::move(made));
  }
  return context.solver();
}

absl::Status SolverSession::Make() {
  const CudaDeviceScope on(index_);
  SINTER_RETURN_IF_ERROR(on.status());
  SINTER_ASSIGN_OR_RETURN(kernels_, MatrixKernels::Load());
  SINTER_ASSIGN_OR_RETURN(any_memory_, context_.allocator().Allocate(kAnyMemoryBytes, "cuSOLVER"));
  return absl::OkStatus();
}

SolverSession::~SolverSession() {
  const CudaDeviceScope on(index_);
  if (solver_.singular_jacobi != nullptr) (void)solver_.functions->DestroyGesvdjInfo(solver_.singular_jacobi);
  if (solver_.eigen_jacobi != nullptr) (void)solver_.functions->DestroySyevjInfo(solver_.eigen_jacobi);
  if (solver_.parameters != nullptr) (void)solver_.functions->DestroyParams(solver_.parameters);
  if (solver_.handle != nullptr) (void)solver_.functions->Destroy(solver_.handle);
  if (blas_.handle != nullptr) (void)blas_.functions->Destroy(blas_.handle);
}

absl::StatusOr<SolverHandle> SolverSession::Solver() {
  if (!has_solver_) SINTER_RETURN_IF_ERROR(MakeSolver());
  has_solver_ = true;
  return solver_;
}

absl::Status SolverSession::MakeSolver() {
  const CudaDeviceScope on(index_);
  SINTER_RETURN_IF_ERROR(on.status());
  SINTER_ASSIGN_OR_RETURN(solver_.functions, LoadCusolver());
  const Cusolver& f = *solver_.functions;
  if (solver_.handle == nullptr) {
    SINTER_RETURN_IF_ERROR(CusolverStatus(f.Create(&solver_.handle), "make a handle"));
  }
  SINTER_RETURN_IF_ERROR(CusolverStatus(f.SetStream(solver_.handle, stream_), "use a stream"));
  SINTER_RETURN_IF_ERROR(CusolverStatus(
      f.SetDeterministicMode(solver_.handle, CUSOLVER_DETERMINISTIC_RESULTS), "compute the same bits"));
  if (solver_.parameters == nullptr) {
    SINTER_RETURN_IF_ERROR(CusolverStatus(f.CreateParams(&solver_.parameters), "make parameters"));
  }
  if (solver_.eigen_jacobi == nullptr) {
    SINTER_RETURN_IF_ERROR(CusolverStatus(f.CreateSyevjInfo(&solver_.eigen_jacobi), "make parameters"));
  }
  if (solver_.singular_jacobi != nullptr) return absl::OkStatus();
  return CusolverStatus(f.CreateGesvdjInfo(&solver_.singular_jacobi), "make parameters");
}

absl::StatusOr<BlasHandle> SolverSession::Blas() {
  if (!has_blas_) SINTER_RETURN_IF_ERROR(MakeBlas());
  has_blas_ = true;
  return blas_;
}

absl::Status SolverSession::MakeBlas() {
  const CudaDeviceScope on(index_);
  SINTER_RETURN_IF_ERROR(on.status());
  SINTER_ASSIGN_OR_RETURN(blas_.functions, LoadCublas());
  const Cublas& f = *blas_.functions;
  if (blas_.handle == nullptr) {
    SINTER_RETURN_IF_ERROR(CublasStatus(f.Create(&blas_.handle), "make a handle", "cuBLAS"));
  }
  // Also returns the handle to its own workspace, so it comes first.
  SINTER_RETURN_IF_ERROR(CublasStatus(f.SetStream(blas_.handle, stream_), "use a stream", "cuBLAS"));
  const int64_t bytes = BlasWorkspaceBytes(context_);
  SINTER_ASSIGN_OR_RETURN(blas_workspace_, context_.allocator().Allocate(bytes, "cuBLAS"));
  return CublasStatus(
      f.SetWorkspace(blas_.handle, blas_workspace_.ptr(), static_cast<size_t>(blas_workspace_.bytes())),
      "use a workspace", "cuBLAS");
}

absl::Status SolverSession::Call(absl::FunctionRef<absl::Status()> work) {
  SINTER_RETURN_IF_ERROR(ComeAfterLastCall());
  SINTER_RETURN_IF_ERROR(work());
  return NoteLastCall();
}

absl::Status SolverSession::ComeAfterLastCall() {
  SINTER_ASSIGN_OR_RETURN(CapturePosition now, CapturePositionOf(stream_));
  if (!now.is_captured() || now.graph != last_.graph) return absl::OkStatus();
  std::vector<cudaGraphNode_t> before = last_.nodes;
  if (now.capture != last_.capture) {
    // The capture goes on behind a conditional node, or another graph has the address of an earlier one. Its
    // nodes may then have the addresses of that one's nodes: an order more than is needed.
    SINTER_ASSIGN_OR_RETURN(const std::vector<cudaGraphNode_t> all, AllNodesOf(now.graph));
    std::erase_if(before, [&](cudaGraphNode_t node) { return std::ranges::find(all, node) == all.end(); });
  }
  const size_t known = now.nodes.size();
  for (cudaGraphNode_t const node : before) {
    if (std::ranges::find(now.nodes, node) == now.nodes.end()) now.nodes.push_back(node);
  }
  if (now.nodes.size() == known) return absl::OkStatus();
  return CudaStatus(cudaStreamUpdateCaptureDependencies(stream_, now.nodes.data(), nullptr, now.nodes.size(),
                                                        cudaStreamSetCaptureDependencies),
                    "capture a call behind another");
}

absl::Status SolverSession::NoteLastCall() {
  SINTER_ASSIGN_OR_RETURN(CapturePosition now, CapturePositionOf(stream_));
  if (now.is_captured()) last_ = {now.graph, now.capture, std::move(now.nodes)};
  return absl::OkStatus();
}

}  // namespace sinter
