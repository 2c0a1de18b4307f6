// Runs all-reduces in an MPI world in which one call of one rank fails. mpi_faults_test.py runs it.
//
//   mpirun -n 2 faulty_mpi MPI_Isend 40        The 40th call of MPI_Isend of the last rank fails.
//   mpirun -n 2 faulty_mpi                     No call fails.
#include <mpi.h>

#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>
#include <memory>
#include <string>

#include "sinter/runtime/host/status.h"
#include "sinter/runtime/mpi/mpi_world.h"
#include "sinter/tests/runtime/collective_plans.h"
#include "sinter/tests/runtime/fault_points.h"

// Replaces an MPI function; the original has a second name (PMPI_).
#define SINTER_FAULTY_MPI(name, parameters, arguments)                  \
  extern "C" int MPI_##name parameters {                                \
    if (sinter::FaultPoints::Fails("MPI_" #name)) return MPI_ERR_OTHER; \
    return PMPI_##name arguments;                                       \
  }
// The call takes effect (frees, ends, waits) and then reports an error.
#define SINTER_LATE_FAULTY_MPI(name, parameters, arguments)                 \
  extern "C" int MPI_##name parameters {                                    \
    const int code = PMPI_##name arguments;                                 \
    return sinter::FaultPoints::Fails("MPI_" #name) ? MPI_ERR_OTHER : code; \
  }
SINTER_FAULTY_MPI(Initialized, (int* flag), (flag))
SINTER_FAULTY_MPI(Finalized, (int* flag), (flag))
SINTER_LATE_FAULTY_MPI(Init_thread, (int* argc, char*** argv, int wanted, int* level),
                       (argc, argv, wanted, level))
SINTER_FAULTY_MPI(Comm_dup, (MPI_Comm from, MPI_Comm* made), (from, made))
SINTER_FAULTY_MPI(Comm_set_errhandler, (MPI_Comm comm, MPI_Errhandler handler), (comm, handler))
SINTER_FAULTY_MPI(Comm_rank, (MPI_Comm comm, int* rank), (comm, rank))
SINTER_FAULTY_MPI(Comm_size, (MPI_Comm comm, int* size), (comm, size))
SINTER_LATE_FAULTY_MPI(Comm_free, (MPI_Comm * comm), (comm))
SINTER_FAULTY_MPI(Allgather,
                  (const void* from, int count, MPI_Datatype type, void* to, int to_count,
                   MPI_Datatype to_type, MPI_Comm comm),
                  (from, count, type, to, to_count, to_type, comm))
SINTER_FAULTY_MPI(Barrier, (MPI_Comm comm), (comm))
SINTER_FAULTY_MPI(Isend,
                  (const void* data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                   MPI_Request* request),
                  (data, count, type, peer, tag, comm, request))
SINTER_FAULTY_MPI(Irecv,
                  (void* data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                   MPI_Request* request),
                  (data, count, type, peer, tag, comm, request))
SINTER_FAULTY_MPI(Test, (MPI_Request * request, int* flag, MPI_Status* status), (request, flag, status))
SINTER_FAULTY_MPI(Testsome, (int count, MPI_Request* requests, int* done, int* indices, MPI_Status* statuses),
                  (count, requests, done, indices, statuses))
SINTER_FAULTY_MPI(Testall, (int count, MPI_Request* requests, int* flag, MPI_Status* statuses),
                  (count, requests, flag, statuses))
SINTER_FAULTY_MPI(Get_count, (const MPI_Status* status, MPI_Datatype type, int* count), (status, type, count))
SINTER_FAULTY_MPI(Cancel, (MPI_Request * request), (request))
SINTER_LATE_FAULTY_MPI(Request_free, (MPI_Request * request), (request))
SINTER_LATE_FAULTY_MPI(Finalize, (), ())

namespace sinter {
namespace {

// Prints a whole line at once, so that lines of several ranks do not mix.
void Print(const std::string& line) { std::cout << line + "\n" << std::flush; }

absl::Status SumInWorld(World& world) {
  const CollectiveCase c = {.members = static_cast<uint32_t>(world.size()), .sizes = {1000}};
  SINTER_ASSIGN_OR_RETURN(Session session, CollectivePlan(c).MakeSession({.threads = 1, .world = &world}));
  const std::map<std::string, HostTensor> inputs = CollectiveInputs(c, 1),
                                          outputs = ExpectedOutputs(c, inputs);
  SINTER_ASSIGN_OR_RETURN(BoundFunction f, session.Bind("f"));
  for (const auto& [name, tensor] : inputs) SINTER_RETURN_IF_ERROR(f.SetInput(name, tensor));
  const std::string own = "y" + std::to_string(world.rank()) + "_0";
  for (int run = 0; run < 30; ++run) {
    SINTER_RETURN_IF_ERROR(f.Run());
    SINTER_ASSIGN_OR_RETURN(const HostTensor* const y, f.outputs().Get(own));
    const auto bytes = static_cast<size_t>(y->num_bytes());
    if (std::memcmp(y->data(), outputs.at(own).data(), bytes) != 0) return absl::DataLossError("a wrong sum");
  }
  return absl::OkStatus();
}

int Main(int argc, char** argv) {
  // mpirun tells the rank, because MPI itself has not begun.
  const char* const rank = std::getenv("OMPI_COMM_WORLD_RANK");
  const char* const ranks = std::getenv("OMPI_COMM_WORLD_SIZE");
  const bool is_last = rank != nullptr && ranks != nullptr && std::atoi(rank) + 1 == std::atoi(ranks);
  if (argc > 2 && is_last) FaultPoints::Arm(std::atoi(argv[2]), argv[1]);
  const std::string name = "rank " + std::string(rank == nullptr ? "0" : rank);
  absl::Status status;
  {
    absl::StatusOr<std::unique_ptr<MpiWorld>> world = MpiWorld::Create();
    status = world.ok() ? SumInWorld(**world) : world.status();
    if (FaultPoints::name() != "nothing") Print(name + " had a fault: " + FaultPoints::name());
    Print(status.ok() ? name + " has all sums" : name + " ends: " + std::string(status.message()));
  }
  // Faults of the calls that end the world.
  if (FaultPoints::name() != "nothing") Print(name + " had a fault: " + FaultPoints::name());
  return status.ok() ? 0 : 1;
}

}  // namespace
}  // namespace sinter

int main(int argc, char** argv) { return sinter::Main(argc, argv); }
