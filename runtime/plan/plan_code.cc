#include "sinter/runtime/plan/plan_code.h"

#include <algorithm>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "sinter/runtime/host/cpu_features.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/plan/plan_vectors.h"

namespace sinter {
namespace {

std::span<const std::byte> BytesOf(const flatbuffers::Vector<uint8_t>* bytes) {
  if (bytes == nullptr) return {};
  return std::as_bytes(std::span(bytes->data(), bytes->size()));
}

std::string CpuName(const fb::Target* target) {
  return target->cpu() == nullptr || target->cpu()->size() == 0 ? "another CPU" : target->cpu()->str();
}

// "this plan was compiled for x86-64-v4 and x86-64-v3".
std::string MadeFor(const std::vector<PlanCode>& all) {
  std::vector<std::string> names;
  for (const PlanCode& code : all) names.push_back(CpuName(code.target));
  return absl::StrCat("this plan was compiled for ", absl::StrJoin(names, " and "));
}

bool IsForThisArchitecture(const fb::Target& target) {
  const std::string triple = Text(target.triple());
  return triple.empty() || triple.substr(0, triple.find('-')) == RunningArchitecture();
}

std::vector<std::string> MissingFeatures(const fb::Target& target) {
  std::vector<std::string> missing;
  if (target.features() == nullptr) return missing;
  for (const flatbuffers::String* feature : *target.features()) {
    if (!RunningCpuHas(feature->str())) missing.push_back(feature->str());
  }
  return missing;
}

absl::Status NoneRunsHere(const std::vector<PlanCode>& all) {
  const fb::Target& last = *all.back().target;
  if (!IsForThisArchitecture(last)) {
    return absl::FailedPreconditionError(
        absl::StrCat(MadeFor(all), " (", Text(last.triple()), "), but this machine is ",
                     std::string(RunningArchitecture()), ": recompile for it"));
  }
  constexpr char kAdvice[] =
      "; recompile with --target-cpu=native here, or with --target-cpu=x86-64-v3 for any x86-64 "
      "CPU since Intel Haswell and AMD Zen";
  return absl::FailedPreconditionError(
      absl::StrCat(MadeFor(all), all.size() == 1 ? " and needs " : "; for the last it needs ",
                   absl::StrJoin(MissingFeatures(last), ", "), ", which this CPU lacks", kAdvice));
}

absl::Status Bad(uint32_t index, const char* what) {
  return absl::InvalidArgumentError(
      absl::StrCat("the plan is malformed: its better code ", index, " ", what));
}

}  // namespace

std::vector<PlanCode> AllPlanCode(const fb::Plan& plan) {
  std::vector<PlanCode> all;
  if (plan.better_code() != nullptr) {
    for (const fb::CpuCode* code : *plan.better_code()) {
      all.push_back({code->target(), BytesOf(code->shared_object())});
    }
  }
  all.push_back({plan.target(), BytesOf(plan.shared_object())});
  return all;
}

absl::StatusOr<PlanCode> CodeForThisCpu(const fb::Plan& plan) {
  SINTER_RETURN_IF_ERROR(CheckRunningCpu());
  const std::vector<PlanCode> all = AllPlanCode(plan);
  for (const PlanCode& code : all) {
    if (code.target == nullptr) return code;
    if (IsForThisArchitecture(*code.target) && MissingFeatures(*code.target).empty()) return code;
  }
  return NoneRunsHere(all);
}

std::optional<std::string> BetterCode(const fb::Plan& plan, const PlanCode& code) {
  if (code.target == nullptr || code.shared_object.empty()) return std::nullopt;
  const std::string chosen = CpuName(code.target);
  for (const PlanCode& other : AllPlanCode(plan)) {
    if (other.target == code.target) break;
    // Code for another architecture is better for no CPU of this one.
    if (!IsForThisArchitecture(*other.target)) continue;
    return absl::StrCat("code for ", chosen, " runs; the plan's better code, for ", CpuName(other.target),
                        ", needs ", absl::StrJoin(MissingFeatures(*other.target), ", "),
                        ", which this CPU lacks");
  }
  static constexpr char kWide[] = "avx512f";
  const auto* const features = code.target->features();
  const bool is_wide = features != nullptr && std::any_of(features->begin(), features->end(),
                                                          [](const auto* f) { return View(f) == kWide; });
  if (is_wide || !RunningCpuHas(kWide)) return std::nullopt;
  return absl::StrCat("code for ", chosen, " runs, without ", kWide,
                      ", which this CPU has: compile the program here, or with --target-cpu=x86-64-v4");
}

absl::Status VerifyPlanCode(const fb::Plan& plan) {
  if (plan.better_code() == nullptr || plan.better_code()->size() == 0) return absl::OkStatus();
  const uint32_t count = plan.better_code()->size();
  if (count >= kPlanMaxTargets) return Bad(count - 1, "is one too many: a plan has at most 16 targets");
  if (plan.target() == nullptr || plan.shared_object() == nullptr || plan.shared_object()->size() == 0) {
    return Bad(0, "is better than none: the plan has no target or no code of its own");
  }
  for (uint32_t i = 0; i < count; ++i) {
    const fb::CpuCode& code = *plan.better_code()->Get(i);
    if (code.target() == nullptr) return Bad(i, "does not say for which CPU");
    if (code.shared_object() == nullptr || code.shared_object()->size() == 0) return Bad(i, "is empty");
  }
  return absl::OkStatus();
}

}  // namespace sinter
