// Plans and devices.
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "sinter/runtime/c/call.h"
#include "sinter/runtime/c/handles.h"
#include "sinter/runtime/memory/device.h"
#include "sinter/runtime/memory/device_info.h"

using namespace sinter::c_interface;  // NOLINT(google-build-using-namespace): the functions below are C.

namespace {

absl::Status GivePlan(absl::StatusOr<sinter::Plan> plan, sn_plan** out) {
  SINTER_RETURN_IF_ERROR(plan.status());
  auto handle = std::make_unique<sn_plan>(sn_plan{*std::move(plan), "", "", {}, {}, {}});
  handle->name = std::string(handle->plan.name());
  handle->hash = handle->plan.hash();
  handle->functions = handle->plan.Functions();
  handle->variables = handle->plan.Variables();
  for (const sinter::Device device : handle->plan.Devices()) handle->devices.push_back(device.ToString());
  *out = handle.release();
  return absl::OkStatus();
}

// Returns element `i` of a list; NotFound if there is none.
template <typename T>
absl::StatusOr<const T*> At(const std::vector<T>& list, int32_t i, const char* what) {
  if (i >= 0 && static_cast<size_t>(i) < list.size()) return &list[static_cast<size_t>(i)];
  return absl::NotFoundError(absl::StrCat("there is no ", what, " ", i, ": there are ", list.size()));
}

absl::StatusOr<const sinter::FunctionInfo*> FunctionAt(const sn_plan* plan, int32_t f) {
  SINTER_RETURN_IF_ERROR(CheckPointer(plan, "plan"));
  return At(plan->functions, f, "function");
}

// Copies as much of the text as fits, and a zero byte.
template <size_t n>
void StoreText(const std::string& text, char (&to)[n]) {
  const size_t size = std::min(text.size(), n - 1);
  std::memcpy(to, text.data(), size);
  std::memset(to + size, 0, n - size);
}

}  // namespace

int32_t sn_num_gpus(void) { return sinter::NumGpus(); }

sn_code sn_device_query(const char* device, sn_device_info* info) {
  return Call([&]() -> absl::Status {
    SINTER_RETURN_IF_ERROR(CheckPointer(device, "device"));
    SINTER_RETURN_IF_ERROR(CheckPointer(info, "info"));
    if (info->size < 2 * sizeof(uint32_t)) {
      return absl::InvalidArgumentError(absl::StrCat("sn_device_info::size is ", info->size,
                                                     ": set it to sizeof(sn_device_info), ", sizeof(*info)));
    }
    SINTER_ASSIGN_OR_RETURN(const sinter::Device named, sinter::Device::Parse(device));
    SINTER_ASSIGN_OR_RETURN(const sinter::DeviceInfo found, sinter::QueryDevice(named));
    sn_device_info all = {};
    all.size = info->size;
    all.is_gpu = named.is_gpu() ? 1 : 0;
    StoreText(found.name, all.name);
    StoreText(found.architecture, all.architecture);
    all.total_bytes = found.total_bytes;
    all.free_bytes = found.free_bytes;
    std::memcpy(info, &all, std::min<size_t>(info->size, sizeof(all)));
    return absl::OkStatus();
  });
}

sn_code sn_plan_load(const char* path, sn_plan** out) {
  return Call([&]() -> absl::Status {
    SINTER_RETURN_IF_ERROR(CheckPointer(out, "out"));
    *out = nullptr;
    SINTER_RETURN_IF_ERROR(CheckPointer(path, "path"));
    return GivePlan(sinter::Plan::Load(path), out);
  });
}

sn_code sn_plan_from_memory(const void* bytes, size_t size, sn_plan** out) {
  return Call([&]() -> absl::Status {
    SINTER_RETURN_IF_ERROR(CheckPointer(out, "out"));
    *out = nullptr;
    SINTER_RETURN_IF_ERROR(CheckPointer(bytes, "bytes"));
    return GivePlan(sinter::Plan::FromBytes(std::string_view(static_cast<const char*>(bytes), size)), out);
  });
}

void sn_plan_free(sn_plan* plan) { delete plan; }

sn_code sn_plan_save(const sn_plan* plan, const char* path) {
  return Call([&]() -> absl::Status {
    SINTER_RETURN_IF_ERROR(CheckPointer(plan, "plan"));
    SINTER_RETURN_IF_ERROR(CheckPointer(path, "path"));
    return plan->plan.Save(path);
  });
}

