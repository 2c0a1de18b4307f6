// The user's line behind a location, for error messages: "model.cc:12" or "unknown line".
#ifndef SINTER_CODEGEN_PLACES_USER_LINE_H_
#define SINTER_CODEGEN_PLACES_USER_LINE_H_

#include <string>

#include "mlir/IR/Location.h"

namespace sinter::codegen {

// A user's line with what was written there; `file` is empty where a location holds none.
struct UserLocation {
  std::string file;
  unsigned line = 0;
  std::string what;

  auto operator<=>(const UserLocation&) const = default;
};

// Every line of a location, once each, in order: fused locations hold several.
llvm::SmallVector<UserLocation> UserLocations(mlir::Location loc);
std::string UserLine(mlir::Location loc);

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_PLACES_USER_LINE_H_
