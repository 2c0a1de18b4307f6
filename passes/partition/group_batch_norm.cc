#include "sinter/ir/dialect/ops.h"
#include "sinter/passes/passes.h"

namespace sinter {

#define GEN_PASS_DEF_GROUPBATCHNORM
#include "passes/passes.h.inc"

namespace {

class GroupBatchNormPass : public impl::GroupBatchNormBase<GroupBatchNormPass> {
 public:
  using GroupBatchNormBase::GroupBatchNormBase;

  void runOnOperation() override {
    getOperation().walk([&](ir::BatchNormTrainingOp op) {
      int64_t batch = op.getX().getType().getDimSize(0);
      if (op.getDim() == 0 || batch % groups != 0) {
        op.emitOpError() << "normalises " << op.getX().getType() << ", whose batch is not "
                         << groups.getValue() << " equal parts; choose a batch that is a multiple of "
                         << groups.getValue() << ", or set batch_norm = BatchStatistics::kSynchronized";
        return signalPassFailure();
      }
      op.setGroups(groups);
    });
  }
};

}  // namespace
}  // namespace sinter
