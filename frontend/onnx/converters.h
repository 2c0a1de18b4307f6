// The groups of converters, one a file of ops/.
#ifndef SINTER_FRONTEND_ONNX_CONVERTERS_H_
#define SINTER_FRONTEND_ONNX_CONVERTERS_H_

#include <span>

#include "sinter/frontend/onnx/node.h"

namespace sinter::onnx {

// keep-sorted
std::span<const OpRecord> ActivationOps();
std::span<const OpRecord> ArrangeOps();
std::span<const OpRecord> ControlOps();
std::span<const OpRecord> ConvolutionOps();
std::span<const OpRecord> IndexOps();
std::span<const OpRecord> ListOps();
std::span<const OpRecord> LossOps();
std::span<const OpRecord> MatrixOps();
std::span<const OpRecord> NormOps();
std::span<const OpRecord> OptimizerOps();
std::span<const OpRecord> PointwiseOps();
std::span<const OpRecord> PoolOps();
std::span<const OpRecord> QuantizedOps();
std::span<const OpRecord> RecurrentOps();
std::span<const OpRecord> ReduceOps();
std::span<const OpRecord> RefusedOps();
std::span<const OpRecord> ResizeOps();
std::span<const OpRecord> ShapeOps();
std::span<const OpRecord> SignalOps();

}  // namespace sinter::onnx

#endif  // SINTER_FRONTEND_ONNX_CONVERTERS_H_
