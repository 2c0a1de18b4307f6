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

// Returns nullopt if the collective does not combine elements.
std::optional<ReduceKind> CombineOf(Operation* op) {
  return llvm::TypeSwitch<Operation*, std::optional<ReduceKind>>(op)
      .Case<ir::AllReduceOp, ir::ReduceOp, ir::ReduceScatterOp>(
          [](auto member) { return member.getCombine(); })
      .Default([](Operation*) { return std::nullopt; });
}

int64_t FreeChannel(Operation* member) {
  int64_t channel = 0;
  member->getBlock()->walk([&](Operation* op) {
    if (auto collective = ir::Collective::Of(op)) channel = std::max(channel, collective->channel + 1);
  });
  return channel;
}

// One gradient's collective, with a member on the device of each forward member.
class Backward {
 public:
  Backward(ir::GraphBuilder& b, llvm::ArrayRef<Operation*> members, GradientsOfMembers gradients)
      : b_(b),
        members_(members),
        gradients_(std::move(gradients)),
        group_(members[0]->getAttrOfType<mlir::ArrayAttr>("group")),
        channel_(FreeChannel(members[0])) {}

  GradientsOfMembers run();

 private:
  // Fills missing result gradients with zeros. Runs before any member is built, so that members stay
  // adjacent.
  void fillZeros();
  llvm::SmallVector<Value> valuesOf(size_t m) {
    return llvm::to_vector(llvm::map_range(gradients_[m], [](Expr g) { return g.value; }));
  }
  Operation* member(size_t m, ir::AllReduceOp forward);
  Operation* member(size_t m, ir::ReduceOp forward);
  Operation* member(size_t m, ir::BroadcastFromOp forward);
  Operation* member(size_t m, ir::AllGatherOp forward);
  Operation* member(size_t m, ir::ReduceScatterOp forward);
  Operation* member(size_t m, ir::AllToAllOp forward);

  ir::GraphBuilder& b_;
  llvm::ArrayRef<Operation*> members_;
  GradientsOfMembers gradients_;
  mlir::ArrayAttr group_;
  int64_t channel_;
};

void Backward::fillZeros() {
  for (auto [member, gradients] : llvm::zip_equal(members_, gradients_)) {
    for (auto [result, gradient] : llvm::zip_equal(member->getResults(), gradients)) {
      if (!gradient) gradient = b_.zeros(b_.wrap(result));
    }
  }
}

Operation* Backward::member(size_t m, ir::AllReduceOp forward) {
  return b_.builder().create<ir::AllReduceOp>(b_.loc(), forward->getOperandTypes(), valuesOf(m), group_,
                                              channel_, forward.getCombine());
}

Operation* Backward::member(size_t m, ir::ReduceOp forward) {
  return b_.builder().create<ir::BroadcastFromOp>(b_.loc(), forward->getOperandTypes(), valuesOf(m), group_,
                                                  channel_, forward.getRoot());
}

Operation* Backward::member(size_t m, ir::BroadcastFromOp forward) {
  return b_.builder().create<ir::ReduceOp>(b_.loc(), forward->getOperandTypes(), valuesOf(m), group_,
                                           channel_, ReduceKind::sum, forward.getRoot());
}

Operation* Backward::member(size_t m, ir::AllGatherOp forward) {
  return b_.builder().create<ir::ReduceScatterOp>(b_.loc(), forward.getX().getType(), valuesOf(m)[0], group_,
                                                  channel_, ReduceKind::sum, forward.getSizes());
}

Operation* Backward::member(size_t m, ir::ReduceScatterOp forward) {
  return b_.builder().create<ir::AllGatherOp>(b_.loc(), forward.getX().getType(), valuesOf(m)[0], group_,
                                              channel_, forward.getSizes());
}

Operation* Backward::member(size_t m, ir::AllToAllOp forward) {
  return b_.builder().create<ir::AllToAllOp>(b_.loc(), forward.getX().getType(), valuesOf(m)[0], group_,
                                             channel_);
}

GradientsOfMembers Backward::run() {
  fillZeros();
  llvm::SmallVector<Operation*> made;
  for (size_t m = 0; m < members_.size(); ++m) {
    Operation* op =
        llvm::TypeSwitch<Operation*, Operation*>(members_[m])
            .Case<ir::AllReduceOp, ir::ReduceOp, ir::BroadcastFromOp, ir::AllGatherOp, ir::ReduceScatterOp,
                  ir::AllToAllOp>([&](auto forward) { return member(m, forward); })
            .Default([](Operation*) { return static_cast<Operation*>(nullptr); });
    ir::SetDevice(op, ir::DeviceOf(members_[m]));
    made.push_back(op);
  }
  // The gradient of a mean is divided by the group's size, unless the backward collective itself takes the
  // mean.
  bool divides = CombineOf(members_[0]) == ReduceKind::mean && !llvm::isa<ir::AllReduceOp>(members_[0]);
  GradientsOfMembers terms(members_.size());
  for (auto [op, of_member] : llvm::zip_equal(made, terms)) {
    for (Value result : op->getResults()) {
      Expr term = b_.wrap(result);
      of_member.push_back(divides ? term * (1.0 / static_cast<double>(group_.size())) : term);
    }
  }
  return terms;
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
  if (llvm::isa<ir::SendOp, ir::RecvOp>(member)) {
    return "has no gradient; expected a copy, or use stop_gradient if that is intended";
  }
  std::optional<ReduceKind> combine = CombineOf(member);
  if (combine && *combine != ReduceKind::sum && *combine != ReduceKind::mean) {
    return "combines by " + ir::stringifyReduceKind(*combine).str() +
           " and has no gradient; expected sum or mean, or use stop_gradient if that is intended";
  }
  if (MembersOf(member).size() != ir::Collective::Of(member)->group.size()) {
    return "has no gradient, because its members do not lie next to each other";
  }
  return "";
}

GradientsOfMembers CollectiveGradient(ir::GraphBuilder& b, llvm::ArrayRef<Operation*> members,
                                      GradientsOfMembers gradients) {
  return Backward(b, members, std::move(gradients)).run();
}

}  // namespace sinter
