// The parts of a plan file that its functions share while it is written.
//
//   PlanContents plan;
//   plan.devices = {...};
//   WriteType(plan.builder, type);
//   plan.locations.Add(op->getLoc());
#ifndef SINTER_CODEGEN_STEPS_PLAN_CONTENTS_H_
#define SINTER_CODEGEN_STEPS_PLAN_CONTENTS_H_

#include <map>
#include <string>
#include <vector>

#include "mlir/IR/BuiltinTypes.h"
#include "runtime/plan_generated.h"
#include "sinter/codegen/places/constant_pool.h"
#include "sinter/codegen/places/user_line.h"
#include "sinter/ir/plan/plan_ops.h"
#include "sinter/runtime/plan/plan.h"

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

// A number that differs between ranks: constant + the sum over the mesh's axes of coordinate * stride.
struct RankNumber {
  int64_t constant = 0;
  std::vector<int64_t> strides;

  friend bool operator==(const RankNumber&, const RankNumber&) = default;
};

// fb::ExchangeReason.
struct ExchangeReason {
  std::string text;
  std::vector<uint32_t> locations;

  friend auto operator<=>(const ExchangeReason&, const ExchangeReason&) = default;
};

// Holds each reason of exchanges once.
class ReasonTable {
 public:
  // Returns 1 + the index of the reason. One that is too long for a plan is cut.
  uint32_t Add(ExchangeReason reason);
  const std::vector<ExchangeReason>& reasons() const { return reasons_; }

 private:
  std::vector<ExchangeReason> reasons_;
  std::map<ExchangeReason, uint32_t> index_;
};

// fb::Parameter, with the name of ir::kParameterAttr.
struct FragmentParameter {
  std::string name;
  uint64_t bytes = 0;
  bool is_written = false;
};

// A fragment that is written, as far as the loops that run it need to know.
struct FragmentContents {
  uint32_t index = 0;  // Into Plan.fragments.
  std::vector<FragmentParameter> parameters;
  int64_t arena_bytes = 0;
  double flops = 0, bytes = 0;  // Sums of its steps.
};

struct PlanContents {
  Plan::Content content;  // Without the mesh and the fragments.
  // Index into `devices`.
  uint32_t DeviceIndex(ir::DeviceAttr device) const;
  // Index into `rank_values`, which gets the number if it lacks it.
  uint32_t RankValueIndex(const RankNumber& number);

  flatbuffers::FlatBufferBuilder builder;
  std::vector<ir::DeviceAttr> devices;        // Devices of all functions and variables, in the plan's order.
  std::map<std::string, uint32_t> variables;  // Index by symbol.
  ConstantPool constants;
  std::vector<RankNumber> rank_values;                // Each once.
  std::map<std::string, FragmentContents> fragments;  // By symbol.
  LocationTable locations;
  ReasonTable reasons;
};

// Returns the text as a plan's reasons and notes may be: cut, and with spaces for control characters.
std::string ReasonText(std::string text);

flatbuffers::Offset<fb::TensorType> WriteType(flatbuffers::FlatBufferBuilder& builder,
                                              mlir::RankedTensorType type);

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_STEPS_PLAN_CONTENTS_H_
