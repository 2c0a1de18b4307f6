#include "sinter/frontend/ops/loops.h"

#include "absl/strings/str_cat.h"
#include "sinter/frontend/graph/graph_state.h"
#include "sinter/frontend/ops/ops.h"

namespace sinter::internal_loops {

struct Building::State {
  State(std::vector<Tensor> first_carries, std::vector<Tensor> all_xs, Where at)
      : first(std::move(first_carries)), xs(std::move(all_xs)), where(at) {}

  std::vector<Tensor> first, xs;
  Where where;
  std::optional<Call> call;
  ScanOptions options;
  bool is_open = false;
  Tensor trip;
  std::vector<Tensor> carries, slices;
};

namespace {

// The number of trips; nullopt, with an error kept, if the tensors do not agree.
std::optional<int64_t> CountTrips(Call& call, const std::vector<Tensor>& xs, std::optional<Steps> steps) {
  if (steps.has_value()) {
    if (steps->count >= 0 && steps->count < int64_t{1} << 31) return steps->count;
    call.Fail(absl::StrCat("makes ", steps->count, " trips; expected 0 to 2147483647"));
    return std::nullopt;
  }
  if (xs.empty()) {
    call.Fail("has no tensors to go over; give Steps{n} for n trips");
    return std::nullopt;
  }
  for (const Tensor& x : xs) {
    if (x.rank() == 0) {
      call.Fail("goes over a tensor of rank 0; expected a dimension 0 that counts the trips");
      return std::nullopt;
    }
    if (x.dim(0) == xs.front().dim(0)) continue;
    call.Fail(absl::StrCat("goes over ", xs.front().ToString(), " and ", x.ToString(),
                           ", whose dimension 0 differs; expected one number of trips"));
    return std::nullopt;
  }
  return xs.front().dim(0);
}

}  // namespace

Building::Building(std::vector<Tensor> first, std::vector<Tensor> xs, std::optional<Steps> steps,
                   ScanOptions options, Where where)
    : state_(std::make_unique<State>(std::move(first), std::move(xs), where)) {
  State& s = *state_;
  std::vector<Tensor> operands = s.first;
  operands.insert(operands.end(), s.xs.begin(), s.xs.end());
  if (operands.empty()) {
    s.call.emplace("Scan", where, FunctionBuilder::Current());
  } else {
    s.call.emplace("Scan", where, std::move(operands));
  }
  if (!s.call->ok()) return;
  const std::optional<int64_t> trips = CountTrips(*s.call, s.xs, steps);
  if (!trips.has_value()) return;
  s.options = options;
  std::vector<mlir::Type> types;
  for (const Tensor& carry : s.first) types.push_back(s.call->type(carry.dtype(), carry.shape()));
  for (const Tensor& x : s.xs) {
    const Shape shape = x.shape();
    types.push_back(s.call->type(x.dtype(), Shape(shape.begin() + 1, shape.end())));
  }
  FunctionBuilder& function = s.call->function();
  mlir::Block& block = function.EnterBody(*trips, types, s.call->loc());
  s.is_open = true;
  const auto argument = [&](size_t i) {
    return Tensor(&function, block.getArgument(static_cast<unsigned>(i)).getAsOpaquePointer());
  };
  s.trip = argument(0);
  for (size_t i = 0; i < s.first.size(); ++i) s.carries.push_back(argument(1 + i));
  for (size_t i = 0; i < s.xs.size(); ++i) s.slices.push_back(argument(1 + s.first.size() + i));
}

Building::~Building() {
  if (state_->is_open) state_->call->function().DropBody();
}

bool Building::ok() const { return state_->is_open; }
Tensor Building::trip() const { return state_->trip; }
const std::vector<Tensor>& Building::carries() const { return state_->carries; }
const std::vector<Tensor>& Building::slices() const { return state_->slices; }

std::vector<Tensor> Building::Finish(const std::vector<Tensor>& next, const std::vector<Tensor>& stacked) {
  State& s = *state_;
  FunctionBuilder& function = s.call->function();
  const auto drop = [&] {
    function.DropBody();
    s.is_open = false;
    return std::vector<Tensor>();
  };
  if (next.size() != s.first.size()) {
    s.call->Fail(absl::StrCat("gets ", s.first.size(), " carries, and its body returns ", next.size(),
                              "; expected the same tree"));
    return drop();
  }
  std::vector<Tensor> yields = next;
  yields.insert(yields.end(), stacked.begin(), stacked.end());
  if (!yields.empty()) {
    Call check("return of a loop's body", s.where, yields);
    if (!check.ok()) return drop();
  }
  for (size_t i = 0; i < next.size(); ++i) {
    if (next[i].dtype() == s.first[i].dtype() && next[i].shape() == s.first[i].shape()) continue;
    s.call->Fail(absl::StrCat("gets carry ", i, " as ", s.first[i].ToString(), ", and its body returns ",
                              next[i].ToString(), "; expected the same type"));
    return drop();
  }
  const auto values = [](const std::vector<Tensor>& tensors) {
    llvm::SmallVector<mlir::Value> list;
    for (const Tensor& tensor : tensors) list.push_back(mlir::Value::getFromOpaquePointer(tensor.value()));
    return list;
  };
  s.is_open = false;
  const llvm::SmallVector<mlir::Value> results =
      function.FinishBody({values(s.first), values(s.xs), values(next), values(stacked), s.options.reverse});
  std::vector<Tensor> made;
  for (mlir::Value result : results) made.push_back(s.call->Done(result));
  return made;
}

int64_t TripsOfSegment(const std::vector<Tensor>& tensors, std::optional<Steps> steps, int64_t segments,
                       Where where) {
  Call call =
      tensors.empty() ? Call("Scan", where, FunctionBuilder::Current()) : Call("Scan", where, tensors);
  if (!call.ok()) return 0;
  const std::optional<int64_t> trips =
      CountTrips(call, steps.has_value() ? std::vector<Tensor>() : tensors, steps);
  if (!trips.has_value()) return 0;
  if (*trips > 0 && *trips % segments == 0) return *trips / segments;
  call.Fail(absl::StrCat("cuts ", *trips, " trips into ", segments, " segments, which must divide them"));
  return 0;
}

Tensor Cut(const Tensor& x, int64_t segments, Where where) {
  const Shape shape = x.shape();
  Shape cut = {segments, shape[0] / segments};
  cut.insert(cut.end(), shape.begin() + 1, shape.end());
  return Reshape(x, cut, where);
}

Tensor Join(const Tensor& x, Where where) {
  if (!x.ok()) return {};
  const Shape shape = x.shape();
  Shape joined = {shape[0] * shape[1]};
  joined.insert(joined.end(), shape.begin() + 2, shape.end());
  return Reshape(x, joined, where);
}

}  // namespace sinter::internal_loops
