// Times factors of matrices, and systems. Prints one result a line in the format of bench/peers/README.md;
// bench/peers/linalg.py prints the same of PyTorch.
//
//   sinter_bench_linalg --device gpu:0                                # The shapes of kWorks.
//   sinter_bench_linalg --op svd --batch 64 --rows 100 --columns 40   # Another shape.
//
// The matrices stay on the device: each run factors the same variable, and writes a sum of the factors'
// elements.
#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "sinter/bench/timing.h"
#include "sinter/frontend/linalg/linalg.h"
#include "sinter/frontend/sinter.h"
#include "sinter/runtime/host/status.h"

namespace {

namespace sn = sinter;

struct Options {
  std::string device = "cpu:0", op;
  int64_t batch = 1, rows = 0, columns = 0;
  bool f64 = false;
  double seconds = 3;
};

struct Work {
  std::string op;
  int64_t batch, rows, columns;

  std::string Name() const { return absl::StrCat(op, " ", batch, "x", rows, "x", columns); }
};

const Work kWorks[] = {
    {"cholesky", 4096, 16, 16}, {"cholesky", 256, 64, 64}, {"cholesky", 1, 4096, 4096},
    {"solve", 4096, 16, 16},    {"solve", 256, 64, 64},    {"solve", 1, 4096, 4096},
    {"qr", 4096, 16, 16},       {"qr", 256, 64, 64},       {"qr", 1, 2048, 2048},
    {"eigh", 512, 32, 32},      {"eigh", 64, 128, 128},    {"eigh", 1, 1024, 1024},
    {"svd", 256, 32, 32},       {"svd", 1, 512, 512},
};

// Results of the op, of which a system's right-hand sides are the matrix itself.
std::vector<sn::Tensor> ResultsOf(const std::string& op, const sn::Tensor& a) {
  if (op == "cholesky") return {sn::linalg::Cholesky(a)};
  if (op == "solve") return {sn::linalg::Solve(a, a)};
  if (op == "qr") {
    const sn::linalg::QrResult qr = sn::linalg::Qr(a);
    return {qr.q, qr.r};
  }
  if (op == "eigh") {
    const sn::linalg::EighResult eigh = sn::linalg::Eigh(a);
    return {eigh.values, eigh.vectors};
  }
  const sn::linalg::SvdResult svd = sn::linalg::Svd(a);
  return {svd.u, svd.s, svd.vh};
}

// A matrix is random, or random and symmetric with a dominant diagonal.
sn::Tensor OperandOf(sn::Builder& b, const sn::Variable& values, const Work& work) {
  const sn::Tensor x = b.Read(values);
  if (work.op == "qr" || work.op == "svd") return x;
  const int64_t n = work.rows;
  const sn::Tensor one =
      sn::Cast(sn::Equal(b.Iota(sn::I32, {n, n}, 0), b.Iota(sn::I32, {n, n}, 1)), x.dtype());
  return x + sn::Transpose(x, {0, 2, 1}) + one * (4.0 * static_cast<double>(n));
}

// The operand is a variable of its own: a function that is not timed makes it.
sn::Graph MakeGraph(const Work& work, sn::DType dtype) {
  sn::Graph graph("linalg", {.seed = 1});
  const sn::Shape shape = {work.batch, work.rows, work.columns};
  sn::Variable values, operand, sums;
  graph.Function("prepare", sn::Mode::kEval, [&](sn::Builder& b) {
    values = b.MakeVariable("values", dtype, shape, {.init = sn::nn::Normal(1).Resolve(0, 0)});
    operand = b.MakeVariable("operand", dtype, shape, {.init = sn::nn::Normal(1).Resolve(0, 0)});
    sums = b.MakeVariable("sums", dtype, {}, {.init = sn::nn::Normal(1).Resolve(0, 0)});
    b.Assign(operand, OperandOf(b, values, work));
  });
  graph.Function("step", sn::Mode::kEval, [&](sn::Builder& b) {
    sn::Tensor sum;
    for (const sn::Tensor& result : ResultsOf(work.op, b.Read(operand))) {
      sum = sum.ok() ? sum + sn::Sum(result) : sn::Sum(result);
    }
    b.Assign(sums, sum);
  });
  return graph;
}

absl::Status Run(const Options& o, const Work& work) {
  SINTER_ASSIGN_OR_RETURN(const sn::Device device, sn::Device::Parse(o.device));
  SINTER_ASSIGN_OR_RETURN(sn::Plan plan,
                          sn::Compile(MakeGraph(work, o.f64 ? sn::F64 : sn::F32), {.device = device}));
  SINTER_ASSIGN_OR_RETURN(sn::Session session, sn::Session::Create(std::move(plan)));
  SINTER_RETURN_IF_ERROR(session.Run("prepare", {}).status());
  SINTER_ASSIGN_OR_RETURN(sn::BoundFunction step, session.Bind("step"));
  SINTER_ASSIGN_OR_RETURN(const sn::bench::Timing timing,
                          sn::bench::TimeRuns(session, step, device, o.seconds));
  const nlohmann::ordered_json result = {{"workload", work.Name()},       {"peer", "sinter"},
                                         {"mode", o.f64 ? "f64" : "f32"}, {"ms", timing.ms},
                                         {"min_ms", timing.min_ms},       {"runs", timing.runs}};
  std::cout << result.dump() << std::endl;
  return absl::OkStatus();
}

absl::Status RunAll(const Options& o) {
  if (o.rows > 0) return Run(o, {o.op, o.batch, o.rows, o.columns > 0 ? o.columns : o.rows});
  for (const Work& work : kWorks) {
    if (o.op.empty() || o.op == work.op) SINTER_RETURN_IF_ERROR(Run(o, work));
  }
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  Options o;
  CLI::App app{"Times factors of matrices, and systems."};
  app.add_option("--device", o.device, "cpu:0 or gpu:0")->capture_default_str();
  CLI::Option* const op = app.add_option("--op", o.op, "cholesky, solve, qr, eigh or svd")
                              ->check(CLI::IsMember({"cholesky", "solve", "qr", "eigh", "svd"}));
  app.add_option("--batch", o.batch, "matrices")->capture_default_str();
  app.add_option("--rows", o.rows, "rows of each")->needs(op);
  app.add_option("--columns", o.columns, "columns of each, for qr and svd; as many as rows if not given");
  app.add_flag("--f64", o.f64, "in f64");
  app.add_option("--seconds", o.seconds)->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  if (const absl::Status status = RunAll(o); !status.ok()) {
    std::cerr << "sinter_bench_linalg: " << status << "\n";
    return 1;
  }
  return 0;
}
