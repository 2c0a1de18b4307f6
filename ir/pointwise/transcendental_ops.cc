#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/shape_checks.h"

#define GET_OP_CLASSES
#include "ir/transcendental_ops.cc.inc"

namespace sinter::ir {

void AddTranscendentalOps(SinterDialect* dialect) {
  dialect->addFamily<
#define GET_OP_LIST
#include "ir/transcendental_ops.cc.inc"
      >();
}

}  // namespace sinter::ir
