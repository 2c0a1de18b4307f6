// Everything that a program needs to build, compile and run a model.
//
//   #include "sinter/frontend/sinter.h"
//
// See frontend/graph/graph.h for a first example and examples/ for whole programs.
#ifndef SINTER_FRONTEND_SINTER_H_
#define SINTER_FRONTEND_SINTER_H_

#include "sinter/frontend/compile/compile.h"
#include "sinter/frontend/graph/graph.h"
#include "sinter/frontend/graph/tensor.h"
#include "sinter/frontend/nn/attention.h"
#include "sinter/frontend/nn/layers.h"
#include "sinter/frontend/ops/collectives.h"
#include "sinter/frontend/ops/elementwise_kernel.h"
#include "sinter/frontend/ops/ops.h"
#include "sinter/frontend/optim/optimizer.h"
#include "sinter/frontend/optim/schedule.h"
#include "sinter/runtime/memory/device_info.h"
#include "sinter/runtime/session/session.h"

#endif  // SINTER_FRONTEND_SINTER_H_
