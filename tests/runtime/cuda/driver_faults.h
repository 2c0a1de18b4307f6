// Programs whose calls of the driver fail one by one.
//
//   class MyFaultsTest : public DriverFaultsTest {};
//   const int calls = FailEach([&](absl::Status*) -> absl::StatusOr<std::string> { ... });
#ifndef SINTER_TESTS_RUNTIME_CUDA_DRIVER_FAULTS_H_
#define SINTER_TESTS_RUNTIME_CUDA_DRIVER_FAULTS_H_

#include <cstdlib>
#include <functional>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sinter/tests/runtime/cuda/faulty_calls.h"
#include "sinter/tests/runtime/fault_points.h"

namespace sinter {

// Tests every 29th call on a real GPU, where a session takes tens of milliseconds; SINTER_ALL_FAULTS tests
// all.
inline int FaultStride() { return UsesSoftwareGpu() || std::getenv("SINTER_ALL_FAULTS") != nullptr ? 1 : 29; }

// Runs a program and returns the bits of its results. `first_error` gets the first error of calls that were
// then repeated.
using DriverProgram = std::function<absl::StatusOr<std::string>(absl::Status* first_error)>;

class DriverFaultsTest : public ::testing::Test {
 protected:
  // Repeats `program` and makes another one of its calls fail each time, until all have failed once. Checks
  // the errors, leaks and bits. Returns the number of calls.
  static int FailEach(const DriverProgram& program) {
    absl::Status ignored;
    // The first run opens libraries, which stay open.
    const std::string bits = *program(&ignored);
    EXPECT_TRUE(ignored.ok()) << ignored;
    EXPECT_EQ(*program(&ignored), bits);
    const std::map<std::string, int> live = LiveObjects();
    for (int call = 1;; call += FaultStride()) {
      FaultPoints::Arm(call);
      absl::Status error;
      const absl::StatusOr<std::string> result = program(&error);
      const bool has_failed = FaultPoints::Disarm();
      error.Update(result.status());
      SCOPED_TRACE("call " + std::to_string(call) + " fails, " + FaultPoints::name() + ": " +
                   error.ToString());
      EXPECT_EQ(LiveObjects(), live);
      EXPECT_THAT(error.ok() ? " could not " : std::string(error.message()),
                  ::testing::HasSubstr(" could not "));
      EXPECT_TRUE(!result.ok() || *result == bits) << "other bits";
      const absl::StatusOr<std::string> again = program(&ignored);
      EXPECT_TRUE(again.ok() && *again == bits) << "the second try: " << again.status();
      if (!has_failed || HasFailure()) return call - 1;
    }
  }
};

}  // namespace sinter

#endif  // SINTER_TESTS_RUNTIME_CUDA_DRIVER_FAULTS_H_
