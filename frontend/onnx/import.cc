#include "sinter/frontend/onnx/import.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "sinter/frontend/onnx/importing.h"
#include "sinter/runtime/host/status.h"

namespace sinter {

absl::StatusOr<OnnxValues> Import(Builder& b, const OnnxModel& model, const OnnxValues& inputs,
                                  const OnnxOptions& options, Where where) {
  onnx::Importing importing(b, model, options, where);
  return importing.Run(inputs);
}

absl::StatusOr<Graph> ImportGraph(const OnnxModel& model, const OnnxOptions& options, Where where) {
  const std::string file = model.name().substr(model.name().find_last_of('/') + 1);
  Graph graph(file.substr(0, file.rfind('.')).empty() ? "model" : file.substr(0, file.rfind('.')));
  absl::Status status;
  graph.Function(
      "main", Mode::kEval,
      [&](Builder& b) {
        absl::StatusOr<OnnxValues> outputs = Import(b, model, {}, options, where);
        status = outputs.status();
        if (!outputs.ok()) return;
        // In the model's order, lists after one another.
        for (const std::string& name : model.outputs()) {
          if (outputs->contains(name)) b.Output(name, outputs->at(name), where);
          for (int64_t i = 0; outputs->contains(absl::StrCat(name, ".", i)); ++i) {
            const std::string item = absl::StrCat(name, ".", i);
            b.Output(item, outputs->at(item), where);
          }
        }
      },
      where);
  SINTER_RETURN_IF_ERROR(status);
  SINTER_RETURN_IF_ERROR(graph.status());
  return graph;
}

std::string OnnxErrorCode(const absl::Status& status) {
  if (!absl::IsUnimplemented(status)) return "";
  const std::string message(status.message());
  const size_t colon = message.find(':');
  const std::string code = message.substr(0, colon == std::string::npos ? 0 : colon);
  return code.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ_") == std::string::npos ? code : "";
}

std::vector<std::string> OnnxInputsToBind(const absl::Status& status) {
  const auto names = status.GetPayload("sinter/onnx-inputs");
  if (!names || names->empty()) return {};
  return absl::StrSplit(std::string(*names), '\n');
}

}  // namespace sinter
