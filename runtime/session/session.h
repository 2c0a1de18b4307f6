// Runs the functions of a plan. All that can be decided or allocated is, at Create; Run only checks and launches.
//
//   SINTER_ASSIGN_OR_RETURN(Plan plan, Plan::Load("lenet.plan"));
//   SINTER_ASSIGN_OR_RETURN(Session session, Session::Create(std::move(plan)));
//   SINTER_ASSIGN_OR_RETURN(Outputs out, session.Run("train", {{"x", x}, {"y", y}, {"lr", 0.1f}}));
//   SINTER_ASSIGN_OR_RETURN(double loss, out.Scalar("loss"));
//
// A loop that allocates nothing at all:
//   SINTER_ASSIGN_OR_RETURN(BoundFunction train, session.Bind("train"));
//   SINTER_RETURN_IF_ERROR(train.SetInput("x", x));                  // Borrows x until it is set again.
//   for (...) SINTER_RETURN_IF_ERROR(train.Run());
//
// Inputs are read in place when they start at a multiple of 64 bytes, as those of every owning HostTensor do; others
// are copied first. Outputs are views of the session's memory: valid until the next run of any function and as long as
// the session; Clone() keeps one. Variables live in the session, from their initial values on.
//
// A plan may run on several devices, driven by the one thread that calls Run. On a GPU Run returns when the work is given to
// it, and errors of that work come with the next call that waits for it. Outputs stay there until they are asked for, one by
// one; what is not asked for is not brought to main memory. Synchronize waits for everything.
//
// Among several processes (SessionOptions::world) each runs a part of the plan's devices, and all make the same calls in the
// same order. Run takes inputs whole, or those rows alone that the process reads, a share of a batch for instance. Outputs and
// variables are read from the first device here that has them; FailedPrecondition where none has.
//
// Variables and outputs that several devices have, always with the same value, are one: a write reaches all.
//
// Use a session, and everything that it handed out, from one thread at a time: two at once, or a child of fork, get
// FailedPrecondition. To serve from several threads give each a session of its own that reads the variables, constants and code of
// the first; it has an arena, inputs and outputs of its own. Variables are read-only while they are shared: functions that write
// them, WriteVariable and ResetVariables fail until one session is left.
//   SINTER_ASSIGN_OR_RETURN(Session first, Session::Create(std::move(plan), {.threads = 1}));
//   SINTER_RETURN_IF_ERROR(LoadCheckpoint(first, "lenet.safetensors"));
//   for (int i = 1; i < 8; ++i) {
//     SINTER_ASSIGN_OR_RETURN(Session session, first.Share({.threads = 1}));
//     workers.emplace_back([session = std::move(session)]() mutable { ... session.Run("predict", {{"x", x}}) ... });
//   }
//
// The same plan and inputs give the same bits for any number of threads, and on every CPU that the plan's target allows; only the
// sign and the payload of a NaN may differ between CPUs. CpuProducts::kOneDnn gives this up. On a GPU it holds for one model of GPU
// and one version of its libraries.
//
// A failed call changes nothing, but for what its steps have computed. A run that is OutOfRange, of a plan with
// CompileOptions::check_indices, has happened. A run that fails midway, because a device or another process does, may leave the
// variables that it writes half-written. They are then in doubt: runs, reads and checkpoints fail with FailedPrecondition until
// they are written again or reset. Among several processes any failed run, wrong arguments too, ends the world for all ranks: the
// others get Unavailable with the reason.
//
// Allocations in Run: none of ours after a function's first run, but for the copy of an input of more than 1 MiB when it must be
// copied for the first time; a session holds no memory for such copies before. With CpuProducts::kOneDnn, oneDNN's execute calls
// allocate and free some 6 small blocks (about 250 bytes) each, inside the library, with no way around it in its interface.
#ifndef SINTER_RUNTIME_SESSION_SESSION_H_
#define SINTER_RUNTIME_SESSION_SESSION_H_

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
#include "sinter/runtime/host/load_times.h"
#include "sinter/runtime/host/number.h"
#include "sinter/runtime/execute/memory_use.h"
#include "sinter/runtime/tensor/argument.h"
#include "sinter/runtime/memory/caching_allocator.h"
#include "sinter/runtime/memory/device.h"
#include "sinter/runtime/memory/memory_limit.h"
#include "sinter/runtime/plan/plan.h"
#include "sinter/runtime/tensor/scalar_log.h"
#include "sinter/runtime/tensor/tensor.h"
#include "sinter/runtime/world/world.h"

