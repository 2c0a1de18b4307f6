#include "sinter/runtime/plan/buckets.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "sinter/runtime/host/status.h"

namespace sinter {
namespace {

constexpr std::string_view kLength = "length@";

// Parses digits alone, without a sign, a space or a leading zero, so that each number has one text.
std::optional<int64_t> ParseSize(std::string_view text) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  int64_t size = 0;
  if (text.empty() || !std::ranges::all_of(text, is_digit) || (text.size() > 1 && text[0] == '0') ||
      !absl::SimpleAtoi(absl::string_view(text.data(), text.size()), &size)) {
    return std::nullopt;
  }
  return size;
}

std::string InBucket(const char* what, const TensorInfo& tensor, const FunctionInfo& function) {
  return absl::StrCat(what, " \"", tensor.name, "\" is ", tensor.TypeString(), " in \"", function.name, "\"");
}

}  // namespace

std::string BucketSizesText(std::span<const int64_t> sizes) { return absl::StrJoin(sizes, "x"); }

std::string BucketFunctionName(std::string_view group, std::span<const int64_t> sizes) {
  return absl::StrCat(std::string(group), "@", BucketSizesText(sizes));
}

std::optional<BucketName> ParseBucketName(std::string_view function) {
  const size_t at = function.rfind('@');
  if (at == std::string_view::npos || at == 0) return std::nullopt;
  BucketName name{.group = std::string(function.substr(0, at)), .sizes = {}};
  const std::string sizes(function.substr(at + 1));
  for (absl::string_view part : absl::StrSplit(sizes, 'x')) {
    const std::optional<int64_t> size = ParseSize({part.data(), part.size()});
    if (!size) return std::nullopt;
    name.sizes.push_back(*size);
  }
  return name;
}

absl::StatusOr<FunctionInfo> FunctionOrBucket(const Plan& plan, std::string_view name) {
  for (FunctionInfo& function : plan.Functions()) {
    const std::optional<BucketName> bucket = ParseBucketName(function.name);
    if (bucket && bucket->group == name) return std::move(function);
  }
  return plan.Function(name);
}

std::string BucketLengthName(size_t axis) { return absl::StrCat(std::string(kLength), axis); }

std::optional<size_t> ParseBucketLengthName(std::string_view input) {
  if (!input.starts_with(kLength)) return std::nullopt;
  const std::optional<int64_t> axis = ParseSize(input.substr(kLength.size()));
  return axis ? std::optional<size_t>(static_cast<size_t>(*axis)) : std::nullopt;
}

