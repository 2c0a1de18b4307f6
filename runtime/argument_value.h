// A number as one element of a type, for inputs of rank 0.
//
//   SINTER_RETURN_IF_ERROR(StoreNumber(0.1, DType::kF32, bytes));
#ifndef SINTER_RUNTIME_ARGUMENT_VALUE_H_
#define SINTER_RUNTIME_ARGUMENT_VALUE_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "sinter/runtime/dtype.h"

namespace sinter {

// Floats round. InvalidArgument: an integer type that does not hold exactly this number.
absl::Status StoreNumber(double value, DType dtype, std::byte* to);
absl::Status StoreNumber(int64_t value, DType dtype, std::byte* to);
// The element at `from`, as a double.
double LoadNumber(DType dtype, const void* from);

}  // namespace sinter

#endif  // SINTER_RUNTIME_ARGUMENT_VALUE_H_
