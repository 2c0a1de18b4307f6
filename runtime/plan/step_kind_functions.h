// The functions of step_kind.cc's rows. Each kind has a file of its own, such as kinds/matmul_kind.cc.
//
//   {.body = fb::StepBody::PoolStep, .name = "pool", .verify = VerifyPool, .text = PoolText}
//
// Verify...: StepKind::verify. ...Text: StepKind::text. ...Matmul: StepKind::contraction_type.
#ifndef SINTER_RUNTIME_PLAN_STEP_KIND_FUNCTIONS_H_
#define SINTER_RUNTIME_PLAN_STEP_KIND_FUNCTIONS_H_

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "runtime/plan_generated.h"
#include "sinter/runtime/plan/step_checks.h"
#include "sinter/runtime/plan/step_kind.h"

namespace sinter {

absl::Status VerifyKernel(const StepToVerify& step);
std::string KernelText(const fb::Plan& plan, const fb::Step& step);

absl::Status VerifyGpuKernel(const StepToVerify& step);
std::string GpuKernelText(const fb::Plan& plan, const fb::Step& step);

absl::Status VerifyMatmul(const StepToVerify& step);
std::string MatmulText(const fb::Plan& plan, const fb::Step& step);
std::optional<ContractionType> MatmulContraction(const fb::Step& step);

absl::Status VerifyConv(const StepToVerify& step);
std::string ConvText(const fb::Plan& plan, const fb::Step& step);
std::optional<ContractionType> ConvContraction(const fb::Step& step);

absl::Status VerifyPool(const StepToVerify& step);
std::string PoolText(const fb::Plan& plan, const fb::Step& step);

absl::Status VerifyCopy(const StepToVerify& step);
std::string CopyText(const fb::Plan& plan, const fb::Step& step);

absl::Status VerifyCatalogCall(const StepToVerify& step);
std::string CatalogCallText(const fb::Plan& plan, const fb::Step& step);
std::string_view CatalogCallName(const fb::Step& step);

absl::Status VerifyAttention(const StepToVerify& step);
std::string AttentionText(const fb::Plan& plan, const fb::Step& step);
std::optional<ContractionType> AttentionContraction(const fb::Step& step);

absl::Status VerifyLoop(const StepToVerify& step);
std::string LoopText(const fb::Plan& plan, const fb::Step& step);

absl::Status VerifyCollective(const StepToVerify& step);
std::string CollectiveText(const fb::Plan& plan, const fb::Step& step);
std::string_view CollectiveStepName(const fb::Step& step);

}  // namespace sinter

#endif  // SINTER_RUNTIME_PLAN_STEP_KIND_FUNCTIONS_H_
