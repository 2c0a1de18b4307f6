// Steps of convolutions and their gradients: kernels/cpu/images/batch_conv.h in layout nchw16n, otherwise
// kernels/cpu/images/conv.h. If the session requests oneDNN: oneDNN for f32 and bf16 in the other layouts.
//
// oneDNN is fastest on nhwc with weights in an order of its choice (measured: 1.3 times as fast as on nchw;
// reordering weights costs nothing measurable). So images in nchw are reordered. oneDNN's "gemm"
// implementations, the only ones for some shapes, allocate tens of megabytes per call.
#include <optional>

#include "absl/strings/str_cat.h"
#include "sinter/kernels/cpu/images/conv.h"
#include "sinter/runtime/cpu/activation_pass.h"
#include "sinter/runtime/cpu/batch_image_step.h"
#include "sinter/runtime/cpu/dnnl_calls.h"
#include "sinter/runtime/cpu/steps.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/plan/step_sizes.h"

namespace sinter {
namespace {

using dnnl::memory;
using Tag = memory::format_tag;

class OwnConvStep : public Step {
 public:
  OwnConvStep(const fb::ConvStep& t, const ThreadPool& pool)
      : conv_{ConvGeometryOf(t), static_cast<int>(t.dtype()), t.layout() == fb::ImageLayout::Nhwc,
              static_cast<int>(t.activation())},
        kind_(t.kind()),
        has_bias_(t.has_bias()),
        parallel_(ParallelOf(pool)) {}

  size_t LibraryWorkspaceBytes() const override {
    const auto pass = kind_ == fb::ConvKind::Forward     ? kernels::ConvPass::kForward
                      : kind_ == fb::ConvKind::InputGrad ? kernels::ConvPass::kInputGrad
                                                         : kernels::ConvPass::kWeightGrad;
    return kernels::ConvWorkspaceBytes(conv_, pass, parallel_.threads);
  }
  absl::Status Run(const StepArgs& args) override {
    void* const* const b = args.buffers;
    if (kind_ == fb::ConvKind::Forward) {
      kernels::RunConvForward(conv_, b[0], b[1], has_bias_ ? b[2] : nullptr, b[has_bias_ ? 3 : 2],
                              args.library_workspace, parallel_);
    } else if (kind_ == fb::ConvKind::InputGrad) {
      kernels::RunConvInputGrad(conv_, b[0], b[1], b[2], args.library_workspace, parallel_);
    } else {
      kernels::RunConvWeightGrad(conv_, b[0], b[1], b[2], args.library_workspace, parallel_);
    }
    return absl::OkStatus();
  }

 private:
  kernels::Conv conv_;
  fb::ConvKind kind_;
  bool has_bias_;
  kernels::Parallel parallel_;
};

// A way to call oneDNN: the primitive and the operand layouts that it requires.
struct DnnlConv {
  dnnl::primitive primitive;
  // source and result: images of the input's and the output's size.
  memory::desc source, weights, result, scratchpad;
  std::string implementation;

  bool IsGemm() const { return implementation.find("gemm") != std::string::npos; }
};

class DnnlConvStep : public Step {
 public:
  // Null if oneDNN has only reference implementations. Throws dnnl::error.
  static std::unique_ptr<DnnlConvStep> Make(const fb::ConvStep& t, const ThreadPool& pool) {
    auto step = std::make_unique<DnnlConvStep>(t, pool);
    const Tag plain = t.layout() == fb::ImageLayout::Nhwc ? Tag::nhwc : Tag::nchw;
    std::optional<DnnlConv> chosen;
    for (const Tag tag : {Tag::nhwc, plain, Tag::any}) {
      DnnlConv found;
      try {
        found = step->Describe(tag);
      } catch (const dnnl::error& error) {
        if (error.status == dnnl_unimplemented) continue;
        throw;
      }
      if (IsReference(found.implementation)) continue;
      if (!chosen.has_value() || (chosen->IsGemm() && !found.IsGemm())) chosen = std::move(found);
    }
    if (!chosen.has_value()) return nullptr;
    step->AddCalls(*chosen);
    return step;
  }

