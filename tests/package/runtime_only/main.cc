// Runs the plan that the program `whole` saved.
#include <iostream>

#include "sinter/runtime/session.h"

int main(int argc, char** argv) {
  if (argc != 2) return std::cerr << "usage: runtime_only square.plan\n", 2;
  absl::StatusOr<sinter::Plan> plan = sinter::Plan::Load(argv[1]);
  auto session = plan.ok() ? sinter::Session::Create(*std::move(plan)) : plan.status();
  auto x = sinter::HostTensor::FromVector<float>({4}, {1, 2, 3, 4});
  auto outputs = session.ok() ? session->Run("square", {{"x", *x}}) : session.status();
  if (!outputs.ok()) return std::cerr << outputs.status() << "\n", 1;
  auto y = (*outputs)["y"].Span<float>();
  return y.ok() && (*y)[3] == 16 ? 0 : 2;
}
