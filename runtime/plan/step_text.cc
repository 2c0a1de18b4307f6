#include "sinter/runtime/plan/step_text.h"

#include <cctype>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace sinter {

std::string SnakeCase(const std::string& name) {
  std::string result;
  for (const char c : name) {
    if (std::isupper(static_cast<unsigned char>(c)) && !result.empty()) result += '_';
    result += absl::ascii_tolower(static_cast<unsigned char>(c));
  }
  return result;
}

std::string SizesText(const flatbuffers::Vector<int64_t>* sizes) {
  return sizes == nullptr ? "" : absl::StrJoin(sizes->begin(), sizes->end(), "x");
}

std::string EpilogueText(bool has_bias, fb::Activation activation) {
  std::string text = has_bias ? " bias" : "";
  if (activation != fb::Activation::None)
    absl::StrAppend(&text, " ", SnakeCase(fb::EnumNameActivation(activation)));
  return text;
}

}  // namespace sinter