  DnnlConvStep(const fb::ConvStep& t, const ThreadPool& pool)
      : t_(t),
        type_(DnnlType(t.dtype())),
        activation_(t.activation(), t.dtype(),
                    t.batch() * t.out_channels() * t.out_size()->Get(0) * t.out_size()->Get(1), pool) {
    const kernels::ConvGeometry g = ConvGeometryOf(t);
    x_dims_ = {g.batch, g.in_channels, g.in_h, g.in_w};
    y_dims_ = {g.batch, g.out_channels, g.out_h, g.out_w};
    w_dims_ = {g.out_channels / g.groups, g.group_channels(), g.kernel_h, g.kernel_w};
    if (g.groups > 1) w_dims_.insert(w_dims_.begin(), g.groups);
  }

  size_t LibraryWorkspaceBytes() const override { return calls_.WorkspaceBytes(); }
  absl::Status Run(const StepArgs& args) override {
    SINTER_RETURN_IF_ERROR(calls_.Run(args));
    activation_.Run(args.buffers[t_.has_bias() ? 3 : 2]);
    return absl::OkStatus();
  }

 private:
  static memory::dims Dims(const flatbuffers::Vector<int64_t>& v, int first, int second, int64_t less = 0) {
    return {v.Get(first) - less, v.Get(second) - less};
  }

  dnnl::convolution_forward::primitive_desc Forward(const memory::desc& x, const memory::desc& w,
                                                    const memory::desc& y) const {
    const memory::dims strides = Dims(*t_.strides(), 0, 1), dilations = Dims(*t_.dilations(), 0, 1, 1);
    const memory::dims before = Dims(*t_.padding(), 0, 2), after = Dims(*t_.padding(), 1, 3);
    const memory::desc bias =
        t_.has_bias() ? memory::desc({t_.out_channels()}, type_, Tag::a) : memory::desc();
    const dnnl::primitive_attr attributes = DnnlAttributes();
    const auto direct = dnnl::algorithm::convolution_direct;
    const auto kind = dnnl::prop_kind::forward_training;
#if DNNL_VERSION_MAJOR >= 3
    return {DnnlEngine(), kind, direct, x, w, bias, y, strides, dilations, before, after, attributes};
#else
    return {dnnl::convolution_forward::desc(kind, direct, x, w, bias, y, strides, dilations, before, after),
            attributes, DnnlEngine()};
#endif
  }

  // Describes the convolution with images in layout `tag`.
  DnnlConv Describe(Tag tag) const {
    const memory::desc x(x_dims_, type_, tag), y(y_dims_, type_, tag), w(w_dims_, type_, Tag::any);
    const memory::dims strides = Dims(*t_.strides(), 0, 1), dilations = Dims(*t_.dilations(), 0, 1, 1);
    const memory::dims before = Dims(*t_.padding(), 0, 2), after = Dims(*t_.padding(), 1, 3);
    const dnnl::primitive_attr attributes = DnnlAttributes();
    const auto direct = dnnl::algorithm::convolution_direct;
    const dnnl::convolution_forward::primitive_desc hint = Forward(x, w, y);
    if (t_.kind() == fb::ConvKind::Forward) {
      return {dnnl::convolution_forward(hint), hint.src_desc(),     hint.weights_desc(), hint.dst_desc(),
              hint.scratchpad_desc(),          hint.impl_info_str()};
    }
    if (t_.kind() == fb::ConvKind::InputGrad) {
#if DNNL_VERSION_MAJOR >= 3
      const dnnl::convolution_backward_data::primitive_desc pd(DnnlEngine(), direct, x, w, y, strides,
                                                               dilations, before, after, hint, attributes);
#else
      const dnnl::convolution_backward_data::primitive_desc pd(
          dnnl::convolution_backward_data::desc(direct, x, w, y, strides, dilations, before, after),
          attributes, DnnlEngine(), hint);
#endif
      return {dnnl::convolution_backward_data(pd),
              pd.diff_src_desc(),
              pd.weights_desc(),
              pd.diff_dst_desc(),
              pd.scratchpad_desc(),
              pd.impl_info_str()};
    }
#if DNNL_VERSION_MAJOR >= 3
    const dnnl::convolution_backward_weights::primitive_desc pd(DnnlEngine(), direct, x, w, y, strides,
                                                                dilations, before, after, hint, attributes);
#else
    const dnnl::convolution_backward_weights::primitive_desc pd(
        dnnl::convolution_backward_weights::desc(direct, x, w, y, strides, dilations, before, after),
        attributes, DnnlEngine(), hint);
#endif
    return {dnnl::convolution_backward_weights(pd),
            pd.src_desc(),
            pd.diff_weights_desc(),
            pd.diff_dst_desc(),
            pd.scratchpad_desc(),
            pd.impl_info_str()};
  }

