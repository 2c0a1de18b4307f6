// Makes emulated:0 the device on which the tests of numerics run, unless the environment names one.
#include <cstdlib>

#include "sinter/runtime/memory/device.h"
#include "sinter/tests/runtime/emulated/emulated_devices.h"

namespace sinter {
namespace {

const bool kIsDefault = [] {
  const Device device = Device::Of(RegisterEmulatedDevices(), 0);
  return setenv("SINTER_TEST_DEVICE", device.ToString().c_str(), /*overwrite=*/0) == 0;
}();

}  // namespace
}  // namespace sinter
