// A function of a plan with its inputs, ready to run, as a command line asks for it.
//
//   SINTER_ASSIGN_OR_RETURN(FunctionCall call, FunctionCall::Make({.plan = "m.plan", .inputs = {"x=x.npy", "lr=0.1"}}));
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
  std::string function;  // May be empty for a plan of one function.
  // "name=file.npy"; "name=0.1", a number for an input of rank 0; or "file.npz" with inputs by name. An input that is
  // not given is random: floats uniform in [-1, 1), of rank 0 the number 0.01, integers and i1 0 or 1.
  std::vector<std::string> inputs;
  std::string checkpoint;        // Safetensors file that the variables are read from; empty: initial values.
  bool allow_unchecked = false;  // LoadOptions::allow_unchecked.
  std::string expected_hash;     // SessionOptions::expected_hash.
  int threads = 0;
  uint64_t seed = 1;  // Of random inputs.
};

class FunctionCall {
 public:
  // InvalidArgument and NotFound: the options are wrong; other errors come from reading files and making the session.
  static absl::StatusOr<FunctionCall> Make(const FunctionCallOptions& options);

  const std::string& name() const { return name_; }
  Session& session() { return session_; }
  const Session& session() const { return session_; }
  BoundFunction& function() { return function_; }
  // To read and check the plan; what follows is session().load_times().
  double plan_seconds() const { return plan_seconds_; }

 private:
  FunctionCall(std::string name, Session session, BoundFunction function)
      : name_(std::move(name)), session_(std::move(session)), function_(std::move(function)) {}

  std::string name_;
  double plan_seconds_ = 0;
  Session session_;
  std::vector<HostTensor> inputs_;  // What the function borrows.
  BoundFunction function_;
};

}  // namespace sinter::tools

#endif  // SINTER_TOOLS_FUNCTION_CALL_H_
