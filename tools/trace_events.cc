#include "sinter/tools/trace_events.h"

#include <nlohmann/json.hpp>
#include <utility>

namespace sinter::tools {

TraceEvents::TraceEvents() = default;
TraceEvents::~TraceEvents() = default;

void TraceEvents::Name(const char* what, int process, int thread, const std::string& name) {
  events_.push_back(
      {{"name", what}, {"ph", "M"}, {"pid", process}, {"tid", thread}, {"args", {{"name", name}}}});
}
void TraceEvents::NameProcess(int process, const std::string& name) {
  Name("process_name", process, 0, name);
}
void TraceEvents::NameThread(int process, int thread, const std::string& name) {
  Name("thread_name", process, thread, name);
}

void TraceEvents::Add(const TraceEvent& event, nlohmann::ordered_json arguments) {
  events_.push_back({{"name", event.name},
                     {"cat", event.category},
                     {"ph", "X"},
                     {"ts", event.begin_seconds * 1e6},
                     {"dur", event.seconds * 1e6},
                     {"pid", event.process},
                     {"tid", event.thread},
                     {"args", std::move(arguments)}});
}

std::string TraceEvents::Text() const {
  using Json = nlohmann::ordered_json;
  const Json trace = {{"displayTimeUnit", "ns"}, {"traceEvents", events_}};
  return trace.dump(1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace sinter::tools
