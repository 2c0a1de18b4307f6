// Definitions of the types that sinter.h declares. Handles hold what they need by shared pointers, so that a
// caller may free them in any order.
#ifndef SINTER_RUNTIME_C_HANDLES_H_
#define SINTER_RUNTIME_C_HANDLES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sinter/runtime/c/call.h"
#include "sinter/runtime/plan/plan.h"
#include "sinter/runtime/session/session.h"
#include "sinter/runtime/tensor/tensor.h"

namespace sinter::c_interface {

// The values of a tensor and the owner of their memory. Immutable but for the elements.
struct TensorStorage {
  HostTensor tensor;
  // Keeps borrowed memory alive: a session for its outputs, a managed tensor of DLPack. Null: the caller
  // does.
  std::shared_ptr<const void> owner;
  bool is_copy = false;  // From DLPack, by a copy.

  uint32_t Flags() const;
};

sn_info InfoOf(const HostTensor& tensor);
sn_info InfoOf(const TensorInfo& info);

// Writes a new handle to `*out`. `owner`: as TensorStorage.
absl::Status GiveTensor(HostTensor tensor, std::shared_ptr<const void> owner, sn_tensor** out);

// A read-only tensor over the memory of `tensor`, which `owner` keeps.
absl::Status GiveView(const HostTensor& tensor, std::shared_ptr<const void> owner, sn_tensor** out);

// OK for null and for devices that compute in main memory. InvalidArgument: no name of a device.
// Unimplemented: another device.
absl::Status CheckHostDevice(const char* device);

}  // namespace sinter::c_interface

struct sn_plan {
  sinter::Plan plan;
  std::string name, hash;
  std::vector<sinter::FunctionInfo> functions;
  std::vector<sinter::VariableInfo> variables;
  std::vector<std::string> devices;
};

struct sn_tensor {
  std::shared_ptr<const sinter::c_interface::TensorStorage> storage;
};

struct sn_session {
  std::shared_ptr<sinter::Session> session;
};

struct sn_function {
  // Holds the tensors that inputs are set to, by the order of the inputs. Destroyed after `bound`.
  std::vector<std::shared_ptr<const sinter::c_interface::TensorStorage>> inputs;
  std::shared_ptr<sinter::Session> session;
  sinter::BoundFunction bound;
  bool has_run = false;
};

struct sn_outputs {
  std::shared_ptr<sinter::Session> session;
  sinter::Outputs outputs;
  std::vector<std::string> names;
};

struct sn_metadata {
  std::vector<std::pair<std::string, std::string>> entries;
};

#endif  // SINTER_RUNTIME_C_HANDLES_H_
