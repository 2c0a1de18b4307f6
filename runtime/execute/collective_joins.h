// How long a device may compute beside the collectives that it has begun.
//
//   for (const Join& join : FindJoins(function, launch.steps)) ...   // Step::Join of join.collective, before join.before.
//
// A collective of a GPU runs on a stream of its own: it begins behind the steps that were given before it, and what is given
// after it does not wait. So gradients are exchanged while others are still computed. Worked out once, from the bytes that
// steps read and write: a step that reads what a collective writes, or writes what it reads or writes, comes after it.
// Collectives come one after the other in any case, and none outlasts the launch that it is in.
#ifndef SINTER_RUNTIME_EXECUTE_COLLECTIVE_JOINS_H_
#define SINTER_RUNTIME_EXECUTE_COLLECTIVE_JOINS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sinter {

namespace fb {
struct Function;
}  // namespace fb

struct Join {
  uint32_t collective;  // Index into Function.steps.
  size_t before;        // Position in the launch; behind the last: at its end.

  friend bool operator==(const Join&, const Join&) = default;
};

// For the steps of one launch, all on one device, by their indices in Function.steps. A join stands for all collectives
// before it. Ordered by `before`.
std::vector<Join> FindJoins(const fb::Function& function, std::span<const uint32_t> steps);

}  // namespace sinter

#endif  // SINTER_RUNTIME_EXECUTE_COLLECTIVE_JOINS_H_
