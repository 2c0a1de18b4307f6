// The flags --device and --precision of training programs.
//
//   DeviceFlags flags;
//   AddDevicesFlag(app, flags);                    // --device gpu:0,gpu:1; AddDeviceFlag: one device
//   AddPrecisionFlag(app, flags, "type of matmuls");    // --precision bf16
//   CLI11_PARSE(app, argc, argv);
//   SINTER_ASSIGN_OR_RETURN(std::vector<Device> devices, flags.Devices());
//   sn::Graph graph("net", {.precision = flags.PrecisionOn(devices.front())});
#ifndef SINTER_EXAMPLES_DEVICE_FLAGS_H_
#define SINTER_EXAMPLES_DEVICE_FLAGS_H_

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/statusor.h"
#include "sinter/frontend/graph.h"
#include "sinter/runtime/device.h"
#include "sinter/runtime/device_info.h"
#include "sinter/runtime/status.h"

namespace sinter::examples {

// Returns the devices with these names; "cpu" is cpu:0 and "gpu" gpu:0. InvalidArgument: a name is not the
// name of a device.
inline absl::StatusOr<std::vector<Device>> ParseDevices(std::span<const std::string> names) {
  std::vector<Device> devices;
  for (const std::string& name : names) {
    const bool is_kind = name == "cpu" || name == "gpu";
    SINTER_ASSIGN_OR_RETURN(const Device device, Device::Parse(is_kind ? name + ":0" : name));
    devices.push_back(device);
  }
  return devices;
}

// The values of the flags. The parser writes into this struct, so the struct must outlive the parser.
struct DeviceFlags {
  std::vector<std::string> names = {TryGpu().ToString()};
  std::optional<Precision> precision;

  // Returns at least one device. Errors: those of ParseDevices.
  absl::StatusOr<std::vector<Device>> Devices() const { return ParseDevices(names); }
  // Returns the given precision; by default bf16 on a GPU and f32 on a CPU.
  Precision PrecisionOn(Device device) const {
    return precision.value_or(device.is_gpu() ? Precision::kBf16 : Precision::kF32);
  }
};

inline void AddDeviceFlag(CLI::App& app, DeviceFlags& flags) {
  app.add_option("--device", flags.names, "cpu:0, or a GPU; default: a GPU if there is one")
      ->expected(1)
      ->default_str(flags.names.front());
}

inline void AddDevicesFlag(CLI::App& app, DeviceFlags& flags) {
  app.add_option(
         "--device", flags.names,
         "cpu:0, a GPU, or several devices, each with a part of each batch; default: a GPU if there is one")
      ->delimiter(',')
      ->capture_default_str();
}

// Adds --float8, the recipe of GraphOptions::float8.
inline CLI::Option* AddFloat8Flag(CLI::App& app, Float8& float8) {
  const std::map<std::string, Float8Recipe> recipes = {
      {"tensorwise", Float8Recipe::kTensorwise},
      {"rowwise", Float8Recipe::kRowwise},
      {"rowwise_with_gw_hp", Float8Recipe::kRowwiseWithWeightGradientInBf16}};
  return app.add_option("--float8", float8.recipe, "products of linear layers in 8-bit floats, beside bf16")
      ->transform(CLI::CheckedTransformer(recipes).description("tensorwise, rowwise or rowwise_with_gw_hp"));
}

// Adds --precision. `help` names the ops that use it and the default.
inline CLI::Option* AddPrecisionFlag(CLI::App& app, DeviceFlags& flags, const std::string& help) {
  const std::map<std::string, Precision> precisions = {
      {"f32", Precision::kF32}, {"bf16", Precision::kBf16}, {"f16", Precision::kF16}};
  return app.add_option("--precision", flags.precision, help)
      ->transform(CLI::CheckedTransformer(precisions).description(""));
}

}  // namespace sinter::examples

#endif  // SINTER_EXAMPLES_DEVICE_FLAGS_H_
