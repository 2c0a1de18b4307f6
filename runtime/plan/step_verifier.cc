// The part of plan_verifier.h that checks steps.
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/plan_generated.h"
#include "sinter/kernels/cpu/batch_conv.h"
#include "sinter/kernels/cpu/catalog.h"
#include "sinter/kernels/window_positions.h"
#include "sinter/runtime/host/dtype.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/plan/gpu_limits.h"
#include "sinter/runtime/plan/matmul_slots.h"
#include "sinter/runtime/plan/plan_devices.h"
#include "sinter/runtime/plan/plan_verifier.h"
#include "sinter/runtime/plan/step_sizes.h"

namespace sinter {
namespace {

constexpr uint64_t kMaxScratchBytes = uint64_t{256} << 20;
constexpr int64_t kMaxSize = int64_t{1} << 40;
// Limits of CUDA and of the largest GPU so far (CUDA C++ Programming Guide, "Compute Capabilities"). The
// runtime of a smaller GPU refuses larger values itself.
constexpr uint32_t kMaxSharedBytes = 227 << 10;
constexpr uint32_t kMaxBlocks = (uint32_t{1} << 31) - 1;

struct Operands {
  std::vector<const fb::Buffer*> inputs, outputs;
};

absl::Status Collect(const fb::Function& function, const flatbuffers::Vector<uint32_t>* indices,
                     const char* what, std::vector<const fb::Buffer*>& buffers) {
  const size_t count = function.buffers() == nullptr ? 0 : function.buffers()->size();
  for (size_t i = 0; indices != nullptr && i < indices->size(); ++i) {
    if (indices->Get(i) >= count) return BadPlan(what, " ", i, " is buffer ", indices->Get(i), " of ", count);
    buffers.push_back(function.buffers()->Get(indices->Get(i)));
  }
  return absl::OkStatus();
}

absl::Status CheckCounts(const Operands& o, size_t inputs, size_t outputs) {
  if (o.inputs.size() == inputs && o.outputs.size() == outputs) return absl::OkStatus();
  return BadPlan("it has ", o.inputs.size(), " inputs and ", o.outputs.size(), " outputs, not ", inputs,
                 " and ", outputs);
}

// Checks an operand's type and size. The number of elements is the product of `sizes`, none negative.
absl::Status CheckOperand(const fb::Buffer& buffer, const char* what, fb::DType dtype,
                          const std::vector<int64_t>& sizes) {
  if (buffer.type()->dtype() != dtype) {
    return BadPlan(what, " holds ", std::string(DTypeName(static_cast<DType>(buffer.type()->dtype()))),
                   ", not ", std::string(DTypeName(static_cast<DType>(dtype))));
  }
  int64_t elements = 1;
  for (const int64_t size : sizes) {
    if (size < 0 || size > kMaxSize ||
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
    return BadPlan("element type ", static_cast<int>(dtype), " does not exist");
  if (dtype == fb::DType::I1 || (floats_only && !IsFloat(static_cast<DType>(dtype)))) {
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

absl::Status CheckKernel(const fb::Plan& plan, const fb::KernelStep& step, const Operands& o) {
  if (step.symbol() == nullptr || step.symbol()->size() == 0) return BadPlan("its kernel has no symbol");
  if (plan.shared_object() == nullptr || plan.shared_object()->size() == 0) {
    return BadPlan("it calls the kernel ", step.symbol()->c_str(), ", and the plan holds no code");
  }
  if (step.units() < 0 || step.units() > kMaxSize || step.grain() < 1) {
    return BadPlan(step.units(), " units in parts of ", step.grain(), " are out of range");
  }
  if (step.scratch_bytes() > kMaxScratchBytes) {
    return BadPlan(step.scratch_bytes(), " bytes of scratch memory a thread are more than ",
                   kMaxScratchBytes);
  }
  return o.outputs.empty() ? BadPlan("its kernel has no outputs") : absl::OkStatus();
}

absl::Status CheckGpuKernel(const fb::Plan& plan, const fb::GpuKernelStep& s, const Operands& o) {
  const size_t count = plan.gpu_kernels() == nullptr ? 0 : plan.gpu_kernels()->size();
  if (s.kernel() >= count) return BadPlan("it launches GPU kernel ", s.kernel(), " of ", count);
  if (s.grid() < 1 || s.grid() > kMaxBlocks) {
    return BadPlan("a grid of ", s.grid(), " blocks is outside 1..", kMaxBlocks);
  }
  if (s.block() < 1 || s.block() > kMaxGpuBlock) {
    return BadPlan("a block of ", s.block(), " threads is outside 1..", kMaxGpuBlock);
  }
  if (s.shared_bytes() > kMaxSharedBytes) {
    return BadPlan(s.shared_bytes(), " bytes of shared memory a block are more than ", kMaxSharedBytes);
  }
  if (o.inputs.size() + o.outputs.size() > kMaxGpuKernelBuffers) {
    return BadPlan("its kernel has ", o.inputs.size() + o.outputs.size(), " operands: at most ",
                   kMaxGpuKernelBuffers);
  }
  return o.outputs.empty() ? BadPlan("its kernel has no outputs") : absl::OkStatus();
}

absl::Status CheckMath(fb::MathMode math) {
  if (math <= fb::MathMode::MAX) return absl::OkStatus();
  return BadPlan("math mode ", static_cast<int>(math), " does not exist");
}

// Checks the combinations that only some matmuls may have.
absl::Status CheckMatmulKind(const fb::MatmulStep& s) {
  const bool is_narrow = s.dtype() == fb::DType::BF16 || s.dtype() == fb::DType::F16;
  if (s.result_is_f32() && !is_narrow)
    return BadPlan("only products of bf16 and f16 have a result of f32 for it");
  if ((s.has_addend() || s.has_scale()) && !IsFloat(static_cast<DType>(s.dtype()))) {
    return BadPlan("products of integers have neither addend nor scale");
  }
  if (s.is_gradient() && (s.has_bias() || s.has_addend() || s.has_scale())) {
    return BadPlan("a product with an activation's gradient has neither bias, addend nor scale");
  }
  if (s.is_gradient() && s.activation() == fb::Activation::None) {
    return BadPlan("it has the gradient of no activation");
  }
  return absl::OkStatus();
}

absl::Status CheckMatmul(const fb::MatmulStep& s, const Operands& o) {
  SINTER_RETURN_IF_ERROR(CheckDType(s.dtype(), /*floats_only=*/false));
  SINTER_RETURN_IF_ERROR(CheckMath(s.math()));
  SINTER_RETURN_IF_ERROR(CheckActivation(s.activation(), s.dtype()));
  SINTER_RETURN_IF_ERROR(CheckMatmulKind(s));
  const MatmulSlots slots(s);
  SINTER_RETURN_IF_ERROR(
      CheckCounts(o, static_cast<size_t>(slots.inputs), static_cast<size_t>(slots.outputs)));
  const fb::DType of_result = MatmulResultDType(s);
  const fb::DType of_scale = s.dtype() == fb::DType::F64 ? fb::DType::F64 : fb::DType::F32;
  const std::vector<int64_t> result = {s.batch(), s.m(), s.n()};
  const struct {
    const std::vector<const fb::Buffer*>& buffers;
    int slot;
    const char* what;
    fb::DType dtype;
    std::vector<int64_t> sizes;
  } operands[] = {{o.inputs, slots.a, "a", s.dtype(), {s.batch(), s.m(), s.k()}},
                  {o.inputs, slots.b, "b", s.dtype(), {s.batch(), s.k(), s.n()}},
                  {o.inputs, slots.bias, "the bias", of_result, {s.n()}},
                  {o.inputs, slots.addend, "the addend", of_result, result},
                  {o.inputs, slots.scale, "the scale", of_scale, {}},
                  {o.inputs, slots.preactivation, "the preactivation", of_result, result},
                  {o.outputs, slots.result, "the result", of_result, result}};
  for (const auto& operand : operands) {
    if (operand.slot < 0) continue;
    SINTER_RETURN_IF_ERROR(CheckOperand(*operand.buffers[static_cast<size_t>(operand.slot)], operand.what,
                                        operand.dtype, operand.sizes));
  }
  return absl::OkStatus();
}

absl::Status CheckMatmulDevice(const fb::MatmulStep& s, Device device) {
  if (device.is_gpu() || !s.is_gradient()) return absl::OkStatus();
  return BadPlan("it runs on ", device.ToString(),
                 ", and a product with an activation's gradient is a step of GPUs");
}

using Sizes = flatbuffers::Vector<int64_t>;

// Checks a list of `count` numbers, each in [least, 2^31).
absl::Status CheckSizes(const Sizes* sizes, const char* what, size_t count, int64_t least) {
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

// Checks the output's sizes against kernels::WindowPositions, in both dimensions.
absl::Status CheckWindow(const Sizes& in, const Sizes& out, const Sizes& window, const Sizes& strides,
                         const Sizes& padding, const Sizes* dilations) {
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

// Checks the further requirements of layout nchw16n. `sizes` are image sizes, already known to be two
// numbers.
absl::Status CheckBatchBlocks(int64_t batch, fb::DType dtype, fb::Activation activation, const Sizes& sizes) {
  if (batch % kernels::kBatchBlock != 0)
    return BadPlan("a batch of ", batch, " is not in blocks of 16 images");
  if (dtype != fb::DType::F32) return BadPlan("images in blocks of 16 are of f32 only");
  if (activation > fb::Activation::Relu) return BadPlan("images in blocks of 16 have no such activation");
  if (sizes.Get(0) < 1 || sizes.Get(1) < 1) return BadPlan("images in blocks of 16 may not be empty");
  return absl::OkStatus();
}

absl::Status CheckConv(const fb::ConvStep& s, const fb::Step& step, const Operands& o) {
  if (s.kind() > fb::ConvKind::MAX)
    return BadPlan("convolution kind ", static_cast<int>(s.kind()), " does not exist");
  SINTER_RETURN_IF_ERROR(CheckImages(s.layout(), s.dtype()));
  SINTER_RETURN_IF_ERROR(CheckMath(s.math()));
  SINTER_RETURN_IF_ERROR(CheckActivation(s.activation(), s.dtype()));
  SINTER_RETURN_IF_ERROR(CheckSizes(s.in_size(), "in_size", 2, 0));
  SINTER_RETURN_IF_ERROR(CheckSizes(s.out_size(), "out_size", 2, 0));
  SINTER_RETURN_IF_ERROR(CheckSizes(s.kernel(), "kernel", 2, 1));
  SINTER_RETURN_IF_ERROR(CheckSizes(s.strides(), "strides", 2, 1));
  SINTER_RETURN_IF_ERROR(CheckSizes(s.padding(), "padding", 4, 0));
  SINTER_RETURN_IF_ERROR(CheckSizes(s.dilations(), "dilations", 2, 1));
  SINTER_RETURN_IF_ERROR(
      CheckWindow(*s.in_size(), *s.out_size(), *s.kernel(), *s.strides(), *s.padding(), s.dilations()));
  if (s.groups() < 1 || s.in_channels() % s.groups() != 0 || s.out_channels() % s.groups() != 0) {
    return BadPlan(s.groups(), " groups do not divide ", s.in_channels(), " and ", s.out_channels(),
                   " channels");
  }
  if (s.layout() == fb::ImageLayout::Nchw16n) {
    SINTER_RETURN_IF_ERROR(CheckBatchBlocks(s.batch(), s.dtype(), s.activation(), *s.in_size()));
  }
  const bool forward = s.kind() == fb::ConvKind::Forward;
  if (!forward && (s.has_bias() || s.activation() != fb::Activation::None)) {
    return BadPlan("the gradient of a convolution has neither bias nor activation");
  }
  SINTER_RETURN_IF_ERROR(CheckCounts(o, s.has_bias() ? 3 : 2, 1));
  const std::vector<int64_t> x = {s.batch(), s.in_channels(), s.in_size()->Get(0), s.in_size()->Get(1)};
  const std::vector<int64_t> y = {s.batch(), s.out_channels(), s.out_size()->Get(0), s.out_size()->Get(1)};
  const std::vector<int64_t> w = {s.out_channels(), s.in_channels() / s.groups(), s.kernel()->Get(0),
                                  s.kernel()->Get(1)};
  const bool input_grad = s.kind() == fb::ConvKind::InputGrad;
  SINTER_RETURN_IF_ERROR(CheckOperand(*o.inputs[0], "input 0", s.dtype(), input_grad ? y : x));
  SINTER_RETURN_IF_ERROR(
      CheckOperand(*o.inputs[1], "input 1", s.dtype(), s.kind() == fb::ConvKind::WeightGrad ? y : w));
  if (s.has_bias())
    SINTER_RETURN_IF_ERROR(CheckOperand(*o.inputs[2], "the bias", s.dtype(), {s.out_channels()}));
  SINTER_RETURN_IF_ERROR(CheckOperand(*o.outputs[0], "the result", s.dtype(),
                                      forward      ? y
                                      : input_grad ? x
                                                   : w));
  const uint64_t workspace = s.layout() == fb::ImageLayout::Nchw16n ? BatchConvWorkspaceBytes(s) : 0;
  if (step.workspace_bytes() >= workspace) return absl::OkStatus();
  return BadPlan("the convolution needs ", workspace, " bytes of workspace, and has ",
                 step.workspace_bytes());
}

absl::Status CheckPool(const fb::PoolStep& s, const Operands& o) {
  if (s.kind() > fb::PoolKind::MAX)
    return BadPlan("pooling kind ", static_cast<int>(s.kind()), " does not exist");
  SINTER_RETURN_IF_ERROR(CheckImages(s.layout(), s.dtype()));
  SINTER_RETURN_IF_ERROR(CheckSizes(s.in_size(), "in_size", 2, 0));
  SINTER_RETURN_IF_ERROR(CheckSizes(s.out_size(), "out_size", 2, 0));
  SINTER_RETURN_IF_ERROR(CheckSizes(s.window(), "window", 2, 1));
  SINTER_RETURN_IF_ERROR(CheckSizes(s.strides(), "strides", 2, 1));
  SINTER_RETURN_IF_ERROR(CheckSizes(s.padding(), "padding", 4, 0));
  SINTER_RETURN_IF_ERROR(
      CheckWindow(*s.in_size(), *s.out_size(), *s.window(), *s.strides(), *s.padding(), nullptr));
  if (s.layout() == fb::ImageLayout::Nchw16n) {
    SINTER_RETURN_IF_ERROR(CheckBatchBlocks(s.batch(), s.dtype(), fb::Activation::None, *s.in_size()));
  }
  const bool max = s.kind() == fb::PoolKind::Max || s.kind() == fb::PoolKind::MaxGrad;
  for (int i = 0; i < 4; ++i) {
    if (s.padding()->Get(i) >= s.window()->Get(i / 2)) {
      return BadPlan("padding of ", s.padding()->Get(i), " leaves windows of ", s.window()->Get(i / 2),
                     " without elements");
    }
  }
  if (max && s.window()->Get(0) * s.window()->Get(1) > 256) {
    return BadPlan("a window of ", s.window()->Get(0), " x ", s.window()->Get(1),
                   " has more than 256 positions");
  }
  SINTER_RETURN_IF_ERROR(
      CheckCounts(o, s.kind() == fb::PoolKind::MaxGrad ? 2 : 1, s.kind() == fb::PoolKind::Max ? 2 : 1));
  const std::vector<int64_t> large = {s.batch(), s.channels(), s.in_size()->Get(0), s.in_size()->Get(1)};
  const std::vector<int64_t> small = {s.batch(), s.channels(), s.out_size()->Get(0), s.out_size()->Get(1)};
  const bool forward = s.kind() == fb::PoolKind::Max || s.kind() == fb::PoolKind::Avg;
  SINTER_RETURN_IF_ERROR(CheckOperand(*o.inputs[0], "input 0", s.dtype(), forward ? large : small));
  SINTER_RETURN_IF_ERROR(CheckOperand(*o.outputs[0], "output 0", s.dtype(), forward ? small : large));
  if (!max) return absl::OkStatus();
  return CheckOperand(forward ? *o.outputs[1] : *o.inputs[1], "the positions", fb::DType::U8, small);
}

absl::Status CheckCopy(const fb::CopyStep& s, const Operands& o) {
  SINTER_RETURN_IF_ERROR(CheckCounts(o, 1, 1));
  if (s.bytes() == o.inputs[0]->bytes() && s.bytes() == o.outputs[0]->bytes()) return absl::OkStatus();
  return BadPlan("it copies ", s.bytes(), " bytes from a buffer of ", o.inputs[0]->bytes(), " to one of ",
                 o.outputs[0]->bytes());
}

absl::Status CheckCatalog(const fb::CatalogStep& s, const Operands& o) {
  const std::string name = s.kernel() == nullptr ? std::string() : s.kernel()->str();
  const kernels::CatalogKernel* const kernel = kernels::FindCatalogKernel(name);
  if (kernel == nullptr) return BadPlan("the catalogue has no kernel \"", name, "\"");
  if (!IsAligned(s.parameters())) return BadPlan("its parameters are not aligned to 8 bytes");
  std::span<const int64_t> parameters;
  if (s.parameters() != nullptr) parameters = {s.parameters()->data(), s.parameters()->size()};
  if (parameters.size() != kernel->parameters.size()) {
    return BadPlan("the kernel ", name, " has ", kernel->parameters.size(), " parameters, not ",
                   parameters.size());
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

using Buffers = std::vector<const fb::Buffer*>;

// Checks q, k and v, or the one packed tensor, at the front of `buffers`: operands of a step, or their
// gradients.
absl::Status CheckQueriesAndKeys(const fb::AttentionStep& s, const Buffers& buffers) {
  const std::vector<int64_t> q = {s.batch(), s.queries(), s.heads(), s.width()};
  const std::vector<int64_t> k = {s.batch(), s.keys(), s.key_heads(), s.width()};
  if (s.packed()) {
    return CheckOperand(*buffers[0], "the packed tensor", s.dtype(),
                        {s.batch(), s.queries(), 3, s.heads(), s.width()});
  }
  SINTER_RETURN_IF_ERROR(CheckOperand(*buffers[0], "q", s.dtype(), q));
  SINTER_RETURN_IF_ERROR(CheckOperand(*buffers[1], "k", s.dtype(), k));
  return CheckOperand(*buffers[2], "v", s.dtype(), k);
}

absl::Status CheckAttention(const fb::AttentionStep& s, const Operands& o) {
  if (s.dtype() != fb::DType::BF16 && s.dtype() != fb::DType::F16) {
    return BadPlan("element type ", static_cast<int>(s.dtype()),
                   " is not supported: attention is of bf16 or f16");
  }
  for (const int64_t size : {s.batch(), s.queries(), s.keys(), s.heads(), s.key_heads(), s.width()}) {
    // cuDNN counts sizes in 32 bits.
    if (size < 1 || size >= int64_t{1} << 31)
      return BadPlan("the size ", size, " of an attention is out of range");
  }
  if (s.heads() % s.key_heads() != 0) {
    return BadPlan(s.key_heads(), " heads of k do not divide ", s.heads(), " of q");
  }
  if (s.packed() && (s.keys() != s.queries() || s.key_heads() != s.heads())) {
    return BadPlan("q and k in one tensor have ", s.queries(), " and ", s.keys(), " positions of ", s.heads(),
                   " and ", s.key_heads(), " heads: they must be alike");
  }
  if (s.causal() && s.keys() != s.queries()) {
    return BadPlan("causal attention has ", s.queries(), " positions of q and ", s.keys(), " of k");
  }
  if (!std::isfinite(s.scale())) return BadPlan("the scale of an attention is not finite");
  if (s.backward() && s.has_stats()) return BadPlan("the gradient of an attention gives no stats");
  const size_t given = s.packed() ? 1 : 3;
  if (s.backward()) {
    SINTER_RETURN_IF_ERROR(CheckCounts(o, given + 3, given));
  } else {
    SINTER_RETURN_IF_ERROR(CheckCounts(o, given, s.has_stats() ? 2 : 1));
  }
  SINTER_RETURN_IF_ERROR(CheckQueriesAndKeys(s, o.inputs));
  const std::vector<int64_t> like_q = {s.batch(), s.queries(), s.heads(), s.width()};
  const std::vector<int64_t> rows = {s.batch(), s.heads(), s.queries()};
  if (!s.backward()) {
    SINTER_RETURN_IF_ERROR(CheckOperand(*o.outputs[0], "o", s.dtype(), like_q));
    return s.has_stats() ? CheckOperand(*o.outputs[1], "stats", fb::DType::F32, rows) : absl::OkStatus();
  }
  SINTER_RETURN_IF_ERROR(CheckOperand(*o.inputs[given], "o", s.dtype(), like_q));
  SINTER_RETURN_IF_ERROR(CheckOperand(*o.inputs[given + 1], "stats", fb::DType::F32, rows));
  SINTER_RETURN_IF_ERROR(CheckOperand(*o.inputs[given + 2], "g", s.dtype(), like_q));
  return CheckQueriesAndKeys(s, o.outputs);
}

absl::Status CheckBody(const fb::Plan& plan, const fb::Function& function, const fb::Step& step,
                       const Operands& o) {
  if (step.body() != nullptr) {
    switch (step.body_type()) {
      case fb::StepBody::KernelStep:
        return CheckKernel(plan, *step.body_as_KernelStep(), o);
      case fb::StepBody::MatmulStep:
        SINTER_RETURN_IF_ERROR(CheckMatmul(*step.body_as_MatmulStep(), o));
        return CheckMatmulDevice(*step.body_as_MatmulStep(), DeviceOf(plan, step.device()));
      case fb::StepBody::ConvStep:
        return CheckConv(*step.body_as_ConvStep(), step, o);
      case fb::StepBody::PoolStep:
        return CheckPool(*step.body_as_PoolStep(), o);
      case fb::StepBody::CopyStep:
        return CheckCopy(*step.body_as_CopyStep(), o);
      case fb::StepBody::CatalogStep:
        return CheckCatalog(*step.body_as_CatalogStep(), o);
      case fb::StepBody::GpuKernelStep:
        return CheckGpuKernel(plan, *step.body_as_GpuKernelStep(), o);
      case fb::StepBody::CollectiveStep:
        return VerifyCollective(plan, function, step);
      case fb::StepBody::AttentionStep:
        return CheckAttention(*step.body_as_AttentionStep(), o);
      default:
        break;
    }
  }
  return BadPlan("its kind, ", static_cast<int>(step.body_type()), ", does not exist");
}

// Checks that all operands of a step are on its own device, except inputs of a copy, and that the device can
// run this kind of step.
absl::Status CheckDevices(const fb::Plan& plan, const fb::Step& step, const Operands& o) {
  if (step.device() >= NumDevices(plan)) {
    return BadPlan("it runs on device ", step.device(), " of ", NumDevices(plan));
  }
  const Device device = DeviceOf(plan, step.device());
  if (step.body_type() == fb::StepBody::KernelStep && !device.is_cpu()) {
    return BadPlan("it runs on ", device.ToString(), ", and its kernel is code of a CPU");
  }
  if (step.body_type() == fb::StepBody::GpuKernelStep && !device.is_gpu()) {
    return BadPlan("it runs on ", device.ToString(), ", and its kernel is code of a GPU");
  }
  if (step.body_type() == fb::StepBody::AttentionStep && !device.is_gpu()) {
    return BadPlan("it runs on ", device.ToString(), ", and attention is a step of GPUs");
  }
  const bool is_copy = step.body_type() == fb::StepBody::CopyStep;
  for (const auto& [buffers, what] : {std::pair{&o.inputs, "input "}, std::pair{&o.outputs, "output "}}) {
    if (is_copy && buffers == &o.inputs) continue;
    for (size_t i = 0; i < buffers->size(); ++i) {
      const Device place = DeviceOf(plan, (*buffers)[i]->device());
      if (place == device) continue;
      return BadPlan("it runs on ", device.ToString(), ", and its ", what, i, " is on ", place.ToString(),
                     ": only a copy may read from another device");
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status VerifyStep(const fb::Plan& plan, const fb::Function& function, const fb::Step& step) {
  Operands operands;
  SINTER_RETURN_IF_ERROR(Collect(function, step.inputs(), "input", operands.inputs));
  SINTER_RETURN_IF_ERROR(Collect(function, step.outputs(), "output", operands.outputs));
  for (const fb::Buffer* buffer : operands.outputs) {
    if (buffer->space() == fb::Space::Constant || buffer->space() == fb::Space::Input) {
      return BadPlan("it writes to ", buffer->space() == fb::Space::Input ? "an input" : "a constant");
    }
  }
  SINTER_RETURN_IF_ERROR(CheckDevices(plan, step, operands));
  const uint64_t arena = ArenaBytes(function, step.device());
  if (step.workspace_bytes() > arena || step.workspace_offset() > arena - step.workspace_bytes()) {
    return BadPlan("its workspace, bytes ", step.workspace_offset(), " to ", step.workspace_offset(), " + ",
                   step.workspace_bytes(), ", is outside the arena of ", arena, " bytes");
  }
  if (step.workspace_bytes() > 0 && step.workspace_offset() % 64 != 0) {
    return BadPlan("its workspace's offset, ", step.workspace_offset(), ", is not a multiple of 64");
  }
  return CheckBody(plan, function, step, operands);
}

}  // namespace sinter
