// Loops, which run a fragment of the plan: fb::LoopStep.
#include <string>

#include "absl/strings/str_cat.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/plan/loop_workspace.h"
#include "sinter/runtime/plan/plan.h"
#include "sinter/runtime/plan/plan_devices.h"
#include "sinter/runtime/plan/plan_vectors.h"
#include "sinter/runtime/plan/plan_verifier.h"
#include "sinter/runtime/plan/step_kind_functions.h"

namespace sinter {
namespace {

__extension__ typedef __int128 Wide;

// Checks that the parameter is inside the operand in each trip, aligned as far as its buffers rely on it.
absl::Status CheckArgument(const StepToVerify& o, const fb::LoopArgument& argument,
                           const fb::Parameter& parameter, int64_t trips) {
  const size_t inputs = o.inputs.size(), count = inputs + o.outputs.size();
  if (argument.operand() >= count) return BadPlan("it is operand ", argument.operand(), " of ", count);
  const bool is_output = argument.operand() >= inputs;
  if (parameter.is_written() && !is_output) return BadPlan("the fragment writes to it, and it is an input");
  const fb::Buffer& operand =
      is_output ? *o.outputs[argument.operand() - inputs] : *o.inputs[argument.operand()];
  if (trips == 0) return absl::OkStatus();
  const Wide first = static_cast<Wide>(argument.first());
  const Wide last = first + static_cast<Wide>(argument.stride()) * (trips - 1);
  const Wide room = static_cast<Wide>(operand.bytes()) - static_cast<Wide>(parameter.bytes());
  if (first > room || last < 0 || last > room) {
    return BadPlan("its ", parameter.bytes(), " bytes from ", argument.first(), " by ", argument.stride(),
                   " in ", trips, " trips are outside an operand of ", operand.bytes(), " bytes");
  }
  return absl::OkStatus();
}

// Elements that the fragment reads and writes are aligned in each trip.
absl::Status CheckAlignment(const StepToVerify& o, const fb::LoopStep& s, const fb::Function& fragment) {
  for (uint32_t i = 0; i < SizeOrZero(fragment.buffers()); ++i) {
    const fb::Buffer& buffer = *fragment.buffers()->Get(i);
    if (buffer.space() != fb::Space::Parameter) continue;
    const fb::LoopArgument& argument = *s.arguments()->Get(buffer.index());
    const auto element = static_cast<uint64_t>(SizeOf(static_cast<DType>(buffer.type()->dtype())));
    const size_t inputs = o.inputs.size();
    const fb::Buffer& operand =
        argument.operand() < inputs ? *o.inputs[argument.operand()] : *o.outputs[argument.operand() - inputs];
    const uint64_t stride = argument.stride() < 0 ? -static_cast<uint64_t>(argument.stride())
                                                  : static_cast<uint64_t>(argument.stride());
    if (operand.offset() % element == 0 && argument.first() % element == 0 && stride % element == 0) continue;
    return BadPlan("argument ", buffer.index(), " is not aligned to elements of ", element,
                   " bytes, which the fragment has there");
  }
  return absl::OkStatus();
}

// The byte that ends the loop is an operand's, and the same one in all trips.
absl::Status CheckGuard(const StepToVerify& o, const fb::LoopStep& s) {
  if (s.guard() < 0) return absl::OkStatus();
  if (o.plan.version() < Plan::LeastVersion({.fragments = true, .guards = true})) {
    return BadPlan("plans of version ", o.plan.version(), " have no guards");
  }
  const size_t inputs = o.inputs.size(), count = inputs + o.outputs.size();
  const auto guard = static_cast<size_t>(s.guard());
  if (guard >= count) return BadPlan("its guard is operand ", guard, " of ", count);
  const fb::Buffer& operand = guard < inputs ? *o.inputs[guard] : *o.outputs[guard - inputs];
  if (operand.bytes() == 0 || static_cast<DType>(operand.type()->dtype()) != DType::kI1) {
    return BadPlan("its guard is not a truth value");
  }
  for (uint32_t i = 0; s.trips() > 1 && i < SizeOrZero(s.arguments()); ++i) {
    if (s.arguments()->Get(i)->stride() == 0) continue;
    return BadPlan("argument ", i, " moves from trip to trip, and a guard may end the loop after any");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status VerifyLoop(const StepToVerify& o) {
  const fb::LoopStep& s = *o.step.body_as_LoopStep();
  const uint32_t count = SizeOrZero(o.plan.fragments());
  if (s.fragment() >= count) return BadPlan("it runs fragment ", s.fragment(), " of ", count);
  if (s.trips() < 0 || s.trips() >= int64_t{1} << 31) return BadPlan("it makes ", s.trips(), " trips");
  // Fragments up to the loop's own, if it is in one, are verified.
  for (uint32_t i = 0; i <= s.fragment(); ++i) {
    if (o.plan.fragments()->Get(i) == &o.function)
      return BadPlan("it is in fragment ", i, " and runs fragment ", s.fragment(),
                     ", which does not come before");
  }
  const fb::Function& fragment = *o.plan.fragments()->Get(s.fragment());
  if (SizeOrZero(fragment.steps()) > 0 && fragment.steps()->Get(0)->device() != o.step.device()) {
    return BadPlan("its fragment is on device ", fragment.steps()->Get(0)->device());
  }
  const uint32_t parameters = SizeOrZero(fragment.parameters());
  if (SizeOrZero(s.arguments()) != parameters) {
    return BadPlan("it has ", SizeOrZero(s.arguments()), " arguments for ", parameters, " parameters");
  }
  for (uint32_t i = 0; i < parameters; ++i) {
    const absl::Status status =
        CheckArgument(o, *s.arguments()->Get(i), *fragment.parameters()->Get(i), s.trips());
    if (!status.ok()) return BadPlan("argument ", i, ": ", absl::string_view(status.message()));
  }
  SINTER_RETURN_IF_ERROR(CheckAlignment(o, s, fragment));
  SINTER_RETURN_IF_ERROR(CheckGuard(o, s));
  const uint64_t arena = LoopWorkspaceBytes(ArenaBytes(fragment, o.step.device()), s.guard() >= 0);
  if (arena > o.step.workspace_bytes()) {
    return BadPlan("its workspace has ", o.step.workspace_bytes(), " bytes, and its fragment needs ", arena);
  }
  return absl::OkStatus();
}

std::string LoopText(const fb::Plan& plan, const fb::Step& step) {
  const fb::LoopStep& loop = *step.body_as_LoopStep();
  const std::string trips = loop.guard() < 0    ? absl::StrCat("loop ", loop.trips(), " x ")
                            : loop.trips() == 1 ? "if "
                                                : absl::StrCat("while at most ", loop.trips(), " x ");
  return absl::StrCat(trips, Text(plan.fragments()->Get(loop.fragment())->name()));
}

}  // namespace sinter