sn_code sn_plan_bytes(const sn_plan* plan, const void** bytes, size_t* size) {
  return Call([&]() -> absl::Status {
    SINTER_RETURN_IF_ERROR(CheckPointer(plan, "plan"));
    SINTER_RETURN_IF_ERROR(CheckPointer(bytes, "bytes"));
    SINTER_RETURN_IF_ERROR(CheckPointer(size, "size"));
    *bytes = plan->plan.bytes().data();
    *size = plan->plan.bytes().size();
    return absl::OkStatus();
  });
}

const char* sn_plan_name(const sn_plan* plan) { return plan == nullptr ? nullptr : plan->name.c_str(); }
const char* sn_plan_hash(const sn_plan* plan) { return plan == nullptr ? nullptr : plan->hash.c_str(); }

int32_t sn_plan_num_functions(const sn_plan* plan) {
  return plan == nullptr ? 0 : static_cast<int32_t>(plan->functions.size());
}
int32_t sn_plan_num_variables(const sn_plan* plan) {
  return plan == nullptr ? 0 : static_cast<int32_t>(plan->variables.size());
}
int32_t sn_plan_num_devices(const sn_plan* plan) {
  return plan == nullptr ? 0 : static_cast<int32_t>(plan->devices.size());
}

sn_code sn_plan_function_info(const sn_plan* plan, int32_t f, const char** name, int32_t* num_inputs,
                              int32_t* num_outputs) {
  return Call([&]() -> absl::Status {
    SINTER_ASSIGN_OR_RETURN(const sinter::FunctionInfo* const function, FunctionAt(plan, f));
    if (name != nullptr) *name = function->name.c_str();
    if (num_inputs != nullptr) *num_inputs = static_cast<int32_t>(function->inputs.size());
    if (num_outputs != nullptr) *num_outputs = static_cast<int32_t>(function->outputs.size());
    return absl::OkStatus();
  });
}

sn_code sn_plan_input_info(const sn_plan* plan, int32_t f, int32_t i, sn_info* out) {
  return Call([&]() -> absl::Status {
    SINTER_RETURN_IF_ERROR(CheckPointer(out, "out"));
    SINTER_ASSIGN_OR_RETURN(const sinter::FunctionInfo* const function, FunctionAt(plan, f));
    SINTER_ASSIGN_OR_RETURN(const sinter::TensorInfo* const info, At(function->inputs, i, "input"));
    *out = InfoOf(*info);
    return absl::OkStatus();
  });
}

sn_code sn_plan_output_info(const sn_plan* plan, int32_t f, int32_t i, sn_info* out) {
  return Call([&]() -> absl::Status {
    SINTER_RETURN_IF_ERROR(CheckPointer(out, "out"));
    SINTER_ASSIGN_OR_RETURN(const sinter::FunctionInfo* const function, FunctionAt(plan, f));
    SINTER_ASSIGN_OR_RETURN(const sinter::TensorInfo* const info, At(function->outputs, i, "output"));
    *out = InfoOf(*info);
    return absl::OkStatus();
  });
}

sn_code sn_plan_variable_info(const sn_plan* plan, int32_t i, sn_info* out, int32_t* is_trainable) {
  return Call([&]() -> absl::Status {
    SINTER_RETURN_IF_ERROR(CheckPointer(plan, "plan"));
    SINTER_RETURN_IF_ERROR(CheckPointer(out, "out"));
    SINTER_ASSIGN_OR_RETURN(const sinter::VariableInfo* const info, At(plan->variables, i, "variable"));
    *out = InfoOf(*info);
    if (is_trainable != nullptr) *is_trainable = info->trainable ? 1 : 0;
    return absl::OkStatus();
  });
}

sn_code sn_plan_device(const sn_plan* plan, int32_t i, const char** device) {
  return Call([&]() -> absl::Status {
    SINTER_RETURN_IF_ERROR(CheckPointer(plan, "plan"));
    SINTER_RETURN_IF_ERROR(CheckPointer(device, "device"));
    SINTER_ASSIGN_OR_RETURN(const std::string* const name, At(plan->devices, i, "device"));
    *device = name->c_str();
    return absl::OkStatus();
  });
}
