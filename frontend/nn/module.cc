#include "sinter/frontend/nn/module.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "sinter/frontend/graph/graph_state.h"

namespace sinter::nn {

Layer::Layer() : id_(NextOwnerId()) {}

Tensor Layer::Apply(const Tensor& x, Where where) {
  if (!Call(Describe(), where, {x}).ok()) return {};  // The graph keeps the error.
  LocationScope scope(&x.function()->graph(), where,
                      path_.empty() ? Describe() : absl::StrCat(path_, " ", Describe()));
  DeviceScope on(x.function(), device_, where);
  return Forward(x, where);
}

void Layer::SetDevice(Device device, Where where) {
  device_ = device;
  for (const Made& made : made_) {
    if (made.variable.ok()) made.variable.graph()->MoveVariable(made.variable.name(), device, where);
  }
  for (auto& [name, child] : children_) child->SetDevice(device, where);
}

void Layer::SetPath(std::string path) {
  if (made_.empty()) path_ = std::move(path);
  for (auto& [name, child] : children_) child->SetPath(path_.empty() ? name : absl::StrCat(path_, ".", name));
}

void Layer::Rename(std::string_view path, Where where) {
  const Made* first = FirstMade();
  if (!first || path_ == path) {
    SetPath(std::string(path));
    return;
  }
  first->variable.graph()->Error(
      where, absl::StrCat("Named(\"", std::string(path), "\")"),
      absl::StrCat("comes after the first use of ", Describe(), " at ", LineOf(first->where),
                   ", which made \"", first->variable.name(), "\"; name a module before it is used"));
}

const Layer::Made* Layer::FirstMade() const {
  if (!made_.empty()) return &made_.front();
  for (const auto& [name, child] : children_) {
    if (const Made* made = child->FirstMade()) return made;
  }
  return nullptr;
}

void Layer::AddChild(std::string name, std::shared_ptr<Layer> child) {
  child->SetPath(path_.empty() ? name : absl::StrCat(path_, ".", name));
  if (device_) child->SetDevice(*device_, Where::current());
  children_.emplace_back(std::move(name), std::move(child));
}

std::vector<Variable> Layer::Variables(const VariableFilter& filter) const {
  std::vector<Variable> result;
  std::set<std::string> seen;  // A layer may have two parents.
  auto add = [&](const Variable& variable) {
    if (filter(variable) && seen.insert(variable.name()).second) result.push_back(variable);
  };
  for (const Made& made : made_) add(made.variable);
  for (const auto& [name, child] : children_) {
    for (const Variable& variable : child->Variables(filter)) add(variable);
  }
  return result;
}

std::string Layer::FullName(std::string_view name) const {
  return path_.empty() ? std::string(name) : absl::StrCat(path_, ".", std::string(name));
}

Variable Layer::Own(const Tensor& x, std::string_view name, const Shape& shape,
                    const VariableOptions& options, Where where) {
  GraphState& graph = x.function()->graph();
  if (graph_ && graph_ != &graph) {
    Fail(x, where, "has its parameters in another graph; build a new module");
    return {};
  }
  // A function whose body threw an exception has removed its variables.
  std::erase_if(made_, [&](const Made& made) {
    auto owner = graph.owners.find(made.variable.name());
    return owner == graph.owners.end() || owner->second.id != id_;
  });
  auto found = std::ranges::find(made_, name, &Made::name);
  if (found != made_.end()) {
    const Variable& variable = found->variable;
    if (variable.dtype() == x.dtype() && variable.shape() == shape) return variable;
    auto with = [&](const std::string& inputs, DType dtype) {
      return variable.dtype() == x.dtype() ? inputs
                                           : absl::StrCat(inputs, " of ", std::string(DTypeName(dtype)));
    };
    Fail(x, where,
         absl::StrCat("was first used with ", with(found->inputs, variable.dtype()), " at ",
                      LineOf(found->where), ", and here with ", with(DescribeInputs(x), x.dtype()),
                      "; its \"", variable.name(), "\" stays ",
                      TypeString(variable.dtype(), variable.shape()), ": use another module here"));
    return {};
  }
  VariableOptions here = options;
  if (!here.device && x.function()->device_scope()) here.device = DeviceOf(x.function()->device_scope());
  const VariableOwner owner{id_, VariableOwner::Kind::kModule, Describe(), {}};
  const std::string full = FullName(name);
  if (!graph.CheckVariableName(full, where) ||
      !graph.FindOrMake(full, x.dtype(), shape, here, where, owner)) {
    return {};
  }
  graph_ = &graph;
  Variable variable(&graph, full, x.dtype(), shape);
  made_.push_back({std::string(name), variable, DescribeInputs(x), graph.Outermost(where)});
  return variable;
}

Tensor Layer::Parameter(const Tensor& x, std::string_view name, const Shape& shape,
                        const Initializer& initializer, double fan_in, double fan_out, Where where,
                        std::vector<DimName> dims) {
  const bool has_names = !std::ranges::all_of(dims, &DimName::empty);
  if (!has_names) dims.clear();
  Variable variable =
      Own(x, name, shape, {.init = initializer.Resolve(fan_in, fan_out), .dims = std::move(dims)}, where);
  return variable.ok() ? Builder(x.function()).Read(variable, where) : Tensor();
}

Variable Layer::State(const Tensor& x, std::string_view name, const Shape& shape, double value, Where where) {
  return Own(x, name, shape, {.init = {.a = value}, .trainable = false}, where);
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

std::vector<Variable> Module::parameters(const VariableFilter& filter) const {
  return layer_->Variables([&](const Variable& v) { return v.trainable() && (!filter || filter(v)); });
}

std::vector<Variable> Module::state() const {
  return layer_->Variables([](const Variable& v) { return !v.trainable(); });
}

}  // namespace sinter::nn