absl::Status CheckBucketSizes(std::span<const std::vector<int64_t>> buckets) {
  if (buckets.size() < 2) {
    return absl::InvalidArgumentError(
        "the types of two or more buckets tell which dimensions vary; give more sizes, or make a Function");
  }
  const size_t num_axes = buckets.front().size();
  std::set<std::vector<int64_t>> seen;
  for (const std::vector<int64_t>& sizes : buckets) {
    const std::string text = BucketSizesText(sizes);
    if (sizes.empty()) return absl::InvalidArgumentError("a bucket has no sizes");
    if (sizes.size() != num_axes) {
      return absl::InvalidArgumentError(absl::StrCat("the bucket ", BucketSizesText(buckets.front()),
                                                     " and the bucket ", text,
                                                     " have different numbers of axes"));
    }
    if (std::ranges::any_of(sizes, [](int64_t size) { return size < 1; })) {
      return absl::InvalidArgumentError(absl::StrCat("the bucket ", text, " has a size below 1"));
    }
    if (!seen.insert(sizes).second) {
      return absl::InvalidArgumentError(absl::StrCat("there are two buckets ", text));
    }
  }
  for (size_t a = 0; a < num_axes; ++a) {
    for (size_t b = a + 1; b < num_axes; ++b) {
      if (!std::ranges::all_of(buckets, [&](const auto& sizes) { return sizes[a] == sizes[b]; })) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("axes ", a, " and ", b, " have the same sizes in all buckets, so a dimension of one ",
                       "looks like one of the other; give a bucket in which they differ"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<BucketGroup> BucketGroup::Create(std::string name, std::vector<Bucket> buckets) {
  BucketGroup group;
  group.name_ = std::move(name);
  group.buckets_ = std::move(buckets);
  std::vector<std::vector<int64_t>> sizes;
  for (const Bucket& bucket : group.buckets_) sizes.push_back(bucket.sizes);
  SINTER_RETURN_IF_ERROR(CheckBucketSizes(sizes));
  SINTER_ASSIGN_OR_RETURN(group.inputs_, group.FindAxes("input", &FunctionInfo::inputs));
  SINTER_ASSIGN_OR_RETURN(group.outputs_, group.FindAxes("output", &FunctionInfo::outputs));
  SINTER_RETURN_IF_ERROR(group.CheckEachAxisIsGiven());
  return group;
}

std::string BucketGroup::Names() const {
  return absl::StrJoin(buckets_, ", ", [](std::string* text, const Bucket& bucket) {
    absl::StrAppend(text, bucket.function.name);
  });
}

const BucketGroup::Axes* BucketGroup::Find(const Tensors& tensors, std::string_view name) {
  const auto found = tensors.find(name);
  return found == tensors.end() ? nullptr : &found->second;
}

absl::StatusOr<int> BucketGroup::AxisOf(const char* what, const TensorInfo& first,
                                        std::span<const TensorInfo* const> others, size_t dim) const {
  const auto has = [&](const TensorInfo* tensor) { return tensor->shape[dim] == first.shape[dim]; };
  if (std::ranges::all_of(others, has)) return kFixed;
  for (size_t axis = 0; axis < num_axes(); ++axis) {
    bool fits = true;
    for (size_t i = 0; i < others.size(); ++i)
      fits = fits && others[i]->shape[dim] == buckets_[i].sizes[axis];
    if (fits) return static_cast<int>(axis);
  }
  const size_t other = static_cast<size_t>(std::ranges::find_if_not(others, has) - others.begin());
  return absl::InvalidArgumentError(absl::StrCat(
      InBucket(what, first, buckets_.front().function), " and ", others[other]->TypeString(), " in \"",
      buckets_[other].function.name, "\": the sizes of dimension ", dim,
      " are those of no axis, so nothing tells what is padding; Reshape it to dimensions that are axes"));
}

absl::StatusOr<BucketGroup::Tensors> BucketGroup::FindAxes(
    const char* what, std::vector<TensorInfo> FunctionInfo::* tensors) const {
  const FunctionInfo& front = buckets_.front().function;
  Tensors found;
  for (const TensorInfo& first : front.*tensors) {
    if (ParseBucketLengthName(first.name)) continue;
    std::vector<const TensorInfo*> others;
    for (const Bucket& bucket : buckets_) {
      const std::vector<TensorInfo>& all = bucket.function.*tensors;
      const auto other = std::ranges::find(all, first.name, &TensorInfo::name);
      if (other == all.end()) {
        return absl::InvalidArgumentError(absl::StrCat(InBucket(what, first, front), ", and \"",
                                                       bucket.function.name, "\" has no such ", what));
      }
      if (other->dtype != first.dtype || other->shape.size() != first.shape.size()) {
        return absl::InvalidArgumentError(absl::StrCat(InBucket(what, first, front), " and ",
                                                       other->TypeString(), " in \"", bucket.function.name,
                                                       "\"; buckets may differ in sizes alone"));
      }
      others.push_back(&*other);
    }
    Axes& axes = found[first.name];
    for (size_t dim = 0; dim < first.shape.size(); ++dim) {
      SINTER_ASSIGN_OR_RETURN(const int axis, AxisOf(what, first, others, dim));
      axes.push_back(axis);
    }
  }
  for (const Bucket& bucket : buckets_) {
    for (const TensorInfo& tensor : bucket.function.*tensors) {
      if (found.contains(tensor.name) || ParseBucketLengthName(tensor.name)) continue;
      return absl::InvalidArgumentError(absl::StrCat(InBucket(what, tensor, bucket.function), ", and \"",
                                                     front.name, "\" has no such ", what));
    }
  }
  return found;
}

absl::Status BucketGroup::CheckEachAxisIsGiven() const {
  for (size_t axis = 0; axis < num_axes(); ++axis) {
    const auto is_fixed = [&](const Bucket& bucket) {
      return bucket.sizes[axis] == buckets_.front().sizes[axis];
    };
    const auto has = [&](const auto& input) {
      return std::ranges::find(input.second, static_cast<int>(axis)) != input.second.end();
    };
    if (std::ranges::all_of(buckets_, is_fixed) || std::ranges::any_of(inputs_, has)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("axis ", axis, " is a dimension of no input, so nothing tells a run its size"));
  }
  return absl::OkStatus();
}

absl::StatusOr<size_t> BucketGroup::Choose(std::span<const int64_t> sizes) const {
  std::optional<size_t> best;
  double least = 0;
  for (size_t i = 0; i < buckets_.size(); ++i) {
    double elements = 1;
    bool fits = true;
    for (size_t axis = 0; axis < sizes.size(); ++axis) {
      fits = fits && sizes[axis] <= buckets_[i].sizes[axis];
      elements *= static_cast<double>(buckets_[i].sizes[axis]);
    }
    if (!fits || (best && elements >= least)) continue;
    best = i;
    least = elements;
  }
  if (best) return *best;
  const std::string all = absl::StrJoin(buckets_, ", ", [](std::string* text, const Bucket& bucket) {
    absl::StrAppend(text, BucketSizesText(bucket.sizes));
  });
  return absl::InvalidArgumentError(
      absl::StrCat("no bucket has room for ", BucketSizesText(sizes), "; there are ", all));
}

}  // namespace sinter
