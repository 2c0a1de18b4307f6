#include "sinter/frontend/onnx/importing.h"

#include <algorithm>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "sinter/frontend/graph/named_scope.h"
#include "sinter/frontend/onnx/numbers.h"
#include "sinter/frontend/onnx/tensors.h"
#include "sinter/frontend/ops/ops.h"
#include "sinter/runtime/host/status.h"

namespace sinter::onnx {
namespace {

constexpr int kDeepestCall = 16;
constexpr int64_t kSmallestWeight = 64;  // Elements; smaller tensors stay constants.

// Names of the domain "ai.onnx" are those of the empty one.
std::string DomainOf(const std::string& domain) { return domain == "ai.onnx" ? "" : domain; }

std::string Printable(const std::string& name) { return absl::CHexEscape(name); }

std::string TitleOf(const NodeProto& node, const std::string& place) {
  const std::string name = !node.name.empty() || node.output.empty() ? node.name : node.output[0];
  return absl::StrCat(place, ": ", Printable(node.op_type), name.empty() ? "" : " '", Printable(name),
                      name.empty() ? "" : "'");
}

// Puts the attributes of a call in place of the names that a function's body gives.
void PutAttributes(const NodeProto& call, const FunctionProto& function, std::vector<NodeProto>& nodes) {
  for (NodeProto& node : nodes) {
    std::vector<AttributeProto> kept;
    for (AttributeProto& attribute : node.attribute) {
      if (attribute.g.has_value()) PutAttributes(call, function, attribute.g->node);
      if (attribute.ref_attr_name.empty()) {
        kept.push_back(std::move(attribute));
        continue;
      }
      const AttributeProto* found = nullptr;
      for (const AttributeProto& given : function.attribute_proto) {
        if (given.name == attribute.ref_attr_name) found = &given;
      }
      for (const AttributeProto& given : call.attribute) {
        if (given.name == attribute.ref_attr_name) found = &given;
      }
      if (found == nullptr) continue;  // The node's own default.
      kept.push_back(*found);
      kept.back().name = attribute.name;
    }
    node.attribute = std::move(kept);
  }
}

// The shape of an input: that of the options, or the model's with the sizes of its named dimensions.
absl::StatusOr<Shape> ShapeOf(const OnnxOptions& options, const std::string& name, const OnnxInput& input) {
  const auto given = options.shapes.find(name);
  if (given != options.shapes.end()) {
    if (!input.shape) return given->second;
    bool fits = input.shape->size() == given->second.size();
    for (size_t i = 0; fits && i < input.shape->size(); ++i) {
      fits = (*input.shape)[i] < 0 || (*input.shape)[i] == given->second[i];
    }
    if (fits) return given->second;
    return absl::InvalidArgumentError(
        absl::StrCat("shape [", absl::StrJoin(given->second, ","), "] for input '", Printable(name),
                     "': the model has [", absl::StrJoin(*input.shape, ","), "], with -1 for open sizes"));
  }
  if (!input.shape) {
    return absl::UnimplementedError(absl::StrCat("OPEN_SIZE: the model gives no shape for input '",
                                                 Printable(name), "': --shape ", Printable(name), "=1,2,3"));
  }
  Shape shape = *input.shape;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] >= 0) continue;
    const std::string& dim = input.dim_names[i];
    const auto size = options.dims.find(dim);
    if (size == options.dims.end()) {
      return absl::UnimplementedError(absl::StrCat(
          "OPEN_SIZE: size ", i, dim.empty() ? "" : " ('", Printable(dim), dim.empty() ? "" : "')",
          " of input '", Printable(name),
          "' is not given: ", dim.empty() ? "" : absl::StrCat("--dim ", Printable(dim), "=1 or "), "--shape ",
          Printable(name), "=", absl::StrJoin(shape, ","), " with sizes in place of -1"));
    }
    shape[i] = size->second;
  }
  return shape;
}

}  // namespace

