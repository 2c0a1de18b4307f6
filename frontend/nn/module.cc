#include "sinter/frontend/nn/module.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <set>
#include <typeinfo>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "sinter/frontend/graph/graph_state.h"
#include "sinter/frontend/ops/ops.h"
#include "sinter/ir/dialect/initial_values.h"

namespace sinter::nn {
namespace {

void CopyInitialValue(ir::VariableOp from, ir::VariableOp to) {
  to.setInitializerAttr(from.getInitializerAttr());
  to.setAAttr(from.getAAttr());
  to.setBAttr(from.getBAttr());
  to.setSeedAttr(from.getSeedAttr());
  for (const llvm::StringRef name : {ir::kInitialRangeAttr, ir::kInitialValuesAttr}) {
    to->removeAttr(name);
    if (mlir::Attribute attribute = from->getAttr(name)) to->setAttr(name, attribute);
  }
}

}  // namespace

AnyLayer::AnyLayer() : owned_(std::make_shared<Owned>(Owned{.id = NextOwnerId()})) {}

std::string AnyLayer::Describe() const {
  const std::unique_ptr<char, void (*)(void*)> readable(
      abi::__cxa_demangle(typeid(*this).name(), nullptr, nullptr, nullptr), std::free);
  const std::string name = readable != nullptr ? readable.get() : "Layer";
  const size_t scope = name.substr(0, name.find('<')).rfind("::");
  return scope == std::string::npos ? name : name.substr(scope + 2);
}

AnyLayer::AnyLayer(const AnyLayer& original)
    : owned_(std::make_shared<Owned>(Owned{.id = NextOwnerId()})),
      copy_(original.copy_),
      name_(original.name_),
      has_given_name_(original.has_given_name_),
      device_(original.device_),
      is_frozen_(original.is_frozen_),
      parametrization_(original.parametrization_),
      stored_weights_(original.stored_weights_) {
  for (const auto& child : original.children_) {
    children_.push_back(Cloning::TwinOf(child));
    AnyLayer& copy = *children_.back();
    // The parent that names the child also names its copy, or else the first parent that is copied.
    const bool names = child->parent_.lock() == original.token_;
    if (children_.back() != child && (names || copy.parent_.expired())) copy.parent_ = token_;
  }
}

struct AnyLayer::CallScope::Scopes {
  LocationScope location;
  DeviceScope device;
};

AnyLayer::CallScope::CallScope(const AnyLayer& layer, const std::vector<Tensor>& tensors, Where where) {
  const std::string what = layer.Describe();
  if (!Call(what, where, tensors).ok()) return;  // The graph keeps the error.
  FunctionBuilder* const function = tensors.front().function();
  scopes_.reset(new Scopes{LocationScope(&function->graph(), where,
                                         layer.path_.empty() ? what : absl::StrCat(layer.path_, " ", what)),
                           DeviceScope(function, layer.device_, where)});
}
AnyLayer::CallScope::~CallScope() = default;

void AnyLayer::SetDevice(Device device, Where where) {
  device_ = device;
  for (const Made& made : owned_->made) {
    if (made.variable.ok()) made.variable.graph()->MoveVariable(made.variable.name(), device, where);
  }
  for (const auto& child : children_) child->SetDevice(device, where);
}

void AnyLayer::SetParentPath(const std::string& path) {
  parent_path_ = path;
  if (shares_ || owned_->made.empty()) {
    path_ = path.empty() || name_.empty() ? absl::StrCat(path, name_) : absl::StrCat(path, ".", name_);
  }
  if (!shares_) owned_->path = path_;
  for (const auto& child : children_) {
    if (child->parent_.lock() == token_) child->SetParentPath(path_);
  }
}

void AnyLayer::Rename(std::string_view name, Where where) {
  const Made* first = FirstMade();
  if (first && name_ != name) {
    first->variable.graph()->Error(
        where, absl::StrCat("Named(\"", std::string(name), "\")"),
        absl::StrCat("comes after the first use of ", Describe(), " at ", LineOf(first->where),
                     ", which made \"", first->variable.name(), "\"; name a module before it is used"));
    return;
  }
  name_ = name;
  has_given_name_ = true;
  SetParentPath(parent_path_);
}

const AnyLayer::Made* AnyLayer::FirstMade() const {
  if (!shares_ && !owned_->made.empty()) return &owned_->made.front();
  for (const auto& child : children_) {
    if (const Made* made = child->FirstMade()) return made;
  }
  return nullptr;
}

void AnyLayer::AddChild(std::string name, std::shared_ptr<AnyLayer> child) {
  if (child->parent_.expired()) {
    child->name_ = std::move(name);
    child->has_given_name_ = true;
  }
  Adopt(std::move(child));
}

void AnyLayer::AddChildAt(size_t position, std::shared_ptr<AnyLayer> child) {
  if (!child->has_given_name_ && child->parent_.expired()) child->name_ = absl::StrCat(position);
  Adopt(std::move(child));
}

void AnyLayer::Adopt(std::shared_ptr<AnyLayer> child) {
  if (child->parent_.expired()) {
    child->parent_ = token_;
    child->SetParentPath(path_);
  }
  if (original_ != nullptr && child->original_ == nullptr) {
    const auto found = std::ranges::find(original_->children_, child->name_, &AnyLayer::name_);
    Cloning::Follow(*child, found == original_->children_.end() ? nullptr : *found, shares_);
  }
  if (device_) child->SetDevice(*device_, Where::current());
  // A layer makes some children at its first use, after it has been frozen or parametrized.
  if (is_frozen_) child->SetFrozen(true);
  if (parametrization_.make) child->Parametrize(parametrization_, Where::current());
  if (stored_weights_) child->StoreWeights(*stored_weights_, Where::current());
  children_.push_back(std::move(child));
}

std::vector<Variable> AnyLayer::Variables(bool to_train) const {
  std::vector<Variable> result;
  std::set<std::string> seen;  // A layer may have two parents.
  auto add = [&](const Variable& variable) {
    if (seen.insert(variable.name()).second) result.push_back(variable);
  };
  for (const Made& made : owned_->made) {
    if ((made.variable.trainable() && !is_frozen_) == to_train) add(made.variable);
  }
  for (const auto& child : children_) {
    for (const Variable& variable : child->Variables(to_train)) add(variable);
  }
  return result;
}

void AnyLayer::SetFrozen(bool is_frozen) {
  is_frozen_ = is_frozen;
  for (const auto& child : children_) child->SetFrozen(is_frozen);
}

void AnyLayer::SetResult(const std::vector<Tensor>& tensors) {
  result_ =
      absl::StrJoin(tensors, ", ", [](std::string* out, const Tensor& t) { out->append(t.ToString()); });
}

struct AnyLayer::SummaryRow {
  std::string what, result;
  int64_t parameters = 0, bytes = 0;
};

// Appends the rows of this layer and those below it that are not in `seen`, and adds up what they have.
void AnyLayer::AddRows(size_t depth, std::set<const Owned*>& seen, std::vector<SummaryRow>& rows,
                       SummaryRow& total) const {
  SummaryRow row = {absl::StrCat(std::string(2 * depth, ' '), name_, name_.empty() ? "" : " ", Describe(),
                                 is_frozen_ ? ", frozen" : ""),
                    result_};
  if (!seen.insert(owned_.get()).second) {
    row.what += ", shared";
    return rows.push_back(std::move(row));
  }
  for (const Made& made : owned_->made) {
    const Shape shape = made.variable.shape();
    const int64_t size = std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
    row.parameters += made.variable.trainable() ? size : 0;
    row.bytes += size * static_cast<int64_t>(SizeOf(made.variable.dtype()));
  }
  total.parameters += row.parameters;
  total.bytes += row.bytes;
  rows.push_back(std::move(row));
  for (const auto& child : children_) child->AddRows(depth + 1, seen, rows, total);
}

std::string AnyLayer::Summary() const {
  std::vector<SummaryRow> rows;
  SummaryRow total = {"together", ""};
  std::set<const Owned*> seen;
  AddRows(0, seen, rows, total);
  rows.push_back(total);
  size_t what = 0, result = 0;
  for (const SummaryRow& row : rows) {
    what = std::max(what, row.what.size());
    result = std::max(result, row.result.size());
  }
  std::string text;
  for (const SummaryRow& row : rows) {
    absl::StrAppendFormat(&text, "%-*s  %-*s  %12d parameters  %12d bytes\n", what, row.what, result,
                          row.result, row.parameters, row.bytes);
  }
  return text;
}

std::string AnyLayer::FullName(std::string_view name) const {
  const std::string& path = owned_->path;
  return path.empty() ? std::string(name) : absl::StrCat(path, ".", std::string(name));
}

Variable AnyLayer::Own(const Tensor& x, std::string_view name, DType dtype, const Shape& shape,
                       const VariableOptions& options, Where where) {
  if (is_orphan_) {
    Fail(x, "belongs to a clone, and the original makes its counterpart at its first use; use that before",
         where);
    return {};
  }
  if (shares_) return original_->Own(x, name, dtype, shape, options, where);
  GraphState& graph = x.function()->graph();
  std::vector<Made>& made = owned_->made;
  if (owned_->graph && owned_->graph != &graph) {
    Fail(x, "has its parameters in another graph; build a new module", where);
    return {};
  }
  // A function whose body threw an exception has removed its variables.
  std::erase_if(made, [&](const Made& one) {
    auto owner = graph.owners.find(one.variable.name());
    return owner == graph.owners.end() || owner->second.id != owned_->id;
  });
  auto found = std::ranges::find(made, name, &Made::name);
  if (found != made.end()) {
    const Variable& variable = found->variable;
    if (variable.dtype() == dtype && variable.shape() == shape) return variable;
    auto with = [&](const std::string& inputs, DType of_inputs) {
      return variable.dtype() == dtype ? inputs
                                       : absl::StrCat(inputs, " of ", std::string(DTypeName(of_inputs)));
    };
    Fail(x,
         absl::StrCat("was first used with ", with(found->inputs, variable.dtype()), " at ",
                      LineOf(found->where), ", and here with ", with(DescribeInputs(x), x.dtype()),
                      "; its \"", variable.name(), "\" stays ",
                      TypeString(variable.dtype(), variable.shape()), ": use another module here"),
         where);
    return {};
  }
  Variable original;
  if (original_ != nullptr && !(original = original_->Own(x, name, dtype, shape, options, where)).ok())
    return {};
  VariableOptions here = options;
  if (!here.device && x.function()->device_scope()) here.device = DeviceOf(x.function()->device_scope());
  const VariableOwner owner{owned_->id, VariableOwner::Kind::kModule, Describe(), {}};
  const std::string full = FullName(name);
  if (!graph.CheckVariableName(full, where)) return {};
  ir::VariableOp op = graph.FindOrMake(full, dtype, shape, here, where, owner);
  if (!op) return {};
  if (original_ != nullptr) CopyInitialValue(graph.Find(original), op);
  owned_->graph = &graph;
  Variable variable(&graph, full, dtype, shape);
  made.push_back({std::string(name), variable, DescribeInputs(x), graph.UserLine(where)});
  return variable;
}

Tensor AnyLayer::MakeParameter(const Tensor& x, std::string_view name, const Shape& shape,
                               const Initializer& initializer, double fan_in, double fan_out,
                               std::vector<DimName> dims, Where where) {
  const bool has_names = !std::ranges::all_of(dims, &DimName::empty);
  if (!has_names) dims.clear();
  const VariableInit init = initializer.Resolve(fan_in, fan_out);
  const Variable variable = Own(x, name, x.dtype(), shape, {.init = init, .dims = std::move(dims)}, where);
  if (!variable.ok()) return {};
  const Tensor value = ReadParameter(x, variable, where);
  if (!parametrization_.make || name != "weight" || shape.size() < 2) return value;
  ParameterMaker maker(*this, x, init, where);
  return parametrization_.make(maker, value);
}

Tensor AnyLayer::ReadParameter(const Tensor& x, const Variable& variable, Where where) const {
  const Tensor value = Builder(x.function()).Read(variable, where);
  return is_frozen_ ? StopGradient(value, where) : value;
}

void AnyLayer::Parametrize(const Parametrization& parametrization, Where where) {
  if (const Made* first = FirstMade()) {
    first->variable.graph()->Error(where, parametrization.name,
                                   absl::StrCat("comes after the first use of ", Describe(), " at ",
                                                LineOf(first->where), "; call it before"));
    return;
  }
  parametrization_ = parametrization;
  for (const auto& child : children_) child->Parametrize(parametrization, where);
}

void AnyLayer::StoreWeights(const StoredWeights& stored, Where where) {
  if (const Made* first = FirstMade()) {
    first->variable.graph()->Error(where, "QuantizeWeights",
                                   absl::StrCat("comes after the first use of ", Describe(), " at ",
                                                LineOf(first->where), "; call it before"));
    return;
  }
  stored_weights_ = stored;
  for (const auto& child : children_) child->StoreWeights(stored, where);
}

bool ParameterMaker::is_training() const { return AnyLayer::ModeOf(x_) == Mode::kTrain; }

Tensor ParameterMaker::Parameter(std::string_view name, const Shape& shape, const VariableInit& init) {
  const Variable variable = layer_.Own(x_, name, x_.dtype(), shape, {.init = init}, where_);
  return variable.ok() ? layer_.ReadParameter(x_, variable, where_) : Tensor();
}

Variable ParameterMaker::State(std::string_view name, const Shape& shape, const VariableInit& init) {
  return layer_.Own(x_, name, x_.dtype(), shape, {.init = init, .trainable = false}, where_);
}

Variable ParameterMaker::State(std::string_view name, DType dtype, const Shape& shape,
                               const VariableInit& init) {
  return layer_.Own(x_, name, dtype, shape, {.init = init, .trainable = false}, where_);
}

Tensor ParameterMaker::Read(const Variable& variable) const {
  return AnyLayer::ReadState(x_, variable, where_);
}

void ParameterMaker::Write(const Variable& variable, const Tensor& value) const {
  AnyLayer::WriteState(x_, variable, value, where_);
}

Tensor ParameterMaker::Fail(std::string_view message) const { return layer_.Fail(x_, message, where_); }

Variable AnyLayer::MakeState(const Tensor& x, std::string_view name, const Shape& shape, double value,
                             Where where) {
  return Own(x, name, x.dtype(), shape, {.init = {.a = value}, .trainable = false}, where);
}

Mode AnyLayer::ModeOf(const Tensor& x) { return x.function()->mode(); }

Tensor AnyLayer::Fail(const Tensor& x, std::string_view message, Where where) const {
  x.function()->graph().Error(where, absl::StrCat("of ", x.ToString()), message);
  return {};
}

std::vector<Variable> AnyModule::parameters(const VariableFilter& filter) const {
  std::vector<Variable> variables = layer_->Variables(/*to_train=*/true);
  if (filter) std::erase_if(variables, [&](const Variable& v) { return !filter(v); });
  return variables;
}

std::vector<Variable> AnyModule::state() const { return layer_->Variables(/*to_train=*/false); }

}  // namespace sinter::nn
