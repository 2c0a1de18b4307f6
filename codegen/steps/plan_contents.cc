#include "sinter/codegen/steps/plan_contents.h"

#include <algorithm>

#include "sinter/codegen/steps/lowering.h"
#include "sinter/runtime/host/status.h"

namespace sinter::codegen {

uint32_t LocationTable::Add(const UserLocation& location) {
  auto [found, is_new] = index_.try_emplace(location, locations_.size());
  if (is_new) locations_.push_back(location);
  return found->second;
}

std::vector<uint32_t> LocationTable::Add(mlir::Location loc) {
  std::vector<uint32_t> indices;
  for (const UserLocation& location : UserLocations(loc)) indices.push_back(Add(location));
  return indices;
}

uint32_t PlanContents::RankValueIndex(const RankNumber& number) {
  auto found = std::find(rank_values.begin(), rank_values.end(), number);
  const auto index = static_cast<uint32_t>(found - rank_values.begin());
  if (found == rank_values.end()) rank_values.push_back(number);
  return index;
}

uint32_t PlanContents::DeviceIndex(ir::DeviceAttr device) const {
  auto found = std::find(devices.begin(), devices.end(), device);
  SINTER_CHECK(found != devices.end()) << device.text() << " is not among the plan's devices";
  return found - devices.begin();
}

flatbuffers::Offset<fb::TensorType> WriteType(flatbuffers::FlatBufferBuilder& builder,
                                              mlir::RankedTensorType type) {
  auto shape = builder.CreateVector(type.getShape().data(), type.getShape().size());
  return fb::CreateTensorType(builder, DTypeOf(type.getElementType()), shape);
}

}  // namespace sinter::codegen
