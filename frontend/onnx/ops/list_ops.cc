#include <algorithm>

#include "absl/strings/str_cat.h"
#include "sinter/frontend/onnx/converters.h"
#include "sinter/frontend/onnx/importing.h"
#include "sinter/frontend/onnx/numbers.h"
#include "sinter/frontend/onnx/ops/forms.h"
#include "sinter/runtime/host/status.h"

// Lists and optionals, which exist only while importing: their lengths are known.
namespace sinter::onnx {
namespace {

absl::StatusOr<std::vector<Value>> ListAt(Node& node, size_t i) {
  if (!node.Operand(i).is_list()) return node.Bad(absl::StrCat("operand ", i, " is no list"));
  return node.Operand(i).items();
}

// The place in a list; with `end`, the place behind the last one is legal too.
absl::StatusOr<int64_t> PlaceAt(Node& node, size_t i, size_t size, bool end) {
  SINTER_ASSIGN_OR_RETURN(int64_t place, node.Int(i));
  const auto count = static_cast<int64_t>(size);
  if (place < 0) place += count;
  if (place < 0 || place > count || (place == count && !end)) {
    return node.Bad(absl::StrCat("place ", place, " of a list of ", count));
  }
  return place;
}

absl::StatusOr<Values> EmptyListOf(Node&) { return Values(Value::List({})); }

absl::StatusOr<Values> MakeListOf(Node& node) {
  std::vector<Value> items;
  for (size_t i = 0; i < node.num_inputs(); ++i) items.push_back(node.Operand(i));
  return Values(Value::List(std::move(items)));
}

absl::StatusOr<Values> InsertOf(Node& node) {
  SINTER_ASSIGN_OR_RETURN(std::vector<Value> items, ListAt(node, 0));
  auto place = static_cast<int64_t>(items.size());
  if (node.Has(2)) {
    SINTER_ASSIGN_OR_RETURN(place, PlaceAt(node, 2, items.size(), true));
  }
  items.insert(items.begin() + place, node.Operand(1));
  return Values(Value::List(std::move(items)));
}

absl::StatusOr<Values> EraseOf(Node& node) {
  SINTER_ASSIGN_OR_RETURN(std::vector<Value> items, ListAt(node, 0));
  if (items.empty()) return node.Bad("erases from an empty list");
  auto place = static_cast<int64_t>(items.size()) - 1;
  if (node.Has(1)) {
    SINTER_ASSIGN_OR_RETURN(place, PlaceAt(node, 1, items.size(), false));
  }
  items.erase(items.begin() + place);
  return Values(Value::List(std::move(items)));
}

absl::StatusOr<Values> ItemOf(Node& node) {
  SINTER_ASSIGN_OR_RETURN(const std::vector<Value> items, ListAt(node, 0));
  SINTER_ASSIGN_OR_RETURN(const int64_t place, PlaceAt(node, 1, items.size(), false));
  return Values(items[static_cast<size_t>(place)]);
}

absl::StatusOr<Values> LengthOf(Node& node) {
  SINTER_ASSIGN_OR_RETURN(const std::vector<Value> items, ListAt(node, 0));
  SINTER_ASSIGN_OR_RETURN(
      HostTensor length,
      (Numbers{.shape = {}, .whole = {static_cast<int64_t>(items.size())}}.To(DType::kI64)));
  return Values(Value::Known(std::move(length)));
}

absl::StatusOr<Values> ConcatListOf(Node& node) {
  SINTER_ASSIGN_OR_RETURN(const std::vector<Value> items, ListAt(node, 0));
  std::vector<Tensor> tensors;
  for (const Value& item : items) tensors.push_back(node.TensorOf(item));
  if (tensors.empty()) return node.Bad("joins an empty list");
  const bool stacks = node.Int("new_axis", 0) != 0;
  const int64_t axis = node.Axis(node.Int("axis", 0), tensors[0].rank() + (stacks ? 1 : 0));
  return Values(stacks ? Stack(tensors, axis) : Concat(tensors, axis));
}

absl::StatusOr<Values> SplitToListOf(Node& node) {
  const Tensor x = node.In(0);
  const int64_t axis = node.Axis(node.Int("axis", 0), x.rank());
  SINTER_RETURN_IF_ERROR(node.status());
  const int64_t size = x.dim(axis);
  Shape sizes;
  const bool by_one = !node.Has(1);
  if (by_one) {
    sizes.assign(static_cast<size_t>(size), 1);
  } else {
    SINTER_ASSIGN_OR_RETURN(sizes, node.Ints(1));
    if (node.shape(1).empty()) {
      const int64_t each = sizes[0];
      if (each < 1) return node.Bad("splits into parts of no size");
      sizes.clear();
      for (int64_t i = 0; i < size; i += each) sizes.push_back(std::min(each, size - i));
    }
  }
  if (sizes.size() > 1 << 16) return node.Bad("splits into too many parts");
  std::vector<Value> items;
  for (const Tensor& part : Split(x, sizes, axis)) {
    items.emplace_back(by_one && node.Int("keepdims", 1) == 0 ? Squeeze(part, axis) : part);
  }
  return Values(Value::List(std::move(items)));
}

// Runs the body for each item, and makes lists of its results. Operands that are no lists are the same in
// each trip.
absl::StatusOr<Values> MapOf(Node& node) {
  SINTER_ASSIGN_OR_RETURN(const GraphProto* const body, node.GraphAttr("body"));
  SINTER_ASSIGN_OR_RETURN(const std::vector<Value> items, ListAt(node, 0));
  std::vector<std::vector<Value>> lists(node.num_outputs());
  for (size_t i = 0; i < items.size(); ++i) {
    std::vector<Value> inputs;
    for (size_t k = 0; k < node.num_inputs(); ++k) {
      const Value& operand = node.Operand(k);
      if (operand.is_list() && i >= operand.items().size()) return node.Bad("lists differ in length");
      inputs.push_back(operand.is_list() ? operand.items()[i] : operand);
    }
    SINTER_ASSIGN_OR_RETURN(const std::vector<Value> results, node.importing().RunBody(node, *body, inputs));
    if (results.size() < lists.size()) return node.Bad("its body has too few outputs");
    for (size_t k = 0; k < lists.size(); ++k) lists[k].push_back(results[k]);
  }
  Values values;
  for (std::vector<Value>& list : lists) values.push_back(Value::List(std::move(list)));
  return values;
}

absl::StatusOr<Values> OptionalOf(Node& node) {
  return Values(node.num_inputs() > 0 ? node.Operand(0) : Value());
}

absl::StatusOr<Values> ElementOf(Node& node) {
  if (node.Operand(0).is_absent()) return node.Bad("takes the element of an empty optional");
  return Values(node.Operand(0));
}

absl::StatusOr<Values> HasElementOf(Node& node) {
  SINTER_ASSIGN_OR_RETURN(HostTensor has,
                          (Numbers{.shape = {}, .whole = {node.Has(0) ? 1 : 0}}.To(DType::kI1)));
  return Values(Value::Known(std::move(has)));
}

constexpr OpRecord kLists[] = {
    {"ConcatFromSequence", 11, ConcatListOf},
    {"Optional", 15, OptionalOf},
    {"OptionalGetElement", 15, ElementOf},
    {"OptionalHasElement", 15, HasElementOf},
    {"SequenceAt", 11, ItemOf},
    {"SequenceConstruct", 11, MakeListOf},
    {"SequenceEmpty", 11, EmptyListOf},
    {"SequenceErase", 11, EraseOf},
    {"SequenceInsert", 11, InsertOf},
    {"SequenceLength", 11, LengthOf},
    {"SequenceMap", 17, MapOf},
    {"SplitToSequence", 11, SplitToListOf},
};

}  // namespace

std::span<const OpRecord> ListOps() { return kLists; }

}  // namespace sinter::onnx
