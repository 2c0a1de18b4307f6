#include "sinter/runtime/cuda/context/cuda_event_timer.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "sinter/runtime/cuda/context/captured_graph.h"

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

class CudaEventTimer : public EventTimer {
 public:
  CudaEventTimer(const CudaContext& context, double seconds_per_event)
      : context_(context), seconds_per_event_(seconds_per_event) {}

  absl::Status MakeEvents(size_t events) {
    const CudaDeviceScope on(context_.index());
    SINTER_RETURN_IF_ERROR(on.status());
    events_.resize(events);
    for (CudaEvent& event : events_) {
      SINTER_ASSIGN_OR_RETURN(event, MakeCudaEvent(/*with_time=*/true));
    }
    return absl::OkStatus();
  }

  absl::Status RecordEvent(size_t index) override { return RecordOn(context_.stream(), index); }
  absl::Status RecordExchangeEvent(size_t index) override {
    return RecordOn(context_.collective_stream(), index);
  }

  absl::StatusOr<double> SecondsBetween(size_t first, size_t second) const override {
    return SecondsFrom(events_[first], events_[second]);
  }
  double SecondsPerEvent() const override { return seconds_per_event_; }

 private:
  absl::Status RecordOn(cudaStream_t stream, size_t index) {
    const CudaDeviceScope on(context_.index());
    cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    SINTER_RETURN_IF_ERROR(
        CudaStatus(cudaStreamIsCapturing(stream, &capture), "ask whether steps are captured"));
    // In a capture, a plain event becomes an edge of the graph; an external event becomes a node.
    const unsigned flags =
        capture == cudaStreamCaptureStatusNone ? cudaEventRecordDefault : cudaEventRecordExternal;
    return CudaStatus(cudaEventRecordWithFlags(events_[index].get(), stream, flags), "record an event");
  }

  const CudaContext& context_;
  const double seconds_per_event_;
  std::vector<CudaEvent> events_;
};

// Returns the least time of a graph of fills. If `timer` is not null, the graph has an event after each
// fill.
absl::StatusOr<double> SecondsOfFills(const CudaContext& context, void* memory, EventTimer* timer) {
  const auto fill = [&]() -> absl::Status {
    for (size_t i = 0; i < kFills; ++i) {
      SINTER_RETURN_IF_ERROR(
          CudaStatus(cudaMemsetAsync(memory, 0, sizeof(float), context.stream()), "fill memory"));
      if (timer != nullptr) SINTER_RETURN_IF_ERROR(timer->RecordEvent(i));
    }
    return absl::OkStatus();
  };
  SINTER_ASSIGN_OR_RETURN(const std::unique_ptr<CapturedGraph> fills, CaptureGraph(context, fill));
  SINTER_ASSIGN_OR_RETURN(const CudaEvent begin, MakeCudaEvent(/*with_time=*/true));
  SINTER_ASSIGN_OR_RETURN(const CudaEvent end, MakeCudaEvent(/*with_time=*/true));
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kSamples; ++i) {
    SINTER_RETURN_IF_ERROR(CudaStatus(cudaEventRecord(begin.get(), context.stream()), "record an event"));
    SINTER_RETURN_IF_ERROR(fills->Launch());
    SINTER_RETURN_IF_ERROR(CudaStatus(cudaEventRecord(end.get(), context.stream()), "record an event"));
    SINTER_RETURN_IF_ERROR(context.WaitFor(end.get(), "time an event"));
    SINTER_ASSIGN_OR_RETURN(const double seconds, SecondsFrom(begin, end));
    least = std::min(least, seconds);
  }
  return least;
}

}  // namespace

absl::StatusOr<std::unique_ptr<EventTimer>> MakeCudaEventTimer(const CudaContext& context, size_t events,
                                                               double seconds_per_event) {
  auto timer = std::make_unique<CudaEventTimer>(context, seconds_per_event);
  SINTER_RETURN_IF_ERROR(timer->MakeEvents(events));
  return timer;
}

absl::StatusOr<double> MeasureCudaMark(const CudaContext& context) {
  const CudaDeviceScope on(context.index());
  SINTER_RETURN_IF_ERROR(on.status());
  SINTER_ASSIGN_OR_RETURN(const Allocation memory,
                          context.allocator().Allocate(sizeof(float), "memory to time events with"));
  SINTER_ASSIGN_OR_RETURN(const std::unique_ptr<EventTimer> timer, MakeCudaEventTimer(context, kFills, 0));
  SINTER_ASSIGN_OR_RETURN(const double without, SecondsOfFills(context, memory.ptr(), nullptr));
  SINTER_ASSIGN_OR_RETURN(const double with, SecondsOfFills(context, memory.ptr(), timer.get()));
  return std::max(0.0, with - without) / kFills;
}

}  // namespace sinter
