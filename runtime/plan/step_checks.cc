#include "sinter/runtime/plan/step_checks.h"

#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "sinter/kernels/cpu/images/batch_conv.h"
#include "sinter/kernels/image_geometry.h"
#include "sinter/runtime/host/dtype.h"
#include "sinter/runtime/plan/plan_verifier.h"

namespace sinter {

absl::Status CheckCounts(const StepToVerify& o, size_t inputs, size_t outputs) {
  if (o.inputs.size() == inputs && o.outputs.size() == outputs) return absl::OkStatus();
  return BadPlan("it has ", o.inputs.size(), " inputs and ", o.outputs.size(), " outputs, not ", inputs,
                 " and ", outputs);
}

absl::Status CheckOperand(const fb::Buffer& buffer, const char* what, fb::DType dtype,
                          const std::vector<int64_t>& sizes) {
  if (buffer.type()->dtype() != dtype) {
    return BadPlan(what, " holds ", std::string(DTypeName(static_cast<DType>(buffer.type()->dtype()))),
                   ", not ", std::string(DTypeName(static_cast<DType>(dtype))));
  }
  int64_t elements = 1;
  for (const int64_t size : sizes) {
    if (size < 0 || size > kMaxStepSize ||
        (size > 0 && elements > std::numeric_limits<int64_t>::max() / 16 / size)) {
      return BadPlan("the size ", size, " is out of range");
    }
    elements *= size;
  }
  const uint64_t bytes = static_cast<uint64_t>(elements * SizeOf(static_cast<DType>(dtype)));
  if (bytes == buffer.bytes()) return absl::OkStatus();
  return BadPlan(what, " has ", buffer.bytes(), " bytes, and the step's parameters make ", bytes);
}

absl::Status CheckDType(fb::DType dtype, bool floats_only) {
  if (static_cast<int>(dtype) >= kNumDTypes)
    return BadPlan("element type ", static_cast<int>(dtype), " does not exist in this build");
  if (!IsNumber(static_cast<DType>(dtype)) || (floats_only && !IsFloat(static_cast<DType>(dtype)))) {
    return BadPlan("element type ", std::string(DTypeName(static_cast<DType>(dtype))), " is not supported");
  }
  return absl::OkStatus();
}

absl::Status CheckActivation(fb::Activation activation, fb::DType dtype) {
  if (activation > fb::Activation::MAX)
    return BadPlan("activation ", static_cast<int>(activation), " does not exist");
  if (activation > fb::Activation::Relu && !IsFloat(static_cast<DType>(dtype))) {
    return BadPlan("integers have no such activation");
  }
  return absl::OkStatus();
}

absl::Status CheckMath(fb::MathMode math) {
  if (math <= fb::MathMode::MAX) return absl::OkStatus();
  return BadPlan("math mode ", static_cast<int>(math), " does not exist");
}

absl::Status CheckSizes(const SizeList* sizes, const char* what, size_t count, int64_t least) {
  if (sizes == nullptr || sizes->size() != count) {
    return BadPlan(what, " has ", sizes == nullptr ? 0 : sizes->size(), " numbers, not ", count);
  }
  if (!IsAligned(sizes)) return BadPlan(what, " is not aligned to 8 bytes");
  for (const int64_t size : *sizes) {
    if (size < least || size >= int64_t{1} << 31)
      return BadPlan(what, " holds ", size, ", which is out of range");
  }
  return absl::OkStatus();
}

absl::Status CheckWindow(const SizeList& in, const SizeList& out, const SizeList& window,
                         const SizeList& strides, const SizeList& padding, const SizeList* dilations) {
  for (int d = 0; d < 2; ++d) {
    const int64_t extent = kernels::WindowExtent(window.Get(d), dilations == nullptr ? 1 : dilations->Get(d));
    const int64_t want = kernels::WindowPositions(in.Get(d), padding.Get(2 * d), padding.Get(2 * d + 1),
                                                  extent, strides.Get(d));
    if (out.Get(d) == want) continue;
    return BadPlan("its output has ", out.Get(d), d == 0 ? " rows" : " columns", ", and its window makes ",
                   want);
  }
  return absl::OkStatus();
}

absl::Status CheckImages(fb::ImageLayout layout, fb::DType dtype) {
  if (layout > fb::ImageLayout::MAX)
    return BadPlan("image layout ", static_cast<int>(layout), " does not exist");
  return CheckDType(dtype, /*floats_only=*/true);
}

absl::Status CheckBatchBlocks(int64_t batch, fb::DType dtype, fb::Activation activation,
                              const SizeList& sizes) {
  if (batch % kernels::kBatchBlock != 0)
    return BadPlan("a batch of ", batch, " is not in blocks of 16 images");
  if (dtype != fb::DType::F32) return BadPlan("images in blocks of 16 are of f32 only");
  if (activation > fb::Activation::Relu) return BadPlan("images in blocks of 16 have no such activation");
  if (sizes.Get(0) < 1 || sizes.Get(1) < 1) return BadPlan("images in blocks of 16 may not be empty");
  return absl::OkStatus();
}

}  // namespace sinter
