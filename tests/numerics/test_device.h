// Selects the device on which the tests run compiled programs: SINTER_TEST_DEVICE, else cpu:0. A program may
// register further kinds of devices first.
//
//   SINTER_TEST_DEVICE=gpu:0 op_test
//
//   void SetUp() override { if (std::string why = MissingTestDevice(); !why.empty()) GTEST_SKIP() << why; }
#ifndef SINTER_TESTS_NUMERICS_TEST_DEVICE_H_
#define SINTER_TESTS_NUMERICS_TEST_DEVICE_H_

#include <string>

#include "sinter/runtime/memory/device.h"

namespace sinter::numerics {

// Returns the device. Ends the program if the variable does not name a device.
Device TestDevice();
// Returns the reason why the device is not available; empty if it is.
std::string MissingTestDevice();

}  // namespace sinter::numerics

#endif  // SINTER_TESTS_NUMERICS_TEST_DEVICE_H_
