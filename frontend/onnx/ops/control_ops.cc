#include <algorithm>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "sinter/frontend/control/branches.h"
#include "sinter/frontend/control/loops.h"
#include "sinter/frontend/onnx/converters.h"
#include "sinter/frontend/onnx/importing.h"
#include "sinter/frontend/onnx/numbers.h"
#include "sinter/frontend/onnx/ops/forms.h"
#include "sinter/runtime/host/status.h"

// Branches and loops.
namespace sinter::onnx {
namespace {

// Runs a body within a loop or branch of the graph: its results as tensors. An error is kept in `status`.
std::vector<Tensor> Tensors(Node& node, const GraphProto& body, const std::vector<Value>& inputs,
                            absl::Status& status) {
  node.importing().EnterBody();
  const absl::Cleanup leave = [&] { node.importing().LeaveBody(); };
  const absl::StatusOr<std::vector<Value>> results = node.importing().RunBody(node, body, inputs);
  std::vector<Tensor> tensors;
  if (!results.ok()) {
    status = results.status();
    return tensors;
  }
  for (const Value& value : *results) {
    if (!value.is_tensor()) status = node.Unsupported("CONTROL_FLOW", "the body gives a list or an optional");
    tensors.push_back(value.is_tensor() ? node.TensorOf(value) : Tensor());
  }
  return tensors;
}

// With a known condition that branch alone.
absl::StatusOr<Values> IfOf(Node& node) {
  SINTER_ASSIGN_OR_RETURN(const GraphProto* const then, node.GraphAttr("then_branch"));
  SINTER_ASSIGN_OR_RETURN(const GraphProto* const otherwise, node.GraphAttr("else_branch"));
  if (node.Operand(0).known() != nullptr) {
    SINTER_ASSIGN_OR_RETURN(const int64_t condition, node.Int(0));
    SINTER_ASSIGN_OR_RETURN(std::vector<Value> results,
                            node.importing().RunBody(node, condition != 0 ? *then : *otherwise, {}));
    return Values(std::move(results));
  }
  // Lists exist only while importing, so a choice between them needs its condition.
  for (const ValueInfoProto& output : then->output) {
    if (output.type.tensor_type) continue;
    SINTER_RETURN_IF_ERROR(node.Known(0).status());
  }
  absl::Status status;
  const Tensor condition = node.In(0);
  const std::vector<Tensor> results = Cond(
      Reshape(condition, {}), [&] { return Tensors(node, *then, {}, status); },
      [&] { return Tensors(node, *otherwise, {}, status); });
  SINTER_RETURN_IF_ERROR(status);
  return Values(results);
}

struct LoopForm {
  const GraphProto* body = nullptr;
  std::optional<int64_t> trips;  // Known number of trips.
  std::vector<Value> first;      // The carried values.
  size_t scans = 0;              // Values that the body gives in each trip, to be stacked.
};

absl::StatusOr<Value> KnownScalar(int64_t value, DType dtype) {
  SINTER_ASSIGN_OR_RETURN(HostTensor made, (Numbers{.shape = {}, .whole = {value}}.To(dtype)));
  return Value::Known(std::move(made));
}

// Builds the body for each trip, as long as the condition, which must be known, is true.
absl::StatusOr<Values> Unrolled(Node& node, const LoopForm& form, bool goes_on) {
  std::vector<Value> carried = form.first;
  std::vector<std::vector<Tensor>> stacks(form.scans);
  const int64_t most = node.importing().model().limits().unrolled_trips;
  for (int64_t trip = 0; goes_on && trip < form.trips.value_or(INT64_MAX); ++trip) {
    if (trip >= most) {
      return node.Unsupported("CONTROL_FLOW",
                              absl::StrCat("more than ", most, " trips of a loop that is unrolled"));
    }
    std::vector<Value> inputs;
    SINTER_ASSIGN_OR_RETURN(Value number, KnownScalar(trip, DType::kI64));
    SINTER_ASSIGN_OR_RETURN(Value truth, KnownScalar(1, DType::kI1));
    inputs.push_back(std::move(number));
    inputs.push_back(std::move(truth));
    inputs.insert(inputs.end(), carried.begin(), carried.end());
    SINTER_ASSIGN_OR_RETURN(std::vector<Value> results, node.importing().RunBody(node, *form.body, inputs));
    if (results.size() != 1 + carried.size() + form.scans)
      return node.Bad("its body has the wrong number of outputs");
    const HostTensor* const condition = results[0].known();
    if (condition == nullptr && !form.trips) {
      return node.Unsupported("CONTROL_FLOW", "the condition is not known, and values change their type");
    }
    // A condition that is computed only passes on what it was given, or was tested by the caller.
    if (condition == nullptr)
      return node.Unsupported("CONTROL_FLOW", "an unrolled loop has a computed condition");
    if (condition->num_elements() != 1) return node.Bad("the condition is not one value");
    goes_on = Numbers::Of(*condition).Whole(0) != 0;
    for (size_t i = 0; i < carried.size(); ++i) carried[i] = results[1 + i];
    for (size_t i = 0; i < form.scans; ++i)
      stacks[i].push_back(node.TensorOf(results[1 + carried.size() + i]));
  }
  Values values(std::move(carried));
  for (const std::vector<Tensor>& stack : stacks) {
    if (stack.empty())
      return node.Unsupported("CONTROL_FLOW", "no trip is made, so a stack has no known shape");
    values.push_back(Stack(stack, 0));
  }
  return values;
}

bool HaveOneType(const std::vector<Value>& values) {
  return std::ranges::all_of(values, [](const Value& value) { return value.is_tensor(); });
}

// A loop whose body is built once, with a condition that the run computes.
absl::StatusOr<Values> GuardedLoop(Node& node, const LoopForm& form, const Tensor& goes_on,
                                   const Tensor& trips) {
  if (form.scans > 0) {
    for (const size_t i : {size_t{0}, size_t{1}}) {
      if (node.Has(i)) SINTER_RETURN_IF_ERROR(node.Known(i).status());
    }
    return node.Unsupported("CONTROL_FLOW", "stacks values of a number of trips that the run decides");
  }
  struct State {
    Tensor goes_on, trip;
    std::vector<Tensor> carried;
  };
  State first{goes_on, node.b().Zeros(DType::kI64, {}), {}};
  for (const Value& value : form.first) first.carried.push_back(node.TensorOf(value));
  absl::Status status;
  std::vector<Tensor> flat = {first.goes_on, first.trip};
  flat.insert(flat.end(), first.carried.begin(), first.carried.end());
  const std::vector<Tensor> last = While(
      flat, [&](const std::vector<Tensor>& s) { return trips.ok() ? s[0] && s[1] < trips : s[0] && s[0]; },
      [&](const std::vector<Tensor>& s) {
        std::vector<Value> inputs = {s[1], s[0]};
        inputs.insert(inputs.end(), s.begin() + 2, s.end());
        std::vector<Tensor> results = Tensors(node, *form.body, inputs, status);
        std::vector<Tensor> next = s;
        if (results.size() + 1 != s.size()) return next;
        next[0] = Reshape(results[0], {});
        next[1] = s[1] + 1;
        for (size_t i = 1; i < results.size(); ++i) next[i + 1] = results[i];
        return next;
      });
  SINTER_RETURN_IF_ERROR(status);
  return Values(std::vector<Tensor>(last.begin() + 2, last.end()));
}

// Builds the body for each trip if it is short; values may then change their type, and lists may grow.
absl::StatusOr<Values> LoopOf(Node& node) {
  LoopForm form;
  SINTER_ASSIGN_OR_RETURN(form.body, node.GraphAttr("body"));
  if (node.num_inputs() < 2) return node.Bad("has fewer than two operands");
  for (size_t i = 2; i < node.num_inputs(); ++i) form.first.push_back(node.Operand(i));
  const size_t outputs = form.body->output.size();
  if (outputs < 1 + form.first.size()) return node.Bad("its body has too few outputs");
  form.scans = outputs - 1 - form.first.size();
  const bool has_condition = node.Has(1),
             knows_condition = !has_condition || node.Operand(1).known() != nullptr;
  if (node.Has(0) && node.Operand(0).known() != nullptr) {
    SINTER_ASSIGN_OR_RETURN(const int64_t trips, node.Int(0));
    form.trips = std::max<int64_t>(trips, 0);
  }
  bool goes_on = true;
  if (has_condition && knows_condition) {
    SINTER_ASSIGN_OR_RETURN(const int64_t condition, node.Int(1));
    goes_on = condition != 0;
  }
  const bool can_unroll = knows_condition && (form.trips || !node.Has(0));
  const bool lists = !HaveOneType(form.first);
  if (lists && !can_unroll) {
    SINTER_RETURN_IF_ERROR(node.Known(node.Has(0) && !form.trips ? 0 : 1).status());
  }
  if (can_unroll) return Unrolled(node, form, goes_on);
  const Tensor condition = has_condition ? Reshape(node.In(1), {}) : node.b().Full(DType::kI1, {}, 1);
  return GuardedLoop(node, form, condition,
                     node.Has(0) ? Cast(Reshape(node.In(0), {}), DType::kI64) : Tensor());
}

// Version 8 has a batch and its own operand of lengths; from version 9 on operands are carries and slices.
absl::StatusOr<Values> ScanOf(Node& node) {
  SINTER_ASSIGN_OR_RETURN(const GraphProto* const body, node.GraphAttr("body"));
  const bool old = node.version() < 9;
  const size_t begin = old ? 1 : 0;
  const int64_t given = node.Int("num_scan_inputs", 0);
  if (given < 1 || static_cast<size_t>(given) + begin > node.num_inputs())
    return node.Bad("num_scan_inputs does not fit");
  const auto slices = static_cast<size_t>(given), carries = node.num_inputs() - slices - begin;
  if (body->output.size() < carries) return node.Bad("its body has too few outputs");
  if (old && node.Has(0)) return node.Unsupported("OP_FORM", "lengths of the examples in version 8");
  const size_t stacks = body->output.size() - carries;
  const Shape in_axes = node.Ints("scan_input_axes", Shape(slices, 0)),
              in_back = node.Ints(old ? "directions" : "scan_input_directions", Shape(slices, 0));
  const Shape out_axes = node.Ints("scan_output_axes", Shape(stacks, 0)),
              out_back = node.Ints("scan_output_directions", Shape(stacks, 0));
  if (in_axes.size() != slices || in_back.size() != slices || out_axes.size() != stacks ||
      out_back.size() != stacks) {
    return node.Bad("axes or directions do not fit the operands");
  }
  std::vector<Tensor> first, xs;
  for (size_t i = 0; i < carries; ++i) first.push_back(node.In(begin + i));
  for (size_t i = 0; i < slices; ++i) {
    Tensor x = node.In(begin + carries + i);
    // Version 8: [batch, time, ...], one example after the other.
    const int64_t axis = node.Axis(old ? 1 : in_axes[i], x.rank());
    if (in_back[i] != 0) x = Reverse(x, {axis});
    Shape permutation = {axis};
    for (int64_t d = 0; d < x.rank(); ++d) {
      if (d != axis) permutation.push_back(d);
    }
    xs.push_back(Transpose(x, permutation));
  }
  SINTER_RETURN_IF_ERROR(node.status());
  absl::Status status;
  const auto trip = [&](std::vector<Tensor> carry, std::vector<Tensor> slice) {
    std::vector<Value> inputs(carry.begin(), carry.end());
    inputs.insert(inputs.end(), slice.begin(), slice.end());
    std::vector<Tensor> results = Tensors(node, *body, inputs, status);
    results.resize(carries + stacks);
    return std::pair(
        std::vector<Tensor>(results.begin(), results.begin() + static_cast<std::ptrdiff_t>(carries)),
        std::vector<Tensor>(results.begin() + static_cast<std::ptrdiff_t>(carries), results.end()));
  };
  if (old) {
    if (carries > 0 && first[0].dim(0) != 1)
      return node.Unsupported("OP_FORM", "several examples in version 8");
    for (Tensor& tensor : first) tensor = Squeeze(tensor, 0);
    for (Tensor& tensor : xs) tensor = Squeeze(tensor, 1);
  }
  auto [last, stacked] = Scan(first, xs, trip);
  SINTER_RETURN_IF_ERROR(status);
  Values values;
  for (const Tensor& tensor : last) values.push_back(old ? ExpandDims(tensor, 0) : tensor);
  for (size_t i = 0; i < stacked.size(); ++i) {
    Tensor y = out_back[i] != 0 ? Reverse(stacked[i], {0}) : stacked[i];
    const int64_t axis = node.Axis(out_axes[i], y.rank());
    if (axis != 0) {
      Shape permutation;
      for (int64_t d = 1; d < y.rank(); ++d) permutation.push_back(d);
      permutation.insert(permutation.begin() + axis, 0);
      y = Transpose(y, permutation);
    }
    values.push_back(old ? ExpandDims(y, 0) : y);
  }
  return values;
}

constexpr OpRecord kControl[] = {
    {"If", 1, IfOf},
    {"Loop", 1, LoopOf},
    {"Scan", 8, ScanOf},
};

}  // namespace

std::span<const OpRecord> ControlOps() { return kControl; }

}  // namespace sinter::onnx
