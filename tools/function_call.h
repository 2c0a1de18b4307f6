// FunctionCall: a function of a plan with its inputs, ready to run, made from command-line options.
//
//   SINTER_ASSIGN_OR_RETURN(FunctionCall call,
//                           FunctionCall::Make({.plan = "m.plan", .inputs = {"x=x.npy", "lr=0.1"}}));
//   SINTER_RETURN_IF_ERROR(call.function().Run());
#ifndef SINTER_TOOLS_FUNCTION_CALL_H_
#define SINTER_TOOLS_FUNCTION_CALL_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "sinter/runtime/session/session.h"
#include "sinter/runtime/tensor/tensor.h"

namespace sinter::tools {

struct FunctionCallOptions {
  std::string plan;
  std::string function;  // May be empty if the plan has one function.
  // Each is "name=file.npy", "name=0.1" (a number for an input of rank 0) or "file.npz" (inputs by name). An
  // input that is missing here is random: floats are uniform in [-1, 1), floats of rank 0 are 0.01, integers
  // and i1 are 0 or 1.
  std::vector<std::string> inputs;
  std::string checkpoint;        // Safetensors file with the variables; empty: initial values.
  bool allow_unchecked = false;  // LoadOptions::allow_unchecked.
  std::string expected_hash;     // SessionOptions::expected_hash.
  int threads = 0;
  World* world = nullptr;  // SessionOptions::world.
  uint64_t seed = 1;       // Seed of the random inputs.
};

class FunctionCall {
 public:
  // Loads the plan, creates the session, and sets the inputs. InvalidArgument and NotFound: the options are
  // wrong. Other errors come from reading files and creating the session.
  static absl::StatusOr<FunctionCall> Make(const FunctionCallOptions& options);

  const std::string& name() const { return name_; }
  Session& session() { return session_; }
  const Session& session() const { return session_; }
  BoundFunction& function() { return function_; }
  // Seconds to read and check the plan. The later stages are in session().load_times().
  double plan_seconds() const { return plan_seconds_; }

 private:
  FunctionCall(std::string name, Session session, BoundFunction function)
      : name_(std::move(name)), session_(std::move(session)), function_(std::move(function)) {}

  std::string name_;
  double plan_seconds_ = 0;
  Session session_;
  std::vector<HostTensor> inputs_;  // Tensors that `function_` borrows.
  BoundFunction function_;
};

}  // namespace sinter::tools

#endif  // SINTER_TOOLS_FUNCTION_CALL_H_
