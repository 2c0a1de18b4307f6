#include "sinter/runtime/cuda/context/cuda_stopwatch.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "sinter/runtime/cuda/context/recorded_graph.h"

namespace sinter {
namespace {

constexpr size_t kFills = 64;
constexpr int kSamples = 8;

absl::StatusOr<double> SecondsFrom(const CudaEvent& first, const CudaEvent& second) {
  float milliseconds = 0;
  SINTER_RETURN_IF_ERROR(
      CudaStatus(cudaEventElapsedTime(&milliseconds, first.get(), second.get()), "read a time"));
  return milliseconds * 1e-3;
}

class CudaStopwatch : public Stopwatch {
 public:
  CudaStopwatch(const CudaContext& context, double seconds_of_mark)
      : context_(context), seconds_of_mark_(seconds_of_mark) {}

  absl::Status MakeEvents(size_t marks) {
    const CudaDeviceScope on(context_.index());
    SINTER_RETURN_IF_ERROR(on.status());
    events_.resize(marks);
    for (CudaEvent& event : events_) {
      SINTER_ASSIGN_OR_RETURN(event, MakeCudaEvent(/*with_time=*/true));
    }
    return absl::OkStatus();
  }

  absl::Status Mark(size_t index) override {
    const CudaDeviceScope on(context_.index());
    cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    SINTER_RETURN_IF_ERROR(
        CudaStatus(cudaStreamIsCapturing(context_.stream(), &capture), "ask whether steps are recorded"));
    // In a capture, a plain event becomes an edge of the graph; an external event becomes a node.
    const unsigned flags =
        capture == cudaStreamCaptureStatusNone ? cudaEventRecordDefault : cudaEventRecordExternal;
    return CudaStatus(cudaEventRecordWithFlags(events_[index].get(), context_.stream(), flags),
                      "record an event");
  }

  absl::StatusOr<double> SecondsBetween(size_t first, size_t second) const override {
    return SecondsFrom(events_[first], events_[second]);
  }
  double SecondsOfMark() const override { return seconds_of_mark_; }

 private:
  const CudaContext& context_;
  const double seconds_of_mark_;
  std::vector<CudaEvent> events_;
};

// Returns the least time of a graph of fills. If `stopwatch` is not null, the graph has a mark after each
// fill.
absl::StatusOr<double> SecondsOfFills(const CudaContext& context, void* memory, Stopwatch* stopwatch) {
  const auto fill = [&]() -> absl::Status {
    for (size_t i = 0; i < kFills; ++i) {
      SINTER_RETURN_IF_ERROR(
          CudaStatus(cudaMemsetAsync(memory, 0, sizeof(float), context.stream()), "fill memory"));
      if (stopwatch != nullptr) SINTER_RETURN_IF_ERROR(stopwatch->Mark(i));
    }
    return absl::OkStatus();
  };
  SINTER_ASSIGN_OR_RETURN(const std::unique_ptr<RecordedWork> fills, RecordGraph(context, fill));
  SINTER_ASSIGN_OR_RETURN(const CudaEvent begin, MakeCudaEvent(/*with_time=*/true));
  SINTER_ASSIGN_OR_RETURN(const CudaEvent end, MakeCudaEvent(/*with_time=*/true));
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kSamples; ++i) {
    SINTER_RETURN_IF_ERROR(CudaStatus(cudaEventRecord(begin.get(), context.stream()), "record an event"));
    SINTER_RETURN_IF_ERROR(fills->Launch());
    SINTER_RETURN_IF_ERROR(CudaStatus(cudaEventRecord(end.get(), context.stream()), "record an event"));
    SINTER_RETURN_IF_ERROR(context.WaitFor(end.get(), "time a mark"));
    SINTER_ASSIGN_OR_RETURN(const double seconds, SecondsFrom(begin, end));
    least = std::min(least, seconds);
  }
  return least;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Stopwatch>> MakeCudaStopwatch(const CudaContext& context, size_t marks,
                                                             double seconds_of_mark) {
  auto stopwatch = std::make_unique<CudaStopwatch>(context, seconds_of_mark);
  SINTER_RETURN_IF_ERROR(stopwatch->MakeEvents(marks));
  return stopwatch;
}

absl::StatusOr<double> MeasureCudaMark(const CudaContext& context) {
  const CudaDeviceScope on(context.index());
  SINTER_RETURN_IF_ERROR(on.status());
  SINTER_ASSIGN_OR_RETURN(const Allocation memory,
                          context.allocator().Allocate(sizeof(float), "memory to time marks with"));
  SINTER_ASSIGN_OR_RETURN(const std::unique_ptr<Stopwatch> stopwatch, MakeCudaStopwatch(context, kFills, 0));
  SINTER_ASSIGN_OR_RETURN(const double without, SecondsOfFills(context, memory.ptr(), nullptr));
  SINTER_ASSIGN_OR_RETURN(const double with, SecondsOfFills(context, memory.ptr(), stopwatch.get()));
  return std::max(0.0, with - without) / kFills;
}

}  // namespace sinter
