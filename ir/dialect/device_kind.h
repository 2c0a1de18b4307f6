// The kinds of devices that IR can name: cpu, gpu, and kinds that targets add.
//
//   std::optional<DeviceKind> kind = symbolizeDeviceKind("gpu");   // nullopt: there is no such kind
//   stringifyDeviceKind(*kind)                                     // "gpu"
//
// A kind is a row of the table of names, and a row of the table of targets (ir/target/target_model.h), which
// adds both. IR stores and prints a kind by its name.
#ifndef SINTER_IR_DIALECT_DEVICE_KIND_H_
#define SINTER_IR_DIALECT_DEVICE_KIND_H_

#include <cstdint>
#include <optional>
#include <string>

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/LogicalResult.h"

namespace mlir {
class AsmParser;
}  // namespace mlir

namespace sinter::ir {

// Added kinds have the values after gpu, in the order in which they were added.
enum class DeviceKind : uint32_t { cpu = 0, gpu = 1 };

inline constexpr uint32_t kMostDeviceKinds = 16;

// Adds a kind, which stays until the process ends. Thread-safe. Returns nullopt if there is a kind of this
// name, or if there are kMostDeviceKinds. Programs call RegisterTargetModel instead.
std::optional<DeviceKind> AddDeviceKind(llvm::StringRef name);

// "cpu", "gpu". The text lives until the process ends.
llvm::StringRef stringifyDeviceKind(DeviceKind kind);
// Returns nullopt if there is no kind of this name.
std::optional<DeviceKind> symbolizeDeviceKind(llvm::StringRef name);
std::optional<DeviceKind> symbolizeDeviceKind(uint32_t value);
// "cpu or gpu": the names of all kinds, for errors.
std::string DeviceKindNames();

// For the attribute's text: parses the name of a kind. An unknown name is an error that lists the kinds.
llvm::FailureOr<DeviceKind> ParseDeviceKind(mlir::AsmParser& parser);

}  // namespace sinter::ir

#endif  // SINTER_IR_DIALECT_DEVICE_KIND_H_
