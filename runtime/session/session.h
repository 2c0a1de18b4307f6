// Runs the functions of a plan.
// Create decides and allocates everything; Run only checks and launches.
//
//   SINTER_ASSIGN_OR_RETURN(Plan plan, Plan::Load("lenet.plan"));
//   SINTER_ASSIGN_OR_RETURN(Session session, Session::Create(std::move(plan)));
//   SINTER_ASSIGN_OR_RETURN(Outputs out, session.Run("train", {{"x", x}, {"y", y}, {"lr", 0.1f}}));
//   SINTER_ASSIGN_OR_RETURN(double loss, out.Scalar("loss"));
//
// A loop that allocates nothing:
//   SINTER_ASSIGN_OR_RETURN(BoundFunction train, session.Bind("train"));
//   SINTER_RETURN_IF_ERROR(train.SetInput("x", x));                  // Borrows x until it is set again.
//   for (...) SINTER_RETURN_IF_ERROR(train.Run());
//
// Run reads inputs in place if they start at a multiple of 64 bytes, as owning HostTensors do; it copies
// other inputs first. A GPU copies inputs beside the previous run; from page-locked memory (PinnedHost, or
// any other) without a copy by the CPU. Inputs may change or be freed when Run returns: it waits for copies
// from page-locked memory. Outputs are views of the session's memory. They are valid until the next run of
// any function and no longer than the session; Clone() keeps one. Variables live in the session and start
// with their initial values.
//
// One thread, the caller of Run, drives all devices of a plan. On a GPU, Run returns after it has enqueued
// the work; the next call that waits for the work reports its errors. GPU outputs stay on the device. The
// first read of an output copies it to main memory; outputs that are never read are never copied. Synchronize
// waits for all work.
//
// With several processes (SessionOptions::world) each runs a part of the plan's devices, and all make the
// same calls in the same order. Run accepts whole inputs, or only the rows that the process reads, such as
// its share of a batch. Outputs and variables are read from the first local device that has them;
// FailedPrecondition if no local device has.
//
// A variable or output on several devices always has one value and counts as one: a write updates all copies.
//
// Use a session and everything obtained from it from one thread at a time. A second thread at the same time,
// or a child of fork, gets FailedPrecondition. To serve from several threads, give each a session made by
// Share. It reads the first session's variables, constants and code, and has its own arena, inputs and
// outputs. Shared variables are read-only: functions that write them, WriteVariable and ResetVariables fail
// until one session is left.
//   SINTER_ASSIGN_OR_RETURN(Session first, Session::Create(std::move(plan), {.threads = 1}));
//   SINTER_RETURN_IF_ERROR(LoadCheckpoint(first, "lenet.safetensors"));
//   for (int i = 1; i < 8; ++i) {
//     SINTER_ASSIGN_OR_RETURN(Session session, first.Share({.threads = 1}));
//     workers.emplace_back([session = std::move(session)]() mutable {
//       ... session.Run("predict", {{"x", x}}) ...
//     });
//   }
//
// The same plan and inputs give the same bits for any number of threads and on every CPU that the plan's
// target allows, except the sign and payload of NaNs. CpuMatmuls::kOneDnn gives up this guarantee. On GPUs
// it holds for one GPU model and one version of its libraries.
//
// A failed call changes nothing except the values that its steps have already computed. OutOfRange (plans
// with CompileOptions::check_indices) is reported after the run has completed. A run that fails midway,
// because a device or another process fails, may leave the variables that it writes half-written. They are
// then in doubt: runs, reads and checkpoints fail with FailedPrecondition until the variables are written
// again or reset. Among several processes any failed run, also one with wrong arguments, ends the world for
// all ranks: the others get Unavailable with the reason.
//
// Allocations in Run: after a function's first run Sinter allocates nothing, with one exception. The first
// copy of an unaligned input of more than 1 MiB allocates its staging buffer. With CpuMatmuls::kOneDnn, each
// execute call of oneDNN allocates and frees about 6 small blocks (about 250 bytes) inside the library; its
// interface has no way to avoid this.
#ifndef SINTER_RUNTIME_SESSION_SESSION_H_
#define SINTER_RUNTIME_SESSION_SESSION_H_

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sinter/runtime/device/profile.h"
#include "sinter/runtime/device/tuning.h"
#include "sinter/runtime/execute/memory_use.h"
#include "sinter/runtime/host/load_times.h"
#include "sinter/runtime/host/number.h"
#include "sinter/runtime/memory/caching_allocator.h"
#include "sinter/runtime/memory/device.h"
#include "sinter/runtime/memory/memory_limit.h"
#include "sinter/runtime/plan/plan.h"
#include "sinter/runtime/tensor/argument.h"
#include "sinter/runtime/tensor/scalar_log.h"
#include "sinter/runtime/tensor/tensor.h"
#include "sinter/runtime/tensor/tensor_box.h"
#include "sinter/runtime/world/world.h"

