// More layers of vectors of features, and of ids.
//
//   nn::Sequential net{nn::Maxout(128, 3), nn::Highway(), nn::SpatialDropout(0.1), nn::Linear(10)};
#ifndef SINTER_FRONTEND_NN_FEATURE_LAYERS_H_
#define SINTER_FRONTEND_NN_FEATURE_LAYERS_H_

#include <cstdint>
#include <functional>
#include <optional>

#include "sinter/frontend/nn/layers.h"

namespace sinter::nn {

// Returns its input.
class Identity : public Module {
 public:
  Identity();
};

// The largest of `pieces` linear maps for each output (Goodfellow et al., arXiv 1302.4389): [..., in] to
// [..., out]. Child: `linear`, a Linear to out * pieces.
class Maxout : public Module {
 public:
  Maxout(int64_t out_features, int64_t pieces, const LinearOptions& options = {});
};

// gate * activation(plain(x)) + (1 - gate) * x (Srivastava et al., arXiv 1505.00387) for x [..., width].
// Children: `plain` and `gate`, Linears to the width; the gate's has a sigmoid and starts at gate_bias.
struct HighwayOptions {
  std::function<Tensor(const Tensor&)> activation = {};  // Empty: ReLU.
  double gate_bias = -1;
  LinearOptions linear = {};
};
class Highway : public Module {
 public:
  explicit Highway(const HighwayOptions& options = {});
};

// Maps pairs x [..., n], y [..., m] to [..., out]: the sum of x_i weight[o, i, j] y_j, plus a bias.
// Parameters: weight [out, n, m] and bias [out].
struct BilinearOptions {
  bool bias = true;
  Initializer weight = LeCunNormal();
  Initializer bias_init = Zeros();
  MathMode math = MathMode::kIeee;
};
class Bilinear : public ModuleOf<Tensor(const Tensor& x, const Tensor& y)> {
 public:
  explicit Bilinear(int64_t out_features, const BilinearOptions& options = {});
};

// Sums, means or maxima of the vectors of bags of ids [..., n]: [..., width]. Parameter: weight [count,
// width].
enum class Pooling { kSum, kMean, kMax };
struct EmbeddingBagOptions {
  Pooling pooling = Pooling::kMean;
  std::optional<int64_t> padding_id = {};  // Ids that do not count. Bags without others give zeros.
  DType dtype = DType::kF32;
  Initializer weight = Normal(1);
};
class EmbeddingBag : public Module {
 public:
  EmbeddingBag(int64_t count, int64_t width, const EmbeddingBagOptions& options = {});
};

// Drops whole channels of x [N, C, ...] in Mode::kTrain (Tompson et al., arXiv 1411.4280), and scales the
// others; returns x in Mode::kEval.
class SpatialDropout : public Module {
 public:
  explicit SpatialDropout(double probability);
};

}  // namespace sinter::nn

#endif  // SINTER_FRONTEND_NN_FEATURE_LAYERS_H_
