// Times products with weights of few bits beside those of bf16, for bench/peers/quantized.py. Prints one
// result a line in the format of bench/peers/README.md; `ms` is of one product, and `GBps` counts the bytes
// of the weights.
//
//   sinter_bench_quantized --device gpu:0 --rows 1,16 --sizes 4096x14336
//
// A run multiplies x [rows, k] by many matrices [n, k], so that no cache keeps them. The kinds: bf16 (f32 on
// CPUs) is MatMul; int8 and int4 are QuantizedMatMul with a scale a row and with groups of 128; int8_inputs
// is Int8MatMul; i8 is MatMul of i8 with a result of i32.
#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "sinter/bench/timing.h"
#include "sinter/frontend/sinter.h"
#include "sinter/runtime/host/status.h"

namespace {

namespace sn = sinter;

struct Options {
  std::string device = "cpu:0", plan;
  std::vector<std::string> sizes = {"4096x4096", "4096x14336"};  // k x n.
  std::vector<std::string> kinds = {"plain", "int8", "int4", "int8_inputs", "i8"};
  std::vector<int64_t> rows = {1, 4, 16, 64};
  int64_t megabytes = 0;  // Size of the weights of a run; 0: by the device.
  double seconds = 0.5;
};

struct Product {
  std::string kind;
  int64_t rows, k, n, count;
  double bytes;  // Size of the weights of one product.
};

sn::Tensor State(sn::Builder& b, const std::string& name, sn::DType dtype, const sn::Shape& shape) {
  return b.Read(b.MakeVariable(name, dtype, shape, {.init = {.a = 1}, .trainable = false}));
}

sn::Tensor Multiply(sn::Builder& b, const Product& p, const sn::Tensor& x, const std::string& name) {
  const auto scales = [&](int64_t groups) { return State(b, name + "_scales", sn::F32, {p.n, groups}); };
  if (p.kind == "int4") {
    return sn::QuantizedMatMul(x, State(b, name, sn::DType::kU8, {p.n, p.k / 2}), scales(p.k / 128));
  }
  if (p.kind == "plain") return sn::MatMul(x, State(b, name, x.dtype(), {p.n, p.k}), {.transpose_b = true});
  const sn::Tensor values = State(b, name, sn::DType::kI8, {p.n, p.k});
  if (p.kind == "int8") return sn::QuantizedMatMul(x, values, scales(1));
  if (p.kind == "int8_inputs") return sn::Int8MatMul(x, values, scales(1));
  return sn::MatMul(sn::Cast(x, sn::DType::kI8), values, {.transpose_b = true, .result = sn::DType::kI32});
}

absl::Status Measure(const Product& p, const Options& o, sn::Device device) {
  const sn::DType type = device.is_cpu() ? sn::F32 : sn::BF16;
  sn::Graph graph("quantized");
  graph.Function("run", sn::Mode::kEval, [&](sn::Builder& b) {
    const sn::Tensor x = State(b, "x", type, {p.rows, p.k});
    for (int64_t i = 0; i < p.count; ++i) {
      b.Output(absl::StrCat("y", i), Multiply(b, p, x, absl::StrCat("w", i)));
    }
  });
  SINTER_ASSIGN_OR_RETURN(sn::Plan plan, sn::Compile(graph, {.device = device}));
  if (!o.plan.empty()) SINTER_RETURN_IF_ERROR(plan.Save(o.plan));
  SINTER_ASSIGN_OR_RETURN(sn::Session session, sn::Session::Create(std::move(plan)));
  SINTER_ASSIGN_OR_RETURN(sn::BoundFunction run, session.Bind("run"));
  SINTER_ASSIGN_OR_RETURN(const sn::bench::Timing timing,
                          sn::bench::TimeRuns(session, run, device, o.seconds));
  const double count = static_cast<double>(p.count);
  const nlohmann::ordered_json result = {{"workload", absl::StrCat(p.rows, "x", p.k, "x", p.n)},
                                         {"peer", "sinter"},
                                         {"mode", p.kind},
                                         {"ms", timing.ms / count},
                                         {"min_ms", timing.min_ms / count},
                                         {"runs", timing.runs},
                                         {"GBps", p.bytes * count / timing.ms / 1e6}};
  std::cout << result.dump() << std::endl;
  return absl::OkStatus();
}

absl::Status MeasureAll(const Options& o) {
  SINTER_ASSIGN_OR_RETURN(const sn::Device device, sn::Device::Parse(o.device));
  const bool is_cpu = device.is_cpu();
  const double run_bytes = static_cast<double>(o.megabytes > 0 ? o.megabytes : is_cpu ? 128 : 512) * 1e6;
  for (const std::string& size : o.sizes) {
    const std::vector<std::string> parts = absl::StrSplit(size, 'x');
    int64_t k = 0, n = 0;
    if (parts.size() != 2 || !absl::SimpleAtoi(parts[0], &k) || !absl::SimpleAtoi(parts[1], &n) || k <= 0 ||
        n <= 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", size, "\" is no size; expected one such as 4096x14336"));
    }
    for (const int64_t rows : o.rows) {
      for (const std::string& kind : o.kinds) {
        const double element = kind == "int4" ? 0.5 : kind == "plain" ? (is_cpu ? 4 : 2) : 1;
        const double bytes = element * static_cast<double>(k) * static_cast<double>(n);
        const int64_t count = std::max<int64_t>(1, static_cast<int64_t>(run_bytes / bytes));
        SINTER_RETURN_IF_ERROR(Measure({kind, rows, k, n, count, bytes}, o, device));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  Options o;
  CLI::App app{"Times products with weights of few bits."};
  app.add_option("--device", o.device, "cpu:0 or gpu:0")->capture_default_str();
  app.add_option("--sizes", o.sizes, "k x n of the weights")->delimiter(',')->capture_default_str();
  app.add_option("--rows", o.rows, "rows of x")->delimiter(',')->capture_default_str();
  app.add_option("--kinds", o.kinds)
      ->delimiter(',')
      ->capture_default_str()
      ->check(CLI::IsMember({"plain", "int8", "int4", "int8_inputs", "i8"}));
  app.add_option("--megabytes", o.megabytes, "of the weights of a run; 0: more than the device's caches");
  app.add_option("--seconds", o.seconds)->capture_default_str();
  app.add_option("--plan", o.plan, "file for the last plan");
  CLI11_PARSE(app, argc, argv);
  if (const absl::Status status = MeasureAll(o); !status.ok()) {
    std::cerr << "sinter_bench_quantized: " << status << "\n";
    return 1;
  }
  return 0;
}