namespace sinter {

namespace internal_session {
class BucketOutputs;
class LoadedFunction;
struct InputValue;
class SessionState;
}  // namespace internal_session

// Selects who computes f32 and bf16 matmuls and convolutions on CPUs.
enum class CpuMatmuls {
  // Sinter's own kernels: the same bits for any number of threads and on every CPU of the plan's target.
  kSameBits,
  // oneDNN, which may be faster (docs/benchmarks.md), especially in bf16 on CPUs with bf16 arithmetic. The
  // bits depend on the number of threads, the CPU and oneDNN's version.
  kOneDnn
};

struct SessionOptions {
  // Number of CPU threads. 0: the value of SINTER_NUM_THREADS, or one per core if it is unset.
  int threads = 0;
  // Largest memory of this session on each device. If a plan needs more, Create lists what needs it.
  // Allocators have limits of their own for all their users together.
  std::optional<MemoryLimit> memory_limit = std::nullopt;
  // Serves all of the session's memory on the allocator's device. Must outlive the session and all sessions
  // that share with it. Null: ProcessAllocator(), which other sessions and tensors use too
  // (runtime/memory/process_allocator.h).
  CachingAllocator* allocator = nullptr;
  // The same for plans on several devices: at most one per device; a device without one uses
  // ProcessAllocator(device). InvalidArgument if two are for one device, or one is for a device that the plan
  // does not use.
  std::vector<CachingAllocator*> allocators = {};
  // The processes that run the plan together (runtime/world/world.h), each with its share of the devices.
  // Must outlive the session. Null: this process runs all devices.
  World* world = nullptr;
  // Longest wait of a rank for the others in one exchange. Then the session fails with Unavailable, which
  // names the rank, the exchange and its line: another rank is alive and stuck. At least a second, or 0: no
  // limit, and no marks for it on the GPUs. Default: SINTER_EXCHANGE_PATIENCE, else ten minutes and the time
  // that a run takes at most (runtime/world/exchange_patience.h). The first exchange of a run may wait for
  // the user's code of another rank, so without this option it has the world's own limit alone
  // (MpiWorldOptions::patience), which holds for all exchanges of CPUs.
  std::optional<std::chrono::milliseconds> exchange_patience = std::nullopt;
  CpuMatmuls cpu_matmuls = CpuMatmuls::kSameBits;
  // How GPU algorithms for matmuls and convolutions are chosen, and the file that keeps the choice
  // (runtime/device/tuning.h).
  TuningOptions tuning = {};
  // Expected Plan::hash(), 64 lower-case hexadecimal digits. Create refuses any other plan before it loads
  // code from it. Empty: accept every plan.
  std::string expected_hash = {};
  // For tests: fills all arenas with 0xff bytes (NaN, -1) before every run to expose reads of unwritten
  // memory.
  bool poison = false;
};

// A part of a variable.
struct VariablePart {
  int64_t rank = 0;                     // The first rank of this process that holds it.
  TensorBox box = TensorBox::Whole(0);  // The places of its elements in the whole variable.
  HostTensor value;                     // With the part's own shape.
};

// The results of a run, as read-only views in main memory. Cheap to copy.
class Outputs {
 public:
  // Outputs in the order in which the function declares them.
  size_t size() const;
  std::string_view name(size_t i) const;
  // Ends the program with Get's error message if Get fails. On a CPU it does not fail.
  const HostTensor& tensor(size_t i) const;

