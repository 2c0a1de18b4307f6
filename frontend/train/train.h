// Metrics and the training loop: all headers of this room.
//
//   #include "sinter/frontend/train/train.h"           // sinter/sinter.h includes it.
#ifndef SINTER_FRONTEND_TRAIN_TRAIN_H_
#define SINTER_FRONTEND_TRAIN_TRAIN_H_

#include "sinter/frontend/train/evaluator.h"
#include "sinter/frontend/train/event_file.h"
#include "sinter/frontend/train/extension.h"
#include "sinter/frontend/train/extensions.h"
#include "sinter/frontend/train/log_report.h"
#include "sinter/frontend/train/metric_values.h"
#include "sinter/frontend/train/metrics.h"
#include "sinter/frontend/train/plot_report.h"
#include "sinter/frontend/train/progress_bar.h"
#include "sinter/frontend/train/shifts.h"
#include "sinter/frontend/train/snapshot.h"
#include "sinter/frontend/train/state.h"
#include "sinter/frontend/train/trainer.h"
#include "sinter/frontend/train/trigger.h"
#include "sinter/frontend/train/updater.h"

#endif  // SINTER_FRONTEND_TRAIN_TRAIN_H_
