#include "sinter/ir/cost/work.h"

#include <array>
#include <cstddef>

namespace sinter::cost {
namespace {

constexpr std::array<std::string_view, kArithmetics> kArithmeticNames = {"f64",    "f32",  "tf32",
                                                                         "bf16x3", "bf16", "f16"};
constexpr std::array<std::string_view, kContractionKinds> kContractionNames = {
    "product", "conv_forward", "conv_input_grad", "conv_weight_grad", "attention", "attention_grad"};
constexpr std::array<std::string_view, kLayouts> kLayoutNames = {"nn", "tn", "nt", "tt"};
constexpr std::array<std::string_view, kExchangeKinds> kExchangeNames = {
    "all_reduce",     "reduce",     "broadcast", "all_gather",
    "reduce_scatter", "all_to_all", "send_recv", "ring_shift"};

template <typename Kind, size_t count>
std::optional<Kind> KindOf(std::string_view name, const std::array<std::string_view, count>& names) {
  for (size_t i = 0; i < count; ++i) {
    if (names[i] == name) return static_cast<Kind>(i);
  }
  return std::nullopt;
}

}  // namespace

std::string_view NameOf(Arithmetic arithmetic) { return kArithmeticNames[static_cast<size_t>(arithmetic)]; }
std::string_view NameOf(ContractionKind kind) { return kContractionNames[static_cast<size_t>(kind)]; }
std::string_view NameOf(Layout layout) { return kLayoutNames[static_cast<size_t>(layout)]; }
std::string_view NameOf(ExchangeKind kind) { return kExchangeNames[static_cast<size_t>(kind)]; }

std::optional<Arithmetic> ArithmeticOf(std::string_view name) {
  return KindOf<Arithmetic>(name, kArithmeticNames);
}
std::optional<ContractionKind> ContractionKindOf(std::string_view name) {
  return KindOf<ContractionKind>(name, kContractionNames);
}
std::optional<Layout> LayoutOf(std::string_view name) { return KindOf<Layout>(name, kLayoutNames); }
std::optional<ExchangeKind> ExchangeKindOf(std::string_view name) {
  return KindOf<ExchangeKind>(name, kExchangeNames);
}

}  // namespace sinter::cost
