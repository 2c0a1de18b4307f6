// Buckets: functions of one name for different sizes, of which a session runs the smallest that fits.
//
//   BucketFunctionName("classify", {8, 128})                             // "classify@8x128"
//   SINTER_ASSIGN_OR_RETURN(BucketGroup group, BucketGroup::Create("classify", {small, large}));
//   SINTER_ASSIGN_OR_RETURN(size_t bucket, group.Choose({5, 90}));       // The one of 8x128.
//
// The sizes of a bucket are those of its axes, such as rows and time. Nothing but its types says which
// dimensions of an input or output belong to an axis: a dimension belongs to the axis whose sizes it has in
// all buckets, and a dimension of one size in all buckets belongs to none. Graph::Buckets (frontend/graph/)
// makes such functions, BucketRunner (runtime/session/) runs them.
#ifndef SINTER_RUNTIME_PLAN_BUCKETS_H_
#define SINTER_RUNTIME_PLAN_BUCKETS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sinter/runtime/plan/plan.h"

namespace sinter {

std::string BucketFunctionName(std::string_view group, std::span<const int64_t> sizes);
// Returns "8x128".
std::string BucketSizesText(std::span<const int64_t> sizes);

// The parts of a bucket's function name.
struct BucketName {
  std::string group;
  std::vector<int64_t> sizes;
};
// Returns nullopt for the name of any other function.
std::optional<BucketName> ParseBucketName(std::string_view function);

// Returns the function of this name, or the first of the buckets of this name. NotFound lists the functions.
absl::StatusOr<FunctionInfo> FunctionOrBucket(const Plan& plan, std::string_view name);

// Inputs of this name, i32[], hold the size of an axis that a run was given. A session sets them.
std::string BucketLengthName(size_t axis);
// Returns the axis of such a name; nullopt for any other name.
std::optional<size_t> ParseBucketLengthName(std::string_view input);

// InvalidArgument: fewer than two buckets, equal ones, other numbers of axes, a size below 1, or two axes
// with the same sizes in all buckets.
absl::Status CheckBucketSizes(std::span<const std::vector<int64_t>> buckets);

class BucketGroup {
 public:
  // The axis of each dimension of a tensor; kFixed for a dimension of one size.
  using Axes = std::vector<int>;
  static constexpr int kFixed = -1;

  struct Bucket {
    std::vector<int64_t> sizes;
    FunctionInfo function;
  };

  // InvalidArgument: the errors of CheckBucketSizes; other names, types or ranks of inputs or outputs; a
  // dimension that varies and belongs to no axis; an axis that varies and that no input has.
  static absl::StatusOr<BucketGroup> Create(std::string name, std::vector<Bucket> buckets);

  const std::string& name() const { return name_; }
  size_t num_axes() const { return buckets_.front().sizes.size(); }
  size_t size() const { return buckets_.size(); }
  const Bucket& operator[](size_t i) const { return buckets_[i]; }
  // Returns "classify@1x128, classify@8x128".
  std::string Names() const;

  // Returns the axes of an input or output, by name; null if there is none of this name.
  const Axes* InputAxes(std::string_view name) const { return Find(inputs_, name); }
  const Axes* OutputAxes(std::string_view name) const { return Find(outputs_, name); }

  // Returns the bucket with the fewest elements that has at least these sizes, one for each axis.
  // InvalidArgument lists the sizes of all buckets.
  absl::StatusOr<size_t> Choose(std::span<const int64_t> sizes) const;

 private:
  using Tensors = std::map<std::string, Axes, std::less<>>;
  static const Axes* Find(const Tensors& tensors, std::string_view name);
  absl::StatusOr<Tensors> FindAxes(const char* what, std::vector<TensorInfo> FunctionInfo::* tensors) const;
  absl::StatusOr<int> AxisOf(const char* what, const TensorInfo& first,
                             std::span<const TensorInfo* const> others, size_t dim) const;
  absl::Status CheckEachAxisIsGiven() const;

  std::string name_;
  std::vector<Bucket> buckets_;
  Tensors inputs_, outputs_;
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_PLAN_BUCKETS_H_
