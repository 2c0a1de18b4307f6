// The base of distributions: parameters that broadcast together.
#ifndef SINTER_FRONTEND_DISTRIBUTIONS_FAMILY_H_
#define SINTER_FRONTEND_DISTRIBUTIONS_FAMILY_H_

#include <string>
#include <string_view>
#include <vector>

#include "sinter/frontend/graph/tensor.h"
#include "sinter/frontend/random/random.h"

namespace sinter::distributions {

// The distributions of one family, one for each element of the parameters (or vector, for families of
// vectors). A copy is the same distributions. Not ok() after an error, which the graph keeps.
class Family {
 public:
  bool ok() const;
  // The shape of the distributions: that of the parameters, without the dimension of a family of vectors.
  Shape batch_shape() const;
  // The shape of a number that is drawn from each distribution.
  const Shape& shape() const { return shape_; }
  DType dtype() const { return dtype_; }

 protected:
  // The parameters are floats of one type, or numbers, and broadcast together. If all are numbers, they are
  // f32[] of the function that is built. `vectors` is 1 for a family of vectors, along the last dimension.
  Family(std::string_view name, const std::vector<Operand>& parameters, Where where, int64_t vectors = 0);

  // Parameter i, broadcast to shape().
  const Tensor& p(size_t i) const { return parameters_[i]; }
  // sample_shape in front of shape().
  Shape Drawn(const Shape& sample_shape) const;

  std::string name_;
  std::vector<Tensor> parameters_;
  Shape shape_;
  DType dtype_ = DType::kF32;
  int64_t vectors_ = 0;

  friend class FamilyCall;
};

}  // namespace sinter::distributions

#endif  // SINTER_FRONTEND_DISTRIBUTIONS_FAMILY_H_
