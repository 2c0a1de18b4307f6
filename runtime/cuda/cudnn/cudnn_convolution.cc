#include "sinter/runtime/cuda/cudnn/cudnn_convolution.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "sinter/runtime/host/dtype.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/plan/step_sizes.h"

namespace sinter {
namespace {

// Maximum workspace in bytes. Convolutions with an engine that needs more also have other engines.
constexpr int64_t kMaxConvWorkspace = int64_t{256} << 20;
// Ids of virtual tensors start here. A virtual tensor is between two operations and never in memory.
constexpr int64_t kFirstVirtual = 100;

template <typename Array>
std::vector<int64_t> List(const Array& values) {
  return std::vector<int64_t>(values.begin(), values.end());
}

class CudnnGraphBuilder {
 public:
  CudnnGraphBuilder(const CudnnHandle& cudnn, const ConvShape& shape) : cudnn_(cudnn), shape_(shape) {}

  absl::StatusOr<CudnnDescriptor> Build(const ConvEpilogue& epilogue);

 private:
  bool is_f64() const { return shape_.dtype == fb::DType::F64; }
  cudnnDataType_t compute_type() const { return is_f64() ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT; }

  absl::StatusOr<CudnnDescriptor> Tensor(const CudnnTensor& tensor, int64_t id);
  absl::StatusOr<CudnnDescriptor> Convolution();
  absl::StatusOr<CudnnDescriptor> ConvolutionOperation(const CudnnDescriptor& first,
                                                       const CudnnDescriptor& second,
                                                       const CudnnDescriptor& result);
  // Adds result = mode(x, b); `b` is null for operations with one operand.
  absl::Status AddPointwise(cudnnPointwiseMode_t mode, const CudnnDescriptor& x, const CudnnDescriptor* b,
                            const CudnnDescriptor& result);

  CudnnHandle cudnn_;
  const ConvShape& shape_;
  // Descriptors that operations refer to. cuDNN does not document that it copies them, so they live until the
  // plan exists.
  std::vector<CudnnDescriptor> parts_;
  std::vector<CudnnDescriptor> operations_;
};

absl::StatusOr<CudnnDescriptor> CudnnGraphBuilder::Tensor(const CudnnTensor& tensor, int64_t id) {
  const bool is_virtual = id >= kFirstVirtual;
  const cudnnDataType_t type = is_virtual ? compute_type() : CudnnType(shape_.dtype);
  CudnnDescriptor made(cudnn_, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  SINTER_RETURN_IF_ERROR(made.Set(CUDNN_ATTR_TENSOR_UNIQUE_ID, id));
  SINTER_RETURN_IF_ERROR(made.Set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type));
  SINTER_RETURN_IF_ERROR(made.Set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, kCudnnAlignment));
  SINTER_RETURN_IF_ERROR(made.Set(CUDNN_ATTR_TENSOR_DIMENSIONS, List(tensor.sizes)));
  SINTER_RETURN_IF_ERROR(made.Set(CUDNN_ATTR_TENSOR_STRIDES, List(tensor.strides)));
  SINTER_RETURN_IF_ERROR(made.Set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &is_virtual));
  SINTER_RETURN_IF_ERROR(made.Finalize("describe a tensor"));
  return made;
}

absl::StatusOr<CudnnDescriptor> CudnnGraphBuilder::Convolution() {
  const cudnnDataType_t type = compute_type();
  const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
  CudnnDescriptor made(cudnn_, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  SINTER_RETURN_IF_ERROR(made.Set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type));
  SINTER_RETURN_IF_ERROR(made.Set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode));
  SINTER_RETURN_IF_ERROR(made.Set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, 2));
  SINTER_RETURN_IF_ERROR(made.Set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, List(shape_.padding_before)));
  SINTER_RETURN_IF_ERROR(made.Set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, List(shape_.padding_after)));
  SINTER_RETURN_IF_ERROR(made.Set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, List(shape_.strides)));
  SINTER_RETURN_IF_ERROR(made.Set(CUDNN_ATTR_CONVOLUTION_DILATIONS, List(shape_.dilations)));
  SINTER_RETURN_IF_ERROR(made.Finalize("describe a convolution"));
  return made;
}

