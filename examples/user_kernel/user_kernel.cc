// Two user-defined kernels: an elementwise function with its gradient, and a kernel that indexes an array.
#include <iostream>

#include "sinter/sinter.h"

absl::Status Run() {
  // The squared difference. Without `gradient`, differentiating through it would be an error.
  const sn::ElementwiseKernel squared_diff("T x, T y", "T z", "z = (x - y) * (x - y)", "squared_diff",
                                           {.gradient = [](const sn::ElementwiseValues& v) {
                                             sn::Tensor d =
                                                 2.0 * (v.inputs[0] - v.inputs[1]) * v.gradients[0];
                                             return std::vector<sn::Tensor>{d, -d};
                                           }});
  // Finds the segment of each i; `at` holds the first i of each segment. The search continues from the
  // previous i.
  const sn::ElementwiseKernel segment_of("raw int32 at", "int32 segment", R"(
      while (now + 1 < at.size() && at[now + 1] <= i) ++now;
      segment = now;
  )",
                                         "segment_of", {.prologue = "int now = 0;"});

  sn::Graph graph("user_kernel");
  graph.Function("f", sn::Mode::kTrain, [&](sn::Builder& b) {
    sn::Tensor x = b.Input("x", sn::F32, {2, 3}), row = b.Input("row", sn::F32, {3});
    sn::Tensor loss = sn::Sum(squared_diff({x, row}));  // The row is broadcast, as in NumPy.
    b.Output("loss", loss);
    b.Output("gradient", sn::Gradients(loss, {x})[0]);
    b.Output("segment", segment_of({b.Input("at", sn::I32, {3})}, {.size = 6}));
  });

  const sn::Device device = sn::TryGpu();  // cpu:0 if there is no GPU.
  std::cout << "runs on " << device << "\n";
  SINTER_ASSIGN_OR_RETURN(sn::Plan plan, sn::Compile(graph, {.device = device}));
  SINTER_ASSIGN_OR_RETURN(sn::Session session, sn::Session::Create(std::move(plan)));
  SINTER_ASSIGN_OR_RETURN(auto x, sn::HostTensor::FromVector<float>({2, 3}, {1, 2, 3, 4, 5, 6}));
  SINTER_ASSIGN_OR_RETURN(auto row, sn::HostTensor::FromVector<float>({3}, {1, 1, 1}));
  SINTER_ASSIGN_OR_RETURN(auto at, sn::HostTensor::FromVector<int32_t>({3}, {0, 1, 4}));
  SINTER_ASSIGN_OR_RETURN(sn::Outputs out, session.Run("f", {{"x", x}, {"row", row}, {"at", at}}));

  SINTER_ASSIGN_OR_RETURN(double loss, out.Scalar("loss"));
  SINTER_ASSIGN_OR_RETURN(auto gradient, out["gradient"].Span<float>());
  SINTER_ASSIGN_OR_RETURN(auto segment, out["segment"].Span<int32_t>());
  std::cout << "loss " << loss << "\ngradient";
  for (float g : gradient) std::cout << " " << g;
  std::cout << "\nsegment";
  for (int32_t s : segment) std::cout << " " << s;
  std::cout << "\n";
  return absl::OkStatus();
}

int main() {
  absl::Status status = Run();
  if (!status.ok()) std::cerr << status.message() << "\n";
  return status.ok() ? 0 : 1;
}
