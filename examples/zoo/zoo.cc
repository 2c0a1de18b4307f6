#include "sinter/examples/zoo/zoo.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <numbers>
#include <utility>

#include "CLI/CLI.hpp"
#include "sinter/examples/device_flags.h"

namespace sinter::examples::zoo {

namespace {

constexpr std::string_view kGradient = "gradient/";

absl::StatusOr<std::vector<NamedTensor>> CloneAll(const std::vector<Argument>& arguments,
                                                  const std::string& prefix) {
  std::vector<NamedTensor> clones;
  for (const Argument& argument : arguments) {
    HostTensor clone;
    if (argument.tensor() != nullptr) {
      SINTER_ASSIGN_OR_RETURN(clone, argument.tensor()->Clone());
    } else {
      clone = Fill<float>({}, [&](int64_t) { return argument.number().real(); });
    }
    clones.push_back({prefix + std::string(argument.name()), std::move(clone)});
  }
  return clones;
}

double NormOf(const HostTensor& tensor) {
  double sum = 0;
  for (float value : tensor.Span<float>().value()) sum += static_cast<double>(value) * value;
  return std::sqrt(sum);
}

}  // namespace

optim::Hook Flags::Watch(Builder& b) const {
  if (dump.empty()) return [](optim::Gradients&) {};
  return [b](optim::Gradients& gradients) mutable {
    for (size_t i = 0; i < gradients.size(); ++i) {
      b.Output(std::string(kGradient) + gradients.variable(i).name(), gradients[i]);
    }
  };
}

HostTensor Data::Uniform(const Shape& shape, float low, float high) {
  return Fill<float>(shape, [&](int64_t) { return bits_.Uniform(low, high); });
}

HostTensor Data::Normal(const Shape& shape, double stddev) {
  return Fill<float>(shape, [&](int64_t) {
    const double radius = std::sqrt(-2 * std::log(1 - static_cast<double>(bits_.Uniform(0, 1))));
    return stddev * radius * std::cos(2 * std::numbers::pi * static_cast<double>(bits_.Uniform(0, 1)));
  });
}

HostTensor Data::Integers(const Shape& shape, int64_t bound) {
  return Fill<int32_t>(shape, [&](int64_t) { return bits_.Below(static_cast<uint64_t>(bound)); });
}

HostTensor Data::Texts(int64_t rows, int64_t length, int64_t vocabulary) {
  const auto words = static_cast<uint64_t>(vocabulary);
  uint64_t word = 0;
  return Fill<int32_t>({rows, length + 1}, [&](int64_t i) {
    const bool follows = i % (length + 1) != 0 && bits_.Below(10) != 0;
    word = follows ? (5 * word + 3) % words : bits_.Below(words);
    return word;
  });
}

absl::StatusOr<Digits> MakeDigits(int64_t count, float low, float high) {
  SINTER_ASSIGN_OR_RETURN(ImageSet set, DrawDigits(count, /*seed=*/1));
  SINTER_ASSIGN_OR_RETURN(auto pixels, set.images.Span<uint8_t>());
  SINTER_ASSIGN_OR_RETURN(auto labels, set.labels.Span<uint8_t>());
  return Digits{
      Fill<float>({count, 1, 28, 28}, [&](int64_t i) { return low + (high - low) * pixels[i] / 255.0f; }),
      Fill<int32_t>({count}, [&](int64_t i) { return labels[i]; })};
}

absl::StatusOr<Trainer> Trainer::Create(const Flags& flags, const Graph& graph) {
  SINTER_ASSIGN_OR_RETURN(Plan plan, Compile(graph, {.device = flags.device}));
  if (!flags.dump.empty()) {
    std::error_code error;  // If it fails, so does Save.
    std::filesystem::create_directories(flags.dump, error);
    SINTER_RETURN_IF_ERROR(plan.Save(flags.dump + "/model.plan"));
  }
  SINTER_ASSIGN_OR_RETURN(Session session, Session::Create(std::move(plan)));
  Trainer trainer(flags, graph.name(), std::move(session));
  if (!flags.dump.empty()) SINTER_RETURN_IF_ERROR(trainer.SaveVariables("weights.safetensors"));
  return trainer;
}

absl::Status Trainer::SaveVariables(const std::string& file) const {
  return SaveCheckpoint(session_, Path(file));
}

absl::Status Trainer::SetData(const std::vector<Argument>& data) {
  SINTER_ASSIGN_OR_RETURN(std::vector<NamedTensor> tensors, CloneAll(data, ""));
  for (NamedTensor& tensor : tensors) {
    SINTER_RETURN_IF_ERROR(session_.WriteVariable(tensor.name, tensor.tensor));
    if (!flags_.dump.empty()) inputs_.push_back({"data/" + tensor.name, std::move(tensor.tensor)});
  }
  return absl::OkStatus();
}

absl::StatusOr<Outputs> Trainer::Step(std::string_view function, const std::vector<Argument>& arguments) {
  const std::string name(function);
  SINTER_ASSIGN_OR_RETURN(Outputs outputs, session_.Run(function, arguments));
  SINTER_ASSIGN_OR_RETURN(const double loss, outputs.Scalar("loss"));
  std::printf("%s, call %zu of %s: loss %.6g\n", name_.c_str(), calls_.size(), name.c_str(), loss);
  if (!flags_.dump.empty()) {
    SINTER_ASSIGN_OR_RETURN(auto inputs, CloneAll(arguments, std::to_string(calls_.size()) + "/"));
    std::move(inputs.begin(), inputs.end(), std::back_inserter(inputs_));
    const bool is_first = std::none_of(calls_.begin(), calls_.end(),
                                       [&](const Call& call) { return call.function == function; });
    if (is_first) SINTER_RETURN_IF_ERROR(KeepGradients(name, outputs));
  }
  if (flags_.time) {
    SINTER_ASSIGN_OR_RETURN(last_inputs_[name], CloneAll(arguments, ""));
  }
  calls_.push_back({name, loss});
  return outputs;
}

absl::Status Trainer::KeepGradients(const std::string& function, const Outputs& outputs) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs.name(i).starts_with(kGradient)) continue;
    const std::string variable(outputs.name(i).substr(kGradient.size()));
    SINTER_ASSIGN_OR_RETURN(HostTensor gradient, outputs.tensor(i).Clone());
    gradients_.push_back({function + "/" + variable, std::move(gradient)});
  }
  return absl::OkStatus();
}

