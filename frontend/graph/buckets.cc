// Functions for several sizes: Graph::Buckets and what their bodies ask of them.
#include "sinter/runtime/plan/buckets.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "sinter/frontend/graph/graph.h"
#include "sinter/frontend/graph/graph_state.h"

namespace sinter {
namespace {

// Brings the graph back to its state at the start, unless Keep is called: if a body throws.
class BucketsBuild {
 public:
  explicit BucketsBuild(GraphState& graph) : graph_(graph), before_(graph.Now()) {}
  ~BucketsBuild() {
    if (!is_kept_) graph_.GoBackTo(before_);
  }
  BucketsBuild(const BucketsBuild&) = delete;
  BucketsBuild& operator=(const BucketsBuild&) = delete;
  void Keep() { is_kept_ = true; }

 private:
  GraphState& graph_;
  GraphState::Mark before_;
  bool is_kept_ = false;
};

// Returns the length input of the axis, which the first call makes.
mlir::Value LengthInput(Call& call, size_t axis) {
  FunctionBuilder& function = call.function();
  const std::string name = BucketLengthName(axis);
  if (mlir::Value made = function.InputOf(name)) return made;
  const UnplacedScope unplaced(&function);
  return function.AddInput(name, call.type(DType::kI32, {}), call.loc());
}

// Returns why the function has no such axis; empty if it has.
std::string WrongAxis(const Shape& bucket, size_t axis) {
  if (bucket.empty()) return "is for the bodies of Graph::Buckets, and this function is no bucket";
  if (axis < bucket.size()) return "";
  return absl::StrCat("of axis ", axis, ": the bucket ", BucketSizesText(bucket), " has ", bucket.size(),
                      bucket.size() == 1 ? " axis" : " axes");
}

}  // namespace

void Graph::Buckets(std::string_view name, Mode mode, const std::vector<Shape>& sizes,
                    const std::function<void(Builder&, const Shape&)>& body, Where where) {
  const std::string what = absl::StrCat("Buckets \"", View(name), "\"");
  if (const absl::Status checked = CheckBucketSizes(sizes); !checked.ok()) {
    state_->Error(where, what, absl::StrCat("cannot be built: ", checked.message()));
    return;
  }
  BucketsBuild build(*state_);
  const size_t errors = state_->Now().errors;
  std::vector<BucketGroup::Bucket> buckets;
  for (const Shape& bucket : sizes) {
    const std::string function = BucketFunctionName(name, bucket);
    BuildFunction(*state_, function, mode, [&](Builder& b) { body(b, bucket); }, where, bucket);
    // The other buckets would have the same errors.
    if (state_->Now().errors > errors) break;
    buckets.push_back({.sizes = bucket, .function = state_->functions.at(function)->Signature()});
  }
  build.Keep();
  if (buckets.size() < sizes.size()) return;
  const absl::Status checked = BucketGroup::Create(std::string(name), std::move(buckets)).status();
  if (!checked.ok()) state_->Error(where, what, absl::StrCat("cannot be built: ", checked.message()));
}

void Graph::Buckets(std::string_view name, Mode mode, const std::vector<int64_t>& sizes,
                    const std::function<void(Builder&, int64_t)>& body, Where where) {
  std::vector<Shape> shapes;
  for (const int64_t size : sizes) shapes.push_back({size});
  Buckets(name, mode, shapes, [&](Builder& b, const Shape& shape) { body(b, shape[0]); }, where);
}

Tensor Builder::Length(size_t axis, Where where) {
  Call call("Length", where, function());
  if (!call.ok()) return {};
  if (std::string wrong = WrongAxis(call.function().bucket(), axis); !wrong.empty()) return call.Fail(wrong);
  return call.Done(LengthInput(call, axis));
}

Tensor Builder::Valid(size_t axis, Where where) {
  Call call("Valid", where, function());
  if (!call.ok()) return {};
  if (std::string wrong = WrongAxis(call.function().bucket(), axis); !wrong.empty()) return call.Fail(wrong);
  const int64_t size = call.function().bucket()[axis];
  const ir::Expr place = call.b().iota({size}, call.element(DType::kI32), 0);
  return call.Done(call.b().lt(place, call.b().splat(call.b().wrap(LengthInput(call, axis)), place)));
}

}  // namespace sinter
