// A plan of library calls and copies, built by hand to time them. It needs no generated code.
//
//   HandmadePlan plan({Device::Gpu(0)}, "sinter profile", "roofline");
//   plan.AddMatmul("square", {.type = {DType::kBf16}, .m = 8192, .n = 8192, .k = 8192}, /*times=*/1);
//   SINTER_ASSIGN_OR_RETURN(Plan made, plan.Make());
//
// Each method adds a function whose steps are `times` equal ones. Operands are variables with random values:
// a matmul of zeros runs at another speed. Functions share operands of equal type and shape.
#ifndef SINTER_TOOLS_HANDMADE_PLAN_H_
#define SINTER_TOOLS_HANDMADE_PLAN_H_

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/plan_generated.h"
#include "sinter/runtime/memory/device.h"
#include "sinter/runtime/plan/plan.h"
#include "sinter/runtime/plan/step_kind.h"

namespace sinter::tools {

struct MatmulSizes {
  ContractionType type = {};
  int64_t batch = 1, m = 1, n = 1, k = 1;
  bool transpose_a = false, transpose_b = false;
};

// A convolution of square images and windows without padding, in the forward direction.
struct ConvSizes {
  ContractionType type = {};
  fb::ConvKind kind = fb::ConvKind::Forward;
  fb::ImageLayout layout = fb::ImageLayout::Nhwc;
  int64_t batch = 1, in_channels = 1, out_channels = 1, in_size = 1, kernel = 1, stride = 1;

  int64_t out_size() const { return (in_size - kernel) / stride + 1; }
};

// Causal attention over packed queries, keys and values.
struct AttentionSizes {
  DType dtype = DType::kBf16;
  bool backward = false;
  int64_t batch = 1, tokens = 1, heads = 1, width = 64;
};

class HandmadePlan {
 public:
  HandmadePlan(const std::vector<Device>& devices, const std::string& producer, const std::string& name);

  // `Bytes` and flops of one step are what emitted plans state.
  void AddCopy(const std::string& name, int64_t floats, int times);
  // Each step has weights of its own, which come from memory where they are many, as in a model of several
  // layers: the second operand, or the result if the first operand is transposed (a gradient of weights).
  void AddMatmul(const std::string& name, const MatmulSizes& sizes, int times);
  void AddConv(const std::string& name, const ConvSizes& sizes, int times);
  void AddAttention(const std::string& name, const AttentionSizes& sizes, int times);
  // A collective of all devices over a tensor of f32, which their number divides: AllReduce, AllGather or
  // ReduceScatter. `matmul`: device by device also a matmul beside it, if not null; `has_collective` is false
  // for the matmuls alone.
  void AddCollective(const std::string& name, fb::CollectiveKind kind, int64_t floats, int times,
                     const MatmulSizes* matmul = nullptr, bool has_collective = true);

  absl::StatusOr<Plan> Make() const;

 private:
  using Shape = std::vector<int64_t>;

  fb::FunctionT& AddFunction(const std::string& name);
  // Operands of other `set` are other variables.
  uint32_t Operand(fb::FunctionT& function, DType dtype, const Shape& shape, uint32_t device = 0,
                   int set = 0);
  uint32_t Result(fb::FunctionT& function, DType dtype, const Shape& shape, uint32_t device = 0);
  void AddMatmulStep(fb::FunctionT& function, const MatmulSizes& sizes, const std::vector<uint32_t>& buffers,
                     uint32_t device);
  template <typename Body>
  fb::StepT& AddStep(fb::FunctionT& function, Body body, std::vector<uint32_t> inputs,
                     std::vector<uint32_t> outputs, double flops, uint32_t device = 0);

  fb::PlanT table_;
  std::map<std::tuple<DType, Shape, uint32_t, int>, uint32_t> variables_;
};

}  // namespace sinter::tools

#endif  // SINTER_TOOLS_HANDMADE_PLAN_H_
