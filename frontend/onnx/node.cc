#include "sinter/frontend/onnx/node.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sinter/frontend/onnx/importing.h"
#include "sinter/frontend/onnx/numbers.h"
#include "sinter/frontend/onnx/tensors.h"
#include "sinter/frontend/ops/ops.h"
#include "sinter/runtime/host/status.h"

namespace sinter::onnx {
namespace {

// Numbers of attribute kinds in the standard.
enum AttributeKind : int32_t {
  kFloat = 1,
  kInt = 2,
  kString = 3,
  kTensorKind = 4,
  kGraphKind = 5,
  kFloats = 6,
  kInts = 7,
  kStringList = 8
};

}  // namespace

Builder& Node::b() { return importing_.b(); }
const std::string& Node::op() const { return proto_.op_type; }
size_t Node::num_outputs() const { return proto_.output.size(); }
bool Node::WantsOutput(size_t i) const { return i < num_outputs() && !proto_.output[i].empty(); }

absl::Status Node::Unsupported(std::string_view code, std::string_view what) const {
  return absl::UnimplementedError(absl::StrCat(std::string(code), ": ", title_, ": ", std::string(what)));
}

absl::Status Node::Bad(std::string_view what) const {
  return absl::InvalidArgumentError(absl::StrCat(title_, ": ", std::string(what)));
}

const Value& Node::Operand(size_t i) const {
  static const Value* const kAbsent = new Value();
  return i < operands_.size() ? operands_[i] : *kAbsent;
}

Tensor Node::TensorOf(const Value& value) {
  if (value.is_tensor()) return importing_.TensorOf(value);
  Keep(value.is_list()     ? Unsupported("OP_FORM", "a list is given where the op takes a tensor")
       : value.is_absent() ? Bad("an operand that the op needs is missing")
                           : Unsupported("STRINGS", "an operand has strings"));
  return {};
}

Tensor Node::In(size_t i) { return TensorOf(Operand(i)); }

DType Node::dtype(size_t i) { return Operand(i).is_tensor() ? Operand(i).dtype() : DType::kF32; }
Shape Node::shape(size_t i) { return Operand(i).is_tensor() ? Operand(i).shape() : Shape(); }

absl::StatusOr<const HostTensor*> Node::Known(size_t i) {
  const Value& value = Operand(i);
  if (value.is_tensor() && value.known() != nullptr) return value.known();
  if (!value.is_tensor()) {
    TensorOf(value);
    return status_;
  }
  absl::Status status =
      Unsupported("VALUE_NEEDED",
                  absl::StrCat("operand ", i, " decides a shape or how to compute, and is not known yet"));
  if (value.behind() != nullptr) {
    std::string names;
    for (const std::string& name : *value.behind()) absl::StrAppend(&names, names.empty() ? "" : "\n", name);
    status.SetPayload("sinter/onnx-inputs", absl::Cord(names));
  }
  return status;
}

absl::StatusOr<Shape> Node::Ints(size_t i) {
  SINTER_ASSIGN_OR_RETURN(const HostTensor* const known, Known(i));
  const Numbers numbers = Numbers::Of(*known);
  if (numbers.is_real)
    return Bad(absl::StrCat("operand ", i, " is ", known->ToString(), "; integers are needed"));
  return Shape(numbers.whole);
}

absl::StatusOr<std::vector<double>> Node::Reals(size_t i) {
  SINTER_ASSIGN_OR_RETURN(const HostTensor* const known, Known(i));
  const Numbers numbers = Numbers::Of(*known);
  std::vector<double> reals;
  for (int64_t k = 0; k < numbers.size(); ++k) reals.push_back(numbers.Real(k));
  return reals;
}

absl::StatusOr<int64_t> Node::Int(size_t i) {
  SINTER_ASSIGN_OR_RETURN(const Shape ints, Ints(i));
  if (ints.size() != 1)
    return Bad(absl::StrCat("operand ", i, " has ", ints.size(), " numbers; one is needed"));
  return ints[0];
}

absl::StatusOr<double> Node::Real(size_t i) {
  SINTER_ASSIGN_OR_RETURN(const std::vector<double> reals, Reals(i));
  if (reals.size() != 1)
    return Bad(absl::StrCat("operand ", i, " has ", reals.size(), " numbers; one is needed"));
  return reals[0];
}

const AttributeProto* Node::Find(std::string_view name) const {
  for (const AttributeProto& attribute : proto_.attribute) {
    if (attribute.name == name) return &attribute;
  }
  return nullptr;
}

bool Node::HasAttr(std::string_view name) const { return Find(name) != nullptr; }

// Null, with an error kept, if the attribute is of another kind. Old files do not say the kind.
const AttributeProto* Node::FindOf(std::string_view name, std::initializer_list<int32_t> types) {
  const AttributeProto* const found = Find(name);
  if (found == nullptr) return nullptr;
  if (!found->ref_attr_name.empty()) return nullptr;
  if (found->type == 0 || std::ranges::find(types, found->type) != types.end()) return found;
  Keep(Bad(absl::StrCat("attribute ", std::string(name), " is of another kind than the standard's")));
  return nullptr;
}

int64_t Node::Int(std::string_view name, int64_t otherwise) {
  const auto* const found = FindOf(name, {kInt});
  return found != nullptr ? found->i : otherwise;
}

double Node::Real(std::string_view name, double otherwise) {
  const auto* const found = FindOf(name, {kFloat});
  return found != nullptr ? static_cast<double>(found->f) : otherwise;
}

std::string Node::Text(std::string_view name, std::string_view otherwise) {
  const auto* const found = FindOf(name, {kString});
  return found != nullptr ? found->s.value_or("") : std::string(otherwise);
}

Shape Node::Ints(std::string_view name, const Shape& otherwise) {
  const auto* const found = FindOf(name, {kInts});
  return found != nullptr ? Shape(found->ints.begin(), found->ints.end()) : otherwise;
}

std::vector<double> Node::Reals(std::string_view name, const std::vector<double>& otherwise) {
  const auto* const found = FindOf(name, {kFloats});
  return found != nullptr ? std::vector<double>(found->floats.begin(), found->floats.end()) : otherwise;
}

std::vector<std::string> Node::Texts(std::string_view name, const std::vector<std::string>& otherwise) {
  const auto* const found = FindOf(name, {kStringList});
  return found != nullptr ? found->strings : otherwise;
}

absl::StatusOr<Value> Node::TensorAttr(std::string_view name) {
  const auto* const found = FindOf(name, {kTensorKind});
  if (found == nullptr || !found->t.has_value())
    return Bad(absl::StrCat("has no tensor in attribute ", std::string(name)));
  absl::StatusOr<Value> value = importing_.ReadValue(*found->t);
  if (value.ok() || !absl::IsInvalidArgument(value.status())) return value;
  return Bad(absl::StrCat("attribute ", std::string(name), ": ", value.status().message()));
}

absl::StatusOr<const GraphProto*> Node::GraphAttr(std::string_view name) {
  const auto* const found = FindOf(name, {kGraphKind});
  if (found == nullptr || !found->g.has_value())
    return Bad(absl::StrCat("has no graph in attribute ", std::string(name)));
  return &*found->g;
}

absl::StatusOr<DType> TypeAttr(Node& node, std::string_view name, DType otherwise) {
  const AttributeProto* const found = node.Find(name);
  if (found == nullptr) return otherwise;
  static const std::map<std::string, int32_t>* const kNames = new std::map<std::string, int32_t>{
      {"FLOAT", 1},   {"UINT8", 2},   {"INT8", 3},   {"UINT16", 4}, {"INT16", 5},
      {"INT32", 6},   {"INT64", 7},   {"STRING", 8}, {"BOOL", 9},   {"FLOAT16", 10},
      {"DOUBLE", 11}, {"UINT32", 12}, {"UINT64", 13}};
  const bool has_name = found->s && kNames->contains(*found->s);
  const int32_t number = has_name ? kNames->at(*found->s) : static_cast<int32_t>(node.Int(name, 0));
  if (number == kOnnxString) return node.Unsupported("STRINGS", "the result has strings");
  const std::optional<DType> dtype = DTypeOfOnnx(number);
  if (dtype) return *dtype;
  return node.Unsupported("TYPE", absl::StrCat("the result has elements of type ", OnnxTypeName(number)));
}

int64_t Node::Axis(int64_t axis, int64_t rank) {
  if (axis >= -rank && axis < rank) return axis < 0 ? axis + rank : axis;
  Keep(Bad(absl::StrCat("axis ", axis, " is none of ", rank, " dimensions")));
  return 0;
}

Shape Node::Axes(const Shape& axes, int64_t rank) {
  Shape result;
  for (const int64_t axis : axes) result.push_back(Axis(axis, rank));
  Shape sorted = result;
  std::ranges::sort(sorted);
  if (std::ranges::adjacent_find(sorted) != sorted.end()) Keep(Bad("names an axis twice"));
  return result;
}

Tensor Node::Constant(const Shape& shape, const std::vector<int64_t>& values, DType dtype) {
  absl::StatusOr<HostTensor> value = Numbers{.shape = shape, .whole = values}.To(dtype);
  if (value.ok()) return b().Constant(*value);
  Keep(value.status());
  return {};
}

Tensor Node::Constant(const Shape& shape, const std::vector<double>& values, DType dtype) {
  // Types without a table of their own by way of f64.
  const bool direct = dtype == DType::kF32 || dtype == DType::kF64 || !IsFloat(dtype);
  absl::StatusOr<HostTensor> value =
      Numbers{.shape = shape, .is_real = true, .real = values}.To(direct ? dtype : DType::kF64);
  if (!value.ok()) {
    Keep(value.status());
    return {};
  }
  const Tensor made = b().Constant(*value);
  return direct ? made : Cast(made, dtype);
}

}  // namespace sinter::onnx
