// Runs the plan that the program `whole` saved, in a world of its own.
#include <iostream>

#include "sinter/runtime/mpi/mpi_world.h"
#include "sinter/runtime/session.h"

int main(int argc, char** argv) {
  if (argc != 2) return std::cerr << "usage: with_mpi square.plan\n", 2;
  auto world = sinter::MpiWorld::Create();
  if (!world.ok()) return std::cerr << world.status() << "\n", 1;
  absl::StatusOr<sinter::Plan> plan = sinter::Plan::Load(argv[1]);
  sinter::SessionOptions options;
  options.world = world->get();
  auto session = plan.ok() ? sinter::Session::Create(*std::move(plan), options) : plan.status();
  auto x = sinter::HostTensor::FromVector<float>({4}, {1, 2, 3, 4});
  auto outputs = session.ok() ? session->Run("square", {{"x", *x}}) : session.status();
  if (!outputs.ok()) return std::cerr << outputs.status() << "\n", 1;
  auto y = (*outputs)["y"].Span<float>();
  return y.ok() && (*y)[3] == 16 ? 0 : 2;
}
