// Learns the sum of two numbers: a model, its training step, a plan, a run.
#include <iostream>

#include "sinter/sinter.h"

namespace nn = sn::nn;

absl::Status Train() {
  sn::Graph graph("quickstart");
  auto net = nn::Sequential{nn::Linear(16), nn::Relu(), nn::Linear(1)};
  graph.Function("train", sn::Mode::kTrain, [&](sn::Builder& b) {
    sn::Tensor x = b.Input("x", sn::F32, {4, 2});
    sn::Tensor y = b.Input("y", sn::F32, {4, 1});
    sn::Tensor loss = sn::MseLoss(net(x), y);
    sn::optim::Adam{.learning_rate = b.Scalar("lr")}.Minimize(loss);
    b.Output("loss", loss);
  });
  graph.Function("predict", sn::Mode::kEval, [&](sn::Builder& b) {  // Shares the weights.
    b.Output("y", net(b.Input("x", sn::F32, {1, 2})));
  });

  const sn::Device device = sn::TryGpu();  // cpu:0 if there is no GPU.
  std::cout << "runs on " << device << "\n";
  SINTER_ASSIGN_OR_RETURN(sn::Plan plan, sn::Compile(graph, {.device = device}));
  SINTER_RETURN_IF_ERROR(plan.Save("quickstart.plan"));  // Another machine needs only this file.
  SINTER_ASSIGN_OR_RETURN(sn::Session session, sn::Session::Create(std::move(plan)));

  SINTER_ASSIGN_OR_RETURN(auto x, sn::HostTensor::FromVector<float>({4, 2}, {0, 0, 0, 1, 1, 0, 1, 1}));
  SINTER_ASSIGN_OR_RETURN(auto y, sn::HostTensor::FromVector<float>({4, 1}, {0, 1, 1, 2}));
  for (int step = 0; step < 500; ++step) {
    SINTER_ASSIGN_OR_RETURN(sn::Outputs out, session.Run("train", {{"x", x}, {"y", y}, {"lr", 0.01}}));
    if (step % 100 != 0) continue;  // Reading the loss waits for the device.
    SINTER_ASSIGN_OR_RETURN(double loss, out.Scalar("loss"));
    std::cout << "step " << step << ": loss " << loss << "\n";
  }

  SINTER_ASSIGN_OR_RETURN(auto pair, sn::HostTensor::FromVector<float>({1, 2}, {1, 1}));
  SINTER_ASSIGN_OR_RETURN(sn::Outputs out, session.Run("predict", {{"x", pair}}));
  SINTER_ASSIGN_OR_RETURN(double sum, out.Scalar("y"));
  std::cout << "1 + 1 = " << sum << "\n";
  return absl::OkStatus();
}

int main() {
  absl::Status status = Train();
  if (!status.ok()) std::cerr << status.message() << "\n";
  return status.ok() ? 0 : 1;
}
