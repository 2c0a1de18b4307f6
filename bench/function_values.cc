// Writes inputs, results and gradients of the public functions, for bench/peers/judge_functions.py.
//
//   sinter_function_values --list                                # Names of the calls.
//   sinter_function_values --values v.safetensors --seed 3       # All of them.
//   sinter_function_values --values v.safetensors Softmax Conv2d.strided --device gpu:0
//
// Each call is a function of a graph of its own, in f32. The file has, for each name, `name/in0`, ... (the
// inputs), `name/p:weight`, ... (the values of a layer's parameters), `name/out0`, ... (the results), and for
// results of floats `name/w0`, ...: factors, drawn as the inputs are. `name/d0`, ... and `name/d:weight`, ...
// are the gradients of the sum of all results times their factors, for each input of floats and each
// parameter. An optimiser has no gradients: its result is the parameter after several updates.
#include <algorithm>
#include <cmath>
#include <iostream>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "sinter/bench/function_values/cases.h"
#include "sinter/runtime/formats/safetensors.h"
#include "sinter/runtime/host/status.h"

namespace {

namespace sn = sinter;
using sn::bench::FunctionCase;
using sn::bench::FunctionInput;
using Values = std::vector<sn::NamedTensor>;

struct Options {
  std::vector<std::string> names;
  sn::Device device;
  uint64_t seed = 1;
  std::string values;
};

// Numbers that depend on the seed and the name alone, so that they stay when other calls come or go.
class Drawer {
 public:
  Drawer(uint64_t seed, const std::string& name) {
    std::vector<uint64_t> numbers(name.begin(), name.end());
    numbers.push_back(seed);
    std::seed_seq sequence(numbers.begin(), numbers.end());
    generator_.seed(sequence);
  }

  // Returns a number from 0 up to, but not including, 1.
  double Next() { return static_cast<double>(generator_() >> 11) * 0x1p-53; }

  absl::StatusOr<sn::HostTensor> Draw(const FunctionInput& input) {
    SINTER_ASSIGN_OR_RETURN(sn::HostTensor tensor, sn::HostTensor::Empty(input.dtype(), input.shape));
    if (input.kind == FunctionInput::Kind::kReal) {
      for (float& x : *tensor.MutableSpan<float>()) {
        x = static_cast<float>(input.low + (input.high - input.low) * Next());
      }
    } else if (input.kind == FunctionInput::Kind::kTruth) {
      for (bool& x : *tensor.MutableSpan<bool>()) x = Next() < 0.5;
    } else if (input.kind == FunctionInput::Kind::kWhole) {
      for (int32_t& x : *tensor.MutableSpan<int32_t>()) {
        x = static_cast<int32_t>(std::floor(input.low + (input.high - input.low) * Next()));
      }
    } else {
      DrawDistinct(*tensor.MutableSpan<int32_t>(), static_cast<size_t>(input.high));
    }
    return tensor;
  }

 private:
  void DrawDistinct(std::span<int32_t> numbers, size_t limit) {
    std::vector<int32_t> all(limit);
    for (size_t i = 0; i < limit; ++i) all[i] = static_cast<int32_t>(i);
    for (size_t i = 0; i < numbers.size(); ++i) {
      std::swap(all[i], all[i + static_cast<size_t>(Next() * static_cast<double>(limit - i))]);
      numbers[i] = all[i];
    }
  }

  std::mt19937_64 generator_;
};

std::vector<FunctionCase> AllCases() {
  std::vector<FunctionCase> all;
  for (const auto& family :
       {sn::bench::PointwiseFunctions(), sn::bench::ShapeFunctions(), sn::bench::LinearFunctions(),
        sn::bench::ImageFunctions(), sn::bench::LayerFunctions(), sn::bench::LossFunctions(),
        sn::bench::OptimizerFunctions(), sn::bench::EdgeFunctions()}) {
    all.insert(all.end(), family.begin(), family.end());
  }
  return all;
}

// Returns the parameters that the body has made so far.
std::vector<sn::Variable> ParametersOf(const sn::Graph& graph) {
  std::vector<sn::Variable> parameters = graph.variables();
  std::erase_if(parameters, [](const sn::Variable& v) { return !v.trainable(); });
  return parameters;
}

void BuildGradients(sn::Builder& b, const sn::Graph& graph, const std::vector<sn::Tensor>& inputs,
                    const std::vector<sn::Tensor>& results) {
  sn::Tensor loss = b.Zeros(sn::F32, {});
  bool has_floats = false;
  for (size_t i = 0; i < results.size(); ++i) {
    if (results[i].dtype() != sn::F32) continue;
    const sn::Tensor factors = b.RandomUniform(sn::F32, results[i].shape(), -1, 1);
    b.Output(absl::StrCat("w", i), factors);
    loss = loss + sn::Sum(results[i] * factors);
    has_floats = true;
  }
  if (!has_floats) return;
  std::vector<std::string> names;
  std::vector<sn::Tensor> operands;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].dtype() != sn::F32) continue;
    names.push_back(absl::StrCat("d", i));
    operands.push_back(inputs[i]);
  }
  for (const sn::Variable& parameter : ParametersOf(graph)) {
    names.push_back(absl::StrCat("d:", parameter.name()));
    operands.push_back(b.Read(parameter));
  }
  if (operands.empty()) return;
  const std::vector<sn::Tensor> gradients = sn::Gradients(loss, operands, {.allow_unused = true});
  for (size_t i = 0; i < gradients.size(); ++i) b.Output(names[i], gradients[i]);
}

