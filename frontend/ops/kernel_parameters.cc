#include "sinter/frontend/ops/kernel_parameters.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "sinter/frontend/graph/identifier.h"
#include "sinter/runtime/host/status.h"

namespace sinter {

namespace {

constexpr char kTypes[] =
    "float64, float32, bfloat16, float16, int8 to int64, uint8 to uint64, bool, or one letter that stands "
    "for one "
    "of them";

// Accepts the names of C, of NumPy and of Sinter.
std::optional<DType> TypeOf(const std::string& name) {
  if (name == "double") return DType::kF64;
  if (name == "float") return DType::kF32;
  if (name == "int") return DType::kI32;
  for (int i = 0; i < kNumDTypes; ++i) {
    const DType dtype = static_cast<DType>(i);
    if (!IsStored(dtype) && (kDTypes[i].numpy == name || kDTypes[i].name == name)) return dtype;
  }
  return std::nullopt;
}

// True for C++ keywords and for names that the generated text around a body defines.
bool IsTaken(const std::string& name) {
  static const auto& words = *new std::set<std::string>{
      "alignas",   "alignof",   "and",      "asm",      "auto",     "bool",    "break",     "case",
      "catch",     "char",      "class",    "const",    "continue", "default", "delete",    "do",
      "double",    "else",      "enum",     "explicit", "export",   "extern",  "false",     "float",
      "for",       "friend",    "goto",     "if",       "inline",   "int",     "long",      "mutable",
      "namespace", "new",       "not",      "operator", "or",       "private", "protected", "public",
      "raw",       "register",  "return",   "short",    "signed",   "sizeof",  "static",    "struct",
      "switch",    "template",  "this",     "throw",    "true",     "try",     "typedef",   "typeid",
      "typename",  "union",     "unsigned", "using",    "virtual",  "void",    "volatile",  "while",
      "xor",       "constexpr", "decltype", "noexcept", "nullptr",  "size_t",  "ptrdiff_t", "NULL",
      "NAN",       "INFINITY",  "M_PI"};
  return words.contains(name) || (name.size() > 1 && TypeOf(name).has_value());
}

absl::StatusOr<KernelParameter> ParseOne(const std::string& text) {
  std::vector<std::string> words = absl::StrSplit(text, absl::ByAnyChar(" \t\r\n"), absl::SkipWhitespace());
  KernelParameter parameter;
  if (!words.empty() && words[0] == "raw") {
    parameter.raw = true;
    words.erase(words.begin());
  }
  auto says = [&](const std::string& what) {
    return absl::InvalidArgumentError(absl::StrCat("has the parameter \"", text, "\": ", what));
  };
  if (words.size() != 2) return says("write a type and a name, such as T x or raw float32 x");
  parameter.name = words[1];
  if (words[0].size() == 1 && std::isalpha(static_cast<unsigned char>(words[0][0]))) {
    parameter.placeholder = words[0][0];
  } else if (std::optional<DType> dtype = TypeOf(words[0])) {
    parameter.dtype = *dtype;
  } else {
    return says(absl::StrCat("there is no type ", words[0], "; types are ", kTypes));
  }
  if (!IsIdentifier(parameter.name)) return says("its name is not one of C++");
  bool reserved = parameter.name == "i" || parameter.name == "n" || parameter.name[0] == '_' ||
                  absl::StartsWith(parameter.name, "sn_") || absl::StartsWith(parameter.name, "Sn") ||
                  IsTaken(parameter.name);
  if (reserved) {
    return says(absl::StrCat(
        parameter.name,
        " is reserved, as are i, n, words of C++, names of types and what begins with _, sn_ or Sn; "
        "choose another name"));
  }
  return parameter;
}

}  // namespace

absl::StatusOr<std::vector<KernelParameter>> ParseKernelParameters(std::string_view text) {
  std::vector<KernelParameter> parameters;
  absl::string_view all = absl::StripAsciiWhitespace(absl::string_view(text.data(), text.size()));
  if (all.empty()) return parameters;
  for (absl::string_view part : absl::StrSplit(all, ',')) {
    SINTER_ASSIGN_OR_RETURN(parameters.emplace_back(),
                            ParseOne(std::string(absl::StripAsciiWhitespace(part))));
  }
  return parameters;
}

absl::Status CheckKernelParameters(const std::vector<KernelParameter>& inputs,
                                   const std::vector<KernelParameter>& outputs) {
  std::set<std::string> names, placeholders;
  for (const auto* parameters : {&inputs, &outputs}) {
    for (const KernelParameter& p : *parameters) {
      if (!names.insert(p.name).second) {
        return absl::InvalidArgumentError(absl::StrCat("has two parameters named ", p.name, "; rename one"));
      }
      if (p.placeholder) placeholders.insert(std::string(1, p.placeholder));
    }
  }
  for (const std::string& letter : placeholders) {
    if (!names.contains(letter)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("has the parameter ", letter, " and the type ", letter, "; rename one"));
  }
  return absl::OkStatus();
}

}  // namespace sinter