  // Returns the place of an operand for the primitive: its own slot, or a reordered copy in the workspace.
  DnnlPlace In(const memory::desc& plan, int slot, const memory::desc& wanted) {
    if (plan == wanted) return Slot(slot);
    const DnnlPlace place = calls_.Reserve(wanted);
    calls_.AddReorder(plan, Slot(slot), wanted, place);
    return place;
  }

  void AddCalls(const DnnlConv& conv) {
    const Tag plain = t_.layout() == fb::ImageLayout::Nhwc ? Tag::nhwc : Tag::nchw;
    const memory::desc x(x_dims_, type_, plain), y(y_dims_, type_, plain);
    const memory::desc w(w_dims_, type_, t_.groups() > 1 ? Tag::goihw : Tag::oihw);
    const bool forward = t_.kind() == fb::ConvKind::Forward,
               input_grad = t_.kind() == fb::ConvKind::InputGrad;
    const int out_slot = t_.has_bias() ? 3 : 2;
    const memory::desc& plan_out = forward ? y : input_grad ? x : w;
    const memory::desc& out = forward ? conv.result : input_grad ? conv.source : conv.weights;
    const DnnlPlace first = input_grad ? In(y, 0, conv.result) : In(x, 0, conv.source);
    const DnnlPlace second =
        t_.kind() == fb::ConvKind::WeightGrad ? In(y, 1, conv.result) : In(w, 1, conv.weights);
    const DnnlPlace to = plan_out == out ? Slot(out_slot) : calls_.Reserve(out);
    std::vector<DnnlOperand> operands;
    if (forward) {
      operands = {{DNNL_ARG_SRC, conv.source, first},
                  {DNNL_ARG_WEIGHTS, conv.weights, second},
                  {DNNL_ARG_DST, out, to}};
      if (t_.has_bias())
        operands.push_back({DNNL_ARG_BIAS, memory::desc({t_.out_channels()}, type_, Tag::a), Slot(2)});
    } else if (input_grad) {
      operands = {{DNNL_ARG_DIFF_DST, conv.result, first},
                  {DNNL_ARG_WEIGHTS, conv.weights, second},
                  {DNNL_ARG_DIFF_SRC, out, to}};
    } else {
      operands = {{DNNL_ARG_SRC, conv.source, first},
                  {DNNL_ARG_DIFF_DST, conv.result, second},
                  {DNNL_ARG_DIFF_WEIGHTS, out, to}};
    }
    calls_.Add(conv.primitive, operands, conv.scratchpad);
    if (plan_out != out) calls_.AddReorder(out, to, plan_out, Slot(out_slot));
  }

  const fb::ConvStep& t_;
  memory::data_type type_;
  memory::dims x_dims_, y_dims_, w_dims_;
  ActivationPass activation_;
  DnnlCalls calls_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Step>> MakeConvStep(const fb::ConvStep& t, const StepContext& context) {
  if (t.layout() == fb::ImageLayout::Nchw16n && t.batch() > 0) {
    return std::unique_ptr<Step>(MakeBatchConvStep(t, context));
  }
  const kernels::ConvGeometry geometry = ConvGeometryOf(t);
  const int64_t x = geometry.image_elements(), y = geometry.result_elements(), w = geometry.weight_elements();
  const int64_t result = t.kind() == fb::ConvKind::Forward ? y : t.kind() == fb::ConvKind::InputGrad ? x : w;
  if (result == 0) return std::make_unique<EmptyStep>();
  // Sums without terms are zero. Only Sinter's kernels handle this case.
  if (context.uses_onednn && x > 0 && y > 0 && w > 0 && DnnlType(t.dtype()) != memory::data_type::undef) {
    try {
      if (auto step = DnnlConvStep::Make(t, *context.pool); step != nullptr) return step;
    } catch (const dnnl::error& error) {
      if (error.status != dnnl_unimplemented) return DnnlStatus(error);
    }
  }
  return std::make_unique<OwnConvStep>(t, *context.pool);
}

}  // namespace sinter
