// A multi-layer perceptron split across two devices by hand.
//
//   ParallelMlp net({.device0 = sn::Device::Gpu(0), .device1 = sn::Device::Gpu(1)});
//   sn::Tensor logits = net(x);      // x and the logits are on device0.
//
// Each device has half of every layer; the devices exchange results twice. After three layers each half has a
// partial sum of all units and receives the other half's sum. After three more layers, device0 adds the two
// logits. The code writes every copy explicitly: x to device1, z1 to device0, z0 to device1, y1 to device0.
// Their gradients take the reverse ways, except for x, which needs no gradient. If both devices are the same,
// no copy remains.
#ifndef SINTER_EXAMPLES_PARALLEL_MLP_PARALLEL_MLP_H_
#define SINTER_EXAMPLES_PARALLEL_MLP_PARALLEL_MLP_H_

#include <cstdint>
#include <string>

#include "sinter/sinter.h"

struct ParallelMlpOptions {
  int64_t units = 2000;  // Units of a hidden layer, summed over both devices.
  int64_t classes = 10;
  sn::Device device0, device1;
};

class ParallelMlp {
 public:
  explicit ParallelMlp(const ParallelMlpOptions& options)
      : device0_(options.device0),
        device1_(options.device1),
        first0_(Mlp("first0", options.units, options.units, device0_)),
        first1_(Mlp("first1", options.units, options.units, device1_)),
        second0_(Mlp("second0", options.units, options.classes, device0_)),
        second1_(Mlp("second1", options.units, options.classes, device1_)) {}

  sn::Tensor operator()(const sn::Tensor& x) const {
    sn::Tensor z0 = first0_(x), z1 = first1_(sn::Copy(x, device1_));
    sn::Tensor h0 = sn::Relu(z0 + sn::Copy(z1, device0_));
    sn::Tensor h1 = sn::Relu(z1 + sn::Copy(z0, device1_));
    return second0_(h0) + sn::Copy(second1_(h1), device0_);
  }

 private:
  static sn::nn::Module Mlp(const std::string& name, int64_t units, int64_t out, sn::Device device) {
    using namespace sn::nn;  // NOLINT
    Module mlp = Sequential{Linear(units / 2), Relu(), Linear(units / 2), Relu(), Linear(out)};
    return mlp.Named(name).To(device);
  }

  sn::Device device0_, device1_;
  sn::nn::Module first0_, first1_, second0_, second1_;
};

// Returns a graph with a training step and a prediction for batches of `rows` examples with `features`
// numbers each.
inline sn::Graph BuildParallelMlp(const ParallelMlpOptions& options, int64_t rows, int64_t features) {
  sn::Graph graph("parallel_mlp");
  ParallelMlp net(options);
  graph.Function("train", sn::Mode::kTrain, [&](sn::Builder& b) {
    // x, y and the loss have no explicit device. They go to the device of their users, device0.
    sn::Tensor x = b.Input("x", sn::F32, {rows, features}), y = b.Input("y", sn::I32, {rows});
    sn::Tensor loss = sn::SoftmaxCrossEntropy(net(x), y);
    sn::optim::Sgd{.learning_rate = b.Scalar("lr")}.Minimize(loss);
    b.Output("loss", loss);
    // The log keeps the losses on the device until the loop reads them.
    b.Log("loss", loss);
  });
  graph.Function("predict", sn::Mode::kTrain,
                 [&](sn::Builder& b) { b.Output("logits", net(b.Input("x", sn::F32, {rows, features}))); });
  return graph;
}

#endif  // SINTER_EXAMPLES_PARALLEL_MLP_PARALLEL_MLP_H_
