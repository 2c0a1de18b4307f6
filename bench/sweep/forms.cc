#include "sinter/bench/sweep/forms.h"

#include <algorithm>
#include <exception>

#include "absl/strings/str_cat.h"

namespace sinter::bench {

namespace {

const SweepForm* FindForm(const std::string& name) {
  for (const auto& family : {NormForms(), LossForms(), ReduceForms(), IndexForms(), LayoutForms(),
                             PointwiseForms(), UpdateForms(), ProductForms(), ImageForms()}) {
    const auto found = std::ranges::find(family, name, &SweepForm::name);
    if (found != family.end()) return &*found;
  }
  return nullptr;
}

double BytesOf(DType dtype, const Shape& shape) {
  double bytes = static_cast<double>(SizeOf(dtype));
  for (const int64_t size : shape) bytes *= static_cast<double>(size);
  return bytes;
}

// Adds the gradients of the first result.
void AddGradients(SweepCall& call) {
  const Tensor y = call.results().front().second;
  const Tensor loss = call.Has("dy") ? Sum(y * call["dy"]) : y;
  std::vector<Tensor> operands;
  for (const std::string& name : call.draw.wrt) operands.push_back(call[name]);
  const std::vector<Tensor> gradients = Gradients(loss, operands);
  for (size_t i = 0; i < gradients.size(); ++i) call.Result("d:" + call.draw.wrt[i], gradients[i]);
}

}  // namespace

SweepCall::SweepCall(Builder& builder, const Draw& drawn, MathMode math_mode)
    : b(builder), draw(drawn), math(math_mode) {
  for (const DrawnOperand& operand : draw.operands) {
    VariableOptions options;
    options.trainable = operand.kind == DrawnOperand::Kind::kParameter;
    if (operand.kind == DrawnOperand::Kind::kNormal || operand.kind == DrawnOperand::Kind::kParameter)
      options.init = {VariableInit::Kind::kNormal, 0, operand.scale};
    const Variable variable = b.MakeVariable(operand.name, operand.dtype, operand.shape, options);
    variables_.emplace(operand.name, variable);
    tensors_.emplace(operand.name, b.Read(variable));
  }
}

Tensor Wide(const Tensor& x) { return x.dtype() == F32 ? x : Cast(x, F32); }

absl::StatusOr<Graph> BuildDraw(const Draw& draw, MathMode math, double* bytes) {
  const SweepForm* const form = FindForm(draw.form);
  if (form == nullptr) return absl::NotFoundError(absl::StrCat("no form \"", draw.form, "\""));
  Graph graph(draw.name, {.seed = draw.id});
  try {
    graph.Function("run", Mode::kTrain, [&](Builder& b) {
      SweepCall call(b, draw, math);
      form->body(call);
      if (!draw.wrt.empty()) AddGradients(call);
      double all = 0;
      for (const auto& [name, value] : call.results()) {
        b.Output(name, value);
        all += BytesOf(value.dtype(), value.shape());
      }
      for (const DrawnOperand& operand : draw.operands) all += BytesOf(operand.dtype, operand.shape);
      if (bytes != nullptr) *bytes = all;
    });
  } catch (const std::exception& error) {  // From a map of operands or the options.
    return absl::InvalidArgumentError(
        absl::StrCat("draw ", draw.id, " lacks what the form ", draw.form, " needs: ", error.what()));
  }
  return graph;
}

}  // namespace sinter::bench
