// Where compiled programs of the tests run: on the device that SINTER_TEST_DEVICE names, else on cpu:0.
//
//   SINTER_TEST_DEVICE=gpu:0 op_test
//
//   void SetUp() override { if (std::string why = MissingTestDevice(); !why.empty()) GTEST_SKIP() << why; }
#ifndef SINTER_TESTS_NUMERICS_TEST_DEVICE_H_
#define SINTER_TESTS_NUMERICS_TEST_DEVICE_H_

#include <string>

#include "sinter/runtime/memory/device.h"

namespace sinter::numerics {

// Ends the program when the variable is not a device.
Device TestDevice();
// Why nothing can run there; empty when it can.
std::string MissingTestDevice();

}  // namespace sinter::numerics

#endif  // SINTER_TESTS_NUMERICS_TEST_DEVICE_H_