absl::StatusOr<CudnnDescriptor> CudnnGraphBuilder::ConvolutionOperation(const CudnnDescriptor& first,
                                                                        const CudnnDescriptor& second,
                                                                        const CudnnDescriptor& result) {
  struct Names {
    cudnnBackendDescriptorType_t type;
    cudnnBackendAttributeName_t convolution, first, second, result, alpha, beta;
  };
  static constexpr Names kForward = {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
                                     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
                                     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
                                     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
                                     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
                                     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
                                     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
  static constexpr Names kInputGrad = {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
                                       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
                                       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
                                       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
                                       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
                                       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
                                       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
  static constexpr Names kWeightGrad = {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
                                        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
                                        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
                                        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
                                        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
                                        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
                                        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
  const Names& names = shape_.kind == fb::ConvKind::Forward     ? kForward
                       : shape_.kind == fb::ConvKind::InputGrad ? kInputGrad
                                                                : kWeightGrad;
  SINTER_ASSIGN_OR_RETURN(CudnnDescriptor convolution, Convolution());
  CudnnDescriptor made(cudnn_, names.type);
  SINTER_RETURN_IF_ERROR(made.Set(names.convolution, convolution));
  SINTER_RETURN_IF_ERROR(made.Set(names.first, first));
  SINTER_RETURN_IF_ERROR(made.Set(names.second, second));
  SINTER_RETURN_IF_ERROR(made.Set(names.result, result));
  const float factors_f32[2] = {1, 0};
  const double factors_f64[2] = {1, 0};
  const cudnnBackendAttributeType_t type = is_f64() ? CUDNN_TYPE_DOUBLE : CUDNN_TYPE_FLOAT;
  const void* const alpha = is_f64() ? static_cast<const void*>(&factors_f64[0]) : &factors_f32[0];
  const void* const beta = is_f64() ? static_cast<const void*>(&factors_f64[1]) : &factors_f32[1];
  SINTER_RETURN_IF_ERROR(made.Set(names.alpha, type, 1, alpha));
  SINTER_RETURN_IF_ERROR(made.Set(names.beta, type, 1, beta));
  SINTER_RETURN_IF_ERROR(made.Finalize("describe a convolution of tensors"));
  parts_.push_back(std::move(convolution));
  return made;
}

absl::Status CudnnGraphBuilder::AddPointwise(cudnnPointwiseMode_t mode, const CudnnDescriptor& x,
                                             const CudnnDescriptor* b, const CudnnDescriptor& result) {
  const cudnnDataType_t type = compute_type();
  CudnnDescriptor pointwise(cudnn_, CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  SINTER_RETURN_IF_ERROR(pointwise.Set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode));
  SINTER_RETURN_IF_ERROR(pointwise.Set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, &type));
  SINTER_RETURN_IF_ERROR(pointwise.Finalize("describe an elementwise operation"));
  CudnnDescriptor made(cudnn_, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  SINTER_RETURN_IF_ERROR(made.Set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, pointwise));
  SINTER_RETURN_IF_ERROR(made.Set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x));
  if (b != nullptr) SINTER_RETURN_IF_ERROR(made.Set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, *b));
  SINTER_RETURN_IF_ERROR(made.Set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, result));
  SINTER_RETURN_IF_ERROR(made.Finalize("describe an elementwise operation of tensors"));
  parts_.push_back(std::move(pointwise));
  operations_.push_back(std::move(made));
  return absl::OkStatus();
}

absl::StatusOr<CudnnDescriptor> CudnnGraphBuilder::Build(const ConvEpilogue& epilogue) {
  const int pointwise = (epilogue.bias ? 1 : 0) + (epilogue.relu ? 1 : 0);
  // The result of each operation: virtual, except for the last.
  std::vector<CudnnDescriptor> results;
  for (int i = 0; i <= pointwise; ++i) {
    SINTER_ASSIGN_OR_RETURN(CudnnDescriptor made,
                            Tensor(shape_.result(), i == pointwise ? kResult : kFirstVirtual + i));
    results.push_back(std::move(made));
  }
  SINTER_ASSIGN_OR_RETURN(CudnnDescriptor first, Tensor(shape_.first(), kFirst));
  SINTER_ASSIGN_OR_RETURN(CudnnDescriptor second, Tensor(shape_.second(), kSecond));
  SINTER_ASSIGN_OR_RETURN(CudnnDescriptor convolution, ConvolutionOperation(first, second, results[0]));
  operations_.push_back(std::move(convolution));
  size_t next = 0;
  if (epilogue.bias) {
    const CudnnTensor described = PackedTensor({1, shape_.y.sizes[1], 1, 1}, shape_.channels_last);
    SINTER_ASSIGN_OR_RETURN(CudnnDescriptor bias, Tensor(described, kBias));
    SINTER_RETURN_IF_ERROR(AddPointwise(CUDNN_POINTWISE_ADD, results[next], &bias, results[next + 1]));
    parts_.push_back(std::move(bias));
    ++next;
  }
  if (epilogue.relu) {
    SINTER_RETURN_IF_ERROR(AddPointwise(CUDNN_POINTWISE_RELU_FWD, results[next], nullptr, results[next + 1]));
  }
  for (CudnnDescriptor* tensor : {&first, &second}) parts_.push_back(std::move(*tensor));
  for (CudnnDescriptor& tensor : results) parts_.push_back(std::move(tensor));
  std::vector<const CudnnDescriptor*> operations;
  for (const CudnnDescriptor& operation : operations_) operations.push_back(&operation);
  CudnnDescriptor graph(cudnn_, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  SINTER_RETURN_IF_ERROR(graph.Set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &cudnn_.handle));
  SINTER_RETURN_IF_ERROR(graph.Set(CUDNN_ATTR_OPERATIONGRAPH_OPS, operations));
  SINTER_RETURN_IF_ERROR(graph.Finalize("make a graph of operations"));
  return graph;
}

}  // namespace

