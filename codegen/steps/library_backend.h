// The back end of calls that become one step of a library or of a kernel of kernels/cpu, by LibraryLowerings.
//
//   std::unique_ptr<CallBackend> library = MakeLibraryBackend();
#ifndef SINTER_CODEGEN_STEPS_LIBRARY_BACKEND_H_
#define SINTER_CODEGEN_STEPS_LIBRARY_BACKEND_H_

#include <memory>

#include "sinter/codegen/steps/call_backend.h"

namespace sinter::codegen {

std::unique_ptr<CallBackend> MakeLibraryBackend();

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_STEPS_LIBRARY_BACKEND_H_
