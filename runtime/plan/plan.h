// A plan: a compiled program, verified. Compile makes one, a Session (runtime/session/session.h) runs it.
//
//   SINTER_ASSIGN_OR_RETURN(Plan plan, Plan::Load("lenet.plan"));
//   for (const FunctionInfo& f : plan.Functions()) std::cout << f.name << "\n";
//   SINTER_ASSIGN_OR_RETURN(Session session, Session::Create(std::move(plan)));
//
// The bytes (runtime/plan/plan.fbs) are verified as untrusted before anything is read from them: every index, offset, size
// and shape. A truncated or altered file is an error that says what is wrong, never a crash. A file is read into memory
// that no other process can change, and what runs is what was verified: the file may be overwritten at any time.
//
// Reading a plan is safe, whoever wrote it. Running one is running a program: it holds native code, which a session loads
// into the process, and the content hash guards against damage, not against malice. Make sessions of plans from sources
// that you would run a program from, or of the one plan whose hash you know (SessionOptions::expected_hash).
//
// A plan made for another CPU loads, so that it can be looked at and shipped; CheckTarget and Session::Create refuse it.
#ifndef SINTER_RUNTIME_PLAN_PLAN_H_
#define SINTER_RUNTIME_PLAN_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sinter/runtime/host/dtype.h"
#include "sinter/runtime/memory/device.h"

namespace sinter {

namespace fb {
struct Plan;  // Generated from plan.fbs as "runtime/plan_generated.h".
}  // namespace fb

struct TensorInfo {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;

  // "f32[2,3]".
  std::string TypeString() const;
};

struct VariableInfo : TensorInfo {
  int64_t bytes = 0;
  bool trainable = false;
  std::string location;  // "lenet.cc:12: Linear(128)", of what was recorded; may be empty.
  Device device;         // Where its value lives.
};

struct FunctionInfo {
  std::string name;
  std::vector<TensorInfo> inputs;
  std::vector<TensorInfo> outputs;
  int64_t arena_bytes = 0;                  // Of all devices together,
  std::vector<int64_t> device_arena_bytes;  // and of each, in the order of Plan::Devices.
  int64_t steps = 0;
};

// Movable; Share gives another handle of the same bytes, which live as long as the last handle.
class Plan {
 public:
  // What this build writes. It reads all versions from 1 on.
  static constexpr uint32_t kVersion = 4;

  // InvalidArgument: not a plan, or a version that this build cannot read. DataLoss: truncated or altered.
  // ResourceExhausted: no memory.
  static absl::StatusOr<Plan> FromBytes(std::string_view bytes);
  // The same for a file, and the errors of runtime/formats/file.h.
  static absl::StatusOr<Plan> Load(const std::string& path);
  // Writes the file whole or not at all.
  absl::Status Save(const std::string& path) const;

  Plan(Plan&&) noexcept = default;
  Plan& operator=(Plan&&) noexcept = default;
  Plan Share() const { return Plan(data_); }

  // Starts at a multiple of 64.
  std::span<const std::byte> bytes() const;
  // SHA-256 of the contents, as 64 hexadecimal digits.
  std::string hash() const;
  // Of the file that it was loaded from; empty for other bytes.
  std::string_view path() const;
  std::string_view name() const;
  std::string_view producer() const;  // "sinter 0.1.0"
  std::string_view target_cpu()
      const;  // Of several, the one that asks least of a CPU; empty: nothing depends on the CPU.
  // What the plan runs on, each once: cpu:0 where it says nothing else. They need not exist here (runtime/memory/device_info.h).
  std::vector<Device> Devices() const;

  std::vector<FunctionInfo> Functions() const;
  // NotFound lists the functions that there are.
  absl::StatusOr<FunctionInfo> Function(std::string_view name) const;
  // Once each: replicas on other devices or of narrower types, which always have the same value, are not listed.
  std::vector<VariableInfo> Variables() const;

  // FailedPrecondition when the running CPU lacks what the plan's code was compiled for, or what Sinter itself needs.
  absl::Status CheckTarget() const;

  // The verified tables, for the runtime and for tools that print them. Every index in them is in range, every pointer
  // that plan_verifier.h lists is set.
  const fb::Plan& table() const { return *table_; }

 private:
  struct Data;
  explicit Plan(std::shared_ptr<const Data> data);
  static absl::StatusOr<Plan> Verified(std::shared_ptr<const Data> data);

  std::shared_ptr<const Data> data_;
  const fb::Plan* table_;
};

// For whoever writes plans. Completes a finished FlatBuffer whose content_hash field holds 32 bytes: writes the SHA-256
// of the whole, taken with these bytes zero. InvalidArgument when there is no such field.
absl::Status SealPlan(std::string& bytes);

}  // namespace sinter

#endif  // SINTER_RUNTIME_PLAN_PLAN_H_
