// Logs of numbers: written on the device in every run of a function, read when the program wants them, in one transfer.
//
//   b.Log("loss", loss);                                           // While building: frontend/graph/graph.h.
//   for (...) SINTER_RETURN_IF_ERROR(train.Run());                 // Nothing is brought to main memory.
//   SINTER_ASSIGN_OR_RETURN(LogValues losses, session.ReadLog("loss"));
//   losses.values                                                  // Those since the last read, oldest first.
//
// A log "loss" is two variables of the program, both f64[2, capacity]. In the ring "log/loss" row 0 holds values and row 1
// their numbers, counted from 1, 0 where there is none yet: value n is in column (n - 1) rem capacity. So the ring alone
// tells what is new and how much was lost. Every cell of "log_count/loss" is the number of values so far: an update that
// computes each cell from itself alone is part of the kernel that updates the parameters, and writes in place.
//
// Logs are no part of a checkpoint: a program that logs more, or less, than the one that saved it can load it. Loading one
// leaves logs as they are, and Session::ResetVariables empties them.
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

// Whether a variable of this name belongs to a log.
bool IsLogVariable(std::string_view name);

struct LogValues {
  std::vector<double> values;
  int64_t lost = 0;  // Values between the last read and these: the ring held no more.
};

// The values of a ring with numbers above `last_number`, which becomes the highest. InvalidArgument: not a ring.
absl::StatusOr<LogValues> TakeLogValues(const HostTensor& ring, int64_t& last_number);

}  // namespace sinter

#endif  // SINTER_RUNTIME_TENSOR_SCALAR_LOG_H_
