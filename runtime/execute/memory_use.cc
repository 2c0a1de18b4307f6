#include "sinter/runtime/execute/memory_use.h"

namespace sinter {

SessionMemory& SessionMemory::operator+=(const SessionMemory& other) {
  for (int64_t SessionMemory::* const part :
       {&SessionMemory::variables, &SessionMemory::arena, &SessionMemory::input_staging,
        &SessionMemory::input_copies, &SessionMemory::thread_scratch, &SessionMemory::library_workspace,
        &SessionMemory::exchange_workspace, &SessionMemory::output_copies, &SessionMemory::exchange_staging,
        &SessionMemory::constant_copies, &SessionMemory::constants, &SessionMemory::predicted,
        &SessionMemory::used}) {
    this->*part += other.*part;
  }
  return *this;
}

}  // namespace sinter
