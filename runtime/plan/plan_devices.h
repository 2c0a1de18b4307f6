// Accessors for the devices of a plan by index. A plan without a list of devices has only cpu:0.
//
//   for (uint32_t d = 0; d < NumDevices(plan); ++d) {
//     std::cout << DeviceOf(plan, d) << ArenaBytes(function, d) << "\n";
//   }
//
// Unless a comment says otherwise, the plan must have passed plan_verifier.h.
#ifndef SINTER_RUNTIME_PLAN_PLAN_DEVICES_H_
#define SINTER_RUNTIME_PLAN_PLAN_DEVICES_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "runtime/plan_generated.h"
#include "sinter/runtime/memory/device.h"

namespace sinter {

// At least 1. Works on unverified plans.
inline uint32_t NumDevices(const fb::Plan& plan) {
  return plan.devices() == nullptr || plan.devices()->size() == 0 ? 1 : plan.devices()->size();
}

// Empty if the program has no such kind of devices. Works on unverified names.
inline std::optional<DeviceKind> DeviceKindOf(const fb::DeviceName& name) {
  switch (name.kind()) {
    case fb::DeviceKind::Cpu:
      return DeviceKind::kCpu;
    case fb::DeviceKind::Gpu:
      return DeviceKind::kGpu;
    case fb::DeviceKind::Named:
      break;
  }
  if (name.kind() != fb::DeviceKind::Named || name.kind_name() == nullptr) return std::nullopt;
  return FindDeviceKind(name.kind_name()->string_view());
}

inline Device DeviceOf(const fb::Plan& plan, uint32_t index) {
  if (plan.devices() == nullptr || plan.devices()->size() == 0) return Device::Cpu();
  const fb::DeviceName& name = *plan.devices()->Get(index);
  return Device::Of(*DeviceKindOf(name), name.index());
}

// Returns the device's entry of a plan's list, for writers of plans.
inline std::unique_ptr<fb::DeviceNameT> MakeDeviceName(Device device) {
  auto name = std::make_unique<fb::DeviceNameT>();
  name->index = device.index();
  if (device.is_cpu() || device.is_gpu()) {
    name->kind = device.is_cpu() ? fb::DeviceKind::Cpu : fb::DeviceKind::Gpu;
  } else {
    name->kind = fb::DeviceKind::Named;
    name->kind_name = DeviceKindName(device.kind());
  }
  return name;
}

// Bytes of the arena on device `index`; 0 if the function gives none. Works on unverified functions.
inline uint64_t ArenaBytes(const fb::Function& function, uint32_t index) {
  if (index == 0) return function.arena_bytes();
  const flatbuffers::Vector<uint64_t>* const more = function.more_arena_bytes();
  return more == nullptr || index > more->size() ? 0 : more->Get(index - 1);
}

// True if `step` is a copy whose input is on another device. Only copies may have such an input.
inline bool IsBetweenDevices(const fb::Function& function, const fb::Step& step) {
  return step.body_type() == fb::StepBody::CopyStep && step.inputs() != nullptr &&
         step.inputs()->size() == 1 &&
         function.buffers()->Get(step.inputs()->Get(0))->device() != step.device();
}

// True if `step` copies a function input to another device. Every process has the inputs, so no process sends
// them.
inline bool IsCopyOfInput(const fb::Function& function, const fb::Step& step) {
  return IsBetweenDevices(function, step) &&
         function.buffers()->Get(step.inputs()->Get(0))->space() == fb::Space::Input;
}

}  // namespace sinter

#endif  // SINTER_RUNTIME_PLAN_PLAN_DEVICES_H_
