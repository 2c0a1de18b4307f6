// Builds a graph of cuDNN operations on tensors, one operation per call.
//
//   CudnnGraph graph(cudnn);
//   const auto x = graph.InMemory(1, CUDNN_DATA_BFLOAT16, {{2, 3, 64, 32}, {6144, 2048, 32, 1}});
//   const auto e = graph.Virtual(CUDNN_DATA_FLOAT, {2, 3, 64, 32});
//   const CudnnTensor sums = PackedTensor({2, 3, 64, 1}, /*channels_last=*/false);
//   const auto sum = graph.InMemory(2, CUDNN_DATA_FLOAT, sums);
//   graph.Pointwise(CUDNN_POINTWISE_EXP, {x}, e);
//   graph.Reduce(CUDNN_REDUCE_TENSOR_ADD, e, sum);
//   SINTER_ASSIGN_OR_RETURN(const CudnnDescriptor described, graph.Finish());
//   SINTER_ASSIGN_OR_RETURN(auto plan, CudnnPlan::Create(cudnn, described, rules));
//
// Operations compute in f32 but where they say so. Finish returns the first error of all calls. The graph
// must live until its plan exists, because cuDNN does not document that it copies descriptors.
#ifndef SINTER_RUNTIME_CUDA_CUDNN_CUDNN_GRAPH_H_
#define SINTER_RUNTIME_CUDA_CUDNN_CUDNN_GRAPH_H_

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <vector>

#include "sinter/runtime/cuda/cudnn/cudnn_convolution.h"
#include "sinter/runtime/cuda/cudnn/cudnn_descriptors.h"

namespace sinter {

class CudnnGraph {
 public:
  using Tensor = size_t;  // Index into tensors_.

  explicit CudnnGraph(const CudnnHandle& cudnn) : cudnn_(cudnn) {}

  // Adds an operand of the plan.
  Tensor InMemory(int64_t id, cudnnDataType_t type, const CudnnTensor& shape) {
    return Add(id, type, shape, Kind::kMemory);
  }
  // Adds one number in host memory, read when the plan is executed.
  Tensor Number(int64_t id, cudnnDataType_t type = CUDNN_DATA_FLOAT) {
    return Add(id, type, {{1, 1, 1, 1}, {1, 1, 1, 1}}, Kind::kNumber);
  }
  // Adds a tensor between two operations. Its values are rounded to `type`.
  Tensor Virtual(cudnnDataType_t type, const CudnnTensor& shape) {
    return Add(next_virtual_++, type, shape, Kind::kVirtual);
  }
  Tensor Virtual(cudnnDataType_t type, const std::array<int64_t, 4>& sizes) {
    return Virtual(type, PackedTensor(sizes, /*channels_last=*/false));
  }

  // Multiplies a [.., m, k] by b [.., k, n].
  void Matmul(Tensor a, Tensor b, Tensor result);
  // Applies `mode` to one, two or three tensors. BINARY_SELECT takes the value if true, the value if false,
  // and the condition. Dimensions of size 1 are broadcast.
  void Pointwise(cudnnPointwiseMode_t mode, std::initializer_list<Tensor> operands, Tensor result) {
    AddPointwise(mode, CUDNN_DATA_FLOAT, std::nullopt, operands, result);
  }
  // PointwiseOf computes in `type`.
  void PointwiseOf(cudnnPointwiseMode_t mode, cudnnDataType_t type, std::initializer_list<Tensor> operands,
                   Tensor result) {
    AddPointwise(mode, type, std::nullopt, operands, result);
  }
  // Index writes the coordinate along `axis` as i32. Compare writes bool.
  void Index(Tensor like, int64_t axis, Tensor result) {
    AddPointwise(CUDNN_POINTWISE_GEN_INDEX, CUDNN_DATA_FLOAT, axis, {like}, result);
  }
  void Compare(cudnnPointwiseMode_t mode, Tensor x, Tensor y, Tensor result) {
    AddPointwise(mode, CUDNN_DATA_BOOLEAN, std::nullopt, {x, y}, result);
  }
  // Reduces along each dimension in which the result has size 1.
  void Reduce(cudnnReduceTensorOp_t operation, Tensor x, Tensor result);
  // Gives the same values the sizes and strides of `result`.
  void Reshape(Tensor x, Tensor result);

  // Returns a finalized CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR.
  absl::StatusOr<CudnnDescriptor> Finish();

 private:
  enum class Kind { kMemory, kNumber, kVirtual };

  Tensor Add(int64_t id, cudnnDataType_t type, const CudnnTensor& shape, Kind kind);
  absl::Status Describe(CudnnDescriptor& made, int64_t id, cudnnDataType_t type, const CudnnTensor& shape,
                        Kind kind);
  void AddPointwise(cudnnPointwiseMode_t mode, cudnnDataType_t compute, std::optional<int64_t> axis,
                    std::initializer_list<Tensor> operands, Tensor result);
  // Adds one operation. `what` describes it; null if the operation needs no separate descriptor. `roles` are
  // its tensors.
  struct Role {
    cudnnBackendAttributeName_t name;
    Tensor tensor;
  };
  void AddOperation(cudnnBackendDescriptorType_t type, CudnnDescriptor* what,
                    cudnnBackendAttributeName_t what_name, const std::vector<Role>& roles);
  // Keeps the first error. True if `status` is OK.
  bool Note(const absl::Status& status) {
    if (status_.ok()) status_ = status;
    return status.ok();
  }

  CudnnHandle cudnn_;
  absl::Status status_;
  int64_t next_virtual_ = 1000;  // Ids of operands are below 1000.
  std::vector<CudnnDescriptor> tensors_;
  std::vector<CudnnDescriptor> parts_;
  std::vector<CudnnDescriptor> operations_;
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_CUDA_CUDNN_CUDNN_GRAPH_H_
