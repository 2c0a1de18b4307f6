#include "sinter/frontend/control/loops.h"

#include "absl/strings/str_cat.h"
#include "sinter/frontend/graph/graph_state.h"
#include "sinter/frontend/ops/ops.h"

namespace sinter::internal_loops {

struct Building::State {
  State(Form all, Where at) : form(std::move(all)), where(at) {}

  Form form;
  Where where;
  std::optional<Call> call;
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

std::vector<Tensor> Joined(std::vector<Tensor> tensors, const std::vector<Tensor>& more) {
  tensors.insert(tensors.end(), more.begin(), more.end());
  return tensors;
}

llvm::SmallVector<mlir::Value> ValuesOf(const std::vector<Tensor>& tensors) {
  llvm::SmallVector<mlir::Value> list;
  for (const Tensor& tensor : tensors) list.push_back(mlir::Value::getFromOpaquePointer(tensor.value()));
  return list;
}

}  // namespace

std::string WhyNoGuard(const Tensor& guard) {
  if (guard.dtype() == DType::kI1 && guard.rank() == 0) return "";
  return absl::StrCat("gets ", guard.ToString(),
                      " as its condition; expected i1[], one truth value: All or Any makes it of several");
}

Building::Building(Form form, Where where) : state_(std::make_unique<State>(std::move(form), where)) {
  State& s = *state_;
  const std::vector<Tensor>&first = s.form.first, &xs = s.form.xs;
  if (std::vector<Tensor> operands = Joined(first, xs); operands.empty()) {
    s.call.emplace(s.form.name, where, FunctionBuilder::Current());
  } else {
    s.call.emplace(s.form.name, where, std::move(operands));
  }
  if (!s.call->ok()) return;
  if (std::string why = s.form.is_guarded ? WhyNoGuard(first[0]) : ""; !why.empty()) {
    s.call->Fail(why);
    return;
  }
  const std::optional<int64_t> trips = CountTrips(*s.call, xs, s.form.steps);
  if (!trips.has_value()) return;
  std::vector<mlir::Type> types;
  for (const Tensor& carry : first) types.push_back(s.call->type(carry.dtype(), carry.shape()));
  for (const Tensor& x : xs) {
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
  for (size_t i = 0; i < first.size(); ++i) s.carries.push_back(argument(1 + i));
  for (size_t i = 0; i < xs.size(); ++i) s.slices.push_back(argument(1 + first.size() + i));
}

Building::~Building() {
  if (state_->is_open) state_->call->function().DropBody();
}

bool Building::ok() const { return state_->is_open; }
Tensor Building::trip() const { return state_->trip; }
const std::vector<Tensor>& Building::carries() const { return state_->carries; }
const std::vector<Tensor>& Building::slices() const { return state_->slices; }

// False, with an error kept, if what the body returned cannot be carried or stacked.
bool Building::CheckReturned(const std::vector<Tensor>& next, const std::vector<Tensor>& stacked) {
  State& s = *state_;
  const std::vector<Tensor>& first = s.form.first;
  const size_t guards = s.form.is_guarded ? 1 : 0;
  const bool may_add = s.form.is_guarded && s.form.steps->count == 1;
  if (may_add ? next.size() < first.size() : next.size() != first.size()) {
    s.call->Fail(absl::StrCat("gets ", first.size() - guards, " carries, and its body returns ",
                              next.size() - guards, "; expected the same tree"));
    return false;
  }
  if (const std::vector<Tensor> yields = Joined(next, stacked); !yields.empty()) {
    Call check("return of a loop's body", s.where, yields);
    if (!check.ok()) return false;
  }
  if (std::string why = guards > 0 ? WhyNoGuard(next[0]) : ""; !why.empty()) {
    s.call->Fail(why);
    return false;
  }
  for (size_t i = 0; i < first.size(); ++i) {
    if (next[i].dtype() == first[i].dtype() && next[i].shape() == first[i].shape()) continue;
    s.call->Fail(absl::StrCat("gets carry ", i - guards, " as ", first[i].ToString(),
                              ", and its body returns ", next[i].ToString(), "; expected the same type"));
    return false;
  }
  return true;
}

std::vector<Tensor> Building::Finish(const std::vector<Tensor>& next, const std::vector<Tensor>& stacked) {
  State& s = *state_;
  FunctionBuilder& function = s.call->function();
  s.is_open = false;
  if (!CheckReturned(next, stacked)) {
    function.DropBody();
    return {};
  }
  LoopValues loop = {.first = ValuesOf(s.form.first),
                     .slices = ValuesOf(s.form.xs),
                     .next = ValuesOf(next),
                     .stacked = ValuesOf(stacked),
                     .reverse = s.form.reverse,
                     .is_guarded = s.form.is_guarded,
                     .is_default = s.form.is_default};
  std::vector<Tensor> made;
  for (mlir::Value result : function.FinishBody(std::move(loop))) made.push_back(s.call->Done(result));
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
