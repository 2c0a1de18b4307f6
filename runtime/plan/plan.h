// A plan: a verified, compiled program. Compile makes plans; a Session (runtime/session/session.h) runs them.
//
//   SINTER_ASSIGN_OR_RETURN(Plan plan, Plan::Load("lenet.plan"));
//   for (const FunctionInfo& f : plan.Functions()) std::cout << f.name << "\n";
//   SINTER_ASSIGN_OR_RETURN(Session session, Session::Create(std::move(plan)));
//
// The bytes (runtime/plan/plan.fbs) are untrusted: every index, offset, size and shape is verified before
// use. A truncated or altered file gives an error that names the fault, never a crash. A file is read into
// memory that no other process can change, and the session runs these verified bytes. So the file may be
// overwritten at any time.
//
// Reading a plan is safe, whoever wrote it. Running a plan is running a program: a session loads the plan's
// native code into the process. The content hash detects damage, not malice. Create sessions only of plans
// from sources whose programs you would run, or of a plan whose hash you know
// (SessionOptions::expected_hash).
//
// A plan made for another CPU loads, for inspection or distribution. CheckTarget and Session::Create refuse
// it.
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
  int64_t bytes = 0;       // The whole variable's, as the shape.
  int64_t part_bytes = 0;  // Bytes of the part that a rank holds. Equal to `bytes` unless `is_cut`.
  bool is_cut = false;     // True if ranks of the mesh hold different parts.
  bool is_sum = false;     // True if ranks of the mesh hold terms, whose sum is the value.
  bool trainable = false;
  std::string location;  // Source of the variable, "lenet.cc:12: Linear(128)". May be empty.
  Device device;         // Device that holds the value.
};

struct FunctionInfo {
  std::string name;
  std::vector<TensorInfo> inputs;
  std::vector<TensorInfo> outputs;
  int64_t arena_bytes = 0;                  // Sum over all devices.
  std::vector<int64_t> device_arena_bytes;  // Per device, in the order of Plan::Devices.
  int64_t steps = 0;                        // With a mesh: of rank 0.
};

// A named dimension of a plan's ranks.
struct MeshAxisInfo {
  std::string name;
  int64_t size = 1;
};

// Movable. Share returns another handle of the same bytes. The bytes live as long as the last handle.
class Plan {
 public:
  // This build reads versions 1 to kVersion.
  static constexpr uint32_t kVersion = 10;
  // The content of a plan, as far as its version depends on it.
  struct Content {
    bool mesh = false;
    bool fragments = false;
    bool guards = false;
    // An attention step has a window, a bias, or fewer queries than keys and a causal mask.
    bool masked_attention = false;
    // A matmul of i8 has a result of i32.
    bool wide_integer_matmul = false;
    // A matmul has operands of 8-bit floats.
    bool float8_matmul = false;

    // Adds the content of a part.
    constexpr Content& operator|=(const Content& part) {
      mesh |= part.mesh, fragments |= part.fragments, guards |= part.guards;
      masked_attention |= part.masked_attention, wide_integer_matmul |= part.wide_integer_matmul;
      float8_matmul |= part.float8_matmul;
      return *this;
    }
  };
  // Version for writers: the least that the content needs, so that older builds read what they can.
  static constexpr uint32_t LeastVersion(const Content& has) {
    if (has.float8_matmul) return 10;
    if (has.wide_integer_matmul) return 9;
    if (has.masked_attention) return 8;
    return has.guards ? 7 : has.fragments ? 6 : has.mesh ? 5 : 4;
  }

  // InvalidArgument: not a plan, or a version that this build cannot read. DataLoss: truncated or altered.
  // ResourceExhausted: out of memory.
  static absl::StatusOr<Plan> FromBytes(std::string_view bytes);
  // Reads a file. Errors: those of FromBytes and of runtime/formats/file.h.
  static absl::StatusOr<Plan> Load(const std::string& path);
  // Writes the whole file or nothing.
  absl::Status Save(const std::string& path) const;

  Plan(Plan&&) noexcept = default;
  Plan& operator=(Plan&&) noexcept = default;
  Plan Share() const { return Plan(data_); }

  // The plan's bytes, aligned to 64.
  std::span<const std::byte> bytes() const;
  // SHA-256 of the contents, as 64 hexadecimal digits.
  std::string hash() const;
  // Path of the loaded file. Empty if the plan was made from bytes.
  std::string_view path() const;
  std::string_view name() const;
  std::string_view producer() const;  // "sinter 0.1.0"
  // CPU of the least demanding target. Empty if nothing depends on the CPU.
  std::string_view target_cpu() const;
  // Devices that the plan runs on, each once; with a mesh, those of all ranks, one rank after the other. Only
  // cpu:0 if the plan has no list. The devices need not exist on this machine (runtime/memory/device_info.h).
  std::vector<Device> Devices() const;
  // The axes of the plan's mesh, the last one innermost. Empty without a mesh. The ranks are as many as the
  // product of the sizes.
  std::vector<MeshAxisInfo> Mesh() const;

  // Lists each function once, also if ranks run different ones of its name.
  std::vector<FunctionInfo> Functions() const;
  // NotFound lists the plan's functions.
  absl::StatusOr<FunctionInfo> Function(std::string_view name) const;
  // Lists each variable once, without replicas (copies on other devices or of narrower types, which always
  // have the same value).
  std::vector<VariableInfo> Variables() const;

  // FailedPrecondition if the running CPU lacks features that the plan's code or Sinter itself needs.
  absl::Status CheckTarget() const;

  // The verified tables, for the runtime and for tools that print them. Every index is in range. Every
  // pointer that plan_verifier.h lists is set.
  const fb::Plan& table() const { return *table_; }

 private:
  struct Data;
  explicit Plan(std::shared_ptr<const Data> data);
  static absl::StatusOr<Plan> Verified(std::shared_ptr<const Data> data);

  std::shared_ptr<const Data> data_;
  const fb::Plan* table_;
};

// For writers of plans: completes a finished FlatBuffer whose content_hash field has 32 bytes. Writes the
// SHA-256 of the buffer, computed with these 32 bytes zero. InvalidArgument if the field is missing or has
// another size.
absl::Status SealPlan(std::string& bytes);

}  // namespace sinter

#endif  // SINTER_RUNTIME_PLAN_PLAN_H_
