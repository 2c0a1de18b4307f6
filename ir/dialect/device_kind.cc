#include "sinter/ir/dialect/device_kind.h"

#include <array>
#include <atomic>
#include <mutex>

#include "mlir/IR/OpImplementation.h"

namespace sinter::ir {

namespace {

// Rows are only ever appended, so that reading them needs no lock.
struct KindNames {
  std::mutex mutex;  // Held while a row is added.
  std::array<std::string, kMostDeviceKinds> names = {"cpu", "gpu"};
  std::atomic<uint32_t> count = 2;
};

KindNames& Names() {
  static KindNames& names = *new KindNames;
  return names;
}

}  // namespace

std::optional<DeviceKind> AddDeviceKind(llvm::StringRef name) {
  KindNames& kinds = Names();
  const std::lock_guard lock(kinds.mutex);
  const uint32_t value = kinds.count;
  if (value == kMostDeviceKinds || symbolizeDeviceKind(name)) return std::nullopt;
  kinds.names[value] = name.str();
  kinds.count = value + 1;
  return static_cast<DeviceKind>(value);
}

llvm::StringRef stringifyDeviceKind(DeviceKind kind) {
  const auto value = static_cast<uint32_t>(kind);
  assert(value < Names().count && "a kind of devices that nothing added");
  return Names().names[value];
}

std::optional<DeviceKind> symbolizeDeviceKind(llvm::StringRef name) {
  for (uint32_t value = 0; value < Names().count; ++value) {
    if (Names().names[value] == name) return static_cast<DeviceKind>(value);
  }
  return std::nullopt;
}

std::optional<DeviceKind> symbolizeDeviceKind(uint32_t value) {
  if (value >= Names().count) return std::nullopt;
  return static_cast<DeviceKind>(value);
}

std::string DeviceKindNames() {
  const uint32_t count = Names().count;
  std::string text;
  for (uint32_t value = 0; value < count; ++value) {
    if (value > 0) text += value + 1 < count ? ", " : " or ";
    text += Names().names[value];
  }
  return text;
}

mlir::FailureOr<DeviceKind> ParseDeviceKind(mlir::AsmParser& parser) {
  const llvm::SMLoc at = parser.getCurrentLocation();
  llvm::StringRef name;
  if (mlir::failed(parser.parseKeyword(&name))) return mlir::failure();
  if (std::optional<DeviceKind> kind = symbolizeDeviceKind(name)) return *kind;
  return parser.emitError(at) << "there are no devices of kind \"" << name << "\"; expected "
                              << DeviceKindNames();
}

}  // namespace sinter::ir
