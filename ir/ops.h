// Every op class of the `sinter` dialect.
#ifndef SINTER_IR_OPS_H_
#define SINTER_IR_OPS_H_

#include "sinter/ir/activation_ops.h"
#include "sinter/ir/arithmetic_ops.h"
#include "sinter/ir/attention_ops.h"
#include "sinter/ir/collective_ops.h"
#include "sinter/ir/composite_ops.h"
#include "sinter/ir/custom_ops.h"
#include "sinter/ir/dialect.h"
#include "sinter/ir/linear_ops.h"
#include "sinter/ir/logic_ops.h"
#include "sinter/ir/placement_ops.h"
#include "sinter/ir/program_ops.h"
#include "sinter/ir/random_ops.h"
#include "sinter/ir/reduce_ops.h"
#include "sinter/ir/shape_ops.h"
#include "sinter/ir/transcendental_ops.h"

#endif  // SINTER_IR_OPS_H_
