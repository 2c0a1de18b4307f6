// What a device can do at most, measured: copying within its memory, and large products in each type. Steps are held
// against it.
//
//   SINTER_ASSIGN_OR_RETURN(std::vector<Roof> roofs, MeasureRoofs(plan.table(), function, session.threads()));
//   StepBound bound = BoundOf(*step, roofs[0]);       // {.seconds = 1.2e-5, .limit = "memory"}
#ifndef SINTER_TOOLS_ROOF_H_
#define SINTER_TOOLS_ROOF_H_

#include <compare>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/plan_generated.h"
#include "sinter/runtime/host/dtype.h"
#include "sinter/runtime/memory/device.h"

namespace sinter::tools {

// The arithmetic of a product.
struct ProductType {
  DType dtype = DType::kF32;
  fb::MathMode math = fb::MathMode::Ieee;

  // "bf16", "f32", "f32 as tf32".
  std::string ToString() const;
  friend auto operator<=>(const ProductType&, const ProductType&) = default;
};
// Of matrix products, convolutions and attention; nothing for other steps.
std::optional<ProductType> ProductTypeOf(const fb::Step& step);

struct Roof {
  Device device;
  double bytes_per_second = 0;  // Of a copy, read and written.
  double copied_bytes = 0;      // By it.
  struct Product {
    double flops_per_second = 0;
    int64_t size = 0;  // Of the square matrices that were multiplied.
  };
  std::map<ProductType, Product> products;
};

// Of each device of the plan that the function's steps run on, with products in the types of its steps. Takes memory for the
// operands (on a GPU 1 GiB for the copy, and 384 to 768 MiB for a product) and gives it back. Errors: of sessions.
absl::StatusOr<std::vector<Roof>> MeasureRoofs(const fb::Plan& plan, const fb::Function& function,
                                               int threads);

// The least time of a step whose bytes and, for a product, whose arithmetic the roof allows; and which of both it is.
struct StepBound {
  double seconds = 0;            // 0: there is no roof for it.
  std::string_view limit = "-";  // "memory", "compute".
};
// None for what exchanges values with another device.
StepBound BoundOf(const fb::Function& function, const fb::Step& step, const Roof& roof);

}  // namespace sinter::tools

#endif  // SINTER_TOOLS_ROOF_H_
