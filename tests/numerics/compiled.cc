#include "sinter/tests/numerics/compiled.h"

#include "sinter/runtime/host/status.h"
#include "sinter/tests/codegen/plan_instructions.h"
#include "sinter/tests/numerics/test_device.h"

namespace sinter::numerics {

using reference::Value;

absl::StatusOr<CompiledProgram> CompiledProgram::Make(const std::string& mlir, const CompileOptions& options,
                                                      int threads) {
  CompileOptions placed = options;
  if (Device device = TestDevice(); !device.is_host()) placed.device = device;
  SINTER_ASSIGN_OR_RETURN(Plan plan, CompileText(mlir, "test", placed));
  SINTER_RETURN_IF_ERROR(codegen::CheckInstructions(plan));
  SessionOptions session_options;
  session_options.threads = threads;
  session_options.poison = true;
  SINTER_ASSIGN_OR_RETURN(Session session, Session::Create(std::move(plan), session_options));
  return CompiledProgram(std::move(session));
}

absl::StatusOr<std::vector<Value>> CompiledProgram::Run(const std::string& function,
                                                        const std::vector<std::string>& names,
                                                        const std::vector<Value>& inputs) {
  std::vector<HostTensor> tensors;
  for (const Value& input : inputs) {
    SINTER_ASSIGN_OR_RETURN(HostTensor tensor, ToTensor(input));
    tensors.push_back(std::move(tensor));
  }
  std::vector<Argument> arguments;
  for (size_t i = 0; i < names.size(); ++i) arguments.emplace_back(names[i], tensors[i]);
  SINTER_ASSIGN_OR_RETURN(Outputs outputs, session_.Run(function, std::span<const Argument>(arguments)));
  std::vector<Value> values;
  for (size_t i = 0; i < outputs.size(); ++i) values.push_back(FromTensor(outputs.tensor(i)));
  return values;
}

absl::Status CompiledProgram::SetVariable(const std::string& name, const Value& value) {
  SINTER_ASSIGN_OR_RETURN(HostTensor tensor, ToTensor(value));
  return session_.WriteVariable(name, tensor);
}

absl::StatusOr<Value> CompiledProgram::Variable(const std::string& name) {
  SINTER_ASSIGN_OR_RETURN(HostTensor tensor, session_.ReadVariable(name));
  return FromTensor(tensor);
}

}  // namespace sinter::numerics