namespace sinter {

namespace internal_session {
class FunctionState;
struct InputValue;
struct State;
}  // namespace internal_session

// Who computes matrix products and convolutions of f32 and bf16 on CPUs.
enum class CpuProducts {
  // Kernels of our own: a run has the same bits for any number of threads and on every CPU that the plan is for.
  kSameBits,
  // oneDNN, which may be quicker (docs/benchmarks.md), above all in bf16 on CPUs with arithmetic for it. The bits depend on the
  // number of threads, the CPU and oneDNN's version.
  kOneDnn
};

struct SessionOptions {
  // 0: what SINTER_NUM_THREADS says, else one for each core.
  int threads = 0;
  // The most that this session may take of each device; Create says what a plan that needs more needs it for. Allocators
  // have limits besides, for all that draw from them.
  std::optional<MemoryLimit> memory_limit = std::nullopt;
  // Serves all of the session's memory on its device; must live until it is destroyed, and all that share with it. Null:
  // ProcessAllocator(), which serves other sessions and tensors too (runtime/memory/process_allocator.h).
  CachingAllocator* allocator = nullptr;
  // The same for plans on several devices: at most one for each, and ProcessAllocator(device) for those without one.
  // InvalidArgument: two for one device, or one for a device that the plan does not use.
  std::vector<CachingAllocator*> allocators = {};
  // The processes that run the plan together (runtime/world/world.h), each with its share of the devices; must outlive the session.
  // Null: this one runs them all.
  World* world = nullptr;
  CpuProducts cpu_products = CpuProducts::kSameBits;
  // How matrix products of GPUs are done, and where the choice is kept (runtime/device/tuning.h).
  TuningOptions tuning = {};
  // Plan::hash() of the plan that is meant, 64 hexadecimal digits; any other is refused before any of its code is loaded. Empty:
  // whichever plan is given.
  std::string expected_hash = {};
  // For tests: fills all arenas with 0xff bytes (NaN, -1) before every run, so that reads of unwritten memory show.
  bool poison = false;
};

// What a run returned: read-only views in main memory. Cheap to copy.
class Outputs {
 public:
  // In the order in which the function declares them.
  size_t size() const;
  std::string_view name(size_t i) const;
  // Where Get would fail, which on a CPU it does not, the program ends with its message.
  const HostTensor& tensor(size_t i) const;

  // NotFound lists the outputs that there are. An output on another device than a CPU is brought here by the first call
  // after a run, which waits for the run: its errors too, and FailedPrecondition if the session has run since.
  absl::StatusOr<const HostTensor*> Get(std::string_view name) const;
  // For a name known to be right, and a device that works: else the program ends with the message of Get.
  const HostTensor& operator[](std::string_view name) const;
  // The one element of an output, of whatever type. NotFound; InvalidArgument when there is not exactly one element.
  absl::StatusOr<double> Scalar(std::string_view name) const;

 private:
  friend class BoundFunction;
  explicit Outputs(internal_session::FunctionState* function) : function_(function) {}

  internal_session::FunctionState* function_;
};

// A function with its inputs remembered from run to run. Cheap to make; must not outlive the session.
class BoundFunction {
 public:
  BoundFunction(BoundFunction&&) noexcept;
  BoundFunction& operator=(BoundFunction&&) noexcept;
  ~BoundFunction();

  // Borrows the tensor's data, read at each run: it must stay where it is until the input is set again or for the last
  // time used. NotFound: no such input; InvalidArgument: not its type or shape. A failed call keeps what was set.
  absl::Status SetInput(std::string_view name, const HostTensor& tensor);
  // For inputs of rank 0. InvalidArgument: the element type cannot hold the number.
  absl::Status SetScalar(std::string_view name, Number value);
  absl::Status Set(const Argument& argument);

  // InvalidArgument names every input not set. `profile`: see runtime/device/profile.h.
  absl::Status Run(Profile* profile = nullptr);
  // Of the last run.
  Outputs outputs() const;

