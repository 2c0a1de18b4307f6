// Options of a benchmark for the types of a graph.
//
//   sn::bench::AddPrecisionOptions(app, options.precision, options.float8);
//
// --precision f32|bf16|f16|fp8, --float8-recipe, --float8-least-features, --float8-logits. fp8 is bf16 with
// GraphOptions::float8.
#ifndef SINTER_BENCH_PRECISION_OPTIONS_H_
#define SINTER_BENCH_PRECISION_OPTIONS_H_

#include <map>
#include <optional>
#include <string>

#include "CLI/CLI.hpp"
#include "sinter/frontend/graph/graph.h"

namespace sinter::bench {

// `precision` and `float8` must outlive the parsing.
inline void AddPrecisionOptions(CLI::App& app, std::optional<Precision>& precision, Float8& float8) {
  static const std::map<std::string, Precision> kPrecisions = {{"f32", Precision::kF32},
                                                               {"bf16", Precision::kBf16},
                                                               {"f16", Precision::kF16},
                                                               {"fp8", Precision::kBf16}};
  auto set_precision = [&](const std::string& name) {
    precision = kPrecisions.at(name);
    if (name == "fp8" && float8.recipe == Float8Recipe::kNone) float8.recipe = Float8Recipe::kTensorwise;
  };
  app.add_option_function<std::string>(
         "--precision", set_precision,
         "type of matmuls and the ops between them; fp8: bf16, and products of linear layers in 8 bits; "
         "default: bf16 for gpt2, llama and resnet50, else f32")
      ->check(CLI::IsMember(kPrecisions));
  static const std::map<std::string, Float8Recipe> kRecipes = {
      {"tensorwise", Float8Recipe::kTensorwise},
      {"rowwise", Float8Recipe::kRowwise},
      {"rowwise_with_gw_hp", Float8Recipe::kRowwiseWithWeightGradientInBf16}};
  app.add_option("--float8-recipe", float8.recipe, "GraphOptions::float8, with --precision fp8")
      ->transform(CLI::CheckedTransformer(kRecipes).description("tensorwise, rowwise or rowwise_with_gw_hp"));
  app.add_option("--float8-least-features", float8.least_features, "least rows and columns of weights")
      ->capture_default_str();
  app.add_flag("--float8-logits", float8.logits, "logits in 8 bits too");
}

}  // namespace sinter::bench

#endif  // SINTER_BENCH_PRECISION_OPTIONS_H_
