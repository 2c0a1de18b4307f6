// The flags --mesh, --rows and --zero of training programs, and the processes that share the mesh.
//
//   MeshFlags flags;
//   AddMeshFlags(app, flags);                            // --mesh data=2,tensor=2 --zero 3
//   CLI11_PARSE(app, argc, argv);
//   SINTER_ASSIGN_OR_RETURN(Processes processes, Processes::Start());   // One without `mpirun`.
//   SINTER_RETURN_IF_ERROR(flags.Apply(compile));
//   MakeCpuDevices(compile.mesh, processes.world());
//   Session::Create(plan, {.world = processes.world()});
#ifndef SINTER_EXAMPLES_MESH_FLAGS_H_
#define SINTER_EXAMPLES_MESH_FLAGS_H_

#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "sinter/frontend/compile/compile.h"
#include "sinter/runtime/status.h"
#ifdef SINTER_WITH_MPI
#include "sinter/runtime/mpi/mpi_world.h"
#endif

namespace sinter::examples {

// The values of the flags. The parser writes into this struct, so the struct must outlive the parser.
struct MeshFlags {
  std::vector<std::string> axes;  // "data=2".
  bool rows = false;
  int zero = 0;
  int64_t zero_least_bytes = parallel::Zero().least_bytes;
  int64_t exchange_parts = CompileOptions().exchange_parts;
  int64_t copied_sum_bytes = CompileOptions().copied_sum_bytes;

  // The names of the axes that share the batch.
  std::vector<std::string> BatchAxes() const {
    std::vector<std::string> names;
    for (const std::string& axis : axes) {
      const std::string name = axis.substr(0, axis.find('='));
      if (name != "tensor") names.push_back(name);
    }
    return names;
  }

  // Sets the mesh and its tactics. An axis "tensor" cuts wide layers; all others share the batch, which
  // `whole_inputs` does not belong to. ZeRO uses the axis "data". InvalidArgument: an axis has no size, or
  // --rows is given without an axis "tensor".
  absl::Status Apply(CompileOptions& options, const std::vector<std::string>& whole_inputs = {}) const {
    parallel::Data data{.axes = BatchAxes(), .whole_inputs = whole_inputs};
    bool has_tensor = false;
    for (const std::string& axis : axes) {
      const std::vector<std::string> parts = absl::StrSplit(axis, '=');
      int64_t size = 0;
      if (parts.size() != 2 || !absl::SimpleAtoi(parts[1], &size)) {
        return absl::InvalidArgumentError(
            absl::StrCat("--mesh has \"", axis, "\"; write axes and sizes as in data=2,tensor=2"));
      }
      options.mesh.axes.push_back({parts[0], size});
      has_tensor |= parts[0] == "tensor";
    }
    if (rows && !has_tensor) {
      return absl::InvalidArgumentError("--rows needs an axis \"tensor\" in --mesh, such as data=2,tensor=2");
    }
    if (!data.axes.empty()) options.parallel.push_back(data);
    if (has_tensor) options.parallel.push_back(parallel::Tensor{.rows = rows});
    options.exchange_parts = exchange_parts;
    options.copied_sum_bytes = copied_sum_bytes;
    if (zero > 0) options.parallel.push_back(parallel::Zero{.level = zero, .least_bytes = zero_least_bytes});
    return absl::OkStatus();
  }
};

inline void AddMeshFlags(CLI::App& app, MeshFlags& flags) {
  auto* mesh =
      app.add_option("--mesh", flags.axes,
                     "axes of ranks that share the work: \"tensor\" cuts wide layers, others the batch; "
                     "such as data=2,tensor=2. Rank r uses the r-th device after that of --device")
          ->delimiter(',');
  app.add_flag("--rows", flags.rows, "between wide layers, the axis \"tensor\" cuts the rows of the batch")
      ->needs(mesh);
  app.add_option("--zero", flags.zero, "level of ZeRO along the axis data: 1 to 3; 0: none")
      ->check(CLI::Range(0, 3))
      ->needs(mesh);
  app.add_option("--zero-least-bytes", flags.zero_least_bytes, "smaller variables stay whole")
      ->capture_default_str()
      ->needs(mesh);
  app.add_option("--exchange-parts", flags.exchange_parts,
                 "parts in which sums travel, while others are computed; 0: as predicted, 1: whole")
      ->capture_default_str()
      ->needs(mesh);
  app.add_option("--copied-sum-bytes", flags.copied_sum_bytes,
                 "in sums of this size, ranks send each other the terms and add them; 0: as predicted")
      ->capture_default_str()
      ->needs(mesh);
}

// The processes that run the program together: those that `mpirun` started, or this one.
class Processes {
 public:
  static absl::StatusOr<Processes> Start() {
    Processes processes;
#ifdef SINTER_WITH_MPI
    SINTER_ASSIGN_OR_RETURN(std::unique_ptr<MpiWorld> world, MpiWorld::Create());
    const std::string note = world->rank() == 0 ? world->CoreNote() : "";
    if (!note.empty()) std::cerr << "note: " << note << "\n";
    processes.world_ = std::move(world);
#endif
    return processes;
  }

  World* world() const { return world_.get(); }
  // True in the process that prints and writes files.
  bool IsFirst() const { return !world_ || world_->rank() == 0; }

 private:
  std::unique_ptr<World> world_;
};

// Makes as many virtual CPU devices as this process has ranks, unless SINTER_CPU_DEVICES says otherwise.
// `world` may be null.
inline void MakeCpuDevices(const Mesh& mesh, const World* world) {
  if (mesh.axes.empty()) return;
  int64_t ranks = 1;
  for (const MeshAxis& axis : mesh.axes) ranks *= axis.size;
  const int64_t processes = world == nullptr ? 1 : world->size();
  setenv("SINTER_CPU_DEVICES", absl::StrCat((ranks + processes - 1) / processes).c_str(), /*overwrite=*/0);
}

}  // namespace sinter::examples

#endif  // SINTER_EXAMPLES_MESH_FLAGS_H_
