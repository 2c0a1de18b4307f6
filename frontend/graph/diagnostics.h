// Turns MLIR's diagnostics into the user's terms: errors become an absl::Status, remarks become report lines. No error
// shows IR: ops are not printed, types are written as the builder writes them, and the length of each is bounded.
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

// Collects every diagnostic of a context while alive.
class Diagnostics {
 public:
  explicit Diagnostics(mlir::MLIRContext* context);
  ~Diagnostics();
  Diagnostics(const Diagnostics&) = delete;
  Diagnostics& operator=(const Diagnostics&) = delete;

  // The first errors, one a line: InvalidArgument, or Internal when a stage failed without saying why.
  absl::Status Error(std::string_view stage) const;
  // The remarks since the last call.
  std::vector<std::string> TakeRemarks();

 private:
  mlir::MLIRContext* context_;
  bool printed_ops_;
  size_t more_errors_ = 0;
  std::vector<std::string> errors_;
  std::vector<std::string> remarks_;
  mlir::ScopedDiagnosticHandler handler_;
};

// "lenet.cc:12: Conv2d(20, 3x3)": the innermost file line and name of a location.
std::string LocationString(mlir::Location loc);

}  // namespace sinter

#endif  // SINTER_FRONTEND_GRAPH_DIAGNOSTICS_H_
