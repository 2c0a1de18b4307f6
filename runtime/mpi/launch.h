// How this process was started: by mpirun, by srun, or alone; and whether MPI has the ranks that were
// started.
//
//   const Launch launch = Launch::FromEnvironment();          // Before MPI begins, which sets variables.
//   SINTER_RETURN_IF_ERROR(launch.CheckSize(size_of_the_world));
//
// srun starts tasks of which MPI learns nothing unless it has a plugin for this MPI: each task is then a
// world of one rank, and all of them train alone. mpirun of another MPI library does the same.
#ifndef SINTER_RUNTIME_MPI_LAUNCH_H_
#define SINTER_RUNTIME_MPI_LAUNCH_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/status.h"

namespace sinter {

struct Launch {
  std::optional<int64_t> mpirun_ranks;  // Ranks that an mpirun has started with this one.
  std::string mpirun_variable;          // The variable that says so.
  std::optional<int64_t> local_ranks;   // Those of them on this machine.
  std::optional<int64_t> slurm_tasks;   // Tasks of the job step of Slurm that this process is a task of.

  // Reads OMPI_COMM_WORLD_SIZE and OMPI_COMM_WORLD_LOCAL_SIZE (Open MPI), PMI_SIZE (MPICH and its relatives),
  // and SLURM_STEP_NUM_TASKS, or SLURM_NTASKS if SLURM_STEP_ID says that there is a step. The shell of salloc
  // and the script of sbatch are no step. Variables that are no number count as missing.
  static Launch FromEnvironment();
  // The same with other variables; `get` returns "" for one that is not set.
  static Launch From(const std::function<std::string(const char* name)>& get);

  // FailedPrecondition if MPI's world has another size than the launch. Tasks of srun alone count only
  // without mpirun, whose daemons are tasks of a step of their own.
  absl::Status CheckSize(int world_size) const;

  // Returns a note for the user if this process may run on fewer cores than its share of those of mpirun;
  // empty if not. Open MPI binds each of one or two ranks to a core, and more to a part of the machine.
  std::string CoreNote(int cores, int cores_of_mpirun) const;
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_MPI_LAUNCH_H_
