#include "sinter/tools/compile_options.h"

#include <algorithm>
#include <iostream>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "sinter/runtime/host/status.h"
#include "sinter/tools/plan_text.h"

namespace sinter::tools {
namespace {

void PrintReport(const std::string& which, const CompileReport& report, const Plan& plan) {
  if (which == "fusion") {
    for (const std::string& line : report.fusion) std::cout << line << "\n";
  } else if (which == "memory") {
    for (const std::string& line : report.memory) std::cout << line << "\n";
  } else if (which == "casts") {
    for (const std::string& line : report.casts) std::cout << line << "\n";
  } else if (which == "kernels") {
    for (const std::string& line : report.kernels) std::cout << line << "\n";
  } else if (which == "time") {
    CompileReport times;
    times.stage_ms = report.stage_ms;
    std::cout << times.ToString();
  } else {
    const std::string copies = CopiesText(plan.table());
    std::cout << (copies.empty() ? "no copies\n" : copies);
  }
}

}  // namespace

CompileArguments::CompileArguments(CLI::App& app) {
  app.add_option("--device", device_,
                 "device of everything that the program does not place: cpu:0, gpu:0, ...")
      ->capture_default_str();
  app.add_option("--gpu-architectures", options_.gpu_architectures,
                 "native, or names like sm_90; the plan runs on GPUs that can run one of them")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option(
         "--target-cpu", options_.target_cpu.names,
         "native, or names like x86-64-v3 or znver4; several names: code for each, a run uses the best")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--threads", options_.threads, "number of compiler threads; 0: one per core")
      ->capture_default_str();
  app.add_option("--report", reports_, "print reports: fusion, memory, time, copies, casts, kernels")
      ->delimiter(',');
  app.add_option("--dump", options_.dump_stages,
                 "print the IR after these stages: all, " + absl::StrJoin(StageNames(), ", "))
      ->delimiter(',');
  app.add_option("--layout", layout_, "layout of images in convolutions and pooling")
      ->check(CLI::IsMember({"auto", "nchw", "nhwc"}))
      ->capture_default_str();
  app.add_option("--memory-limit", options_.memory_limit, "maximum bytes per device; 0: no limit")
      ->capture_default_str();
  app.add_option("--row-chunk-bytes", options_.row_chunk_bytes,
                 "maximum bytes of logits in memory at once; 0: no limit")
      ->capture_default_str();
  app.add_flag("--no-fuse", no_fuse_, "one kernel per op");
  app.add_flag("--no-fuse-epilogues", no_epilogues_, "do not fuse biases and activations into library calls");
  app.add_flag("--no-keep-casts", no_keep_casts_,
               "cast variables to bf16 or f16 in every run instead of keeping replicas");
  app.add_flag("--no-pad-products", no_pad_products_, "leave the sizes of matmuls as they are");
  app.add_flag("--no-pack-masks", no_pack_masks_, "no masks of gradients as bits");
  app.add_flag(
      "--store-again", store_again_,
      "let kernels of gradients store values of GPUs again instead of keeping them, where nearly free");
  app.add_flag("--no-in-place", no_in_place_, "no step writes over its inputs");
  app.add_flag("--no-reuse-memory", no_reuse_, "every value gets its own memory");
  app.add_flag("--check-indices", options_.check_indices, "runs report the op with an index out of range");
  app.add_flag("--verify-each-pass", options_.verify_each_pass, "run the IR verifier after every pass");
}

absl::StatusOr<CompileOptions> CompileArguments::Options() const {
  static const std::vector<std::string> kReports = {"fusion", "memory", "time", "copies", "casts", "kernels"};
  for (const std::string& report : reports_) {
    if (std::ranges::find(kReports, report) != kReports.end()) continue;
    return absl::InvalidArgumentError("--report=" + report + ": reports are " +
                                      absl::StrJoin(kReports, ", "));
  }
  static const std::map<std::string, Layout> kLayouts = {
      {"auto", Layout::kAuto}, {"nchw", Layout::kNchw}, {"nhwc", Layout::kNhwc}};
  CompileOptions options = options_;
  SINTER_ASSIGN_OR_RETURN(options.device, Device::Parse(device_));
  options.image_layout = kLayouts.at(layout_);
  options.report = !reports_.empty();
  options.fuse = !no_fuse_;
  options.fuse_epilogues = !no_epilogues_;
  options.keep_casts = !no_keep_casts_;
  if (no_pad_products_) options.pad_products = PadProducts::kNever;
  if (no_pack_masks_) options.pack_masks = PackMasks::kNever;
  if (store_again_) options.store_again = StoreAgain::kWhereNearlyFree;
  options.in_place = !no_in_place_;
  options.reuse_memory = !no_reuse_;
  return options;
}

void CompileArguments::PrintDumps(const CompileReport& report) const {
  for (const std::string& stage : options_.dump_stages) {
    for (const auto& [name, dump] : report.dumps) {
      if (stage == name || stage == "all") std::cout << "// " << name << "\n" << dump << "\n";
    }
  }
}

void CompileArguments::PrintReports(const CompileReport& report, const Plan& plan) const {
  for (const std::string& which : reports_) PrintReport(which, report, plan);
}

}  // namespace sinter::tools
