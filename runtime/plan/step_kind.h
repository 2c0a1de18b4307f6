// The kinds of steps that a plan has: one row a kind, of all that the runtime knows of it without running it.
//
//   report << StepKindName(step);                              // "conv"
//   if (StepKindOf(step).is_exchange) ...
//   out << StepText(plan, step);                               // "matmul 256x128x800 bias relu"
//
// A new kind is a member of StepBody in plan.fbs, a row in step_kind.cc with its functions
// (step_kind_functions.h), and a row in the table of makers of each back end that runs it
// (runtime/cpu/steps.cc, runtime/cuda/steps/cuda_steps.cc).
#ifndef SINTER_RUNTIME_PLAN_STEP_KIND_H_
#define SINTER_RUNTIME_PLAN_STEP_KIND_H_

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "runtime/plan_generated.h"
#include "sinter/runtime/host/dtype.h"
#include "sinter/runtime/memory/device.h"

namespace sinter {

struct StepToVerify;

// The arithmetic of a step whose time its multiplications bound.
struct ContractionType {
  DType dtype = DType::kF32;
  fb::MathMode math = fb::MathMode::Ieee;

  // "bf16", "f32", "f32 as tf32".
  std::string ToString() const;
  friend auto operator<=>(const ContractionType&, const ContractionType&) = default;
};

// How long a device takes to make a step. The session makes kSlow steps last, because devices prepare them
// meanwhile (DeviceRuntime::Prepare).
enum class MakeCost : uint8_t { kQuick, kSlow };

struct StepKind {
  fb::StepBody body = fb::StepBody::NONE;
  std::string_view name;
  // Checks the body against the operands (runtime/plan/step_checks.h). The message has no subject.
  absl::Status (*verify)(const StepToVerify& step) = nullptr;
  // The step's parameters as short text: "pool max 32x64x8x8 to 4x4 window 2x2 nchw".
  std::string (*text)(const fb::Plan& plan, const fb::Step& step) = nullptr;
  // The trait that a kind of devices must have to run the step, and the reason to give for others. Null: any
  // will do.
  bool DeviceKindTraits::* needs = nullptr;
  std::string_view needs_why = {};
  // A name that says more than `name`; null if there is none.
  std::string_view (*name_of)(const fb::Step& step) = nullptr;
  // Null for steps whose time the memory bounds.
  std::optional<ContractionType> (*contraction_type)(const fb::Step& step) = nullptr;
  // One member of an exchange among several devices.
  bool is_exchange = false;
  // May read a buffer on another device.
  bool reads_other_devices = false;
  MakeCost make_cost = MakeCost::kQuick;
};

// Null if there is no such kind.
const StepKind* FindStepKind(fb::StepBody body);
// The step must have passed plan_verifier.h, as for the functions below.
const StepKind& StepKindOf(const fb::Step& step);

// "kernel", "matmul", "conv", "pool", "copy", "attention", "all_reduce" and the like, or a catalogue kernel's
// name.
std::string_view StepKindName(const fb::Step& step);
// Returns the step's operation and its parameters: "kernel softmax, 12 units", "matmul 256x128x800 bias
// relu", "copy".
std::string StepText(const fb::Plan& plan, const fb::Step& step);
// Empty for steps whose time the memory bounds.
std::optional<ContractionType> ContractionTypeOf(const fb::Step& step);

}  // namespace sinter

#endif  // SINTER_RUNTIME_PLAN_STEP_KIND_H_