absl::Status Trainer::Finish() {
  if (!flags_.dump.empty()) {
    SINTER_RETURN_IF_ERROR(SaveSafetensors(Path("inputs.safetensors"), inputs_));
    SINTER_RETURN_IF_ERROR(SaveSafetensors(Path("gradients.safetensors"), gradients_));
    SINTER_RETURN_IF_ERROR(SaveVariables("final.safetensors"));
    SINTER_RETURN_IF_ERROR(WriteRun());
  }
  return flags_.time ? Measure() : absl::OkStatus();
}

absl::Status Trainer::Measure() {
  using Clock = std::chrono::steady_clock;
  for (const auto& [function, inputs] : last_inputs_) {
    SINTER_ASSIGN_OR_RETURN(BoundFunction bound, session_.Bind(function));
    for (const NamedTensor& input : inputs) SINTER_RETURN_IF_ERROR(bound.SetInput(input.name, input.tensor));
    std::vector<double> times;
    const Clock::time_point start = Clock::now();
    while (times.size() < 10 ||
           std::chrono::duration<double>(Clock::now() - start).count() < flags_.seconds) {
      const Clock::time_point begin = Clock::now();
      SINTER_RETURN_IF_ERROR(bound.Run());
      SINTER_RETURN_IF_ERROR(session_.Synchronize());
      times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - begin).count());
    }
    std::sort(times.begin(), times.end());
    std::printf("%s: %.4f ms median, %.4f ms least of %zu runs\n", function.c_str(), times[times.size() / 2],
                times.front(), times.size());
  }
  return absl::OkStatus();
}

absl::Status Trainer::WriteRun() const {
  std::ofstream file(Path("run.json"));
  file << std::setprecision(17) << "{\"program\": \"" << name_ << "\", \"large\": " << std::boolalpha
       << flags_.large << ",\n \"calls\": [";
  for (size_t i = 0; i < calls_.size(); ++i) {
    file << (i == 0 ? "" : ",\n  ") << "[\"" << calls_[i].function << "\", " << calls_[i].loss << "]";
  }
  file << "],\n \"gradient_norms\": {";
  for (size_t i = 0; i < gradients_.size(); ++i) {
    file << (i == 0 ? "" : ",\n  ") << "\"" << gradients_[i].name << "\": " << NormOf(gradients_[i].tensor);
  }
  file << "}}\n";
  file.close();
  return file ? absl::OkStatus() : absl::UnavailableError("cannot write " + Path("run.json"));
}

int Main(int argc, char** argv, absl::Status (*train)(const Flags& flags)) {
  Flags flags;
  DeviceFlags device;
  CLI::App app("Trains a small model on data that it draws itself.");
  app.add_option("--steps", flags.steps, "training steps")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--seed", flags.seed, "of the weights and the data")->capture_default_str();
  AddDeviceFlag(app, device);
  app.add_option("--dump", flags.dump, "folder for weights, inputs, losses and gradients");
  app.add_flag("--time", flags.time, "prints the time of a step, without dropout");
  app.add_option("--seconds", flags.seconds, "how long --time runs each function")->capture_default_str();
  app.add_flag("--large", flags.large, "sizes for measurements");
  CLI11_PARSE(app, argc, argv);
  const auto run = [&]() -> absl::Status {
    SINTER_ASSIGN_OR_RETURN(const std::vector<Device> devices, device.Devices());
    flags.device = devices.front();
    return train(flags);
  };
  const absl::Status status = run();
  if (!status.ok()) std::fprintf(stderr, "%s: %s\n", argv[0], std::string(status.message()).c_str());
  return status.ok() ? 0 : 1;
}

}  // namespace sinter::examples::zoo
