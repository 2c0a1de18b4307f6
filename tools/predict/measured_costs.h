// `sinter measure`: the cost table of devices of this machine.
//
//   SINTER_ASSIGN_OR_RETURN(const cost::CostTable table,
//                           MeasureCosts({.devices = {Device::Gpu(0)}}, std::cerr));
//   SINTER_RETURN_IF_ERROR(WriteFileAtomically("h200.costs", cost::CostsText(table)));
//
// Times plans of copies, matmuls, convolutions and attention (tools/handmade_plan.h) in runs without a
// profile, one after the other, as a program runs them: on a GPU each run is a captured graph, after a
// warm-up. With several devices also their exchanges. The first device's figures stand for all.
//
// Plans need no generated code, so what only generated kernels show is taken from the built-in tables: the
// rates of kernels (on a CPU in proportion to its matmuls), and what a GPU's thread has under way.
#ifndef SINTER_TOOLS_PREDICT_MEASURED_COSTS_H_
#define SINTER_TOOLS_PREDICT_MEASURED_COSTS_H_

#include <ostream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sinter/ir/cost/cost_table.h"
#include "sinter/runtime/memory/device.h"

namespace sinter::tools {

struct MeasureOptions {
  std::vector<Device> devices = {Device::Cpu()};  // All of one kind.
  std::vector<std::string> types;        // Names of cost::Arithmetic; empty: those that programs use.
  double seconds_each = 0.05;            // For one timing, of which there are five for each figure.
  int threads = 0;                       // SessionOptions::threads.
  std::string driver = "-", nccl = "-";  // CostTable's.
  bool quick = false;                    // Only some sizes, and small ones, for tests.
};

// Prints what it measures to `log`. InvalidArgument: an option is wrong. Other errors: those of sessions.
absl::StatusOr<cost::CostTable> MeasureCosts(const MeasureOptions& options, std::ostream& log);

}  // namespace sinter::tools

#endif  // SINTER_TOOLS_PREDICT_MEASURED_COSTS_H_
