// The predicted time of one step of a plan, from its body, flops and bytes.
//
//   SINTER_ASSIGN_OR_RETURN(const PricedStep priced, PriceStep(plan.table(), step, costs));
//   total += priced.seconds;
//
// Exchanges and copies between devices have several members, so plan_simulation.h prices them.
#ifndef SINTER_TOOLS_PREDICT_STEP_PRICES_H_
#define SINTER_TOOLS_PREDICT_STEP_PRICES_H_

#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"
#include "runtime/plan_generated.h"
#include "sinter/ir/cost/device_costs.h"

namespace sinter::tools {

enum class WorkClass : uint8_t { kProducts, kConvolutions, kAttention, kKernels, kCopies, kExchanges };
inline constexpr int kWorkClasses = 6;
// "products", "convolutions", "attention", "kernels", "copies", "exchanges".
std::string_view NameOf(WorkClass work);

// The class of a step that is no collective.
WorkClass WorkClassOf(const fb::Step& step);

struct PricedStep {
  WorkClass work = WorkClass::kKernels;
  double seconds = 0;
  double share = 1;            // SimulatedStep::share.
  bool is_as_product = false;  // cost::ContractionPrice.
};

// The step must have passed plan_verifier.h, and be no exchange. NotFound: the table lacks its arithmetic;
// the message names the step.
absl::StatusOr<PricedStep> PriceStep(const fb::Plan& plan, const fb::Step& step,
                                     const cost::DeviceCosts& costs);

// Returns what a collective exchanges; `ranks` is the number of its members.
cost::ExchangeWork ExchangeOf(const fb::CollectiveStep& step, uint32_t ranks);

}  // namespace sinter::tools

#endif  // SINTER_TOOLS_PREDICT_STEP_PRICES_H_
