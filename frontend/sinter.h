// All public headers: everything that a program needs to build, compile and run a model.
//
//   #include "sinter/sinter.h"
//
// frontend/graph/graph.h has a first example; examples/ has whole programs. A program that only runs plans
// includes sinter/runtime.h.
#ifndef SINTER_FRONTEND_SINTER_H_
#define SINTER_FRONTEND_SINTER_H_

#include "sinter/frontend/compile/compile.h"
#include "sinter/frontend/compile/data_parallel.h"
#include "sinter/frontend/compile/exchanges.h"
#include "sinter/frontend/compile/parallel.h"
#include "sinter/frontend/data/batches.h"
#include "sinter/frontend/data/digits.h"
#include "sinter/frontend/data/idx.h"
#include "sinter/frontend/data/mnist.h"
#include "sinter/frontend/data/named_batches.h"
#include "sinter/frontend/data/prefetcher.h"
#include "sinter/frontend/data/splitmix.h"
#include "sinter/frontend/data/tokens.h"
#include "sinter/frontend/data/transforms.h"
#include "sinter/frontend/graph/graph.h"
#include "sinter/frontend/graph/tensor.h"
#include "sinter/frontend/graph/variable_filter.h"
#include "sinter/frontend/nn/attention.h"
#include "sinter/frontend/nn/image_layers.h"
#include "sinter/frontend/nn/initializer.h"
#include "sinter/frontend/nn/kv_cache.h"
#include "sinter/frontend/nn/layers.h"
#include "sinter/frontend/nn/module.h"
#include "sinter/frontend/nn/recurrent.h"
#include "sinter/frontend/ops/collectives.h"
#include "sinter/frontend/ops/elementwise_kernel.h"
#include "sinter/frontend/ops/loops.h"
#include "sinter/frontend/ops/ops.h"
#include "sinter/frontend/ops/scatter.h"
#include "sinter/frontend/optim/adaptive_rules.h"
#include "sinter/frontend/optim/averages.h"
#include "sinter/frontend/optim/hooks.h"
#include "sinter/frontend/optim/hyper.h"
#include "sinter/frontend/optim/matrix_rules.h"
#include "sinter/frontend/optim/optimizer.h"
#include "sinter/frontend/optim/rate_schedule.h"
#include "sinter/frontend/optim/rule.h"
#include "sinter/frontend/optim/schedules.h"
#include "sinter/frontend/optim/update_options.h"
#include "sinter/frontend/train/train.h"
#include "sinter/runtime/runtime.h"

#endif  // SINTER_FRONTEND_SINTER_H_
