// Which call a message between ranks belongs to: goes ahead of the messages that one exchange has for a rank.
//
//   CallStamp stamp = CallStamp::Of(operation);                       // Sent to rank 1.
//   std::string difference = stamp.DifferenceFrom(own, /*peer=*/1, /*rank=*/0);
//   if (!difference.empty()) ...
//     // `rank 1 is at run 3, all_reduce, function "f", step 0 (sum), where rank 0 is at run 2 (all ranks must ...)`
//
// A rank that has skipped a run after an error, or runs another function, sends messages of the same sizes as the right ones:
// without the stamp others would add them.
#ifndef SINTER_RUNTIME_WORLD_CALL_STAMP_H_
#define SINTER_RUNTIME_WORLD_CALL_STAMP_H_

#include <cstdint>
#include <string>

#include "sinter/runtime/world/world.h"

namespace sinter {

// Travels as its bytes: all are set.
struct CallStamp {
  int64_t run = 0;
  uint64_t bytes = 0;  // Of all messages of the exchange from the sender to this receiver.
  uint32_t session = 0;
  uint32_t function = 0;
  uint32_t tag = 0;
  char name[100] = {};  // The beginning of the operation's.

  static CallStamp Of(const World::Operation& operation);

  // Empty: both are at the same call. This is what `peer` has sent, and `own` is what `rank` is at and expects.
  std::string DifferenceFrom(const CallStamp& own, int peer, int rank) const;
};
static_assert(sizeof(CallStamp) == 128);

}  // namespace sinter

#endif  // SINTER_RUNTIME_WORLD_CALL_STAMP_H_
