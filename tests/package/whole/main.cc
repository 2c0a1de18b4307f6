// Builds, compiles, runs and saves a program that squares four numbers, and calls the reader of ONNX files.
#include <iostream>

#include "sinter/frontend/onnx/import.h"
#include "sinter/sinter.h"

int main(int argc, char** argv) {
  sn::Graph graph("square");
  graph.Function("square", sn::Mode::kTrain, [](sn::Builder& b) {
    sn::Tensor x = b.Input("x", sn::F32, {4});
    b.Output("y", x * x);
  });
  absl::StatusOr<sn::Plan> plan = sn::Compile(graph);
  absl::Status saved = plan.ok() && argc > 1 ? plan->Save(argv[1]) : plan.status();
  auto session = plan.ok() ? sn::Session::Create(*std::move(plan)) : plan.status();
  auto x = sn::HostTensor::FromVector<float>({4}, {1, 2, 3, 4});
  auto outputs = session.ok() ? session->Run("square", {{"x", *x}}) : session.status();
  if (!saved.ok() || !outputs.ok()) return std::cerr << saved << "\n" << outputs.status() << "\n", 1;
  if (!absl::IsNotFound(sn::OnnxModel::Open("none.onnx").status())) return 3;
  auto y = (*outputs)["y"].Span<float>();
  return y.ok() && (*y)[3] == 16 ? 0 : 2;
}
