#include "sinter/runtime/mpi/launch.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "sinter/runtime/host/environment.h"

namespace sinter {
namespace {

std::optional<int64_t> NumberOf(const std::string& text) {
  int64_t number = 0;
  if (!absl::SimpleAtoi(text, &number) || number < 1) return std::nullopt;
  return number;
}

std::string Ranks(int64_t count) { return absl::StrCat(count, count == 1 ? " rank" : " ranks"); }

}  // namespace

Launch Launch::From(const std::function<std::string(const char* name)>& get) {
  Launch launch;
  if (const std::string step_tasks = get("SLURM_STEP_NUM_TASKS"); !step_tasks.empty()) {
    launch.slurm_tasks = NumberOf(step_tasks);
  } else if (!get("SLURM_STEP_ID").empty()) {
    launch.slurm_tasks = NumberOf(get("SLURM_NTASKS"));
  }
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) {
    launch.mpirun_ranks = NumberOf(get(name));
    launch.mpirun_variable = name;
    if (launch.mpirun_ranks.has_value()) break;
  }
  launch.local_ranks = NumberOf(get("OMPI_COMM_WORLD_LOCAL_SIZE"));
  return launch;
}

Launch Launch::FromEnvironment() { return From(Environment); }

absl::Status Launch::CheckSize(int world_size) const {
  if (mpirun_ranks.has_value()) {
    if (*mpirun_ranks == world_size) return absl::OkStatus();
    return absl::FailedPreconditionError(absl::StrCat(Ranks(*mpirun_ranks), " were started (",
                                                      mpirun_variable, "), and MPI's world has ",
                                                      Ranks(world_size),
                                                      ": mpirun belongs to another MPI library than this "
                                                      "program; use the one of the MPI that the program is "
                                                      "linked with"));
  }
  if (!slurm_tasks.has_value() || *slurm_tasks == world_size) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("srun started a step of ", *slurm_tasks, *slurm_tasks == 1 ? " task" : " tasks",
                   ", and MPI's world has ", Ranks(world_size),
                   ", so the tasks would not find each other: start them by `srun --mpi=pmix`, or by "
                   "`mpirun` in a shell of "
                   "`salloc`; `srun --mpi=list` prints what this Slurm has"));
}

std::string Launch::CoreNote(int cores, int cores_of_mpirun) const {
  if (!local_ranks.has_value() || cores >= cores_of_mpirun / *local_ranks) return "";
  return absl::StrCat("mpirun lets this process run on ", cores, " of ", cores_of_mpirun,
                      " cores, and starts ", Ranks(*local_ranks),
                      " here: `mpirun --bind-to none` lets it run on all");
}

}  // namespace sinter
