#include "sinter/tools/plan_text.h"

#include <algorithm>
#include <cctype>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "sinter/runtime/plan/collective.h"
#include "sinter/runtime/host/dtype.h"
#include "sinter/runtime/plan/plan_devices.h"

namespace sinter::tools {

namespace {

std::string Text(const flatbuffers::String* text) { return text == nullptr ? "" : text->str(); }

std::string Scaled(double value, const char* unit) {
  static constexpr const char* kPrefixes[] = {"", "k", "M", "G", "T", "P"};
  int prefix = 0;
  while (value >= 1000 && prefix < 5) {
    value /= 1000;
    ++prefix;
  }
  return absl::StrFormat("%.*f %s%s", prefix == 0 ? 0 : 2, value, kPrefixes[prefix], unit);
}

std::string Sizes(const flatbuffers::Vector<int64_t>* sizes) {
  return sizes == nullptr ? "" : absl::StrJoin(sizes->begin(), sizes->end(), "x");
}

// Returns "input_grad" for "InputGrad".
std::string SnakeCase(const std::string& name) {
  std::string result;
  for (char c : name) {
    if (std::isupper(static_cast<unsigned char>(c)) && !result.empty()) result += '_';
    result += absl::ascii_tolower(static_cast<unsigned char>(c));
  }
  return result;
}

std::string Epilogue(bool has_bias, fb::Activation activation) {
  std::string text = has_bias ? " bias" : "";
  if (activation != fb::Activation::None)
    absl::StrAppend(&text, " ", SnakeCase(fb::EnumNameActivation(activation)));
  return text;
}

std::string MatmulText(const fb::MatmulStep& m) {
  std::string batch = m.batch() == 1 ? "" : absl::StrCat(m.batch(), " of ");
  std::string text = absl::StrCat("matmul ", batch, m.m(), "x", m.n(), "x", m.k(),
                                  m.transpose_a() ? " a^t" : "", m.transpose_b() ? " b^t" : "");
  if (m.has_scale()) text += " scale";
  if (m.is_gradient()) text += " gradient of";
  text += Epilogue(m.has_bias(), m.activation());
  if (m.has_addend()) text += " addend";
  return m.result_is_f32() ? text + " to f32" : text;
}

std::string ConvText(const fb::ConvStep& c) {
  std::string groups = c.groups() == 1 ? "" : absl::StrCat(" groups ", c.groups());
  return absl::StrCat("conv ", SnakeCase(fb::EnumNameConvKind(c.kind())), " ", c.batch(), "x",
                      c.in_channels(), "x", Sizes(c.in_size()), " to ", c.out_channels(), "x",
                      Sizes(c.out_size()), " kernel ", Sizes(c.kernel()), groups, " ",
                      SnakeCase(fb::EnumNameImageLayout(c.layout())), Epilogue(c.has_bias(), c.activation()));
}

std::string AttentionText(const fb::AttentionStep& a) {
  return absl::StrCat("attention ", a.backward() ? "backward " : "forward ", a.batch(), "x", a.heads(), "x",
                      a.queries(), "x", a.width(), " by ", a.keys(), a.causal() ? " causal" : "",
                      a.packed() ? " packed" : "");
}

std::string PoolText(const fb::PoolStep& p) {
  return absl::StrCat("pool ", SnakeCase(fb::EnumNamePoolKind(p.kind())), " ", p.batch(), "x", p.channels(),
                      "x", Sizes(p.in_size()), " to ", Sizes(p.out_size()), " window ", Sizes(p.window()),
                      " ", SnakeCase(fb::EnumNameImageLayout(p.layout())));
}

std::string TypesText(const fb::Function& function, const flatbuffers::Vector<uint32_t>* buffers) {
  std::vector<std::string> types;
  for (uint32_t buffer : OrEmpty(buffers))
    types.push_back(TypeText(*function.buffers()->Get(buffer)->type()));
  // The optimizer's fused kernel over all parameters has hundreds of operands.
  size_t count = types.size();
  if (count > 6) {
    types.resize(4);
    types.push_back(absl::StrCat("... ", count - 4, " more"));
  }
  return absl::StrJoin(types, ", ");
}

}  // namespace

std::string LocationText(const fb::Plan& plan, uint32_t location) {
  if (plan.locations() == nullptr || location >= plan.locations()->size()) return "-";
  const fb::SourceLocation& l = *plan.locations()->Get(location);
  std::string file = Text(l.file()), what = Text(l.what());
  if (file.empty()) return what.empty() ? "-" : what;
  return absl::StrCat(file.substr(file.rfind('/') + 1), ":", l.line(), what.empty() ? "" : " ", what);
}

std::string LocationsText(const fb::Plan& plan, const fb::Step& step, int most) {
  std::vector<std::string> texts;
  if (step.locations() != nullptr) {
    for (uint32_t location : *step.locations()) {
      std::string text = LocationText(plan, location);
      if (text != "-" && std::ranges::find(texts, text) == texts.end()) texts.push_back(std::move(text));
    }
  }
  if (texts.empty()) return "-";
  int more = static_cast<int>(texts.size()) - most;
  if (more > 0) texts.resize(static_cast<size_t>(most));
  return absl::StrCat(absl::StrJoin(texts, ", "), more > 0 ? absl::StrCat(" and ", more, " more") : "");
}

std::string TypeText(const fb::TensorType& type) {
  std::string shape =
      type.shape() == nullptr ? "" : absl::StrJoin(type.shape()->begin(), type.shape()->end(), ",");
  std::string_view name = DTypeName(static_cast<DType>(type.dtype()));
  return absl::StrCat(absl::string_view(name.data(), name.size()), "[", shape, "]");
}

std::string SignatureText(const fb::Function& function, const fb::Step& step) {
  return absl::StrCat(TypesText(function, step.inputs()), " -> ", TypesText(function, step.outputs()));
}

std::string StepText(const fb::Plan& plan, const fb::Step& step) {
  switch (step.body_type()) {
    case fb::StepBody::KernelStep:
      return absl::StrCat("kernel ", Text(step.body_as_KernelStep()->symbol()), ", ",
                          step.body_as_KernelStep()->units(), " units");
    case fb::StepBody::GpuKernelStep: {
      const fb::GpuKernelStep& kernel = *step.body_as_GpuKernelStep();
      return absl::StrCat("kernel ", Text(plan.gpu_kernels()->Get(kernel.kernel())->symbol()), ", ",
                          kernel.grid(), " blocks of ", kernel.block());
    }
    case fb::StepBody::MatmulStep:
      return MatmulText(*step.body_as_MatmulStep());
    case fb::StepBody::ConvStep:
      return ConvText(*step.body_as_ConvStep());
    case fb::StepBody::PoolStep:
      return PoolText(*step.body_as_PoolStep());
    case fb::StepBody::CopyStep:
      return "copy";
    case fb::StepBody::AttentionStep:
      return AttentionText(*step.body_as_AttentionStep());
    case fb::StepBody::CatalogStep:
      return Text(step.body_as_CatalogStep()->kernel());
    case fb::StepBody::CollectiveStep: {
      const fb::CollectiveStep& c = *step.body_as_CollectiveStep();
      return absl::StrCat(std::string(CollectiveName(c.kind())), ", rank ", c.rank(), " of ",
                          OrEmpty(c.group()).size());
    }
    default:
      return absl::StrCat("step of kind ", static_cast<int>(step.body_type()));
  }
}

std::string PlaceText(const fb::Plan& plan, const fb::Function& function, const fb::Step& step) {
  if (NumDevices(plan) == 1) return "";
  std::string to = DeviceOf(plan, step.device()).ToString();
  if (!IsBetweenDevices(function, step)) return to;
  const fb::Buffer& from = *function.buffers()->Get(step.inputs()->Get(0));
  return absl::StrCat(DeviceOf(plan, from.device()).ToString(), " to ", to);
}

std::string BytesText(double bytes) { return Scaled(bytes, "B"); }

std::string FlopsText(double flops) { return flops > 0 ? Scaled(flops, "FLOP") : "-"; }

std::string CopiesText(const fb::Plan& plan) {
  std::string text;
  for (const fb::Function* function : OrEmpty(plan.functions())) {
    for (const fb::Step* step : OrEmpty(function->steps())) {
      const fb::CopyStep* copy = step->body_as_CopyStep();
      if (copy == nullptr) continue;
      std::string place = PlaceText(plan, *function, *step);
      absl::StrAppend(&text, "copy in ", Text(function->name()), ": ",
                      BytesText(static_cast<double>(copy->bytes())), ", ", SignatureText(*function, *step),
                      ", ", LocationsText(plan, *step, 3), place.empty() ? "" : ", ", place, "\n");
    }
  }
  return text;
}

}  // namespace sinter::tools
