// How the command-line programs end: 0, or 2 for arguments that are wrong, or 1 for anything else that went wrong.
//
//   return tools::ExitCode("sinter run", status);          // Prints the message to standard error.
#ifndef SINTER_TOOLS_EXIT_CODE_H_
#define SINTER_TOOLS_EXIT_CODE_H_

#include <iostream>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"

namespace sinter::tools {

inline constexpr int kFailed = 1;
inline constexpr int kBadArguments = 2;

inline int ExitCode(const char* program, const absl::Status& status) {
  if (status.ok()) return 0;
  std::cerr << program << ": " << std::string(status.message()) << "\n";
  return absl::IsInvalidArgument(status) || absl::IsNotFound(status) ? kBadArguments : kFailed;
}

// For what parsing throws: help and version end with 0.
inline int ExitCode(const CLI::App& app, const CLI::ParseError& error) {
  return app.exit(error) == 0 ? 0 : kBadArguments;
}

}  // namespace sinter::tools

#endif  // SINTER_TOOLS_EXIT_CODE_H_
