// Runs of functions.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sinter/runtime/c/call.h"
#include "sinter/runtime/c/handles.h"
#include "sinter/runtime/session/session.h"

using namespace sinter::c_interface;  // NOLINT(google-build-using-namespace): the functions below are C.

namespace {

// Returns the place of an input that BoundFunction has accepted.
size_t InputNamed(const sn_function& function, const char* name) {
  size_t i = 0;
  while (function.bound.inputs()[i].name != name) ++i;
  return i;
}

absl::Status SetNumber(sn_function* function, const char* name, sinter::Number number) {
  SINTER_RETURN_IF_ERROR(CheckPointer(function, "function"));
  SINTER_RETURN_IF_ERROR(CheckPointer(name, "name"));
  SINTER_RETURN_IF_ERROR(function->bound.SetScalar(name, number));
  function->inputs[InputNamed(*function, name)] = nullptr;
  return absl::OkStatus();
}

absl::StatusOr<std::vector<sinter::Argument>> ArgumentsOf(const sn_argument* arguments, int32_t count) {
  if (count < 0) return absl::InvalidArgumentError(absl::StrCat("`num_arguments` is ", count));
  if (count > 0) SINTER_RETURN_IF_ERROR(CheckPointer(arguments, "arguments"));
  std::vector<sinter::Argument> list;
  list.reserve(static_cast<size_t>(count));
  for (int32_t i = 0; i < count; ++i) {
    SINTER_RETURN_IF_ERROR(CheckPointer(arguments[i].name, "arguments[i].name"));
    if (arguments[i].tensor != nullptr) {
      list.emplace_back(arguments[i].name, arguments[i].tensor->storage->tensor);
    } else {
      list.emplace_back(arguments[i].name, arguments[i].number);
    }
  }
  return list;
}

}  // namespace

sn_code sn_function_bind(sn_session* session, const char* name, sn_function** out) {
  return Call([&]() -> absl::Status {
    SINTER_RETURN_IF_ERROR(CheckPointer(out, "out"));
    *out = nullptr;
    SINTER_RETURN_IF_ERROR(CheckPointer(session, "session"));
    SINTER_RETURN_IF_ERROR(CheckPointer(name, "name"));
    SINTER_ASSIGN_OR_RETURN(sinter::BoundFunction bound, session->session->Bind(name));
    auto function = std::make_unique<sn_function>(sn_function{{}, session->session, std::move(bound)});
    function->inputs.resize(function->bound.inputs().size());
    *out = function.release();
    return absl::OkStatus();
  });
}

void sn_function_free(sn_function* function) { delete function; }

sn_code sn_function_set_input(sn_function* function, const char* name, const sn_tensor* tensor) {
  return Call([&]() -> absl::Status {
    SINTER_RETURN_IF_ERROR(CheckPointer(function, "function"));
    SINTER_RETURN_IF_ERROR(CheckPointer(name, "name"));
    SINTER_RETURN_IF_ERROR(CheckPointer(tensor, "tensor"));
    SINTER_RETURN_IF_ERROR(function->bound.SetInput(name, tensor->storage->tensor));
    function->inputs[InputNamed(*function, name)] = tensor->storage;
    return absl::OkStatus();
  });
}

sn_code sn_function_set_number(sn_function* function, const char* name, double number) {
  return Call([&] { return SetNumber(function, name, number); });
}

sn_code sn_function_set_integer(sn_function* function, const char* name, int64_t number) {
  return Call([&] { return SetNumber(function, name, number); });
}

sn_code sn_function_run(sn_function* function) {
  return Call([&]() -> absl::Status {
    SINTER_RETURN_IF_ERROR(CheckPointer(function, "function"));
    SINTER_RETURN_IF_ERROR(function->bound.Run());
    function->has_run = true;
    return absl::OkStatus();
  });
}

sn_code sn_function_output(sn_function* function, const char* name, sn_tensor** out) {
  return Call([&]() -> absl::Status {
    SINTER_RETURN_IF_ERROR(CheckPointer(out, "out"));
    SINTER_RETURN_IF_ERROR(CheckPointer(function, "function"));
    SINTER_RETURN_IF_ERROR(CheckPointer(name, "name"));
    if (!function->has_run) {
      return absl::FailedPreconditionError("the function has no outputs yet: call sn_function_run first");
    }
    const sinter::Outputs outputs = function->bound.outputs();
    SINTER_ASSIGN_OR_RETURN(const sinter::HostTensor* const value, outputs.Get(name));
    return GiveView(*value, function->session, out);
  });
}

sn_code sn_session_run(sn_session* session, const char* function, const sn_argument* arguments,
                       int32_t num_arguments, sn_outputs** out) {
  return Call([&]() -> absl::Status {
    SINTER_RETURN_IF_ERROR(CheckPointer(out, "out"));
    *out = nullptr;
    SINTER_RETURN_IF_ERROR(CheckPointer(session, "session"));
    SINTER_RETURN_IF_ERROR(CheckPointer(function, "function"));
    SINTER_ASSIGN_OR_RETURN(const std::vector<sinter::Argument> list, ArgumentsOf(arguments, num_arguments));
    SINTER_ASSIGN_OR_RETURN(const sinter::Outputs outputs, session->session->Run(function, list));
    auto handle = std::make_unique<sn_outputs>(sn_outputs{session->session, outputs, {}});
    for (size_t i = 0; i < outputs.size(); ++i) handle->names.emplace_back(outputs.name(i));
    *out = handle.release();
    return absl::OkStatus();
  });
}

void sn_outputs_free(sn_outputs* outputs) { delete outputs; }

int32_t sn_outputs_count(const sn_outputs* outputs) {
  return outputs == nullptr ? 0 : static_cast<int32_t>(outputs->names.size());
}

const char* sn_outputs_name(const sn_outputs* outputs, int32_t i) {
  return i >= 0 && i < sn_outputs_count(outputs) ? outputs->names[static_cast<size_t>(i)].c_str() : nullptr;
}

sn_code sn_outputs_tensor(const sn_outputs* outputs, const char* name, sn_tensor** out) {
  return Call([&]() -> absl::Status {
    SINTER_RETURN_IF_ERROR(CheckPointer(out, "out"));
    SINTER_RETURN_IF_ERROR(CheckPointer(outputs, "outputs"));
    SINTER_RETURN_IF_ERROR(CheckPointer(name, "name"));
    SINTER_ASSIGN_OR_RETURN(const sinter::HostTensor* const value, outputs->outputs.Get(name));
    return GiveView(*value, outputs->session, out);
  });
}
