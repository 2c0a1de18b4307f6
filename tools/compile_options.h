// The options of programs that compile, on the command line.
//
//   CompileArguments arguments(app);
//   app.parse(argc, argv);
//   SINTER_ASSIGN_OR_RETURN(Plan plan, Compile(graph, arguments.Options(), &report));
//   arguments.Print(report, plan);
#ifndef SINTER_TOOLS_COMPILE_OPTIONS_H_
#define SINTER_TOOLS_COMPILE_OPTIONS_H_

#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/statusor.h"
#include "sinter/frontend/compile/compile.h"

namespace sinter::tools {

class CompileArguments {
 public:
  // Adds the options. Must outlive the parsing.
  explicit CompileArguments(CLI::App& app);
  CompileArguments(const CompileArguments&) = delete;
  CompileArguments& operator=(const CompileArguments&) = delete;

  // InvalidArgument for an unknown report or device.
  absl::StatusOr<CompileOptions> Options() const;
  // Prints the dumps that were asked for, which is useful after an error too; and the reports.
  void PrintDumps(const CompileReport& report) const;
  void PrintReports(const CompileReport& report, const Plan& plan) const;

 private:
  CompileOptions options_;
  std::vector<std::string> reports_;
  std::string layout_ = "auto", device_ = "cpu:0";
  bool no_fuse_ = false, no_epilogues_ = false, no_in_place_ = false, no_reuse_ = false;
  bool no_keep_casts_ = false, no_pad_products_ = false, no_pack_masks_ = false, store_again_ = false;
};

}  // namespace sinter::tools

#endif  // SINTER_TOOLS_COMPILE_OPTIONS_H_
