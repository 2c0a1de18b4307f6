// The program `sinter-compile`: compiles a program in MLIR text, as Graph::ToString() prints it, to a plan.
//
//   sinter-compile lenet.mlir -o lenet.plan --target-cpu=x86-64-v3 --report=fusion,time
//   sinter-compile lenet.mlir --dump=fuse
#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_join.h"
#include "sinter/frontend/compile/compile.h"
#include "sinter/runtime/formats/file.h"
#include "sinter/runtime/host/status.h"
#include "sinter/tools/exit_code.h"
#include "sinter/tools/plan_text.h"

namespace {

struct Options {
  std::string program;
  std::string output;
  std::vector<std::string> reports;
  std::string layout = "auto";
  sinter::CompileOptions compile;
};

absl::Status CheckReports(const std::vector<std::string>& reports) {
  static const std::vector<std::string> kKnown = {"fusion", "memory", "time", "copies", "casts", "kernels"};
  for (const std::string& report : reports) {
    if (std::ranges::find(kKnown, report) != kKnown.end()) continue;
    return absl::InvalidArgumentError("--report=" + report + ": reports are " + absl::StrJoin(kKnown, ", "));
  }
  return absl::OkStatus();
}

void PrintReport(const std::string& which, const sinter::CompileReport& report, const sinter::Plan& plan) {
  if (which == "fusion") {
    for (const std::string& line : report.fusion) std::cout << line << "\n";
  } else if (which == "memory") {
    for (const std::string& line : report.memory) std::cout << line << "\n";
  } else if (which == "casts") {
    for (const std::string& line : report.casts) std::cout << line << "\n";
  } else if (which == "kernels") {
    for (const std::string& line : report.kernels) std::cout << line << "\n";
  } else if (which == "time") {
    sinter::CompileReport times;
    times.stage_ms = report.stage_ms;
    std::cout << times.ToString();
  } else {
    std::string copies = sinter::tools::CopiesText(plan.table());
    std::cout << (copies.empty() ? "no copies\n" : copies);
  }
}

absl::Status Compile(Options options) {
  SINTER_RETURN_IF_ERROR(CheckReports(options.reports));
  static const std::map<std::string, sinter::Layout> kLayouts = {
      {"auto", sinter::Layout::kAuto}, {"nchw", sinter::Layout::kNchw}, {"nhwc", sinter::Layout::kNhwc}};
  options.compile.image_layout = kLayouts.at(options.layout);
  options.compile.report = !options.reports.empty();
  SINTER_ASSIGN_OR_RETURN(const sinter::FileBytes file, sinter::FileBytes::Read(options.program));
  sinter::CompileReport report;
  absl::StatusOr<sinter::Plan> plan =
      sinter::CompileText(file.text(), options.program, options.compile, &report);
  // If a stage fails, print the results of the earlier stages: the error message refers to them.
  for (const std::string& stage : options.compile.dump_stages) {
    for (const auto& [name, dump] : report.dumps) {
      if (stage == name || stage == "all") std::cout << "// " << name << "\n" << dump << "\n";
    }
  }
  SINTER_RETURN_IF_ERROR(plan.status());
  for (const std::string& which : options.reports) PrintReport(which, report, *plan);
  return options.output.empty() ? absl::OkStatus() : plan->Save(options.output);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Compiles a program in MLIR text to a plan."};
  Options options;
  bool no_fuse = false, no_epilogues = false, no_in_place = false, no_reuse = false, no_keep_casts = false;
  bool no_pad_products = false;
  app.add_option("program", options.program, "the program's .mlir file")->required();
  app.add_option("-o,--output", options.output,
                 "plan file to write; without it, only checks, reports and dumps");
  app.add_option(
         "--target-cpu", options.compile.target_cpu.names,
         "native, or names like x86-64-v3 or znver4; several names: code for each, a run uses the best")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--threads", options.compile.threads, "number of compiler threads; 0: one per core")
      ->capture_default_str();
  app.add_option("--report", options.reports, "print reports: fusion, memory, time, copies, casts, kernels")
      ->delimiter(',');
  app.add_option("--dump", options.compile.dump_stages,
                 "print the IR after these stages: all, " + absl::StrJoin(sinter::StageNames(), ", "))
      ->delimiter(',');
  app.add_option("--layout", options.layout, "layout of images in convolutions and pooling")
      ->check(CLI::IsMember({"auto", "nchw", "nhwc"}))
      ->capture_default_str();
  app.add_option("--memory-limit", options.compile.memory_limit, "maximum bytes per device; 0: no limit")
      ->capture_default_str();
  app.add_option("--row-chunk-bytes", options.compile.row_chunk_bytes,
                 "maximum bytes of logits in memory at once; 0: no limit")
      ->capture_default_str();
  app.add_flag("--no-fuse", no_fuse, "one kernel per op");
  app.add_flag("--no-fuse-epilogues", no_epilogues, "do not fuse biases and activations into library calls");
  app.add_flag("--no-keep-casts", no_keep_casts,
               "cast variables to bf16 or f16 in every run instead of keeping replicas");
  app.add_flag("--no-pad-products", no_pad_products, "leave the sizes of matmuls as they are");
  app.add_flag("--no-in-place", no_in_place, "no step writes over its inputs");
  app.add_flag("--no-reuse-memory", no_reuse, "every value gets its own memory");
  app.add_flag("--check-indices", options.compile.check_indices,
               "runs report the op with an index out of range");
  app.add_flag("--verify-each-pass", options.compile.verify_each_pass,
               "run the IR verifier after every pass");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return sinter::tools::ExitCode(app, error);
  }
  options.compile.fuse = !no_fuse;
  options.compile.fuse_epilogues = !no_epilogues;
  options.compile.keep_casts = !no_keep_casts;
  if (no_pad_products) options.compile.pad_products = sinter::PadProducts::kNever;
  options.compile.in_place = !no_in_place;
  options.compile.reuse_memory = !no_reuse;
  return sinter::tools::ExitCode("sinter-compile", Compile(std::move(options)));
}
