// Converts MPI error codes to absl::Status.
//
//   SINTER_RETURN_IF_ERROR(MpiStatus(MPI_Barrier(communicator), "wait for all ranks"));
//
// `what` completes "MPI could not ...". All errors are Unavailable: they come from MPI, its network or
// another rank.
#ifndef SINTER_RUNTIME_MPI_MPI_STATUS_H_
#define SINTER_RUNTIME_MPI_MPI_STATUS_H_

#include <mpi.h>

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace sinter {

inline std::string MpiErrorText(int code) {
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0, is_begun = 0;
  // Before MPI_Init, MPI_Error_string would end the program.
  if (MPI_Initialized(&is_begun) != MPI_SUCCESS || is_begun == 0) return absl::StrCat("error ", code);
  if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) return absl::StrCat("error ", code);
  return {text, static_cast<size_t>(length)};
}

inline absl::Status MpiStatus(int code, std::string_view what) {
  if (code == MPI_SUCCESS) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("MPI could not ", std::string(what), " (", MpiErrorText(code), ")"));
}

}  // namespace sinter

#endif  // SINTER_RUNTIME_MPI_MPI_STATUS_H_
