#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <utility>

#include "sinter/frontend/onnx/numbers.h"
#include "sinter/frontend/onnx/ops/forms.h"
#include "sinter/runtime/host/status.h"

// Computes nodes whose operands are known: what exporters make of shapes.
namespace sinter::onnx {
namespace {

using Known = const HostTensor&;

absl::Status No() { return absl::NotFoundError("not folded"); }

absl::StatusOr<Values> Done(const Numbers& numbers, DType dtype) {
  absl::StatusOr<HostTensor> value = numbers.To(dtype);
  if (absl::IsUnimplemented(value.status())) return No();
  SINTER_RETURN_IF_ERROR(value.status());
  return Values(Value::Known(*std::move(value)));
}

// The elements of x at these places, in a new shape.
absl::StatusOr<Values> Pick(Known x, const Shape& shape, const std::vector<int64_t>& places) {
  SINTER_ASSIGN_OR_RETURN(HostTensor y, HostTensor::Empty(x.dtype(), shape));
  const auto* from = static_cast<const std::byte*>(x.data());
  auto* to = static_cast<std::byte*>(y.mutable_data());
  const int64_t bytes = SizeOf(x.dtype());
  for (size_t i = 0; i < places.size(); ++i) {
    std::copy_n(from + places[i] * bytes, bytes, to + static_cast<int64_t>(i) * bytes);
  }
  return Values(Value::Known(std::move(y)));
}

std::vector<int64_t> Counting(int64_t count) {
  std::vector<int64_t> places(static_cast<size_t>(count));
  for (size_t i = 0; i < places.size(); ++i) places[i] = static_cast<int64_t>(i);
  return places;
}

// The places of elements start + i * step along each dimension.
std::vector<int64_t> StridedPlaces(const Shape& from, const SliceForm& form) {
  std::vector<int64_t> places(static_cast<size_t>(CountOf(form.counts)), 0);
  int64_t stride = 1, inner = 1;
  for (size_t d = from.size(); d-- > 0;) {
    for (size_t i = 0; i < places.size(); ++i) {
      places[i] +=
          (form.starts[d] + static_cast<int64_t>(i) / inner % form.counts[d] * form.steps[d]) * stride;
    }
    stride *= from[d];
    inner *= std::max<int64_t>(form.counts[d], 1);
  }
  return places;
}

using OfWhole = int64_t (*)(int64_t, int64_t);
using OfReal = double (*)(double, double);
struct Pair {
  OfWhole whole;
  OfReal real;
  bool is_test = false;  // The result is i1.
};

int64_t Wrapped(uint64_t x) { return static_cast<int64_t>(x); }

const std::map<std::string, Pair>& Pairs() {
  static const auto* const kPairs = new std::map<std::string, Pair>{
      {"Add",
       {[](int64_t a, int64_t b) { return Wrapped(static_cast<uint64_t>(a) + static_cast<uint64_t>(b)); },
        [](double a, double b) { return a + b; }}},
      {"Sub",
       {[](int64_t a, int64_t b) { return Wrapped(static_cast<uint64_t>(a) - static_cast<uint64_t>(b)); },
        [](double a, double b) { return a - b; }}},
      {"Mul",
       {[](int64_t a, int64_t b) { return Wrapped(static_cast<uint64_t>(a) * static_cast<uint64_t>(b)); },
        [](double a, double b) { return a * b; }}},
      {"Div",
       {[](int64_t a, int64_t b) {
          return b == 0 ? 0 : b == -1 ? Wrapped(0 - static_cast<uint64_t>(a)) : a / b;
        },
        [](double a, double b) { return a / b; }}},
      {"Min", {[](int64_t a, int64_t b) { return std::min(a, b); }, nullptr}},
      {"Max", {[](int64_t a, int64_t b) { return std::max(a, b); }, nullptr}},
      {"Equal",
       {[](int64_t a, int64_t b) { return int64_t{a == b}; },
        [](double a, double b) { return static_cast<double>(a == b); }, true}},
      {"Less",
       {[](int64_t a, int64_t b) { return int64_t{a < b}; },
        [](double a, double b) { return static_cast<double>(a < b); }, true}},
      {"Greater",
       {[](int64_t a, int64_t b) { return int64_t{a > b}; },
        [](double a, double b) { return static_cast<double>(a > b); }, true}},
      {"LessOrEqual",
       {[](int64_t a, int64_t b) { return int64_t{a <= b}; },
        [](double a, double b) { return static_cast<double>(a <= b); }, true}},
      {"GreaterOrEqual",
       {[](int64_t a, int64_t b) { return int64_t{a >= b}; },
        [](double a, double b) { return static_cast<double>(a >= b); }, true}},
      {"And", {[](int64_t a, int64_t b) { return a & b; }, nullptr}},
      {"Or", {[](int64_t a, int64_t b) { return a | b; }, nullptr}},
      {"Xor", {[](int64_t a, int64_t b) { return a ^ b; }, nullptr}},
  };
  return *kPairs;
}

absl::StatusOr<Values> FoldPair(Node& node, const Pair& pair, int64_t most) {
  if (node.version() < 7 || node.num_inputs() != 2) return No();
  Known a = *node.Operand(0).known();
  Known b = *node.Operand(1).known();
  Shape shape;
  if (a.dtype() != b.dtype() || a.dtype() == DType::kU64 || !BroadcastShapes(a.shape(), b.shape(), shape))
    return No();
  if (CountOf(shape) > most) return No();
  const Numbers x = Numbers::Of(a), y = Numbers::Of(b);
  if (x.is_real && (pair.real == nullptr || SizeOf(a.dtype()) < 4)) return No();
  const std::vector<int64_t> at = BroadcastPlaces(x.shape, shape), bt = BroadcastPlaces(y.shape, shape);
  Numbers result{.shape = shape, .is_real = x.is_real};
  for (size_t i = 0; i < at.size(); ++i) {
    if (x.is_real) {
      result.real.push_back(pair.real(x.Real(at[i]), y.Real(bt[i])));
    } else {
      result.whole.push_back(pair.whole(x.Whole(at[i]), y.Whole(bt[i])));
    }
  }
  return Done(result, pair.is_test ? DType::kI1 : a.dtype());
}

absl::StatusOr<Values> FoldUnary(Node& node, double (*real)(double), int64_t (*whole)(int64_t)) {
  Known x = *node.Operand(0).known();
  Numbers numbers = Numbers::Of(x);
  if (numbers.is_real ? SizeOf(x.dtype()) < 4 || real == nullptr : whole == nullptr) return No();
  for (double& value : numbers.real) value = real(value);
  for (int64_t& value : numbers.whole) value = whole(value);
  return Done(numbers, x.dtype());
}

absl::StatusOr<Values> FoldCast(Node& node) {
  SINTER_ASSIGN_OR_RETURN(const DType dtype, node.op() == "CastLike" ? absl::StatusOr<DType>(node.dtype(1))
                                                                     : TypeAttr(node, "to", node.dtype(0)));
  Known x = *node.Operand(0).known();
  if (SizeOf(x.dtype()) < 4 && IsFloat(x.dtype())) return No();
  if (IsStored(x.dtype()) || x.dtype() == DType::kU64) return No();
  return Done(Numbers::Of(x), dtype);
}

absl::StatusOr<Values> FoldGather(Node& node, int64_t most) {
  Known x = *node.Operand(0).known();
  const Shape& from = x.shape();
  const auto axis = static_cast<size_t>(node.Axis(node.Int("axis", 0), x.rank()));
  SINTER_RETURN_IF_ERROR(node.status());
  SINTER_ASSIGN_OR_RETURN(const Shape indices, node.Ints(1));
  const int64_t inner = Product(from, axis + 1, from.size()), outer = Product(from, 0, axis);
  Shape shape(from.begin(), from.begin() + static_cast<std::ptrdiff_t>(axis));
  const Shape of_indices = node.shape(1);
  shape.insert(shape.end(), of_indices.begin(), of_indices.end());
  shape.insert(shape.end(), from.begin() + static_cast<std::ptrdiff_t>(axis) + 1, from.end());
  if (inner * outer > most || inner * outer * static_cast<int64_t>(indices.size()) > most) return No();
  std::vector<int64_t> places;
  for (int64_t o = 0; o < outer; ++o) {
    for (const int64_t index : indices) {
      const int64_t i = index < 0 ? index + from[axis] : index;
      if (i < 0 || i >= from[axis]) return node.Bad("an index is out of range");
      for (int64_t k = 0; k < inner; ++k) places.push_back((o * from[axis] + i) * inner + k);
    }
  }
  return Pick(x, shape, places);
}

absl::StatusOr<Values> FoldConcat(Node& node) {
  Known first = *node.Operand(0).known();
  const int64_t axis = node.Axis(node.Int("axis", node.version() < 4 ? 1 : 0), first.rank());
  SINTER_RETURN_IF_ERROR(node.status());
  if (first.rank() != 1 || axis != 0) return No();
  int64_t count = 0;
  for (size_t i = 0; i < node.num_inputs(); ++i) {
    if (node.Operand(i).known() == nullptr) return No();
    Known x = *node.Operand(i).known();
    if (x.rank() != 1 || x.dtype() != first.dtype()) return node.Bad("operands differ in rank or type");
    count += x.num_elements();
  }
  SINTER_ASSIGN_OR_RETURN(HostTensor y, HostTensor::Empty(first.dtype(), {count}));
  auto* to = static_cast<std::byte*>(y.mutable_data());
  for (size_t i = 0; i < node.num_inputs(); ++i) {
    Known x = *node.Operand(i).known();
    to = std::copy_n(static_cast<const std::byte*>(x.data()), x.num_bytes(), to);
  }
  return Values(Value::Known(std::move(y)));
}

absl::StatusOr<Values> FoldSlice(Node& node) {
  Known x = *node.Operand(0).known();
  SINTER_ASSIGN_OR_RETURN(const SliceForm form, SliceFormOf(node, x.shape()));
  return Pick(x, form.counts, StridedPlaces(x.shape(), form));
}

absl::StatusOr<Values> FoldTranspose(Node& node) {
  Known x = *node.Operand(0).known();
  SINTER_ASSIGN_OR_RETURN(const Shape permutation, PermutationOf(node, x.rank()));
  Shape shape, strides(x.shape().size(), 1);
  for (size_t d = x.shape().size(); d-- > 1;) strides[d - 1] = strides[d] * x.shape()[d];
  for (const int64_t d : permutation) shape.push_back(x.shape()[static_cast<size_t>(d)]);
  std::vector<int64_t> places(static_cast<size_t>(x.num_elements()), 0);
  int64_t inner = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    for (size_t i = 0; i < places.size(); ++i) {
      places[i] += static_cast<int64_t>(i) / inner % shape[d] * strides[static_cast<size_t>(permutation[d])];
    }
    inner *= std::max<int64_t>(shape[d], 1);
  }
  return Pick(x, shape, places);
}

absl::StatusOr<Values> FoldReshaped(Node& node) {
  Known x = *node.Operand(0).known();
  absl::StatusOr<Shape> shape = node.op() == "Reshape"     ? ReshapedShape(node, x.shape())
                                : node.op() == "Unsqueeze" ? UnsqueezedShape(node, x.shape())
                                : node.op() == "Squeeze"   ? SqueezedShape(node, x.shape())
                                                           : FlattenedShape(node, x.shape());
  SINTER_RETURN_IF_ERROR(shape.status());
  return Pick(x, *shape, Counting(x.num_elements()));
}

absl::StatusOr<Values> FoldExpand(Node& node, int64_t most) {
  Known x = *node.Operand(0).known();
  SINTER_ASSIGN_OR_RETURN(const Shape asked, node.Ints(1));
  Shape shape;
  for (const int64_t size : asked) {
    if (size < 0 || size > most) return No();
  }
  if (!BroadcastShapes(x.shape(), asked, shape)) return node.Bad("the shapes do not broadcast");
  int64_t count = 1;
  for (const int64_t size : shape) {
    if (__builtin_mul_overflow(count, size, &count) || count > most) return No();
  }
  return Pick(x, shape, BroadcastPlaces(x.shape(), shape));
}

absl::StatusOr<Values> FoldRange(Node& node, int64_t most) {
  Known start = *node.Operand(0).known();
  SINTER_ASSIGN_OR_RETURN(const double first, node.Real(0));
  SINTER_ASSIGN_OR_RETURN(const double limit, node.Real(1));
  SINTER_ASSIGN_OR_RETURN(const double delta, node.Real(2));
  if (delta == 0) return node.Bad("delta is 0");
  const double count = std::ceil((limit - first) / delta);
  if (!(count < static_cast<double>(most))) return No();
  Numbers result{.shape = {std::max<int64_t>(0, static_cast<int64_t>(count))}, .is_real = true};
  for (int64_t i = 0; i < result.shape[0]; ++i) result.real.push_back(first + static_cast<double>(i) * delta);
  return Done(result, start.dtype());
}

absl::StatusOr<Values> FoldWhere(Node& node, int64_t most) {
  Known c = *node.Operand(0).known();
  Known a = *node.Operand(1).known();
  Known b = *node.Operand(2).known();
  Shape ab, shape;
  if (a.dtype() != b.dtype() || SizeOf(a.dtype()) < 4 || !BroadcastShapes(a.shape(), b.shape(), ab) ||
      !BroadcastShapes(c.shape(), ab, shape) || CountOf(shape) > most) {
    return No();
  }
  const Numbers x = Numbers::Of(a), y = Numbers::Of(b), test = Numbers::Of(c);
  const auto ct = BroadcastPlaces(c.shape(), shape), at = BroadcastPlaces(a.shape(), shape),
             bt = BroadcastPlaces(b.shape(), shape);
  Numbers result{.shape = shape, .is_real = x.is_real};
  for (size_t i = 0; i < ct.size(); ++i) {
    const bool first = test.Whole(ct[i]) != 0;
    if (x.is_real) {
      result.real.push_back(first ? x.Real(at[i]) : y.Real(bt[i]));
    } else {
      result.whole.push_back(first ? x.Whole(at[i]) : y.Whole(bt[i]));
    }
  }
  return Done(result, a.dtype());
}

// Reductions of integers [n] to one.
absl::StatusOr<Values> FoldReduce(Node& node) {
  Known x = *node.Operand(0).known();
  if (x.rank() != 1 || !IsInteger(x.dtype()) || x.dtype() == DType::kU64 || x.num_elements() == 0)
    return No();
  SINTER_ASSIGN_OR_RETURN(const Shape axes, AxesOf(node, 1, 1));
  if (axes.empty() && node.Int("noop_with_empty_axes", 0) != 0) return No();
  const Numbers numbers = Numbers::Of(x);
  int64_t result = numbers.whole[0];
  const OfWhole combine = Pairs()
                              .at(node.op() == "ReduceProd"  ? "Mul"
                                  : node.op() == "ReduceSum" ? "Add"
                                  : node.op() == "ReduceMin" ? "Min"
                                                             : "Max")
                              .whole;
  for (size_t i = 1; i < numbers.whole.size(); ++i) result = combine(result, numbers.whole[i]);
  return Done({.shape = node.Int("keepdims", 1) != 0 ? Shape{1} : Shape{}, .whole = {result}}, x.dtype());
}

double Negated(double x) { return -x; }
double Root(double x) { return std::sqrt(x); }
double Up(double x) { return std::ceil(x); }
double Down(double x) { return std::floor(x); }
double Positive(double x) { return x > 0 ? x : std::isnan(x) ? x : 0; }
int64_t NegatedWhole(int64_t x) { return Wrapped(0 - static_cast<uint64_t>(x)); }
int64_t NotWhole(int64_t x) { return 1 - x; }

using Folder = absl::StatusOr<Values> (*)(Node& node, int64_t most);
const std::map<std::string, Folder>& Folders() {
  static const auto* const kFolders = new std::map<std::string, Folder>{
      {"Cast", [](Node& n, int64_t) { return FoldCast(n); }},
      {"CastLike", [](Node& n, int64_t) { return FoldCast(n); }},
      {"Ceil", [](Node& n, int64_t) { return FoldUnary(n, Up, nullptr); }},
      {"Concat", [](Node& n, int64_t) { return FoldConcat(n); }},
      {"Expand", [](Node& n, int64_t most) { return FoldExpand(n, most); }},
      {"Flatten", [](Node& n, int64_t) { return FoldReshaped(n); }},
      {"Floor", [](Node& n, int64_t) { return FoldUnary(n, Down, nullptr); }},
      {"Gather", [](Node& n, int64_t most) { return FoldGather(n, most); }},
      {"Identity", [](Node& n, int64_t) { return absl::StatusOr<Values>(Values(n.Operand(0))); }},
      {"Neg", [](Node& n, int64_t) { return FoldUnary(n, Negated, NegatedWhole); }},
      {"Not", [](Node& n, int64_t) { return FoldUnary(n, nullptr, NotWhole); }},
      {"Range", [](Node& n, int64_t most) { return FoldRange(n, most); }},
      {"ReduceMax", [](Node& n, int64_t) { return FoldReduce(n); }},
      {"ReduceMin", [](Node& n, int64_t) { return FoldReduce(n); }},
      {"ReduceProd", [](Node& n, int64_t) { return FoldReduce(n); }},
      {"ReduceSum", [](Node& n, int64_t) { return FoldReduce(n); }},
      {"Relu", [](Node& n, int64_t) { return FoldUnary(n, Positive, nullptr); }},
      {"Reshape", [](Node& n, int64_t) { return FoldReshaped(n); }},
      {"Slice", [](Node& n, int64_t) { return FoldSlice(n); }},
      {"Sqrt", [](Node& n, int64_t) { return FoldUnary(n, Root, nullptr); }},
      {"Squeeze", [](Node& n, int64_t) { return FoldReshaped(n); }},
      {"Transpose", [](Node& n, int64_t) { return FoldTranspose(n); }},
      {"Unsqueeze", [](Node& n, int64_t) { return FoldReshaped(n); }},
      {"Where", [](Node& n, int64_t most) { return FoldWhere(n, most); }},
  };
  return *kFolders;
}

// The operands that the op cannot do without.
size_t LeastOperands(const std::string& op) {
  return op == "Where" || op == "Range" ? 3 : op == "Gather" || op == "Expand" || op == "CastLike" ? 2 : 1;
}

}  // namespace

absl::StatusOr<Values> Fold(Node& node, int64_t most) {
  for (size_t i = 0; i < node.num_inputs(); ++i) {
    const HostTensor* const known = node.Operand(i).known();
    if (known != nullptr && known->num_elements() > most && node.op() != "Identity") return No();
    // Operands are all given.
    if (known == nullptr && i < LeastOperands(node.op())) return No();
  }
  if (const auto pair = Pairs().find(node.op()); pair != Pairs().end()) {
    return node.num_inputs() == 2 && node.Has(0) && node.Has(1) ? FoldPair(node, pair->second, most) : No();
  }
  const auto folder = Folders().find(node.op());
  if (folder == Folders().end() || node.num_inputs() < LeastOperands(node.op())) return No();
  absl::StatusOr<Values> result = folder->second(node, most);
  if (result.ok() && !node.status().ok()) return node.status();
  return result;
}

}  // namespace sinter::onnx
