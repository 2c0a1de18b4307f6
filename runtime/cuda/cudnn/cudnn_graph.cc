#include "sinter/runtime/cuda/cudnn/cudnn_graph.h"

#include "sinter/runtime/host/status.h"

namespace sinter {
namespace {

// Alignment in bytes of a scalar in host memory. Tensors in GPU memory have kCudnnAlignment, which steps
// check.
constexpr int64_t kNumberAlignment = 4;

std::vector<int64_t> List(const std::array<int64_t, 4>& values) { return {values.begin(), values.end()}; }

}  // namespace

absl::Status CudnnGraph::Describe(CudnnDescriptor& made, int64_t id, cudnnDataType_t type,
                                  const CudnnTensor& shape, Kind kind) {
  const bool is_virtual = kind == Kind::kVirtual, is_number = kind == Kind::kNumber;
  SINTER_RETURN_IF_ERROR(made.Set(CUDNN_ATTR_TENSOR_UNIQUE_ID, id));
  SINTER_RETURN_IF_ERROR(made.Set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type));
  SINTER_RETURN_IF_ERROR(
      made.Set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, is_number ? kNumberAlignment : kCudnnAlignment));
  SINTER_RETURN_IF_ERROR(made.Set(CUDNN_ATTR_TENSOR_DIMENSIONS, List(shape.sizes)));
  SINTER_RETURN_IF_ERROR(made.Set(CUDNN_ATTR_TENSOR_STRIDES, List(shape.strides)));
  SINTER_RETURN_IF_ERROR(made.Set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &is_virtual));
  if (is_number)
    SINTER_RETURN_IF_ERROR(made.Set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, 1, &is_number));
  return made.Finalize("describe a tensor");
}

CudnnGraph::Tensor CudnnGraph::Add(int64_t id, cudnnDataType_t type, const CudnnTensor& shape, Kind kind) {
  CudnnDescriptor made(cudnn_, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  Note(Describe(made, id, type, shape, kind));
  tensors_.push_back(std::move(made));
  return tensors_.size() - 1;
}

void CudnnGraph::AddOperation(cudnnBackendDescriptorType_t type, CudnnDescriptor* what,
                              cudnnBackendAttributeName_t what_name, const std::vector<Role>& roles) {
  CudnnDescriptor made(cudnn_, type);
  if (what != nullptr) {
    if (!Note(what->Finalize("describe an operation")) || !Note(made.Set(what_name, *what))) return;
  }
  for (const Role& role : roles) {
    if (!Note(made.Set(role.name, tensors_[role.tensor]))) return;
  }
  Note(made.Finalize("describe an operation of tensors"));
  if (what != nullptr) parts_.push_back(std::move(*what));
  operations_.push_back(std::move(made));
}

void CudnnGraph::Matmul(Tensor a, Tensor b, Tensor result) {
  const cudnnDataType_t type = CUDNN_DATA_FLOAT;
  CudnnDescriptor what(cudnn_, CUDNN_BACKEND_MATMUL_DESCRIPTOR);
  Note(what.Set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type));
  AddOperation(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR, &what, CUDNN_ATTR_OPERATION_MATMUL_DESC,
               {{CUDNN_ATTR_OPERATION_MATMUL_ADESC, a},
                {CUDNN_ATTR_OPERATION_MATMUL_BDESC, b},
                {CUDNN_ATTR_OPERATION_MATMUL_CDESC, result}});
}

void CudnnGraph::AddPointwise(cudnnPointwiseMode_t mode, cudnnDataType_t compute, std::optional<int64_t> axis,
                              std::initializer_list<Tensor> operands, Tensor result) {
  CudnnDescriptor what(cudnn_, CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  Note(what.Set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode));
  Note(what.Set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, &compute));
  if (axis) Note(what.Set(CUDNN_ATTR_POINTWISE_AXIS, *axis));
  static constexpr cudnnBackendAttributeName_t kNames[] = {CUDNN_ATTR_OPERATION_POINTWISE_XDESC,
                                                           CUDNN_ATTR_OPERATION_POINTWISE_BDESC,
                                                           CUDNN_ATTR_OPERATION_POINTWISE_TDESC};
  SINTER_CHECK(operands.size() >= 1 && operands.size() <= std::size(kNames)) << operands.size();
  std::vector<Role> roles;
  for (const Tensor operand : operands) roles.push_back({kNames[roles.size()], operand});
  roles.push_back({CUDNN_ATTR_OPERATION_POINTWISE_YDESC, result});
  AddOperation(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, &what,
               CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, roles);
}

void CudnnGraph::Reduce(cudnnReduceTensorOp_t operation, Tensor x, Tensor result) {
  const cudnnDataType_t type = CUDNN_DATA_FLOAT;
  CudnnDescriptor what(cudnn_, CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
  Note(what.Set(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type));
  Note(what.Set(CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 1, &operation));
  AddOperation(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR, &what, CUDNN_ATTR_OPERATION_REDUCTION_DESC,
               {{CUDNN_ATTR_OPERATION_REDUCTION_XDESC, x}, {CUDNN_ATTR_OPERATION_REDUCTION_YDESC, result}});
}

void CudnnGraph::Reshape(Tensor x, Tensor result) {
  AddOperation(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR, nullptr, CUDNN_ATTR_OPERATION_RESHAPE_XDESC,
               {{CUDNN_ATTR_OPERATION_RESHAPE_XDESC, x}, {CUDNN_ATTR_OPERATION_RESHAPE_YDESC, result}});
}

absl::StatusOr<CudnnDescriptor> CudnnGraph::Finish() {
  SINTER_RETURN_IF_ERROR(status_);
  std::vector<const CudnnDescriptor*> operations;
  for (const CudnnDescriptor& operation : operations_) operations.push_back(&operation);
  CudnnDescriptor graph(cudnn_, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  SINTER_RETURN_IF_ERROR(graph.Set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &cudnn_.handle));
  SINTER_RETURN_IF_ERROR(graph.Set(CUDNN_ATTR_OPERATIONGRAPH_OPS, operations));
  SINTER_RETURN_IF_ERROR(graph.Finalize("make a graph of operations"));
  return graph;
}

}  // namespace sinter
