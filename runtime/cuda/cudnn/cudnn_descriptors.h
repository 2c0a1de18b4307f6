// Wrappers of cuDNN's graph API: descriptors that free themselves, and plans (one engine for one graph).
//
//   CudnnDescriptor tensor(cudnn, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
//   SINTER_RETURN_IF_ERROR(tensor.Set(CUDNN_ATTR_TENSOR_DIMENSIONS, dims));
//   SINTER_RETURN_IF_ERROR(tensor.Finalize("describe a tensor"));
//   SINTER_ASSIGN_OR_RETURN(auto plan, CudnnPlan::Create(cudnn, graph, rules));
//   plan->Execute({{1, x}, {2, w}, {4, y}}, workspace);
//
// docs/decisions/0007-cuda-libraries-at-first-need.md explains why NVIDIA's C++ frontend is not used.
#ifndef SINTER_RUNTIME_CUDA_CUDNN_CUDNN_DESCRIPTORS_H_
#define SINTER_RUNTIME_CUDA_CUDNN_CUDNN_DESCRIPTORS_H_

#include <cudnn_graph.h>

#include <array>
#include <compare>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sinter/runtime/cuda/context/cuda_context.h"
#include "sinter/runtime/cuda/driver/cudnn_library.h"

namespace sinter {

// Required alignment, in bytes, of an operand's first element and of a workspace.
inline constexpr int64_t kCudnnAlignment = 16;
struct CudnnHandle {
  const Cudnn* functions = nullptr;
  cudnnHandle_t handle = nullptr;  // On the stream of the steps.
};

inline constexpr size_t kCudnnWorkspaceAlignment = 256;

class CudnnDescriptor {
 public:
  CudnnDescriptor(const CudnnHandle& cudnn, cudnnBackendDescriptorType_t type);
  ~CudnnDescriptor();
  CudnnDescriptor(CudnnDescriptor&& other) noexcept
      : cudnn_(other.cudnn_), descriptor_(std::exchange(other.descriptor_, nullptr)), made_(other.made_) {}
  CudnnDescriptor& operator=(CudnnDescriptor&& other) noexcept {
    std::swap(cudnn_, other.cudnn_);
    std::swap(descriptor_, other.descriptor_);
    std::swap(made_, other.made_);
    return *this;
  }

  // Returns the error of creating the descriptor.
  absl::Status status() const;
  // Sets an attribute; one overload for each type of value. Also returns the error of creating the
  // descriptor.
  absl::Status Set(cudnnBackendAttributeName_t name, const std::vector<int64_t>& values);
  absl::Status Set(cudnnBackendAttributeName_t name, int64_t value) {
    return Set(name, std::vector<int64_t>{value});
  }
  absl::Status Set(cudnnBackendAttributeName_t name, const CudnnDescriptor& value);
  absl::Status Set(cudnnBackendAttributeName_t name, const std::vector<const CudnnDescriptor*>& values);
  // Sets an attribute of any other type.
  absl::Status Set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count,
                   const void* values);
  absl::Status Finalize(std::string_view what);

  // Reads at most `count` elements into `values`. Returns how many elements there are.
  absl::StatusOr<int64_t> Get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                              int64_t count, void* values) const;

  cudnnBackendDescriptor_t get() const { return descriptor_; }

 private:
  CudnnHandle cudnn_;
  cudnnBackendDescriptor_t descriptor_ = nullptr;
  cudnnStatus_t made_;
};

// Identifies an engine: cuDNN's number, and the position among the allowed engine configurations with that
// number.
struct CudnnEngine {
  int64_t number = -1;
  int ordinal = 0;
  auto operator<=>(const CudnnEngine&) const = default;
};

// Restricts which engines may be used.
struct CudnnEngineRules {
  // Tensor cores round f32 to tf32.
  bool may_use_tensor_cores = true;
  int64_t max_workspace = 0;
  // These two are false only in measurements. Exact engines sum the unrounded products directly, in the
  // compute type. Winograd and Fourier transforms are not exact: their error is proportional to the largest
  // value, not to each result.
  bool must_be_deterministic = true;
  bool must_be_exact = true;
  // Skip this many engines that meet the rules and build.
  int skip = 0;
  // Engines, by cuDNN's number, that are used only if no other engine works, regardless of cuDNN's order.
  std::vector<int64_t> last_resort = {};
  // If set, only this engine is allowed.
  std::optional<CudnnEngine> only = std::nullopt;
};

class CudnnPlan {
 public:
  // A tensor's CUDNN_ATTR_TENSOR_UNIQUE_ID and its address.
  struct Operand {
    int64_t id;
    void* data;
    friend bool operator==(const Operand&, const Operand&) = default;
  };
  static constexpr size_t kMaxOperands = 20;

  // Returns the plan of the first engine, in cuDNN's order, that the rules allow. `graph`: a finalized
  // CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR. Unimplemented if no engine is allowed; the message gives the
  // number of candidates.
  static absl::StatusOr<std::unique_ptr<CudnnPlan>> Create(const CudnnHandle& cudnn,
                                                           const CudnnDescriptor& graph,
                                                           const CudnnEngineRules& rules);
  // Returns 1 to `most` such plans, in cuDNN's order.
  static absl::StatusOr<std::vector<std::unique_ptr<CudnnPlan>>> CreateSome(const CudnnHandle& cudnn,
                                                                            const CudnnDescriptor& graph,
                                                                            const CudnnEngineRules& rules,
                                                                            size_t most);

  // Returns another plan that shares what cuDNN has built, with separate bindings. cuDNN builds nothing.
  std::unique_ptr<CudnnPlan> Share() const { return std::unique_ptr<CudnnPlan>(new CudnnPlan(built_)); }

  size_t workspace_bytes() const { return built_->workspace_bytes; }
  const CudnnEngine& engine() const { return built_->engine; }

  // Enqueues on the handle's stream. Allocates only for a new combination of addresses.
  absl::Status Execute(std::span<const Operand> operands, void* workspace);
  absl::Status Execute(std::initializer_list<Operand> operands, void* workspace) {
    return Execute(std::span<const Operand>(operands.begin(), operands.size()), workspace);
  }
  // Sets the number of bindings for steps that execute the plan `executions` times in each run, each time
  // with other addresses.
  void KeepBindings(size_t executions) { most_bindings_ = executions * kBindingsAnExecution; }

 private:
  // The immutable part: cuDNN executes it with any bindings.
  struct Built {
    CudnnHandle cudnn;
    CudnnEngine engine;
    CudnnDescriptor config;
    CudnnDescriptor plan;
    size_t workspace_bytes;
  };
  struct Binding {
    std::array<Operand, kMaxOperands> operands = {};
    void* workspace = nullptr;
    CudnnDescriptor pack;
  };
  // Callers alternate between a few sets of addresses, such as when they bind inputs in turn.
  static constexpr size_t kBindingsAnExecution = 4;

  explicit CudnnPlan(std::shared_ptr<const Built> built) : built_(std::move(built)) {}
  absl::StatusOr<CudnnDescriptor> MakePack(std::span<const Operand> operands, void* workspace) const;

  std::shared_ptr<const Built> built_;
  std::vector<Binding> bindings_;
  size_t most_bindings_ = kBindingsAnExecution;
  size_t oldest_ = 0;
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_CUDA_CUDNN_CUDNN_DESCRIPTORS_H_
