#include "sinter/frontend/nn/module.h"

#include "absl/strings/str_cat.h"
#include "sinter/frontend/graph_state.h"

namespace sinter::nn {

Tensor Layer::Apply(const Tensor& x, Where where) {
  if (!x.ok()) return {};
  LocationScope scope(&x.function()->graph(), where,
                      path_.empty() ? Describe() : absl::StrCat(path_, " ", Describe()));
  DeviceScope on(x.function(), device_, where);
  return Forward(x, where);
}

void Layer::SetDevice(Device device, Where where) {
  device_ = device;
  for (const Variable& variable : variables_) variable.graph()->MoveVariable(variable.name(), device, where);
  for (auto& [name, child] : children_) child->SetDevice(device, where);
}

void Layer::SetPath(std::string path) {
  path_ = std::move(path);
  for (auto& [name, child] : children_) child->SetPath(path_.empty() ? name : absl::StrCat(path_, ".", name));
}

void Layer::AddChild(std::string name, std::shared_ptr<Layer> child) {
  child->SetPath(path_.empty() ? name : absl::StrCat(path_, ".", name));
  if (device_) child->SetDevice(*device_, Where::current());
  children_.emplace_back(std::move(name), std::move(child));
}

std::vector<Variable> Layer::parameters() const {
  std::vector<Variable> result = variables_;
  for (const auto& [name, child] : children_) {
    std::vector<Variable> below = child->parameters();
    result.insert(result.end(), below.begin(), below.end());
  }
  return result;
}

std::string Layer::FullName(std::string_view name) const {
  return path_.empty() ? std::string(name) : absl::StrCat(path_, ".", std::string(name));
}

Tensor Layer::Parameter(const Tensor& x, std::string_view name, const Shape& shape,
                        const Initializer& initializer, double fan_in, double fan_out, Where where) {
  GraphState& graph = x.function()->graph();
  if (graph_ && graph_ != &graph)
    return Fail(x, where, "has its parameters in another graph; build a new module");
  Builder builder(x.function());
  bool is_new = !graph.variable_ops.contains(FullName(name));
  Variable variable = builder.MakeVariable(FullName(name), x.dtype(), shape,
                                           {.init = initializer.Resolve(fan_in, fan_out)}, where);
  if (!variable.ok()) return {};
  graph_ = &graph;
  if (is_new) variables_.push_back(variable);
  return builder.Read(variable, where);
}

Variable Layer::State(const Tensor& x, std::string_view name, const Shape& shape, double value, Where where) {
  GraphState& graph = x.function()->graph();
  bool is_new = !graph.variable_ops.contains(FullName(name));
  Variable variable =
      Builder(x.function())
          .MakeVariable(FullName(name), x.dtype(), shape, {.init = {.a = value}, .trainable = false}, where);
  if (variable.ok() && is_new) variables_.push_back(variable);
  return variable;
}

Tensor Layer::ReadState(const Tensor& x, const Variable& variable, Where where) {
  return Builder(x.function()).Read(variable, where);
}

void Layer::WriteState(const Tensor& x, const Variable& variable, const Tensor& value, Where where) {
  Builder(x.function()).Assign(variable, value, where);
}

Mode Layer::ModeOf(const Tensor& x) { return x.function()->mode(); }

Tensor Layer::Fail(const Tensor& x, Where where, std::string_view message) const {
  x.function()->graph().Error(where, absl::StrCat("of ", x.ToString()), message);
  return {};
}

}  // namespace sinter::nn
