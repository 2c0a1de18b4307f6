#include "sinter/frontend/train/updater.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/plan/buckets.h"

namespace sinter::train {

std::vector<Argument> ArgumentsOf(const std::vector<std::string>& names, const Batch& batch,
                                  bool with_weights) {
  std::vector<Argument> arguments;
  for (size_t i = 0; i < std::min(names.size(), batch.tensors.size()); ++i)
    arguments.emplace_back(names[i], batch.tensors[i]);
  if (with_weights) arguments.emplace_back("weights", batch.weights);
  return arguments;
}

Updater::Updater(BatchStream& stream, std::string function, UpdaterOptions options)
    : stream_(&stream), function_(std::move(function)), options_(std::move(options)) {
  if (options_.functions.empty()) options_.functions = {function_};
}

Updater::Updater(BatchStream& stream, Step step, UpdaterOptions options)
    : stream_(&stream), step_(std::move(step)), options_(std::move(options)) {}

absl::Status Updater::Start(Session& session) {
  for (const std::string& function : options_.functions)
    SINTER_RETURN_IF_ERROR(FunctionOrBucket(session.plan(), function).status());
  if (step_) {
    if (options_.inputs.empty()) return absl::OkStatus();
    return absl::InvalidArgumentError(
        "an Updater of a function of the program has no inputs; give them to Session::Run there");
  }
  if (function_.empty()) return absl::InvalidArgumentError("an Updater has an empty function");
  names_ = stream_->names();
  SINTER_ASSIGN_OR_RETURN(const FunctionInfo info, FunctionOrBucket(session.plan(), function_));
  const auto has = [&](const std::string& name) {
    return std::ranges::find(info.inputs, name, &TensorInfo::name) != info.inputs.end();
  };
  takes_weights_ = has("weights") && std::ranges::find(names_, "weights") == names_.end();
  for (const auto& [name, rate] : options_.inputs) {
    SINTER_RETURN_IF_ERROR(rate.status());
    if (has(name)) continue;
    std::string inputs;
    for (const TensorInfo& input : info.inputs)
      absl::StrAppend(&inputs, inputs.empty() ? "" : ", ", input.name, " (", input.TypeString(), ")");
    return absl::InvalidArgumentError(absl::StrCat("the Updater gives \"", name, "\" to function \"",
                                                   function_, "\", which has no such input; it has ",
                                                   inputs));
  }
  return absl::OkStatus();
}

absl::Status Updater::Update(Session& session, const Batch& batch,
                             const std::map<std::string, double>& inputs) {
  if (step_) return step_(session, batch);
  std::vector<Argument> arguments = ArgumentsOf(names_, batch, takes_weights_);
  for (const auto& [name, value] : inputs) arguments.emplace_back(name, value);
  return session.Run(function_, arguments).status();
}

}  // namespace sinter::train
