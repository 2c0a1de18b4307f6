// The program `sinter-import`: ONNX models to plans. `sinter import` and `sinter onnx-test` run it.
//
//   sinter-import import det.onnx -o det.plan --shape x=1,3,48,160 --device gpu:0
//   sinter-import onnx-test /usr/share/libonnx-testdata/data --jobs 2
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "sinter/frontend/compile/compile.h"
#include "sinter/frontend/onnx/import.h"
#include "sinter/runtime/formats/file.h"
#include "sinter/runtime/host/status.h"
#include "sinter/tools/compile_options.h"
#include "sinter/tools/exit_code.h"
#include "sinter/tools/onnx/onnx_suite.h"

namespace {

using sinter::OnnxOptions;

struct ImportArguments {
  std::string model, output, weights = "constants";
  std::vector<std::string> shapes, dims, binds, absent;
  bool print_graph = false, own_random = false;
};

// "x=1,3,48,160". The name may have a "=" too.
absl::Status Numbered(const std::string& text, const char* option, std::string& name,
                      sinter::Shape& numbers) {
  const size_t at = text.rfind('=');
  const absl::Status bad = absl::InvalidArgumentError(absl::StrCat(option, " ", text, ": write NAME=1,2,3"));
  if (at == std::string::npos || at == 0) return bad;
  name = text.substr(0, at);
  if (at + 1 == text.size()) return absl::OkStatus();  // Rank 0.
  for (const std::string& part : std::vector<std::string>(absl::StrSplit(text.substr(at + 1), ','))) {
    int64_t number = 0;
    if (!absl::SimpleAtoi(part, &number)) return bad;
    numbers.push_back(number);
  }
  return absl::OkStatus();
}

// The type of an input, for the numbers that are bound to it.
sinter::DType TypeOf(const sinter::OnnxModel& model, const std::string& name) {
  for (const sinter::OnnxInput& input : model.inputs()) {
    if (input.name == name && input.dtype) return *input.dtype;
  }
  return sinter::I64;
}

absl::Status Bind(const sinter::OnnxModel& model, const std::string& text, OnnxOptions& options) {
  std::string name;
  sinter::Shape numbers;
  SINTER_RETURN_IF_ERROR(Numbered(text, "--bind", name, numbers));
  sinter::Shape shape = {static_cast<int64_t>(numbers.size())};
  for (const sinter::OnnxInput& input : model.inputs()) {
    if (input.name == name && input.shape && input.shape->empty()) shape = {};
  }
  if (options.shapes.contains(name)) shape = options.shapes.at(name);
  const sinter::DType dtype = TypeOf(model, name);
  SINTER_ASSIGN_OR_RETURN(sinter::HostTensor value, sinter::HostTensor::Empty(dtype, shape));
  if (value.num_elements() != static_cast<int64_t>(numbers.size())) {
    return absl::InvalidArgumentError(
        absl::StrCat("--bind ", text, ": ", numbers.size(), " numbers for ", value.ToString()));
  }
  auto* bytes = static_cast<std::byte*>(value.mutable_data());
  for (size_t i = 0; i < numbers.size(); ++i) {
    SINTER_RETURN_IF_ERROR(
        sinter::StoreNumber(numbers[i], dtype, bytes + static_cast<int64_t>(i) * sinter::SizeOf(dtype)));
  }
  options.bind[name] = std::make_shared<const sinter::HostTensor>(std::move(value));
  return absl::OkStatus();
}

absl::StatusOr<OnnxOptions> OptionsOf(const sinter::OnnxModel& model, const ImportArguments& arguments) {
  OnnxOptions options;
  for (const std::string& text : arguments.shapes) {
    std::string name;
    sinter::Shape shape;
    SINTER_RETURN_IF_ERROR(Numbered(text, "--shape", name, shape));
    options.shapes[name] = shape;
  }
  for (const std::string& text : arguments.dims) {
    std::string name;
    sinter::Shape size;
    SINTER_RETURN_IF_ERROR(Numbered(text, "--dim", name, size));
    if (size.size() != 1) return absl::InvalidArgumentError("--dim " + text + ": write NAME=8");
    options.dims[name] = size[0];
  }
  for (const std::string& text : arguments.binds) SINTER_RETURN_IF_ERROR(Bind(model, text, options));
  options.absent.insert(arguments.absent.begin(), arguments.absent.end());
  options.own_random = arguments.own_random;
  options.weights = arguments.weights == "constants"   ? OnnxOptions::Weights::kConstants
                    : arguments.weights == "variables" ? OnnxOptions::Weights::kVariables
                                                       : OnnxOptions::Weights::kTrainable;
  return options;
}

absl::Status Import(const ImportArguments& arguments, const sinter::tools::CompileArguments& compile) {
  SINTER_ASSIGN_OR_RETURN(const sinter::CompileOptions options, compile.Options());
  SINTER_ASSIGN_OR_RETURN(const sinter::OnnxModel model, sinter::OnnxModel::Open(arguments.model));
  SINTER_ASSIGN_OR_RETURN(const OnnxOptions import, OptionsOf(model, arguments));
  SINTER_ASSIGN_OR_RETURN(const sinter::Graph graph, sinter::ImportGraph(model, import));
  if (arguments.print_graph) std::cout << graph.ToString();
  sinter::CompileReport report;
  absl::StatusOr<sinter::Plan> plan = sinter::Compile(graph, options, &report);
  compile.PrintDumps(report);
  SINTER_RETURN_IF_ERROR(plan.status());
  compile.PrintReports(report, *plan);
  return arguments.output.empty() ? absl::OkStatus() : plan->Save(arguments.output);
}

struct TestArguments {
  sinter::tools::OnnxSuiteOptions suite;
  std::vector<std::string> lists;
  std::string write_list;
};

absl::Status Test(TestArguments arguments, const sinter::tools::CompileArguments& compile) {
  SINTER_ASSIGN_OR_RETURN(arguments.suite.compile, compile.Options());
  arguments.suite.compile.threads = 1;
  SINTER_ASSIGN_OR_RETURN(const sinter::tools::OnnxSuiteResult result,
                          sinter::tools::RunOnnxSuite(arguments.suite));
  std::cout << sinter::tools::OnnxSuiteText(result);
  if (!arguments.write_list.empty()) {
    SINTER_RETURN_IF_ERROR(
        sinter::WriteFileAtomically(arguments.write_list, sinter::tools::OnnxCaseList(result)));
  }
  if (!arguments.lists.empty()) return sinter::tools::CompareWithLists(result, arguments.lists);
  const int failed = result.Count(sinter::tools::OnnxOutcome::kFailed);
  return failed == 0 ? absl::OkStatus()
                     : absl::FailedPreconditionError(absl::StrCat(failed, " cases failed"));
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Compiles ONNX models to plans, and runs the test cases of the ONNX standard."};
  app.require_subcommand(1);
  CLI::App* import = app.add_subcommand("import", "Compiles an ONNX model to a plan");
  ImportArguments arguments;
  import->add_option("model", arguments.model, "an .onnx file")->required();
  import->add_option("-o,--output", arguments.output,
                     "plan file to write; without it, only checks and reports");
  import->add_option("--shape", arguments.shapes,
                     "shape of an input, as x=1,3,48,160; x.0, x.1 ... of a list");
  import->add_option("--dim", arguments.dims, "size of a named dimension of the inputs, as batch=1");
  import->add_option("--bind", arguments.binds, "integers of an input that is known now, as shape=2,-1");
  import->add_option("--absent", arguments.absent, "an optional input that is not given");
  import->add_option("--weights", arguments.weights, "what weights are in the plan")
      ->check(CLI::IsMember({"constants", "variables", "trainable"}))
      ->capture_default_str();
  import->add_flag("--own-random", arguments.own_random,
                   "import ops that draw random numbers, with numbers of another generator");
  import->add_flag("--print-graph", arguments.print_graph, "print the program before any pass");
  const sinter::tools::CompileArguments compile(*import);
  CLI::App* test = app.add_subcommand("onnx-test", "Runs the test cases of the ONNX standard in a folder");
  TestArguments tests;
  test->add_option("folder", tests.suite.folder, "the folder; cases are folders in it with a model.onnx")
      ->required();
  test->add_option("--filter", tests.suite.filter, "only cases whose name has this text");
  test->add_option("--jobs", tests.suite.jobs, "cases at a time; 0: one a core")->capture_default_str();
  test->add_option(
      "--list", tests.lists,
      "lists of cases with their codes; a difference from the one that has these cases is an error");
  test->add_option("--write-list", tests.write_list, "write such a list");
  const sinter::tools::CompileArguments compile_tests(*test);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return sinter::tools::ExitCode(app, error);
  }
  if (import->parsed()) return sinter::tools::ExitCode("sinter import", Import(arguments, compile));
  return sinter::tools::ExitCode("sinter onnx-test", Test(std::move(tests), compile_tests));
}
