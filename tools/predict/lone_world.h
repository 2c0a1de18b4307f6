// A world of many ranks of which one alone is here, to time its steps (measured_steps.h).
//
//   LoneWorld world(/*rank=*/0, /*size=*/8);
//   Session::Create(plan, {.world = &world});            // The steps of rank 0 of 8.
//
// An exchange returns at once. The bytes that this rank sends arrive in place of those of the others, so that
// later steps compute with ordinary numbers, and as long as in a real run. The numbers themselves are wrong.
#ifndef SINTER_TOOLS_PREDICT_LONE_WORLD_H_
#define SINTER_TOOLS_PREDICT_LONE_WORLD_H_

#include "sinter/runtime/world/world.h"

namespace sinter::tools {

class LoneWorld : public World {
 public:
  LoneWorld(int rank, int size) : rank_(rank), size_(size) {}

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  absl::Status Exchange(std::span<const Transfer> transfers, const Operation& operation) override;
  bool connects() const override { return false; }
  void Abort(std::string_view) override {}

 private:
  const int rank_, size_;
};

}  // namespace sinter::tools

#endif  // SINTER_TOOLS_PREDICT_LONE_WORLD_H_
