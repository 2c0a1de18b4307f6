// Exit codes of the command-line programs: 0 for success, 2 for wrong arguments, 1 for any other failure.
//
//   return tools::ExitCode("sinter run", status);          // Also prints the message to standard error.
#ifndef SINTER_TOOLS_EXIT_CODE_H_
#define SINTER_TOOLS_EXIT_CODE_H_

#include <iostream>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"

namespace sinter::tools {

inline constexpr int kFailed = 1;
inline constexpr int kBadArguments = 2;

// Returns the exit code of `status`. On an error, prints its message with the program's name to standard
// error.
inline int ExitCode(const char* program, const absl::Status& status) {
  if (status.ok()) return 0;
  std::cerr << program << ": " << std::string(status.message()) << "\n";
  return absl::IsInvalidArgument(status) || absl::IsNotFound(status) ? kBadArguments : kFailed;
}

// Returns the exit code of an exception of CLI11's parser: 0 for --help and --version.
inline int ExitCode(const CLI::App& app, const CLI::ParseError& error) {
  return app.exit(error) == 0 ? 0 : kBadArguments;
}

}  // namespace sinter::tools

#endif  // SINTER_TOOLS_EXIT_CODE_H_
