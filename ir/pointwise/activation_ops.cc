#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/shape_checks.h"

#define GET_OP_CLASSES
#include "ir/activation_ops.cc.inc"

namespace sinter::ir {

void AddActivationOps(SinterDialect* dialect) {
  dialect->addFamily<
#define GET_OP_LIST
#include "ir/activation_ops.cc.inc"
      >();
}

}  // namespace sinter::ir
