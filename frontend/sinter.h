// Everything that a program needs to build, compile and run a model.
//
//   #include "sinter/frontend/sinter.h"
//
// See frontend/graph.h for a first example and examples/ for whole programs.
#ifndef SINTER_FRONTEND_SINTER_H_
#define SINTER_FRONTEND_SINTER_H_

#include "sinter/frontend/collectives.h"
#include "sinter/frontend/compile.h"
#include "sinter/frontend/elementwise_kernel.h"
#include "sinter/frontend/graph.h"
#include "sinter/frontend/nn/attention.h"
#include "sinter/frontend/nn/layers.h"
#include "sinter/frontend/ops.h"
#include "sinter/frontend/optim/optimizer.h"
#include "sinter/frontend/optim/schedule.h"
#include "sinter/frontend/tensor.h"
#include "sinter/runtime/device_info.h"
#include "sinter/runtime/session.h"

#endif  // SINTER_FRONTEND_SINTER_H_
