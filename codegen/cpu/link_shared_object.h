// Links object files into a shared object, in memory, with the linker inside this process.
//
// Contract: default-visibility symbols are exported; what is undefined is taken from the embedded
// freestanding object or is an error. No file, path or time gets into the bytes. May be called from any
// thread; calls queue.
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
