// Calls of kernels of the catalogue (kernels/cpu/catalog/catalog.h): fb::CatalogStep.
#include <span>

#include "sinter/kernels/cpu/catalog/catalog.h"
#include "sinter/runtime/host/dtype.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/plan/gpu_limits.h"
#include "sinter/runtime/plan/plan_devices.h"
#include "sinter/runtime/plan/plan_verifier.h"
#include "sinter/runtime/plan/step_kind_functions.h"

namespace sinter {

absl::Status VerifyCatalogCall(const StepToVerify& o) {
  const fb::CatalogStep& s = *o.step.body_as_CatalogStep();
  const std::string name = s.kernel() == nullptr ? std::string() : s.kernel()->str();
  const kernels::CatalogKernel* const kernel = kernels::FindCatalogKernel(name);
  if (kernel == nullptr) return BadPlan("the catalogue has no kernel \"", name, "\"");
  const Device device = DeviceOf(o.plan, o.step.device());
  if (TraitsOf(device.kind()).runs_gpu_libraries && !GpuLibraryComputes(name)) {
    return BadPlan("it runs on ", device.ToString(), ", and no library of GPUs computes the kernel ", name);
  }
  if (!IsAligned(s.parameters())) return BadPlan("its parameters are not aligned to 8 bytes");
  std::span<const int64_t> parameters;
  if (s.parameters() != nullptr) parameters = {s.parameters()->data(), s.parameters()->size()};
  if (parameters.size() != kernel->parameters.size()) {
    return BadPlan("the kernel ", name, " has ", kernel->parameters.size(), " parameters, not ",
                   parameters.size());
  }
  if (TraitsOf(device.kind()).runs_gpu_libraries) {
    const std::string problem = GpuLibraryProblem(name, parameters);
    if (!problem.empty()) {
      return BadPlan("it runs on ", device.ToString(), ", which does not compute it, because ", problem);
    }
  }
  SINTER_RETURN_IF_ERROR(
      CheckCounts(o, static_cast<size_t>(kernel->inputs), static_cast<size_t>(kernel->outputs)));
  std::vector<kernels::CatalogOperand> operands;
  for (const std::vector<const fb::Buffer*>* buffers : {&o.inputs, &o.outputs}) {
    for (const fb::Buffer* buffer : *buffers) {
      const DType dtype = static_cast<DType>(buffer->type()->dtype());
      operands.push_back({static_cast<int>(dtype), static_cast<int64_t>(buffer->bytes()) / SizeOf(dtype)});
    }
  }
  if (const std::string problem = kernel->check(parameters, operands); !problem.empty())
    return BadPlan(problem);
  return absl::OkStatus();
}

std::string CatalogCallText(const fb::Plan&, const fb::Step& step) {
  return std::string(CatalogCallName(step));
}

std::string_view CatalogCallName(const fb::Step& step) {
  return step.body_as_CatalogStep()->kernel()->string_view();
}

}  // namespace sinter
