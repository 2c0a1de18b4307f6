// cuDNN's graph API as it is used here: descriptors that free themselves, and plans: one engine for one graph of operations.
//
//   CudnnDescriptor tensor(cudnn, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
//   SINTER_RETURN_IF_ERROR(tensor.Set(CUDNN_ATTR_TENSOR_DIMENSIONS, dims));
//   SINTER_RETURN_IF_ERROR(tensor.Finalize("describe a tensor"));
//   SINTER_ASSIGN_OR_RETURN(auto plan, CudnnPlan::Create(cudnn, graph, rules));
//   plan->Execute({{1, x}, {2, w}, {4, y}}, workspace);
//
// Not NVIDIA's C++ frontend: docs/decisions/0007-cuda-libraries-at-first-need.md says why.
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

// An operand's first element and a workspace start at multiples of so many bytes.
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

  // The error of making the descriptor.
  absl::Status status() const;
  // Each kind of value that attributes have. An error of making the descriptor shows here.
  absl::Status Set(cudnnBackendAttributeName_t name, const std::vector<int64_t>& values);
  absl::Status Set(cudnnBackendAttributeName_t name, int64_t value) {
    return Set(name, std::vector<int64_t>{value});
  }
  absl::Status Set(cudnnBackendAttributeName_t name, const CudnnDescriptor& value);
  absl::Status Set(cudnnBackendAttributeName_t name, const std::vector<const CudnnDescriptor*>& values);
  // Anything else, with its type.
  absl::Status Set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count,
                   const void* values);
  absl::Status Finalize(std::string_view what);

  // At most `count` elements into `values`; how many there are.
  absl::StatusOr<int64_t> Get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                              int64_t count, void* values) const;

  cudnnBackendDescriptor_t get() const { return descriptor_; }

 private:
  CudnnHandle cudnn_;
  cudnnBackendDescriptor_t descriptor_ = nullptr;
  cudnnStatus_t made_;
};

// What names an engine: cuDNN's number, and which of those with this number and other settings that it names it is.
struct CudnnEngine {
  int64_t number = -1;
  int ordinal = 0;
  auto operator<=>(const CudnnEngine&) const = default;
};

// Which engine may be taken.
struct CudnnEngineRules {
  // They round f32 to tf32.
  bool may_use_tensor_cores = true;
  int64_t max_workspace = 0;
  // Without these two, for measurements alone. Exact engines sum the products themselves, unrounded, in the type of the
  // computation: Winograd and Fourier transforms lose bits in proportion to the largest value, not to each result.
  bool must_be_deterministic = true;
  bool must_be_exact = true;
  // Of those that all this allows and that can, the engine behind so many others.
  int skip = 0;
  // Engines, by cuDNN's number, that are taken where there is no other, whatever place cuDNN names them in.
  std::vector<int64_t> last_resort = {};
  // This one alone.
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
  static constexpr size_t kMaxOperands = 14;

  // `graph`: a finalised CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR. The first engine that cuDNN names and the rules allow.
  // Unimplemented: there is none; the message says how many were named.
  static absl::StatusOr<std::unique_ptr<CudnnPlan>> Create(const CudnnHandle& cudnn,
                                                           const CudnnDescriptor& graph,
                                                           const CudnnEngineRules& rules);
  // At most so many of them, one at least, in cuDNN's order.
  static absl::StatusOr<std::vector<std::unique_ptr<CudnnPlan>>> CreateSome(const CudnnHandle& cudnn,
                                                                            const CudnnDescriptor& graph,
                                                                            const CudnnEngineRules& rules,
                                                                            size_t most);

  // Another one of what cuDNN has built for this one, with bindings of its own. cuDNN builds nothing.
  std::unique_ptr<CudnnPlan> Share() const { return std::unique_ptr<CudnnPlan>(new CudnnPlan(built_)); }

  size_t workspace_bytes() const { return built_->workspace_bytes; }
  const CudnnEngine& engine() const { return built_->engine; }

  // Enqueues on the handle's stream. Allocates only where these addresses are new to it.
  absl::Status Execute(std::span<const Operand> operands, void* workspace);
  absl::Status Execute(std::initializer_list<Operand> operands, void* workspace) {
    return Execute(std::span<const Operand>(operands.begin(), operands.size()), workspace);
  }
  // For steps that execute it so many times in each run, with other addresses.
  void KeepBindings(size_t executions) { most_bindings_ = executions * kBindingsAnExecution; }

 private:
  // Does not change: cuDNN executes it with any bindings.
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
  // Where inputs are bound in turn, a plan sees a few sets of addresses.
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
