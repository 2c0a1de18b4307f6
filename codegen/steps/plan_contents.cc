#include "sinter/codegen/steps/plan_contents.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "sinter/codegen/steps/lowering.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/plan/plan_verifier.h"

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

uint32_t ReasonTable::Add(ExchangeReason reason) {
  reason.text = ReasonText(std::move(reason.text));
  if (reason.locations.size() > kPlanMaxReasonLines) reason.locations.resize(kPlanMaxReasonLines);
  const auto [found, is_new] = index_.try_emplace(reason, reasons_.size() + 1);
  if (is_new) reasons_.push_back(std::move(reason));
  return found->second;
}

std::string ReasonText(std::string text) {
  constexpr std::string_view kCut = "...";
  std::ranges::replace_if(text, [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
  if (text.size() <= kPlanMaxReasonBytes) return text;
  text.resize(kPlanMaxReasonBytes - kCut.size());
  return text.append(kCut);
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