CudnnTensor PackedTensor(std::array<int64_t, 4> sizes, bool channels_last) {
  const auto [n, c, h, w] = sizes;
  if (channels_last) return {sizes, {h * w * c, 1, w * c, c}};
  return {sizes, {c * h * w, h * w, w, 1}};
}

ConvShape ConvShapeOf(const fb::ConvStep& t) {
  ConvShape s;
  s.kind = t.kind();
  s.dtype = t.dtype();
  s.math = t.math();
  s.channels_last = t.layout() == fb::ImageLayout::Nhwc;
  const kernels::ConvGeometry g = ConvGeometryOf(t);
  s.x = PackedTensor({g.batch, g.in_channels, g.in_h, g.in_w}, s.channels_last);
  s.y = PackedTensor({g.batch, g.out_channels, g.out_h, g.out_w}, s.channels_last);
  // For 1 x 1 weights both orders have the same bytes. Declaring the images' order avoids a reordering by
  // cuDNN.
  s.weights = PackedTensor({g.out_channels, g.group_channels(), g.kernel_h, g.kernel_w},
                           /*channels_last=*/s.channels_last && g.taps() == 1);
  s.strides = {g.stride_h, g.stride_w};
  s.dilations = {g.dilation_h, g.dilation_w};
  s.padding_before = {g.pad_top, g.pad_left};
  s.padding_after = {g.pad_bottom, g.pad_right};
  return s;
}

std::string ConvShape::ToString() const {
  return absl::StrCat(fb::EnumNameConvKind(kind), " ", std::string(DTypeName(static_cast<DType>(dtype))), " ",
                      fb::EnumNameMathMode(math), channels_last ? " nhwc [" : " nchw [",
                      absl::StrJoin(x.sizes, ","), "] by [", absl::StrJoin(weights.sizes, ","), "]");
}

cudnnDataType_t CudnnType(fb::DType dtype) {
  switch (dtype) {
    case fb::DType::F64:
      return CUDNN_DATA_DOUBLE;
    case fb::DType::BF16:
      return CUDNN_DATA_BFLOAT16;
    case fb::DType::F16:
      return CUDNN_DATA_HALF;
    default:
      return CUDNN_DATA_FLOAT;
  }
}

CudnnEngineRules RulesOf(const ConvShape& shape) {
  const bool is_ieee = shape.dtype == fb::DType::F32 && shape.math == fb::MathMode::Ieee;
  CudnnEngineRules rules = {.may_use_tensor_cores = !is_ieee, .max_workspace = kMaxConvWorkspace};
  // Engine 1 is cuDNN's first choice for f32 weight gradients with few channels. It takes 344 us, engine 17
  // takes 52 us, and engine 0 takes 597 us (docs/performance-notes.md).
  if (shape.kind == fb::ConvKind::WeightGrad) rules.last_resort = {0, 1};
  return rules;
}

absl::StatusOr<std::unique_ptr<CudnnPlan>> MakeConvolutionPlan(const CudnnHandle& cudnn,
                                                               const ConvShape& shape,
                                                               const ConvEpilogue& epilogue) {
  return MakeConvolutionPlan(cudnn, shape, epilogue, RulesOf(shape));
}

absl::StatusOr<std::unique_ptr<CudnnPlan>> MakeConvolutionPlan(const CudnnHandle& cudnn,
                                                               const ConvShape& shape,
                                                               const ConvEpilogue& epilogue,
                                                               const CudnnEngineRules& rules) {
  SINTER_ASSIGN_OR_RETURN(std::vector<std::unique_ptr<CudnnPlan>> plans,
                          MakeConvolutionPlans(cudnn, shape, epilogue, rules, /*most=*/1));
  return std::move(plans[0]);
}

absl::StatusOr<std::vector<std::unique_ptr<CudnnPlan>>> MakeConvolutionPlans(const CudnnHandle& cudnn,
                                                                             const ConvShape& shape,
                                                                             const ConvEpilogue& epilogue,
                                                                             const CudnnEngineRules& rules,
                                                                             size_t most) {
  CudnnGraphBuilder builder(cudnn, shape);
  const auto plans = [&]() -> absl::StatusOr<std::vector<std::unique_ptr<CudnnPlan>>> {
    SINTER_ASSIGN_OR_RETURN(const CudnnDescriptor graph, builder.Build(epilogue));
    return CudnnPlan::CreateSome(cudnn, graph, rules, most);
  };
  absl::StatusOr<std::vector<std::unique_ptr<CudnnPlan>>> made = plans();
  if (made.ok()) return made;
  return absl::Status(made.status().code(), absl::StrCat("convolution ", shape.ToString(), ": ",
                                                         std::string(made.status().message())));
}

}  // namespace sinter
