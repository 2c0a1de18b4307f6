// Runs compiled programs on values of the reference.
//
//   absl::StatusOr<CompiledProgram> program = CompiledProgram::Make(text, {.fuse = false});
//   absl::StatusOr<std::vector<Value>> outputs = program->Run("f", {"a", "b"}, {a, b});
#ifndef SINTER_TESTS_NUMERICS_COMPILED_H_
#define SINTER_TESTS_NUMERICS_COMPILED_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sinter/frontend/compile/compile.h"
#include "sinter/runtime/session/session.h"
#include "sinter/tests/numerics/compiled_values.h"

namespace sinter::numerics {

class CompiledProgram {
 public:
  // Compiles `mlir` and creates a session. The session poisons its arena to expose reads of unwritten memory.
  // An error if the plan's code holds instructions that its target lacks.
  static absl::StatusOr<CompiledProgram> Make(const std::string& mlir, const CompileOptions& options = {},
                                              int threads = 2);

  // Returns the outputs in the order in which the function declares them.
  absl::StatusOr<std::vector<reference::Value>> Run(const std::string& function,
                                                    const std::vector<std::string>& names,
                                                    const std::vector<reference::Value>& inputs);
  absl::Status SetVariable(const std::string& name, const reference::Value& value);
  absl::StatusOr<reference::Value> Variable(const std::string& name);

 private:
  explicit CompiledProgram(Session session) : session_(std::move(session)) {}
  Session session_;
};

}  // namespace sinter::numerics

#endif  // SINTER_TESTS_NUMERICS_COMPILED_H_
