// The program `sinter-compile`: compiles a program in MLIR text, as Graph::ToString() prints it, to a plan.
//
//   sinter-compile lenet.mlir -o lenet.plan --target-cpu=x86-64-v3 --report=fusion,time
//   sinter-compile lenet.mlir --dump=fuse
#include <string>

#include "CLI/CLI.hpp"
#include "sinter/frontend/compile/compile.h"
#include "sinter/runtime/formats/file.h"
#include "sinter/runtime/host/status.h"
#include "sinter/tools/compile_options.h"
#include "sinter/tools/exit_code.h"

namespace {

absl::Status Compile(const std::string& program, const std::string& output,
                     const sinter::tools::CompileArguments& arguments) {
  SINTER_ASSIGN_OR_RETURN(const sinter::CompileOptions options, arguments.Options());
  SINTER_ASSIGN_OR_RETURN(const sinter::FileBytes file, sinter::FileBytes::Read(program));
  sinter::CompileReport report;
  absl::StatusOr<sinter::Plan> plan = sinter::CompileText(file.text(), program, options, &report);
  // If a stage fails, print the results of the earlier stages: the error message refers to them.
  arguments.PrintDumps(report);
  SINTER_RETURN_IF_ERROR(plan.status());
  arguments.PrintReports(report, *plan);
  return output.empty() ? absl::OkStatus() : plan->Save(output);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Compiles a program in MLIR text to a plan."};
  std::string program, output;
  app.add_option("program", program, "the program's .mlir file")->required();
  app.add_option("-o,--output", output, "plan file to write; without it, only checks, reports and dumps");
  const sinter::tools::CompileArguments arguments(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return sinter::tools::ExitCode(app, error);
  }
  return sinter::tools::ExitCode("sinter-compile", Compile(program, output, arguments));
}
