#include "sinter/tools/onnx/onnx_case.h"

#include <cmath>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "sinter/frontend/onnx/import.h"
#include "sinter/frontend/onnx/test_data.h"
#include "sinter/runtime/formats/file.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/session/session.h"

namespace sinter::tools {
namespace {

// The tolerances of the standard's own runner, and wider ones for types of 16 bits.
constexpr double kRelative = 1e-3, kAbsolute = 1e-7, kHalfRelative = 1e-2;

// A case: its values by the names that a function has for them ("x", or "x.0" of a list).
struct CaseData {
  OnnxModel model;
  OnnxOptions options;
  std::map<std::string, std::shared_ptr<const HostTensor>> inputs;
  std::vector<std::pair<std::string, std::shared_ptr<const HostTensor>>> expected;
};

absl::StatusOr<OnnxData> ReadData(const std::string& path, OnnxInput::Kind kind) {
  SINTER_ASSIGN_OR_RETURN(const FileBytes file, FileBytes::Read(path));
  return ParseOnnxData(file.text(), kind);
}

// The test data has bf16 as the u16 of its bits.
std::shared_ptr<const HostTensor> AsDeclared(std::shared_ptr<const HostTensor> data,
                                             std::optional<DType> dtype) {
  if (data->dtype() != DType::kU16 || dtype != DType::kBf16) return data;
  absl::StatusOr<HostTensor> view = HostTensor::View(DType::kBf16, data->shape(), data->data());
  if (!view.ok()) return data;
  absl::StatusOr<HostTensor> copy = view->Clone();
  return copy.ok() ? std::make_shared<const HostTensor>(*std::move(copy)) : data;
}

// True if the model's own shape of an input differs: then only its type counts, and the value is bound.
bool Contradicts(const OnnxInput& input, const Shape& shape) {
  if (!input.shape) return false;
  bool fits = input.shape->size() == shape.size();
  for (size_t i = 0; fits && i < shape.size(); ++i)
    fits = (*input.shape)[i] < 0 || (*input.shape)[i] == shape[i];
  return !fits;
}

absl::Status ReadInputs(const std::string& data, CaseData& made) {
  const std::vector<OnnxInput> inputs = made.model.inputs();
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string path = absl::StrCat(data, "/input_", i, ".pb");
    if (!std::filesystem::exists(path)) {
      made.options.absent.insert(inputs[i].name);
      continue;
    }
    SINTER_ASSIGN_OR_RETURN(const OnnxData values, ReadData(path, inputs[i].kind));
    if (values.kind == OnnxInput::Kind::kOptional) made.options.absent.insert(inputs[i].name);
    for (size_t k = 0; k < values.tensors.size(); ++k) {
      const bool is_item = values.kind == OnnxInput::Kind::kList;
      const std::string name = is_item ? absl::StrCat(inputs[i].name, ".", k) : inputs[i].name;
      made.inputs[name] = AsDeclared(values.tensors[k], inputs[i].dtype);
      if (!is_item && Contradicts(inputs[i], values.tensors[k]->shape())) {
        made.options.bind[name] = made.inputs[name];
      } else {
        made.options.shapes[name] = values.tensors[k]->shape();
      }
    }
  }
  return absl::OkStatus();
}

absl::Status ReadExpected(const std::string& data, CaseData& made) {
  const std::vector<std::string> outputs = made.model.outputs();
  const std::vector<OnnxInput::Kind> kinds = OnnxOutputKinds(made.model);
  for (size_t i = 0; i < outputs.size(); ++i) {
    SINTER_ASSIGN_OR_RETURN(const OnnxData values,
                            ReadData(absl::StrCat(data, "/output_", i, ".pb"), kinds[i]));
    for (size_t k = 0; k < values.tensors.size(); ++k) {
      const bool is_item = values.kind == OnnxInput::Kind::kList;
      made.expected.emplace_back(is_item ? absl::StrCat(outputs[i], ".", k) : outputs[i], values.tensors[k]);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<CaseData> ReadCase(const std::string& folder) {
  CaseData made;
  SINTER_ASSIGN_OR_RETURN(made.model, OnnxModel::Open(folder + "/model.onnx"));
  const std::string data = folder + "/test_data_set_0";
  SINTER_RETURN_IF_ERROR(ReadInputs(data, made));
  SINTER_RETURN_IF_ERROR(ReadExpected(data, made));
  return made;
}

// Imports; inputs whose values are needed are bound, and the import begins again.
absl::StatusOr<Graph> ImportCase(CaseData& made) {
  for (;;) {
    absl::StatusOr<Graph> graph = ImportGraph(made.model, made.options);
    if (graph.ok() || OnnxErrorCode(graph.status()) != "VALUE_NEEDED") return graph;
    bool is_new = false;
    for (const std::string& name : OnnxInputsToBind(graph.status())) {
      if (made.inputs.contains(name)) is_new |= made.options.bind.emplace(name, made.inputs[name]).second;
    }
    if (!is_new) return graph;
  }
}

// Empty if the tensors agree.
std::string Difference(const HostTensor& got, const HostTensor& expected) {
  if (got.dtype() != expected.dtype() || got.shape() != expected.shape()) {
    return absl::StrCat(got.ToString(), " for ", expected.ToString());
  }
  const bool is_half = IsFloat(got.dtype()) && SizeOf(got.dtype()) == 2;
  const double relative = IsFloat(got.dtype()) ? is_half ? kHalfRelative : kRelative : 0;
  const int64_t bytes = SizeOf(got.dtype());
  for (int64_t i = 0; i < got.num_elements(); ++i) {
    const auto* const a = static_cast<const std::byte*>(got.data()) + i * bytes;
    const auto* const b = static_cast<const std::byte*>(expected.data()) + i * bytes;
    if (std::equal(a, a + bytes, b)) continue;
    const double x = LoadNumber(got.dtype(), a), y = LoadNumber(got.dtype(), b);
    if (std::isnan(x) && std::isnan(y)) continue;
    if (std::abs(x - y) <= kAbsolute + relative * std::abs(y)) continue;
    return absl::StrCat("differs at element ", i, ": ", x, " for ", y);
  }
  return "";
}

// Runs the plan; returns why the outputs are not the expected ones, empty if they are.
absl::StatusOr<std::string> RunCase(const CaseData& made, Plan plan) {
  SINTER_ASSIGN_OR_RETURN(Session session, Session::Create(std::move(plan), {.threads = 1}));
  std::vector<Argument> arguments;
  for (const auto& [name, value] : made.inputs) {
    if (!made.options.bind.contains(name)) arguments.emplace_back(name, *value);
  }
  SINTER_ASSIGN_OR_RETURN(const Outputs outputs, session.Run("main", arguments));
  if (outputs.size() != made.expected.size()) {
    return absl::StrCat(outputs.size(), " outputs for ", made.expected.size());
  }
  for (const auto& [name, expected] : made.expected) {
    SINTER_ASSIGN_OR_RETURN(const HostTensor* const got, outputs.Get(name));
    const std::string difference = Difference(*got, *AsDeclared(expected, got->dtype()));
    if (!difference.empty()) return absl::StrCat("output ", name, ": ", difference);
  }
  return std::string();
}

// Cases of the standard's data whose expected values are not those of their model, with what differs.
std::string WrongData(const std::string& name) {
  static const std::map<std::string, std::string>* const kWrong = new std::map<std::string, std::string>{
      {"test_adam_multiple",
       "the expected values are for an epsilon of 0.01, which the model does not have"}};
  const auto found = kWrong->find(name.substr(name.rfind('/') + 1));
  return found == kWrong->end() ? std::string() : found->second;
}

void Judge(const std::string& folder, const CompileOptions& compile, OnnxCaseResult& result) {
  const auto fail = [&](const absl::Status& status) {
    result.reason = std::string(status.message());
    result.outcome = OnnxErrorCode(status).empty() ? OnnxOutcome::kFailed : OnnxOutcome::kUnsupported;
  };
  absl::StatusOr<CaseData> made = ReadCase(folder);
  if (!made.ok()) return fail(made.status());
  absl::StatusOr<Graph> graph = ImportCase(*made);
  if (!graph.ok()) return fail(graph.status());
  result.bound = static_cast<int>(made->options.bind.size());
  if (made->expected.empty()) {
    result.outcome = OnnxOutcome::kPassed;
    return;
  }
  absl::StatusOr<Plan> plan = Compile(*graph, compile);
  if (!plan.ok()) return fail(plan.status());
  absl::StatusOr<std::string> difference = RunCase(*made, *std::move(plan));
  if (!difference.ok()) return fail(difference.status());
  result.reason = *difference;
  result.outcome = difference->empty() ? OnnxOutcome::kPassed : OnnxOutcome::kFailed;
}

}  // namespace

OnnxCaseResult RunOnnxCase(const std::string& folder, const std::string& name,
                           const CompileOptions& compile) {
  OnnxCaseResult result{.name = name};
  Judge(absl::StrCat(folder, "/", name), compile, result);
  if (const std::string wrong = WrongData(name); result.outcome == OnnxOutcome::kFailed && !wrong.empty()) {
    result.outcome = OnnxOutcome::kUnsupported;
    result.reason = absl::StrCat("TEST_DATA: ", wrong, ": ", result.reason);
  }
  for (char& c : result.reason) c = c == '\n' ? ' ' : c;
  return result;
}

}  // namespace sinter::tools
