#include "sinter/runtime/session/bucket_runner.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/tensor/tensor_box.h"

namespace sinter::internal_session {
namespace {

// Tag of the exchange of sizes (World::Operation).
constexpr uint32_t kSizesTag = 7;

// Returns the rows of an input that this process reads; nullopt if it is alone, or reads no whole rows.
std::optional<int64_t> OwnRows(LoadedFunction& function, size_t input) {
  if (function.memory().local.is_alone) return std::nullopt;
  const std::optional<FunctionInputs::RowRange> rows = function.inputs().Rows(input);
  if (!rows) return std::nullopt;
  return rows->end - rows->begin;
}

// The first elements of each dimension of a tensor.
TensorBox CornerOf(std::span<const int64_t> whole, std::span<const int64_t> part) {
  std::vector<BoxExtent> extents;
  for (size_t i = 0; i < whole.size(); ++i)
    extents.push_back({.size = whole[i], .part = part[i], .first = 0});
  return TensorBox(extents);
}

}  // namespace

// BucketOutputs.

BucketOutputs::BucketOutputs(LoadedFunction* function, const BucketGroup* group)
    : function_(function), group_(group), cuts_(function->info().outputs.size()) {}

void BucketOutputs::Start(std::span<const int64_t> sizes) {
  sizes_.assign(sizes.begin(), sizes.end());
  for (Cut& cut : cuts_) cut.is_made = false;
}

absl::StatusOr<const HostTensor*> BucketOutputs::Get(size_t i) {
  SINTER_ASSIGN_OR_RETURN(const HostTensor* const whole, function_->outputs().Get(i));
  const BucketGroup::Axes& axes = *group_->OutputAxes(function_->info().outputs[i].name);
  std::vector<int64_t> shape = whole->shape();
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    if (axes[dim] != BucketGroup::kFixed) shape[dim] = sizes_[static_cast<size_t>(axes[dim])];
  }
  if (shape == whole->shape()) return whole;
  Cut& cut = cuts_[i];
  if (cut.is_made) return &cut.tensor;
  if (cut.memory.shape() != whole->shape() || cut.memory.dtype() != whole->dtype()) {
    SINTER_ASSIGN_OR_RETURN(cut.memory, HostTensor::Empty(whole->dtype(), whole->shape()));
  }
  SINTER_ASSIGN_OR_RETURN(cut.tensor, HostTensor::View(whole->dtype(), shape, cut.memory.data()));
  if (const int64_t count = cut.tensor.num_elements(); count > 0) {
    TakePart(CornerOf(whole->shape(), shape), 0, count, whole->data(), SizeOf(whole->dtype()),
             cut.memory.mutable_data());
  }
  cut.is_made = true;
  return &cut.tensor;
}

// BucketRunner.

absl::StatusOr<std::unique_ptr<BucketRunner>> BucketRunner::Create(
    std::string name, std::span<LoadedFunction* const> functions) {
  std::vector<BucketGroup::Bucket> buckets;
  std::vector<LoadedFunction*> loaded;
  size_t first = functions.size();
  for (size_t i = 0; i < functions.size(); ++i) {
    LoadedFunction* const function = functions[i];
    std::optional<BucketName> parsed = ParseBucketName(function->info().name);
    if (!parsed || parsed->group != name) continue;
    first = std::min(first, i);
    buckets.push_back({.sizes = std::move(parsed->sizes), .function = function->info()});
    loaded.push_back(function);
  }
  absl::StatusOr<BucketGroup> group = BucketGroup::Create(name, std::move(buckets));
  if (!group.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("buckets of \"", name, "\": ", group.status().message()));
  }
  std::unique_ptr<BucketRunner> runner(new BucketRunner(*std::move(group)));
  runner->first_function_ = static_cast<uint32_t>(first);
  for (LoadedFunction* const function : loaded) {
    runner->loaded_.push_back({function, std::make_unique<BucketOutputs>(function, &runner->group_), {}});
  }
  for (size_t axis = 0; axis < runner->group_.num_axes(); ++axis) {
    runner->length_names_.push_back(BucketLengthName(axis));
  }
  SINTER_RETURN_IF_ERROR(runner->CheckRows());
  return runner;
}

// Among several processes each may give its own rows of an input, and the sizes of these do not tell the size
// of an axis.
absl::Status BucketRunner::CheckRows() const {
  for (const Loaded& loaded : loaded_) {
    const std::vector<TensorInfo>& inputs = loaded.function->info().inputs;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const BucketGroup::Axes* const axes = group_.InputAxes(inputs[i].name);
      if (axes == nullptr || axes->empty() || axes->front() == BucketGroup::kFixed) continue;
      const std::optional<int64_t> rows = OwnRows(*loaded.function, i);
      if (!rows || *rows == inputs[i].shape[0]) continue;
      return absl::UnimplementedError(absl::StrCat(
          "the buckets of \"", group_.name(), "\" have different rows of input \"", inputs[i].name,
          "\", of which each process reads its own: run one by its own name, such as \"",
          loaded.function->info().name, "\", or give the buckets one number of rows"));
    }
  }
  return absl::OkStatus();
}

absl::Status BucketRunner::AgreeOnSizes() {
  SessionBuffers& memory = loaded_.front().function->memory();
  if (memory.local.is_alone || memory.world == nullptr || !memory.world->connects()) return absl::OkStatus();
  SINTER_RETURN_IF_ERROR(memory.given_up);
  const std::string name = absl::StrCat("the sizes of a run of \"", group_.name(), "\"");
  std::vector<int64_t> all(sizes_.size() * static_cast<size_t>(memory.world->size()));
  SINTER_RETURN_IF_ERROR(memory.world->AllGather(std::as_bytes(std::span(sizes_)),
                                                 std::as_writable_bytes(std::span(all)),
                                                 {.name = name,
                                                  .tag = kSizesTag,
                                                  .session = memory.session,
                                                  .run = memory.exchanging_runs,
                                                  .function = first_function_,
                                                  .patience = memory.patience.FromUserCode()}));
  for (size_t i = 0; i < all.size(); ++i) {
    int64_t& size = sizes_[i % sizes_.size()];
    size = std::max(size, all[i]);
  }
  return absl::OkStatus();
}

