// A graph of cuDNN's operations on tensors, written down one after the other.
//
//   CudnnGraph graph(cudnn);
//   const auto x = graph.InMemory(1, CUDNN_DATA_BFLOAT16, {{2, 3, 64, 32}, {6144, 2048, 32, 1}});
//   const auto e = graph.Virtual(CUDNN_DATA_FLOAT, {2, 3, 64, 32});
//   const auto sum = graph.InMemory(2, CUDNN_DATA_FLOAT, PackedTensor({2, 3, 64, 1}, /*channels_last=*/false));
//   graph.Pointwise(CUDNN_POINTWISE_EXP, {x}, e);
//   graph.Reduce(CUDNN_REDUCE_TENSOR_ADD, e, sum);
//   SINTER_ASSIGN_OR_RETURN(const CudnnDescriptor described, graph.Finish());
//   SINTER_ASSIGN_OR_RETURN(auto plan, CudnnPlan::Create(cudnn, described, rules));
//
// All is computed in f32. The first error of any call is that of Finish. The graph must live until its plan is made: cuDNN
// does not say that it copies descriptors.
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
  using Tensor = size_t;  // Which one of this graph.

  explicit CudnnGraph(const CudnnHandle& cudnn) : cudnn_(cudnn) {}

  // An operand of the plan.
  Tensor InMemory(int64_t id, cudnnDataType_t type, const CudnnTensor& shape) {
    return Add(id, type, shape, Kind::kMemory);
  }
  // One f32 in the host's memory, read when the plan is executed.
  Tensor Number(int64_t id) { return Add(id, CUDNN_DATA_FLOAT, {{1, 1, 1, 1}, {1, 1, 1, 1}}, Kind::kNumber); }
  // What lies between two operations. The values are rounded to `type`.
  Tensor Virtual(cudnnDataType_t type, const CudnnTensor& shape) {
    return Add(next_virtual_++, type, shape, Kind::kVirtual);
  }
  Tensor Virtual(cudnnDataType_t type, const std::array<int64_t, 4>& sizes) {
    return Virtual(type, PackedTensor(sizes, /*channels_last=*/false));
  }

  // a [.., m, k] times b [.., k, n].
  void Matmul(Tensor a, Tensor b, Tensor result);
  // Of one, two or three tensors; BINARY_SELECT takes what holds, what else, and the condition. Sizes of 1 are spread.
  void Pointwise(cudnnPointwiseMode_t mode, std::initializer_list<Tensor> operands, Tensor result) {
    AddPointwise(mode, CUDNN_DATA_FLOAT, std::nullopt, operands, result);
  }
  // The coordinate along `axis`, into i32; a comparison, into bool.
  void Index(Tensor like, int64_t axis, Tensor result) {
    AddPointwise(CUDNN_POINTWISE_GEN_INDEX, CUDNN_DATA_FLOAT, axis, {like}, result);
  }
  void Compare(cudnnPointwiseMode_t mode, Tensor x, Tensor y, Tensor result) {
    AddPointwise(mode, CUDNN_DATA_BOOLEAN, std::nullopt, {x, y}, result);
  }
  // Along each dimension in which the result has size 1.
  void Reduce(cudnnReduceTensorOp_t operation, Tensor x, Tensor result);
  // The same values in the order of the result's sizes and strides.
  void Reshape(Tensor x, Tensor result);

  // A finalised CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR.
  absl::StatusOr<CudnnDescriptor> Finish();

 private:
  enum class Kind { kMemory, kNumber, kVirtual };

  Tensor Add(int64_t id, cudnnDataType_t type, const CudnnTensor& shape, Kind kind);
  absl::Status Describe(CudnnDescriptor& made, int64_t id, cudnnDataType_t type, const CudnnTensor& shape,
                        Kind kind);
  void AddPointwise(cudnnPointwiseMode_t mode, cudnnDataType_t compute, std::optional<int64_t> axis,
                    std::initializer_list<Tensor> operands, Tensor result);
  // One operation: what it does, in a descriptor of its own where it has one, and its tensors.
  struct Role {
    cudnnBackendAttributeName_t name;
    Tensor tensor;
  };
  void AddOperation(cudnnBackendDescriptorType_t type, CudnnDescriptor* what,
                    cudnnBackendAttributeName_t what_name, const std::vector<Role>& roles);
  // Keeps the first error.
  bool Note(const absl::Status& status) {
    if (status_.ok()) status_ = status;
    return status.ok();
  }

  CudnnHandle cudnn_;
  absl::Status status_;
  int64_t next_virtual_ = 1000;  // Ids of operands are below.
  std::vector<CudnnDescriptor> tensors_;
  std::vector<CudnnDescriptor> parts_;
  std::vector<CudnnDescriptor> operations_;
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_CUDA_CUDNN_CUDNN_GRAPH_H_
