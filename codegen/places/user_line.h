// The user's line of an MLIR location, for error messages: "model.cc:12" or "unknown line".
#ifndef SINTER_CODEGEN_PLACES_USER_LINE_H_
#define SINTER_CODEGEN_PLACES_USER_LINE_H_

#include <string>

#include "mlir/IR/Location.h"

namespace sinter::codegen {

// A user's line and the call written there.
struct UserLocation {
  std::string file;
  unsigned line = 0;
  std::string what;

  auto operator<=>(const UserLocation&) const = default;
};

// UserLocations returns every line of a location, each once, in order (fused locations hold several).
// UserLine returns the first one as text.
llvm::SmallVector<UserLocation> UserLocations(mlir::Location loc);
std::string UserLine(mlir::Location loc);

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_PLACES_USER_LINE_H_