Importing::Importing(Builder& b, const OnnxModel& model, const OnnxOptions& options, Where where)
    : b_(b), model_(model), options_(options), where_(where) {}
Importing::~Importing() = default;

absl::StatusOr<Value> Importing::ReadValue(const TensorProto& tensor) const {
  if (tensor.data_type == kOnnxString) return Value::Strings();
  SINTER_ASSIGN_OR_RETURN(
      HostTensor value,
      ReadOnnxTensor(tensor, {.folder = model_.folder(), .max_bytes = model_.limits().tensor_bytes}));
  return Value::Known(std::move(value));
}

Tensor Importing::TensorOf(const Value& value) {
  const HostTensor* const known = value.known();
  if (known == nullptr) return value.tensor();
  const auto found = constants_.find(known);
  if (found != constants_.end()) return found->second.second;
  Tensor made;
  if (weights_.contains(known)) {
    const std::shared_ptr<const HostTensor> data = value.shared_known();
    VariableOptions variable;
    variable.trainable = options_.weights == OnnxOptions::Weights::kTrainable && IsFloat(known->dtype());
    variable.init.kind = VariableInit::Kind::kValues;
    variable.init.values = std::make_shared<const VariableInit::Values>(
        [data](DType, const Shape&, int64_t) { return data->Clone(); });
    made = b_.Read(b_.MakeVariable(weights_.at(known), known->dtype(), known->shape(), variable, where_),
                   where_);
  } else {
    made = b_.Constant(*known);
  }
  if (bodies_ == 0) constants_[known] = {value.shared_known(), made};
  return made;
}

Value Importing::Marked(Value value, const std::string& input) {
  value.set_behind(std::make_shared<const std::set<std::string>>(std::set<std::string>{input}));
  return value;
}

absl::StatusOr<Value> Importing::MakeTensorInput(const std::string& name, const OnnxInput& input,
                                                 const OnnxValues& given) {
  const auto bound = options_.bind.find(name);
  if (bound != options_.bind.end()) {
    SINTER_ASSIGN_OR_RETURN(HostTensor copy, bound->second->Clone());
    return Value::Known(std::move(copy));
  }
  const auto tensor = given.find(name);
  if (tensor != given.end()) {
    if (input.dtype && tensor->second.ok() && tensor->second.dtype() != *input.dtype) {
      return absl::InvalidArgumentError(absl::StrCat("input '", Printable(name), "' is ",
                                                     tensor->second.ToString(), "; the model takes ",
                                                     std::string(DTypeName(*input.dtype))));
    }
    return Marked(tensor->second, name);
  }
  if (!input.dtype) {
    return absl::UnimplementedError(
        absl::StrCat("TYPE: input '", Printable(name), "' has elements of a type that Sinter lacks"));
  }
  SINTER_ASSIGN_OR_RETURN(const Shape shape, ShapeOf(options_, name, input));
  return Marked(b_.Input(Printable(name), *input.dtype, shape, where_), name);
}

absl::StatusOr<Value> Importing::MakeInput(const OnnxInput& input, const OnnxValues& given) {
  if (input.name.empty()) return absl::InvalidArgumentError("an input has no name");
  if (options_.absent.contains(input.name)) return Value();
  const auto has = [&](const std::string& name) {
    return options_.bind.contains(name) || given.contains(name) || options_.shapes.contains(name);
  };
  const bool may_be_list = input.kind != OnnxInput::Kind::kTensor;
  if (may_be_list && (input.kind == OnnxInput::Kind::kList || has(absl::StrCat(input.name, ".0")))) {
    std::vector<Value> items;
    for (int64_t i = 0; has(absl::StrCat(input.name, ".", i)); ++i) {
      OnnxInput item = input;
      item.shape = std::nullopt;
      SINTER_ASSIGN_OR_RETURN(Value value, MakeTensorInput(absl::StrCat(input.name, ".", i), item, given));
      items.push_back(std::move(value));
    }
    return Value::List(std::move(items));
  }
  return MakeTensorInput(input.name, input, given);
}