void BucketRunner::ReadSizesOf(const Argument& argument, const TensorInfo& input,
                               std::vector<std::string>& problems) {
  const HostTensor& tensor = *argument.tensor();
  const auto problem = [&](const auto&... text) {
    problems.push_back(absl::StrCat("input \"", input.name, "\" is ", tensor.ToString(), ", ", text...));
  };
  if (tensor.dtype() != input.dtype) {
    problem("its type must be ", std::string(DTypeName(input.dtype)));
    return;
  }
  if (tensor.shape().size() != input.shape.size()) {
    problem("it must have ", input.shape.size(), " dimensions");
    return;
  }
  const BucketGroup::Axes& axes = *group_.InputAxes(input.name);
  LoadedFunction& first = *loaded_.front().function;
  for (size_t dim = 0; dim < axes.size(); ++dim) {
    const int64_t size = tensor.shape()[dim];
    if (axes[dim] == BucketGroup::kFixed) {
      if (dim == 0 && size == OwnRows(first, static_cast<size_t>(first.FindInput(input.name)))) continue;
      if (size != input.shape[dim]) problem("dimension ", dim, " must be ", input.shape[dim]);
      continue;
    }
    const auto axis = static_cast<size_t>(axes[dim]);
    if (size < 1) {
      problem("dimension ", dim, " is empty");
    } else if (sizes_[axis] == 0) {
      sizes_[axis] = size;
      told_by_[axis] = input.name;
    } else if (sizes_[axis] != size) {
      problem("dimension ", dim, " must be ", sizes_[axis], ", the size that input \"", told_by_[axis],
              "\" has there");
    }
  }
}

absl::Status BucketRunner::ReadSizes(std::span<const Argument> arguments) {
  sizes_.assign(group_.num_axes(), 0);
  told_by_.assign(group_.num_axes(), "");
  std::vector<std::string> problems;
  for (const Argument& argument : arguments) {
    const std::vector<TensorInfo>& inputs = group_[0].function.inputs;
    const auto input = std::ranges::find(inputs, argument.name(), &TensorInfo::name);
    if (argument.tensor() == nullptr || input == inputs.end() || group_.InputAxes(input->name) == nullptr)
      continue;
    ReadSizesOf(argument, *input, problems);
  }
  if (problems.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("cannot run \"", group_.name(), "\": ", absl::StrJoin(problems, "; ")));
}

absl::StatusOr<const HostTensor*> BucketRunner::Pad(size_t bucket, const TensorInfo& input,
                                                    const HostTensor& tensor) {
  std::vector<int64_t> shape = input.shape;
  // A process may give its own rows alone.
  const BucketGroup::Axes& axes = *group_.InputAxes(input.name);
  if (!axes.empty() && axes[0] == BucketGroup::kFixed) shape[0] = tensor.shape()[0];
  if (tensor.shape() == shape) return &tensor;
  HostTensor& padded = loaded_[bucket].padded[input.name];
  if (padded.shape() != shape || padded.dtype() != input.dtype) {
    SINTER_ASSIGN_OR_RETURN(padded, HostTensor::Empty(input.dtype, shape));
  }
  std::memset(padded.mutable_data(), 0, static_cast<size_t>(padded.num_bytes()));
  PutPart(CornerOf(shape, tensor.shape()), 0, tensor.num_elements(), tensor.data(), SizeOf(input.dtype),
          padded.mutable_data());
  return &padded;
}

absl::StatusOr<BucketRunner::Fitted> BucketRunner::Fit(std::span<const Argument> arguments) {
  SINTER_RETURN_IF_ERROR(ReadSizes(arguments));
  SINTER_RETURN_IF_ERROR(AgreeOnSizes());
  const absl::StatusOr<size_t> bucket = group_.Choose(sizes_);
  if (!bucket.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot run \"", group_.name(), "\": ", bucket.status().message()));
  }
  const BucketGroup::Bucket& chosen = group_[*bucket];
  Loaded& loaded = loaded_[*bucket];
  // An axis that no argument has varies in no bucket, or its argument is missing, which the run reports.
  for (size_t axis = 0; axis < sizes_.size(); ++axis) {
    if (sizes_[axis] == 0) sizes_[axis] = chosen.sizes[axis];
  }
  arguments_.clear();
  for (const Argument& argument : arguments) {
    const auto input = std::ranges::find(chosen.function.inputs, argument.name(), &TensorInfo::name);
    if (argument.tensor() == nullptr || input == chosen.function.inputs.end()) {
      arguments_.push_back(argument);
      continue;
    }
    SINTER_ASSIGN_OR_RETURN(const HostTensor* const padded, Pad(*bucket, *input, *argument.tensor()));
    arguments_.emplace_back(argument.name(), *padded);
  }
  for (size_t axis = 0; axis < sizes_.size(); ++axis) {
    if (loaded.function->FindInput(length_names_[axis]) < 0) continue;
    arguments_.emplace_back(length_names_[axis], Number(sizes_[axis]));
  }
  loaded.outputs->Start(sizes_);
  return Fitted{.function = loaded.function, .arguments = arguments_, .outputs = loaded.outputs.get()};
}

}  // namespace sinter::internal_session
