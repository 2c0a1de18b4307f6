// Checks that the verifiers of several kinds of steps share (StepKind::verify).
//
//   SINTER_RETURN_IF_ERROR(CheckCounts(step, 1, 1));
//   return CheckOperand(*step.outputs[0], "output 0", fb::DType::F32, {batch, channels});
//
// Errors are InvalidArgument. The messages have no subject: VerifyStep's caller names the step.
#ifndef SINTER_RUNTIME_PLAN_STEP_CHECKS_H_
#define SINTER_RUNTIME_PLAN_STEP_CHECKS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "runtime/plan_generated.h"

namespace sinter {

inline constexpr int64_t kMaxStepSize = int64_t{1} << 40;

// A step with its operands. The operands are inside their memory and on the step's device, where StepKind
// does not say otherwise.
struct StepToVerify {
  const fb::Plan& plan;
  const fb::Function& function;
  const fb::Step& step;
  std::vector<const fb::Buffer*> inputs = {}, outputs = {};
};

using SizeList = flatbuffers::Vector<int64_t>;

absl::Status CheckCounts(const StepToVerify& step, size_t inputs, size_t outputs);
// Checks an operand's type and size. The number of elements is the product of `sizes`, none negative.
absl::Status CheckOperand(const fb::Buffer& buffer, const char* what, fb::DType dtype,
                          const std::vector<int64_t>& sizes);
absl::Status CheckDType(fb::DType dtype, bool floats_only);
absl::Status CheckActivation(fb::Activation activation, fb::DType dtype);
absl::Status CheckMath(fb::MathMode math);
// Checks a list of `count` numbers, each in [least, 2^31).
absl::Status CheckSizes(const SizeList* sizes, const char* what, size_t count, int64_t least);

// For images. Checks the output's sizes against kernels::WindowPositions, in both dimensions.
absl::Status CheckWindow(const SizeList& in, const SizeList& out, const SizeList& window,
                         const SizeList& strides, const SizeList& padding, const SizeList* dilations);
absl::Status CheckImages(fb::ImageLayout layout, fb::DType dtype);
// Checks the further requirements of layout nchw16n. `sizes` are image sizes, already known to be two
// numbers.
absl::Status CheckBatchBlocks(int64_t batch, fb::DType dtype, fb::Activation activation,
                              const SizeList& sizes);

}  // namespace sinter

#endif  // SINTER_RUNTIME_PLAN_STEP_CHECKS_H_