  std::span<const TensorInfo> inputs() const;
  std::span<const TensorInfo> output_infos() const;

 private:
  friend class Session;
  friend struct internal_session::State;
  explicit BoundFunction(internal_session::FunctionState* function);

  internal_session::FunctionState* function_;
  std::vector<internal_session::InputValue> inputs_;
};

class Session {
 public:
  // Loads the plan's code, allocates everything and gives variables their initial values, the same bits on every device.
  // Running a plan is running a program (runtime/plan/plan.h): its native code is loaded into the process here.
  // FailedPrecondition: another plan than SessionOptions::expected_hash, a plan for another CPU, or for a device that this
  // process does not have, or another process could not create its session, or this one was forked from one whose threads had
  // begun; InvalidArgument: the processes have several plans, or cannot share the devices evenly; NotFound: for a GPU that this
  // machine does not have. ResourceExhausted: not enough memory, or more than a limit; the message says for what, and what each
  // device needs and has; then nothing was allocated.
  static absl::StatusOr<Session> Create(Plan plan, const SessionOptions& options = {});

  // Another session of the same plan, for another thread, which reads this one's variables, constants and code; either may be
  // destroyed first. Their memory is counted by the session that was created, and not by those that share it. Errors as Create;
  // InvalidArgument: the session runs among several processes, or its GPUs exchange.
  absl::StatusOr<Session> Share(const SessionOptions& options = {}) const;

  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

  // Runs a function. NotFound: no such function. InvalidArgument lists everything wrong with the arguments: missing,
  // unknown and repeated names, wrong types and shapes, with what was expected. Variables are then untouched.
  // FailedPrecondition: the session is in use by another thread; variables are in doubt, or are shared and would be written.
  absl::StatusOr<Outputs> Run(std::string_view function, std::span<const Argument> arguments,
                              Profile* profile = nullptr);
  absl::StatusOr<Outputs> Run(std::string_view function, std::initializer_list<Argument> arguments,
                              Profile* profile = nullptr);

  // A function to run many times. The session may be moved meanwhile.
  absl::StatusOr<BoundFunction> Bind(std::string_view function);

  std::span<const VariableInfo> variables() const;
  // A copy. NotFound lists the nearest names.
  absl::StatusOr<HostTensor> ReadVariable(std::string_view name) const;
  // The variable's own memory, to read without a copy: a view that is valid as long as the session, and that shows what
  // later runs and writes make of it. On other devices than CPUs there is no such view: a copy. Errors as ReadVariable.
  absl::StatusOr<HostTensor> ViewVariable(std::string_view name) const;
  // InvalidArgument: not the variable's type and shape. FailedPrecondition: other sessions share it.
  absl::Status WriteVariable(std::string_view name, const HostTensor& tensor);
  // All variables to their initial values again, and logs empty. FailedPrecondition: other sessions share them.
  absl::Status ResetVariables();

  // What functions have logged under this name since the last call, oldest first: one transfer from the device where the
  // log is, after what it was given before (runtime/tensor/scalar_log.h). NotFound lists the logs that there are.
  absl::StatusOr<LogValues> ReadLog(std::string_view name);

  // Waits until all devices have done what they were given, and returns the first error that they had.
  absl::Status Synchronize();

  const Plan& plan() const;
  // How the algorithms of matrix products on GPUs were chosen, and what is wrong with the tuning file.
  const TuningReport& tuning() const;
  int threads() const;
  // Where the time went in Create.
  const LoadTimes& load_times() const;
  // Of all devices together, and of one; the main memory's under the plan's first CPU, or cpu:0. Zeros for a device of
  // which the session takes nothing.
  SessionMemory memory() const;
  SessionMemory memory(Device device) const;
  // SessionOptions::allocator, or that of the process: of the plan's first device.
  CachingAllocator& allocator() const;
  // Of one of the session's devices; null for another.
  CachingAllocator* allocator(Device device) const;

 private:
  friend struct internal_session::State;
  explicit Session(std::unique_ptr<internal_session::State> state);

  std::unique_ptr<internal_session::State> state_;
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_SESSION_SESSION_H_
