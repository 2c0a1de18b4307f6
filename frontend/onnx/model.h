// A model in an ONNX file, read and checked.
//
//   SINTER_ASSIGN_OR_RETURN(OnnxModel model, OnnxModel::Open("det.onnx"));
//   for (const OnnxInput& input : model.inputs()) ...
//
// Any file is safe to open: what is wrong with it is an error. import.h builds a model's graph.
#ifndef SINTER_FRONTEND_ONNX_MODEL_H_
#define SINTER_FRONTEND_ONNX_MODEL_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "sinter/runtime/host/dtype.h"
#include "sinter/runtime/tensor/tensor.h"

namespace sinter {

namespace onnx {
struct ModelProto;
}

// Bounds of what a file may ask for. More is an error.
struct OnnxLimits {
  int64_t file_bytes = (int64_t{1} << 31) - 1;  // Bytes of the file; external data comes on top.
  int64_t tensor_bytes = int64_t{1} << 34;      // Bytes of each tensor.
  int64_t nodes = 1 << 18;                      // Nodes of the graph with its subgraphs and called functions.
  int64_t folded_elements = 1 << 16;            // Elements of a value that is computed while importing.
  int64_t unrolled_trips = 64;                  // Trips of loops whose bodies cannot be a Scan.
};

// The highest version of the operator set that is read.
inline constexpr int64_t kNewestOnnxVersion = 23;

struct OnnxInput {
  std::string name;
  enum class Kind { kTensor, kList, kOptional } kind = Kind::kTensor;
  std::optional<DType> dtype = std::nullopt;  // nullopt: a type that Sinter lacks.
  std::optional<std::vector<int64_t>> shape =
      std::nullopt;                         // -1 for an open size; nullopt: no shape is given.
  std::vector<std::string> dim_names = {};  // One a dimension; empty for dimensions without a name.
};

class OnnxModel {
 public:
  // Errors: NotFound; ResourceExhausted for a file above `file_bytes`; InvalidArgument for a file that is no
  // ONNX model, is damaged (the message says where) or above the other limits; Unimplemented for a newer
  // version of the standard.
  static absl::StatusOr<OnnxModel> Open(const std::string& path, const OnnxLimits& limits = {});
  // Reads bytes in memory. `name` stands for the file in messages; external data is then an error.
  static absl::StatusOr<OnnxModel> Parse(std::string_view bytes, const std::string& name,
                                         const OnnxLimits& limits = {});

  const std::string& name() const { return name_; }
  const std::string& folder() const { return folder_; }  // Folder of external data, or empty.
  const OnnxLimits& limits() const { return limits_; }
  // The inputs that have no value in the file, in its order.
  std::vector<OnnxInput> inputs() const;
  std::vector<std::string> outputs() const;
  // For Sinter's own sources.
  const onnx::ModelProto& file() const { return *file_; }

 private:
  // `owner` keeps the bytes.
  static absl::StatusOr<OnnxModel> Make(std::shared_ptr<const void> owner, std::string_view bytes,
                                        const std::string& name, const OnnxLimits& limits);

  std::string name_, folder_;
  OnnxLimits limits_;
  std::shared_ptr<const onnx::ModelProto> file_;
};

}  // namespace sinter

#endif  // SINTER_FRONTEND_ONNX_MODEL_H_
