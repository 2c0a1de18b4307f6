#include "sinter/tools/plan_text.h"

#include <algorithm>
#include <cctype>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "sinter/runtime/host/dtype.h"
#include "sinter/runtime/plan/collective.h"
#include "sinter/runtime/plan/plan_devices.h"

namespace sinter::tools {

namespace {

std::string Text(const flatbuffers::String* text) { return text == nullptr ? "" : text->str(); }

std::string Scaled(double value, const char* unit) {
  static constexpr const char* kPrefixes[] = {"", "k", "M", "G", "T", "P"};
  int prefix = 0;
  while (value >= 1000 && prefix < 5) {
    value /= 1000;
    ++prefix;
  }
  return absl::StrFormat("%.*f %s%s", prefix == 0 ? 0 : 2, value, kPrefixes[prefix], unit);
}

std::string TypesText(const fb::Function& function, const flatbuffers::Vector<uint32_t>* buffers) {
  std::vector<std::string> types;
  for (uint32_t buffer : OrEmpty(buffers))
    types.push_back(TypeText(*function.buffers()->Get(buffer)->type()));
  // The optimizer's fused kernel over all parameters has hundreds of operands.
  size_t count = types.size();
  if (count > 6) {
    types.resize(4);
    types.push_back(absl::StrCat("... ", count - 4, " more"));
  }
  return absl::StrJoin(types, ", ");
}

}  // namespace

std::string LocationText(const fb::Plan& plan, uint32_t location) {
  if (plan.locations() == nullptr || location >= plan.locations()->size()) return "-";
  const fb::SourceLocation& l = *plan.locations()->Get(location);
  std::string file = Text(l.file()), what = Text(l.what());
  if (file.empty()) return what.empty() ? "-" : what;
  return absl::StrCat(file.substr(file.rfind('/') + 1), ":", l.line(), what.empty() ? "" : " ", what);
}

std::string LocationsText(const fb::Plan& plan, const fb::Step& step, int most) {
  std::vector<std::string> texts;
  if (step.locations() != nullptr) {
    for (uint32_t location : *step.locations()) {
      std::string text = LocationText(plan, location);
      if (text != "-" && std::ranges::find(texts, text) == texts.end()) texts.push_back(std::move(text));
    }
  }
  if (texts.empty()) return "-";
  int more = static_cast<int>(texts.size()) - most;
  if (more > 0) texts.resize(static_cast<size_t>(most));
  return absl::StrCat(absl::StrJoin(texts, ", "), more > 0 ? absl::StrCat(" and ", more, " more") : "");
}

std::string TypeText(const fb::TensorType& type) {
  std::string shape =
      type.shape() == nullptr ? "" : absl::StrJoin(type.shape()->begin(), type.shape()->end(), ",");
  std::string_view name = DTypeName(static_cast<DType>(type.dtype()));
  return absl::StrCat(absl::string_view(name.data(), name.size()), "[", shape, "]");
}

std::string SignatureText(const fb::Function& function, const fb::Step& step) {
  return absl::StrCat(TypesText(function, step.inputs()), " -> ", TypesText(function, step.outputs()));
}

std::string PlaceText(const fb::Plan& plan, const fb::Function& function, const fb::Step& step) {
  if (NumDevices(plan) == 1) return "";
  std::string to = DeviceOf(plan, step.device()).ToString();
  if (!IsBetweenDevices(function, step)) return to;
  const fb::Buffer& from = *function.buffers()->Get(step.inputs()->Get(0));
  return absl::StrCat(DeviceOf(plan, from.device()).ToString(), " to ", to);
}

std::string BytesText(double bytes) { return Scaled(bytes, "B"); }

std::string FlopsText(double flops) { return flops > 0 ? Scaled(flops, "FLOP") : "-"; }

std::string CopiesText(const fb::Plan& plan) {
  std::string text;
  for (const fb::Function* function : OrEmpty(plan.functions())) {
    for (const fb::Step* step : OrEmpty(function->steps())) {
      const fb::CopyStep* copy = step->body_as_CopyStep();
      if (copy == nullptr) continue;
      std::string place = PlaceText(plan, *function, *step);
      absl::StrAppend(&text, "copy in ", Text(function->name()), ": ",
                      BytesText(static_cast<double>(copy->bytes())), ", ", SignatureText(*function, *step),
                      ", ", LocationsText(plan, *step, 3), place.empty() ? "" : ", ", place, "\n");
    }
  }
  return text;
}

}  // namespace sinter::tools