  // NotFound lists the existing outputs. The first call after a run copies a GPU output to main memory: it
  // waits for the run and returns the run's errors, too. FailedPrecondition if the session has run since.
  absl::StatusOr<const HostTensor*> Get(std::string_view name) const;
  // For a name known to be right and a working device: if Get fails, ends the program with Get's error
  // message.
  const HostTensor& operator[](std::string_view name) const;
  // Returns the only element of an output of any element type. NotFound; InvalidArgument unless there is
  // exactly one element.
  absl::StatusOr<double> Scalar(std::string_view name) const;

 private:
  friend class BoundFunction;
  friend class Session;
  explicit Outputs(internal_session::LoadedFunction* function,
                   internal_session::BucketOutputs* bucket = nullptr)
      : function_(function), bucket_(bucket) {}
  absl::StatusOr<const HostTensor*> At(size_t i) const;

  internal_session::LoadedFunction* function_;
  internal_session::BucketOutputs* bucket_;  // Null unless the run chose among buckets.
};

// A function that keeps its inputs from run to run. Cheap to make; must not outlive the session.
class BoundFunction {
 public:
  BoundFunction(BoundFunction&&) noexcept;
  BoundFunction& operator=(BoundFunction&&) noexcept;
  ~BoundFunction();

  // Borrows the tensor's data, which each run reads. The data must stay valid until the input is set again or
  // no run follows. NotFound for an unknown input; InvalidArgument for a wrong type or shape. A failed call
  // keeps the previous value.
  absl::Status SetInput(std::string_view name, const HostTensor& tensor);
  // A tensor that nothing else holds would be gone before the run.
  absl::Status SetInput(std::string_view name, HostTensor&& tensor) = delete;
  // For rank-0 inputs. InvalidArgument if the element type cannot hold the number.
  absl::Status SetScalar(std::string_view name, Number value);
  absl::Status Set(const Argument& argument);

  // InvalidArgument names every input that is not set. runtime/device/profile.h explains `profile`.
  absl::Status Run(Profile* profile = nullptr);
  // Returns the outputs of the last run.
  Outputs outputs() const;

  std::span<const TensorInfo> inputs() const;
  std::span<const TensorInfo> output_infos() const;

 private:
  friend class Session;
  friend class internal_session::SessionState;
  explicit BoundFunction(internal_session::LoadedFunction* function);

  internal_session::LoadedFunction* function_;
  std::vector<internal_session::InputValue> inputs_;
};

class Session {
 public:
  // Loads the plan's code, allocates all memory and initializes the variables, with the same bits on every
  // device. Loading a plan is like running a program (runtime/plan/plan.h): its native code becomes part of
  // the process. FailedPrecondition: the plan's hash differs from SessionOptions::expected_hash; the plan is
  // for another CPU or for a device that this process lacks; another process could not create its session; or
  // the process was forked from one that had started threads. InvalidArgument: the processes have different
  // plans or cannot share the devices evenly. NotFound: the plan is for a GPU that this machine lacks.
  // ResourceExhausted: memory or a limit is too small; the message lists what needs memory, and what each
  // device needs and has. No memory stays allocated.
  static absl::StatusOr<Session> Create(Plan plan, const SessionOptions& options = {});

  // Makes another session of the same plan for another thread. It reads this session's variables, constants
  // and code; either may be destroyed first. The session made by Create reports the shared memory; the others
  // do not. Errors as Create; InvalidArgument if the session runs among several processes or its GPUs
  // exchange data.
  absl::StatusOr<Session> Share(const SessionOptions& options = {}) const;

  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

