// Identifies the call that a message between ranks belongs to; an exchange sends it first.
//
//   CallStamp stamp = CallStamp::Of(operation);                       // Sent to rank 1.
//   std::string difference = stamp.DifferenceFrom(own, /*peer=*/1, /*rank=*/0);
//   if (!difference.empty()) ...
//     // "rank 1 is at run 3, all_reduce, ..., step 0 (sum), where rank 0 is at run 2 (all ranks must ...)"
//
// A rank that skipped a run after an error, or that runs another function, may send messages of the expected
// sizes. Without the stamp the receivers would use them.
#ifndef SINTER_RUNTIME_WORLD_CALL_STAMP_H_
#define SINTER_RUNTIME_WORLD_CALL_STAMP_H_

#include <cstdint>
#include <string>

#include "sinter/runtime/world/world.h"

namespace sinter {

// Sent as raw bytes: every byte is set.
struct CallStamp {
  int64_t run = 0;
  uint64_t bytes = 0;  // Sum over the exchange's messages from the sender to this receiver.
  uint32_t session = 0;
  uint32_t function = 0;
  uint32_t tag = 0;
  char name[100] = {};  // Beginning of the operation's name.

  static CallStamp Of(const World::Operation& operation);

  // Describes how this stamp, from `peer`, differs from `own`, the call that `rank` expects. Empty if they
  // are equal.
  std::string DifferenceFrom(const CallStamp& own, int peer, int rank) const;
};
static_assert(sizeof(CallStamp) == 128);

}  // namespace sinter

#endif  // SINTER_RUNTIME_WORLD_CALL_STAMP_H_
