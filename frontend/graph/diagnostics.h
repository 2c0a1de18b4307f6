// Turns MLIR's diagnostics into the user's terms: errors into an absl::Status, remarks into report lines.
// Errors show no IR: they print no ops, they write types as the builder does, and each message has a bounded
// length.
//
//   Diagnostics diagnostics(context);
//   if (failed(pass_manager.run(module))) return diagnostics.Error("fuse");
#ifndef SINTER_FRONTEND_GRAPH_DIAGNOSTICS_H_
#define SINTER_FRONTEND_GRAPH_DIAGNOSTICS_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "mlir/IR/Diagnostics.h"

namespace sinter {

// Collects every diagnostic of a context during its lifetime.
class Diagnostics {
 public:
  explicit Diagnostics(mlir::MLIRContext* context);
  ~Diagnostics();
  Diagnostics(const Diagnostics&) = delete;
  Diagnostics& operator=(const Diagnostics&) = delete;

  // Returns the first errors, one a line, as InvalidArgument; Internal if `stage` failed without a message.
  absl::Status Error(std::string_view stage) const;
  // Returns the remarks since the last call.
  std::vector<std::string> TakeRemarks();

 private:
  mlir::MLIRContext* context_;
  bool printed_ops_;
  size_t more_errors_ = 0;
  std::vector<std::string> errors_;
  std::vector<std::string> remarks_;
  mlir::ScopedDiagnosticHandler handler_;
};

// Returns the first file line of a location and the outermost name around it: "lenet.cc:12: Conv2d(20, 3x3)".
std::string LocationString(mlir::Location loc);

}  // namespace sinter

#endif  // SINTER_FRONTEND_GRAPH_DIAGNOSTICS_H_
