// Draws of bench/peers/sweep_gpu.py: a form with the shapes of its operands and its options.
//
//   SINTER_ASSIGN_OR_RETURN(std::vector<Draw> draws, ReadDraws("draws.jsonl"));
//   Draw draw = draws[0];     // draw.form "layer_norm", draw.operands[0] is "x", bf16[7,300].
//
// bench/peers/sweep/draws.py makes them from a seed. A line of the file has the fields of Draw; operands have
// those of DrawnOperand.
#ifndef SINTER_BENCH_SWEEP_DRAW_H_
#define SINTER_BENCH_SWEEP_DRAW_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sinter/frontend/sinter.h"

namespace sinter::bench {

// An operand: a variable, which stays on the device.
struct DrawnOperand {
  // kNormal: floats of deviation `scale`. kWhole: integers below `high`. kTruth: true with probability
  // `scale`. kParameter: as kNormal, and an optimiser changes it.
  enum class Kind { kNormal, kWhole, kTruth, kParameter };
  std::string name;
  DType dtype = DType::kF32;
  Shape shape;
  Kind kind = Kind::kNormal;
  double scale = 1;
  int64_t high = 0;
};

struct Draw {
  int64_t id = 0;
  std::string form, name;  // `form` computes; `name` has the suffix "_grad" if there are gradients.
  DType dtype = DType::kF32;
  std::vector<DrawnOperand> operands;
  std::vector<std::string> wrt;  // Operands whose gradients are results too.
  bool is_whole = false;         // True if a run needs each element of the operands and results.
  nlohmann::json options;
};

// Reads a file of draws, one JSON object a line. InvalidArgument: a line lacks a field or has an unknown
// type; NotFound: no such file.
absl::StatusOr<std::vector<Draw>> ReadDraws(const std::string& path);

// Returns numbers below operand.high, or truth values, that depend on the draw and the operand's name alone.
// InvalidArgument for a kind of floats, which the session draws.
absl::StatusOr<HostTensor> DrawValues(const Draw& draw, const DrawnOperand& operand);

}  // namespace sinter::bench

#endif  // SINTER_BENCH_SWEEP_DRAW_H_
