// Error handling outside MLIR passes: macros that pass on absl::Status, and a CHECK for bugs in Sinter.
//
//   SINTER_RETURN_IF_ERROR(file.Close());
//   SINTER_ASSIGN_OR_RETURN(Plan plan, ReadPlan(path));
//   SINTER_CHECK(offset % 64 == 0) << "offset " << offset;   // Aborts. Only for states no user can cause.
//
// The system's Abseil (20220623) has neither absl/log nor status macros; this file replaces both.
#ifndef SINTER_RUNTIME_HOST_STATUS_H_
#define SINTER_RUNTIME_HOST_STATUS_H_

#include <cstdlib>
#include <iostream>
#include <sstream>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#define SINTER_RETURN_IF_ERROR(expr)                                                       \
  do {                                                                                     \
    if (absl::Status sinter_status_ = (expr); !sinter_status_.ok()) return sinter_status_; \
  } while (false)

// Two uses may be on one line: __COUNTER__ differs there, __LINE__ does not.
#define SINTER_STATUS_CONCAT_INNER_(a, b) a##b
#define SINTER_STATUS_CONCAT_(a, b) SINTER_STATUS_CONCAT_INNER_(a, b)
#define SINTER_ASSIGN_OR_RETURN(lhs, expr) \
  SINTER_ASSIGN_OR_RETURN_IMPL_(SINTER_STATUS_CONCAT_(sinter_statusor_, __COUNTER__), lhs, expr)
#define SINTER_ASSIGN_OR_RETURN_IMPL_(tmp, lhs, expr) \
  auto tmp = (expr);                                  \
  if (!tmp.ok()) return std::move(tmp).status();      \
  lhs = *std::move(tmp)

#define SINTER_CHECK(condition) \
  switch (0)                    \
  case 0:                       \
  default:                      \
    if (condition) {            \
    } else                      \
      ::sinter::internal_status::CheckFailure(__FILE__, __LINE__, #condition).stream()

namespace sinter::internal_status {

// The destructor, at the end of the failing statement, prints the streamed text and aborts.
class CheckFailure {
 public:
  CheckFailure(const char* file, int line, const char* condition) {
    stream_ << file << ":" << line << ": bug in Sinter: " << condition << " does not hold ";
  }
  [[noreturn]] ~CheckFailure() {
    std::cerr << stream_.str() << std::endl;
    std::abort();
  }
  std::ostream& stream() { return stream_; }

 private:
  std::ostringstream stream_;
};

}  // namespace sinter::internal_status

#endif  // SINTER_RUNTIME_HOST_STATUS_H_