  // Runs a function. NotFound if there is no such function. InvalidArgument lists everything wrong with the
  // arguments (missing, unknown and repeated names, wrong types and shapes) and what was expected; variables
  // are then untouched. FailedPrecondition if another thread uses the session, if variables are in doubt, or
  // if the function would write shared variables.
  // For the name of Graph::Buckets, runs the smallest bucket that the arguments fit in: pads them by zeros,
  // and cuts the outputs back to the sizes that were given. Such a run may allocate a few small lists.
  // InvalidArgument if no bucket has room. Several processes run the smallest bucket that holds the arguments
  // of all of them, and such a run exchanges their sizes first: the sizes of the run are the largest of any
  // process. Unimplemented if the buckets differ in rows of which each process reads its own: run a bucket by
  // its own name, such as "classify@8x128".
  absl::StatusOr<Outputs> Run(std::string_view function, std::span<const Argument> arguments,
                              Profile* profile = nullptr);
  absl::StatusOr<Outputs> Run(std::string_view function, std::initializer_list<Argument> arguments,
                              Profile* profile = nullptr);

  // Returns a function to run many times. The session may be moved afterwards. InvalidArgument for the name
  // of Graph::Buckets lists the buckets, which are functions.
  absl::StatusOr<BoundFunction> Bind(std::string_view function);

  std::span<const VariableInfo> variables() const;
  // Returns a copy. NotFound lists the nearest names. A variable of which ranks hold parts
  // (VariableInfo::is_cut) is assembled, and terms (VariableInfo::is_sum) are added. Among several processes
  // this is then a call of all: Unavailable if another does not make it.
  absl::StatusOr<HostTensor> ReadVariable(std::string_view name) const;
  // Returns a view of the variable's own memory, valid as long as the session. Later runs and writes change
  // the view. On a GPU, and for a cut variable or a sum, returns a copy instead. Errors as ReadVariable.
  absl::StatusOr<HostTensor> ViewVariable(std::string_view name) const;
  // Returns copies of the parts that this process holds, without asking the others; of a variable that is not
  // cut, the whole; of a sum, the terms of its ranks. Errors as ReadVariable.
  absl::StatusOr<std::vector<VariablePart>> ReadParts(std::string_view name) const;
  // `tensor` is the whole variable; of a cut one each rank of this process takes its part. InvalidArgument
  // for a wrong type or shape. FailedPrecondition if other sessions share the variable. Among several
  // processes all write the same value.
  absl::Status WriteVariable(std::string_view name, const HostTensor& tensor);
  // Sets all variables to their initial values and empties logs. FailedPrecondition if other sessions share
  // them.
  absl::Status ResetVariables();

  // Returns the values logged under this name since the last call, oldest first. Takes one transfer from the
  // log's device, after the work enqueued so far (runtime/tensor/scalar_log.h). NotFound lists the existing
  // logs.
  absl::StatusOr<LogValues> ReadLog(std::string_view name);

  // Waits until all devices have completed their work, and returns the first error.
  absl::Status Synchronize();

  const Plan& plan() const;
  // Returns the tables that this process runs, for tools: the plan's own, or with a mesh those of all ranks
  // of this process (runtime/world/rank_program.h). A profile lists their steps.
  const fb::Plan& program() const;
  // Reports how GPU algorithms for matmuls and convolutions were chosen, and problems with the tuning file.
  const TuningReport& tuning() const;
  int threads() const;
  // Returns the time that each phase of Create took.
  const LoadTimes& load_times() const;
  // Return the memory of all devices together, or of one. Main memory counts under the plan's first CPU, or
  // cpu:0. Zeros for a device on which the session takes nothing.
  SessionMemory memory() const;
  SessionMemory memory(Device device) const;
  // Returns the allocator of the plan's first device: SessionOptions::allocator or the process's.
  CachingAllocator& allocator() const;
  // Returns the allocator of one of the session's devices; null for another device.
  CachingAllocator* allocator(Device device) const;

 private:
  friend class internal_session::SessionState;
  explicit Session(std::unique_ptr<internal_session::SessionState> state);

  std::unique_ptr<internal_session::SessionState> state_;
};

}  // namespace sinter

namespace sn = sinter;

#endif  // SINTER_RUNTIME_SESSION_SESSION_H_
