// Logs of numbers: each run of a function appends on the device; one transfer reads the log.
//
//   b.Log("loss", loss);                                           // While building: frontend/graph/graph.h.
//   for (...) SINTER_RETURN_IF_ERROR(train.Run());                 // Transfers nothing to main memory.
//   SINTER_ASSIGN_OR_RETURN(LogValues losses, session.ReadLog("loss"));
//   losses.values                                               // Values since the last read, oldest first.
//
// A log "loss" is two variables of the program, both f64[2, capacity]. In the ring "log/loss", row 0 holds
// values and row 1 their numbers, counted from 1 (0 marks an empty column). Value n is in column (n - 1) rem
// capacity. So the ring alone shows which values are new and how many were lost. Every cell of
// "log_count/loss" is the number of values so far. Its update computes each cell only from itself, so it is
// fused into the kernel that updates the parameters, and writes in place.
//
// Checkpoints exclude logs: a program may log more or less than the program that saved the checkpoint.
// Loading a checkpoint leaves logs unchanged; Session::ResetVariables empties them.
#ifndef SINTER_RUNTIME_TENSOR_SCALAR_LOG_H_
#define SINTER_RUNTIME_TENSOR_SCALAR_LOG_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "sinter/runtime/tensor/tensor.h"

namespace sinter {

inline constexpr std::string_view kLogPrefix = "log/";
inline constexpr std::string_view kLogCountPrefix = "log_count/";

// True if a variable of this name belongs to a log.
bool IsLogVariable(std::string_view name);

struct LogValues {
  std::vector<double> values;
  int64_t lost = 0;  // Values overwritten in the ring before this read.
};

// Returns the ring's values with numbers above `last_number`, and sets it to the highest number.
// InvalidArgument if the tensor is not a ring.
absl::StatusOr<LogValues> TakeLogValues(const HostTensor& ring, int64_t& last_number);

}  // namespace sinter

#endif  // SINTER_RUNTIME_TENSOR_SCALAR_LOG_H_