absl::Status Importing::AddInitializers(const GraphProto& graph, bool are_weights) {
  for (const TensorProto& tensor : graph.initializer) {
    absl::StatusOr<Value> value = ReadValue(tensor);
    if (!value.ok()) return value.status();
    if (are_weights && options_.weights != OnnxOptions::Weights::kConstants && value->known() != nullptr &&
        !value->known()->shape().empty() && value->known()->num_elements() >= kSmallestWeight) {
      weights_[value->known()] = absl::StrCat(options_.prefix, Printable(tensor.name));
      constants_.erase(value->known());
    }
    names_->values[tensor.name] = *std::move(value);
  }
  for (const SparseTensorProto& sparse : graph.sparse_initializer) {
    return absl::UnimplementedError(
        absl::StrCat("OP_FORM: the initial value '", Printable(sparse.values.name), "' is sparse"));
  }
  return absl::OkStatus();
}

const FunctionProto* Importing::FindFunction(const NodeProto& node) const {
  for (const FunctionProto& function : model_.file().functions) {
    if (function.name == node.op_type && DomainOf(function.domain) == DomainOf(node.domain) &&
        function.overload == node.overload) {
      return &function;
    }
  }
  return nullptr;
}

// Lists all ops without a converter, so that one message tells what is missing.
absl::Status Importing::CheckOps() const {
  std::map<std::string, int> missing;
  std::string first;
  const auto check = [&](const auto& self, const auto& nodes, int depth) -> void {
    for (const NodeProto& node : nodes) {
      const std::string domain = DomainOf(node.domain);
      const auto version = versions_.find(domain);
      const int64_t of_set = version == versions_.end() ? 1 : version->second;
      if (FindFunction(node) == nullptr && FindConverter(domain, node.op_type, of_set) == nullptr) {
        const bool is_known_domain = domain.empty() || domain.starts_with("ai.onnx");
        const std::string op = domain.empty() ? node.op_type : absl::StrCat(domain, ".", node.op_type);
        ++missing[absl::StrCat(Printable(op), " of version ", of_set)];
        if (first.empty()) first = is_known_domain ? "OP" : "DOMAIN";
      }
      if (depth > kDeepestCall) continue;
      for (const AttributeProto& attribute : node.attribute) {
        if (attribute.g.has_value()) self(self, attribute.g->node, depth + 1);
      }
    }
  };
  check(check, model_.file().graph->node, 0);
  if (missing.empty()) return absl::OkStatus();
  std::vector<std::string> lines;
  for (const auto& [op, count] : missing) lines.push_back(absl::StrCat(op, " (", count, ")"));
  return absl::UnimplementedError(
      absl::StrCat(first, ": ", Printable(model_.name()), ": no converter for ", absl::StrJoin(lines, ", ")));
}

absl::StatusOr<Value> Importing::Lookup(const std::string& name) {
  if (name.empty()) return Value();
  for (const Names* names = names_; names != nullptr; names = names->outer) {
    const auto found = names->values.find(name);
    if (found == names->values.end()) continue;
    if (found->second.behind() != nullptr) {
      touched_.insert(found->second.behind()->begin(), found->second.behind()->end());
    }
    return found->second;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("reads '", Printable(name), "', which no node before it makes"));
}

absl::StatusOr<Values> Importing::CallFunction(const FunctionProto& function, const Node& node,
                                               const std::vector<Value>& operands) {
  if (calls_ >= kDeepestCall) return node.Bad("functions call each other too deep, or in a circle");
  called_.push_back(std::make_unique<FunctionProto>(function));
  FunctionProto& body = *called_.back();
  PutAttributes(node.proto(), function, body.node);
  Versions versions = versions_;
  for (const OperatorSetIdProto& set : function.opset_import) versions[DomainOf(set.domain)] = set.version;
  Names names;
  for (size_t i = 0; i < function.input.size(); ++i) {
    names.values[function.input[i]] = i < operands.size() ? operands[i] : Value();
  }
  Names* const caller = std::exchange(names_, &names);
  std::swap(versions_, versions);
  ++calls_;
  absl::Status status = RunNodes(body.node, node.title());
  Values results;
  for (size_t i = 0; status.ok() && i < function.output.size(); ++i) {
    absl::StatusOr<Value> value = Lookup(function.output[i]);
    if (value.ok()) {
      results.push_back(*std::move(value));
    } else {
      status = node.Bad(std::string(value.status().message()));
    }
  }
  --calls_;
  std::swap(versions_, versions);
  names_ = caller;
  if (!status.ok()) return status;
  return results;
}