void Build(sn::Graph& graph, const FunctionCase& function) {
  graph.Function("call", function.mode, [&](sn::Builder& b) {
    sn::bench::Call call{b, {}};
    for (size_t i = 0; i < function.inputs.size(); ++i) {
      const FunctionInput& input = function.inputs[i];
      call.inputs.push_back(b.Input(absl::StrCat("in", i), input.dtype(), input.shape));
    }
    const std::vector<sn::Tensor> results = function.call(call).tensors;
    for (size_t i = 0; i < results.size(); ++i) b.Output(absl::StrCat("out", i), results[i]);
    if (function.runs == 1) BuildGradients(b, graph, call.inputs, results);
  });
}

absl::Status Append(const FunctionCase& function, const Options& options, Values& values) {
  sn::Graph graph(function.name, {.seed = static_cast<int64_t>(options.seed)});
  Build(graph, function);
  SINTER_ASSIGN_OR_RETURN(sn::Plan plan, sn::Compile(graph, {.device = options.device}));
  SINTER_ASSIGN_OR_RETURN(sn::Session session, sn::Session::Create(std::move(plan)));
  Drawer drawer(options.seed, function.name);
  const std::string prefix = function.name + "/";
  for (const sn::Variable& parameter : ParametersOf(graph)) {
    SINTER_ASSIGN_OR_RETURN(sn::HostTensor value, drawer.Draw(sn::bench::Floats(parameter.shape(), -1, 1)));
    SINTER_RETURN_IF_ERROR(session.WriteVariable(parameter.name(), value));
    values.push_back({absl::StrCat(prefix, "p:", parameter.name()), std::move(value)});
  }
  std::vector<std::pair<std::string, sn::HostTensor>> inputs;
  for (size_t i = 0; i < function.inputs.size(); ++i) {
    SINTER_ASSIGN_OR_RETURN(sn::HostTensor value, drawer.Draw(function.inputs[i]));
    inputs.emplace_back(absl::StrCat("in", i), std::move(value));
  }
  std::vector<sn::Argument> arguments;
  for (const auto& [name, value] : inputs) arguments.push_back({name, value});
  for (int run = 1; run < function.runs; ++run) {
    SINTER_RETURN_IF_ERROR(session.Run("call", arguments).status());
  }
  SINTER_ASSIGN_OR_RETURN(const sn::Outputs outputs, session.Run("call", arguments));
  for (size_t i = 0; i < outputs.size(); ++i) {
    SINTER_ASSIGN_OR_RETURN(const sn::HostTensor* output, outputs.Get(outputs.name(i)));
    SINTER_ASSIGN_OR_RETURN(sn::HostTensor value, output->Clone());
    values.push_back({absl::StrCat(prefix, std::string(outputs.name(i))), std::move(value)});
  }
  for (auto& [name, value] : inputs) values.push_back({prefix + name, std::move(value)});
  return absl::OkStatus();
}

// Writes the values of the cases that succeed, and returns the exit status.
int Write(const std::vector<FunctionCase>& cases, const Options& options) {
  Values values;
  int failures = 0;
  for (const FunctionCase& function : cases) {
    if (const absl::Status status = Append(function, options, values); !status.ok()) {
      std::cerr << "sinter_function_values: " << function.name << ": " << status.message() << "\n";
      ++failures;
    }
  }
  if (const absl::Status status = sn::SaveSafetensors(options.values, values); !status.ok()) {
    std::cerr << "sinter_function_values: " << status.message() << "\n";
    return 1;
  }
  return failures == 0 ? 0 : 1;
}

int Main(const Options& options, bool list) {
  std::vector<FunctionCase> cases = AllCases();
  for (const std::string& name : options.names) {
    if (std::ranges::find(cases, name, &FunctionCase::name) != cases.end()) continue;
    std::cerr << "sinter_function_values: no function \"" << name << "\"; see --list\n";
    return 2;
  }
  if (!options.names.empty()) {
    std::erase_if(cases, [&](const FunctionCase& function) {
      return std::ranges::find(options.names, function.name) == options.names.end();
    });
  }
  if (!list) return Write(cases, options);
  for (const FunctionCase& function : cases) std::cout << function.name << "\n";
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  bool list = false;
  std::string device = "cpu:0";
  CLI::App app{"Writes inputs, results and gradients of the public functions."};
  CLI::Option* const list_option = app.add_flag("--list", list, "print the names, and compute nothing");
  app.add_option("--values", options.values, "safetensors file to write")->excludes(list_option);
  app.add_option("--device", device, "cpu:0 or gpu:0")->capture_default_str();
  app.add_option("--seed", options.seed, "decides the inputs")->capture_default_str();
  app.add_option("names", options.names, "calls to compute; all if there are none");
  CLI11_PARSE(app, argc, argv);
  const absl::StatusOr<sn::Device> parsed = sn::Device::Parse(device);
  if (!parsed.ok() || (!list && options.values.empty())) {
    std::cerr << "sinter_function_values: "
              << (parsed.ok() ? "give --values FILE or --list" : parsed.status().message()) << "\n";
    return 2;
  }
  options.device = *parsed;
  return Main(options, list);
}
