// Runs all-reduces, or saves checkpoints of cut variables, without end in a world of four. lost_rank_test.py
// removes one of the ranks.
//
//   mpirun -n 4 endless_sum [rank that leaves after a while [rank that pauses for some seconds]]
//   mpirun -n 4 endless_sum stuck RANK            # The rank computes without end, in the user's code.
//   mpirun -n 4 endless_sum save FILE
//   endless_sum check FILE                        # Succeeds if the file is whole.
//   endless_sum count gpus                        # Prints how many GPUs there are.
//
// With SINTER_TEST_DEVICE=gpu:0 the ranks sum on GPUs, of which there must be as many.
//
// All other ranks wait for a pausing rank.
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <map>
#include <string>
#include <string_view>

#include "sinter/runtime/host/status.h"
#include "sinter/runtime/memory/device_info.h"
#include "sinter/runtime/mpi/mpi_world.h"
#include "sinter/runtime/session/checkpoint.h"
#include "sinter/tests/runtime/collective_plans.h"
#include "sinter/tests/runtime/cut_plans.h"

namespace sinter {
namespace {

// Prints a whole line at once, so that lines of several ranks do not mix.
void Print(const std::string& line) { std::cout << line + "\n" << std::flush; }

[[noreturn]] void ComputeEndlessly() {
  for (volatile uint64_t count = 0;;) count = count + 1;
}

absl::Status Run(World& world, int leaving_rank, int pausing_rank, int stuck_rank) {
  const char* const device = std::getenv("SINTER_TEST_DEVICE");
  const bool is_gpu = device != nullptr && std::string_view(device).starts_with("gpu");
  const CollectiveCase c = {.members = static_cast<uint32_t>(world.size()),
                            .sizes = {100000},
                            .device_kind = is_gpu ? DeviceKind::kGpu : DeviceKind::kCpu};
  TestPlan plan = CollectivePlan(c);
  for (auto& step : plan.table.functions[0]->steps) step->name = "sum of gradients";
  SINTER_ASSIGN_OR_RETURN(Session session, plan.MakeSession({.threads = 1, .world = &world}));
  const std::map<std::string, HostTensor> inputs = CollectiveInputs(c, 1);
  SINTER_ASSIGN_OR_RETURN(BoundFunction f, session.Bind("f"));
  for (const auto& [name, tensor] : inputs) SINTER_RETURN_IF_ERROR(f.SetInput(name, tensor));
  for (int64_t run = 0; world.rank() != leaving_rank || run < 200; ++run) {
    if (run == 100)
      Print("rank " + std::to_string(world.rank()) + " sums as process " + std::to_string(getpid()));
    if (run == 100 && world.rank() == pausing_rank) sleep(5);
    if (run == 100 && world.rank() == stuck_rank) ComputeEndlessly();
    SINTER_RETURN_IF_ERROR(f.Run());
  }
  return absl::OkStatus();
}

absl::Status SaveEndlessly(World& world, const std::string& path) {
  SINTER_ASSIGN_OR_RETURN(Session session,
                          CutPlan({2, 2}, Device::Cpu()).MakeSession({.threads = 1, .world = &world}));
  for (int64_t run = 0;; ++run) {
    if (run == 20)
      Print("rank " + std::to_string(world.rank()) + " saves as process " + std::to_string(getpid()));
    SINTER_RETURN_IF_ERROR(SaveCheckpoint(session, path, {{"run", std::to_string(run)}}));
  }
}

absl::Status Check(const std::string& path) {
  SINTER_ASSIGN_OR_RETURN(const SafetensorsFile file, SafetensorsFile::Open(path));
  SINTER_RETURN_IF_ERROR(file.Verify());
  SINTER_ASSIGN_OR_RETURN(Session session, CutPlan({1, 1}, Device::Cpu()).MakeSession({.threads = 1}));
  return LoadCheckpoint(session, path).status();
}

}  // namespace
}  // namespace sinter

int main(int argc, char** argv) {
  const std::string mode = argc > 2 ? argv[1] : "";
  if (mode == "count") {
    std::cout << sinter::NumGpus() << "\n";
    return 0;
  }
  if (mode == "check") {
    const absl::Status status = sinter::Check(argv[2]);
    std::cout << (status.ok() ? "the file is whole" : std::string(status.message())) << "\n";
    return status.ok() ? 0 : 1;
  }
  absl::StatusOr<std::unique_ptr<sinter::MpiWorld>> world = sinter::MpiWorld::Create();
  if (!world.ok()) {
    std::cerr << world.status() << "\n";
    return 1;
  }
  const auto number = [&](int i) { return argc > i ? std::atoi(argv[i]) : -1; };
  const absl::Status status = mode == "save"    ? sinter::SaveEndlessly(**world, argv[2])
                              : mode == "stuck" ? sinter::Run(**world, -1, -1, number(2))
                                                : sinter::Run(**world, number(1), number(2), -1);
  if (!status.ok()) {
    sinter::Print("rank " + std::to_string((*world)->rank()) + " ends: " + std::string(status.message()));
  }
  return status.ok() ? 0 : 1;
}
