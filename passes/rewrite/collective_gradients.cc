#include "sinter/passes/rewrite/collective_gradients.h"
#include "sinter/ir/program/collective.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sinter {

using ir::Expr;
using ir::ReduceKind;
using mlir::Operation;
using mlir::Value;

namespace {

bool IsOfChannel(Operation* op, int64_t channel) {
  auto collective = ir::Collective::Of(op);
  return collective && collective->channel == channel;
}

std::optional<ReduceKind> CombineOf(Operation* op) {
  auto collective = llvm::dyn_cast<ir::CollectiveInterface>(op);
  return collective ? collective.getSettings().combine : std::nullopt;
}

int64_t FreeChannel(Operation* member) {
  int64_t channel = 0;
  member->getBlock()->walk([&](Operation* op) {
    if (auto collective = ir::Collective::Of(op)) channel = std::max(channel, collective->channel + 1);
  });
  return channel;
}

// Fills missing result gradients with zeros.
void FillZeros(ir::GraphBuilder& b, llvm::ArrayRef<Operation*> members, GradientsOfMembers& gradients) {
  for (auto [member, of_member] : llvm::zip_equal(members, gradients)) {
    for (auto [result, gradient] : llvm::zip_equal(member->getResults(), of_member)) {
      if (!gradient) gradient = b.zeros(b.wrap(result));
    }
  }
}

}  // namespace

llvm::SmallVector<Operation*> MembersOf(Operation* op) {
  auto collective = ir::Collective::Of(op);
  if (!collective) return {op};
  Operation* first = op;
  while (first->getPrevNode() && IsOfChannel(first->getPrevNode(), collective->channel)) {
    first = first->getPrevNode();
  }
  llvm::SmallVector<Operation*> members;
  for (Operation* m = first; m && IsOfChannel(m, collective->channel); m = m->getNextNode()) {
    members.push_back(m);
  }
  return members;
}

std::string WhyNoGradient(Operation* member) {
  if (!llvm::isa<ir::CollectiveGradientInterface>(member)) {
    return "has no gradient; expected a copy, or use StopGradient if that is intended";
  }
  std::optional<ReduceKind> combine = CombineOf(member);
  if (combine && *combine != ReduceKind::sum && *combine != ReduceKind::mean) {
    return "combines by " + ir::stringifyReduceKind(*combine).str() +
           " and has no gradient; expected sum or mean, or use StopGradient if that is intended";
  }
  if (MembersOf(member).size() != ir::Collective::Of(member)->group.size()) {
    return "has no gradient, because its members do not lie next to each other";
  }
  return "";
}

GradientsOfMembers CollectiveGradient(ir::GraphBuilder& b, llvm::ArrayRef<Operation*> members,
                                      GradientsOfMembers gradients) {
  // Members must stay adjacent, so everything else is built before the first of them.
  FillZeros(b, members, gradients);
  const int64_t channel = FreeChannel(members[0]);
  llvm::SmallVector<Operation*> made;
  for (auto [member, of_member] : llvm::zip_equal(members, gradients)) {
    auto values = llvm::to_vector(llvm::map_range(of_member, [](Expr g) { return g.value; }));
    made.push_back(
        llvm::cast<ir::CollectiveGradientInterface>(member).buildGradientMember(b, values, channel));
    ir::SetDevice(made.back(), ir::DeviceOf(member));
  }
  const bool divides = CombineOf(members[0]) == ReduceKind::mean && CombineOf(made[0]) != ReduceKind::mean;
  GradientsOfMembers terms(members.size());
  for (auto [op, of_member] : llvm::zip_equal(made, terms)) {
    for (Value result : op->getResults()) {
      Expr term = b.wrap(result);
      of_member.push_back(divides ? term * (1.0 / static_cast<double>(members.size())) : term);
    }
  }
  return terms;
}

}  // namespace sinter
