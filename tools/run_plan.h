// `sinter run`: runs a function of a plan on given or random inputs and times it.
//
//   SINTER_RETURN_IF_ERROR(RunPlan({.plan = "m.plan", .inputs = {"x=x.npy", "lr=0.1"}, .repeat = 10}, std::cout));
#ifndef SINTER_TOOLS_RUN_PLAN_H_
#define SINTER_TOOLS_RUN_PLAN_H_

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace sinter::tools {

struct RunOptions {
  std::string plan;
  std::string function;  // May be empty for a plan of one function.
  // "name=file.npy"; "name=0.1", a number for an input of rank 0; or "file.npz" with inputs by name. An input that is
  // not given is random: floats uniform in [-1, 1), of rank 0 the number 0.01, integers and i1 0 or 1.
  std::vector<std::string> inputs;
  std::string checkpoint;       // Safetensors file that the variables are read from; empty: initial values.
  std::string output;           // .npz file for the outputs of the last run; empty: none.
  std::string save_checkpoint;  // Safetensors file for the variables after the last run; empty: none.
  int repeat = 1;
  bool profile = false;  // Also the time of each step.
  int threads = 0;
  uint64_t seed = 1;  // Of random inputs.
};

// InvalidArgument and NotFound: the options are wrong; other errors come from reading, running and writing.
absl::Status RunPlan(const RunOptions& options, std::ostream& out);

}  // namespace sinter::tools

#endif  // SINTER_TOOLS_RUN_PLAN_H_