absl::StatusOr<Values> Importing::Convert(Node& node) {
  const std::string domain = DomainOf(node.proto().domain);
  const auto version = versions_.find(domain);
  if (version == versions_.end()) {
    return node.Bad(absl::StrCat("is of the operator set '", domain, "', which the file does not import"));
  }
  const OpRecord* const record = FindConverter(domain, node.op(), version->second);
  if (record == nullptr) return node.Unsupported("OP", "there is no converter");
  if (domain.empty() && node.num_inputs() > 0) {
    bool can_fold = true;
    for (size_t i = 0; i < node.num_inputs() && can_fold; ++i) {
      const Value& value = node.Operand(i);
      can_fold = value.is_absent() ||
                 (value.is_tensor() && value.known() != nullptr && !weights_.contains(value.known()));
    }
    if (can_fold) {
      absl::StatusOr<Values> folded = Fold(node, model_.limits().folded_elements);
      if (folded.ok() || !absl::IsNotFound(folded.status())) return folded;
    }
  }
  absl::StatusOr<Values> results = record->convert(node);
  SINTER_RETURN_IF_ERROR(results.status());
  SINTER_RETURN_IF_ERROR(node.status());
  return results;
}

absl::Status Importing::RunNode(const NodeProto& proto, const std::string& title) {
  if (++nodes_ > model_.limits().nodes) {
    return absl::InvalidArgumentError(absl::StrCat(title, ": more than ", model_.limits().nodes,
                                                   " nodes with the bodies of loops and called functions"));
  }
  std::set<std::string> around = std::exchange(touched_, {});
  std::vector<Value> operands;
  for (const std::string& name : proto.input) {
    absl::StatusOr<Value> value = Lookup(name);
    if (!value.ok()) return absl::InvalidArgumentError(absl::StrCat(title, ": ", value.status().message()));
    operands.push_back(*std::move(value));
  }
  const FunctionProto* const function = FindFunction(proto);
  const auto version = versions_.find(DomainOf(proto.domain));
  Node node(*this, proto, operands, version == versions_.end() ? 0 : version->second, title);
  NamedScope scope(b_, title, where_);
  absl::StatusOr<Values> results =
      function != nullptr ? CallFunction(*function, node, operands) : Convert(node);
  if (!results.ok()) return results.status();
  if (!scope.ok()) return node.Unsupported("OP_FORM", std::string(scope.status().message()));
  const auto behind = touched_.empty() ? nullptr : std::make_shared<const std::set<std::string>>(touched_);
  for (size_t i = 0; i < proto.output.size(); ++i) {
    if (proto.output[i].empty()) continue;
    if (i >= results->size()) {
      return node.Unsupported("OP_FORM", absl::StrCat("output ", i, " of the op is not computed"));
    }
    Value value = (*results)[i];
    value.set_behind(behind);
    if (!names_->values.emplace(proto.output[i], std::move(value)).second) {
      return node.Bad(absl::StrCat("makes '", Printable(proto.output[i]), "', which exists already"));
    }
  }
  touched_.insert(around.begin(), around.end());
  return absl::OkStatus();
}

