// Links object files into a shared object, in memory, with the linker inside this process.
//
// Contract: default-visibility symbols are exported. Undefined symbols come from the embedded freestanding
// object; any other undefined symbol is an error. The bytes contain no file name, path or time. Thread-safe;
// calls queue.
//
//   SINTER_ASSIGN_OR_RETURN(std::string bytes, LinkSharedObject({object}));
#ifndef SINTER_CODEGEN_CPU_LINK_SHARED_OBJECT_H_
#define SINTER_CODEGEN_CPU_LINK_SHARED_OBJECT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace sinter::codegen {

absl::StatusOr<std::string> LinkSharedObject(const std::vector<std::string>& objects);

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_CPU_LINK_SHARED_OBJECT_H_
