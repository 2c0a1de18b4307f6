// Answers to which spiral points belong, with several threads: the serving program of the tutorial
// (docs/tutorial). It links the runtime alone.
//
//   echo "0.5 0.1" | tutorial_serve out
#include <algorithm>
#include <array>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "sinter/runtime.h"

namespace {

using Point = std::array<float, 2>;

// Sets red[i] to the probability that points[i] is red, for each i of a part of the points.
absl::Status Answer(sn::Session& session, const std::vector<Point>& points, size_t begin, size_t end,
                    std::vector<float>& red) {
  SINTER_ASSIGN_OR_RETURN(sn::BoundFunction serve, session.Bind("serve"));
  for (size_t i = begin; i < end; ++i) {
    SINTER_ASSIGN_OR_RETURN(const sn::HostTensor point,
                            sn::HostTensor::View(sn::DType::kF32, {1, 2}, points[i].data()));
    SINTER_RETURN_IF_ERROR(serve.SetInput("point", point));
    SINTER_RETURN_IF_ERROR(serve.Run());
    SINTER_ASSIGN_OR_RETURN(const sn::HostTensor* const p, serve.outputs().Get("p"));
    SINTER_ASSIGN_OR_RETURN(const auto values, p->Span<float>());
    red[i] = values[0];
  }
  return absl::OkStatus();
}

absl::Status Serve(const std::string& folder, const std::vector<Point>& points) {
  SINTER_ASSIGN_OR_RETURN(sn::Plan plan, sn::Plan::Load(folder + "/spirals.plan"));
  SINTER_ASSIGN_OR_RETURN(sn::Session first, sn::Session::Create(std::move(plan), {.threads = 1}));
  SINTER_RETURN_IF_ERROR(sn::LoadCheckpoint(first, folder + "/spirals.safetensors").status());

  constexpr size_t kWorkers = 4;
  std::vector<sn::Session> sessions;  // They share the weights and the code of `first`.
  for (size_t i = 0; i < kWorkers; ++i) {
    SINTER_ASSIGN_OR_RETURN(sn::Session session, first.Share({.threads = 1}));
    sessions.push_back(std::move(session));
  }
  std::vector<float> red(points.size());
  std::vector<absl::Status> statuses(kWorkers);
  std::vector<std::thread> workers;
  for (size_t i = 0; i < kWorkers; ++i) {
    workers.emplace_back([&, i] {
      const size_t begin = points.size() * i / kWorkers, end = points.size() * (i + 1) / kWorkers;
      statuses[i] = Answer(sessions[i], points, begin, end, red);
    });
  }
  for (std::thread& worker : workers) worker.join();
  for (const absl::Status& status : statuses) SINTER_RETURN_IF_ERROR(status);
  for (size_t i = 0; i < points.size(); ++i) {
    std::cout << points[i][0] << " " << points[i][1] << " " << (red[i] > 0.5f ? "red " : "blue ")
              << std::max(red[i], 1 - red[i]) << "\n";
  }
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::cerr << "usage: tutorial_serve FOLDER < POINTS\n", 2;
  std::vector<Point> points;
  for (Point point; std::cin >> point[0] >> point[1];) points.push_back(point);
  const absl::Status status = Serve(argv[1], points);
  if (!status.ok()) std::cerr << "tutorial_serve: " << status.message() << "\n";
  return status.ok() ? 0 : 1;
}