absl::Status Importing::RunNodes(const std::vector<NodeProto>& nodes, const std::string& title) {
  for (size_t i = 0; i < nodes.size(); ++i) {
    SINTER_RETURN_IF_ERROR(RunNode(nodes[i], TitleOf(nodes[i], absl::StrCat(title, ":", i))));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Value>> Importing::RunBody(const Node& node, const GraphProto& graph,
                                                      const std::vector<Value>& inputs) {
  if (graph.input.size() != inputs.size()) {
    return node.Bad(
        absl::StrCat("its body takes ", graph.input.size(), " values, the node gives ", inputs.size()));
  }
  Names names{.outer = names_};
  for (size_t i = 0; i < inputs.size(); ++i) names.values[graph.input[i].name] = inputs[i];
  Names* const around = std::exchange(names_, &names);
  const absl::Cleanup back = [&] { names_ = around; };
  SINTER_RETURN_IF_ERROR(AddInitializers(graph, /*are_weights=*/false));
  SINTER_RETURN_IF_ERROR(RunNodes(graph.node, node.title()));
  std::vector<Value> results;
  for (const ValueInfoProto& info : graph.output) {
    absl::StatusOr<Value> value = Lookup(info.name);
    if (!value.ok()) return node.Bad(std::string(value.status().message()));
    results.push_back(*std::move(value));
  }
  return results;
}

void Importing::AddOutput(const std::string& name, const Value& value, OnnxValues& outputs) {
  if (value.is_tensor()) {
    outputs[name] = TensorOf(value);
  } else if (value.is_list()) {
    for (size_t i = 0; i < value.items().size(); ++i) {
      AddOutput(absl::StrCat(name, ".", i), value.items()[i], outputs);
    }
  }
}

// InvalidArgument if something is given for an input that the model does not have.
absl::Status Importing::CheckGiven(const OnnxValues& inputs) const {
  std::set<std::string> known;
  for (const OnnxInput& input : model_.inputs()) known.insert(input.name);
  std::set<std::string> given = options_.absent;
  for (const auto& [name, tensor] : inputs) given.insert(name);
  for (const auto& [name, value] : options_.bind) given.insert(name);
  for (const auto& [name, shape] : options_.shapes) given.insert(name);
  for (const std::string& name : given) {
    if (known.contains(name) || known.contains(name.substr(0, name.rfind('.')))) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("the model has no input '", Printable(name), "'; it has ", absl::StrJoin(known, ", ")));
  }
  return absl::OkStatus();
}

absl::StatusOr<OnnxValues> Importing::Run(const OnnxValues& inputs) {
  if (b_.function() == nullptr) return absl::FailedPreconditionError("the graph has been destroyed");
  const GraphProto& graph = *model_.file().graph;
  for (const OperatorSetIdProto& set : model_.file().opset_import) {
    versions_[DomainOf(set.domain)] = set.version;
  }
  if (model_.file().ir_version < 3) versions_.emplace("", 1);
  SINTER_RETURN_IF_ERROR(CheckOps());
  NamedScope scope(b_, Printable(model_.name()), where_);
  SINTER_RETURN_IF_ERROR(scope.status());
  Names names;
  names_ = &names;
  SINTER_RETURN_IF_ERROR(AddInitializers(graph, /*are_weights=*/true));
  SINTER_RETURN_IF_ERROR(CheckGiven(inputs));
  for (const OnnxInput& input : model_.inputs()) {
    SINTER_ASSIGN_OR_RETURN(Value value, MakeInput(input, inputs));
    names.values[input.name] = std::move(value);
    SINTER_RETURN_IF_ERROR(scope.status());
  }
  SINTER_RETURN_IF_ERROR(RunNodes(graph.node, Printable(model_.name())));
  OnnxValues outputs;
  for (const ValueInfoProto& info : graph.output) {
    SINTER_ASSIGN_OR_RETURN(const Value value, Lookup(info.name));
    if (value.kind() == Value::Kind::kStrings) {
      return absl::UnimplementedError(
          absl::StrCat("STRINGS: output '", Printable(info.name), "' has strings"));
    }
    AddOutput(info.name, value, outputs);
  }
  SINTER_RETURN_IF_ERROR(scope.status());
  return outputs;
}

}  // namespace sinter::onnx
