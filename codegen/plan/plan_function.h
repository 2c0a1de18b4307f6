// Writes one plan.function into a plan file: its ports, its buffers, its steps.
#ifndef SINTER_CODEGEN_PLAN_PLAN_FUNCTION_H_
#define SINTER_CODEGEN_PLAN_PLAN_FUNCTION_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/plan_generated.h"
#include "sinter/codegen/cpu/fused_kernel.h"
#include "sinter/codegen/cuda/cuda_kernels.h"
#include "sinter/codegen/places/buffer_place.h"
#include "sinter/codegen/places/constant_pool.h"
#include "sinter/codegen/places/user_line.h"
#include "sinter/ir/plan/plan_ops.h"

namespace sinter::codegen {

// The source map: holds each line of the user once.
class LocationTable {
 public:
  uint32_t Add(const UserLocation& location);
  std::vector<uint32_t> Add(mlir::Location loc);
  const std::vector<UserLocation>& locations() const { return locations_; }

 private:
  std::vector<UserLocation> locations_;
  std::map<UserLocation, uint32_t> index_;
};

// The parts of a plan that its functions share.
struct PlanContents {
  explicit PlanContents(mlir::MLIRContext* context) : kernels(context), cuda_kernels(context) {}

  // Index into `devices`.
  uint32_t DeviceIndex(ir::DeviceAttr device) const;

  flatbuffers::FlatBufferBuilder builder;
  std::vector<ir::DeviceAttr> devices;        // Devices of all functions and variables, in the plan's order.
  std::map<std::string, uint32_t> variables;  // Index by symbol.
  ConstantPool constants;
  LocationTable locations;
  KernelModule kernels;      // Generated kernels for CPUs.
  CudaKernels cuda_kernels;  // Generated kernels for GPUs.
};

flatbuffers::Offset<fb::TensorType> WriteType(flatbuffers::FlatBufferBuilder& builder,
                                              mlir::RankedTensorType type);

absl::StatusOr<flatbuffers::Offset<fb::Function>> WriteFunction(plan_ir::FunctionOp function,
                                                                PlanContents& plan);

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_PLAN_PLAN_FUNCTION_H_
