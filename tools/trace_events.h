// The JSON of a trace for chrome://tracing and ui.perfetto.dev, event by event.
//
//   TraceEvents trace;
//   trace.NameProcess(0, "lenet, train");
//   trace.NameThread(0, 1, "gpu:0");
//   trace.Add({.name = "matmul", .category = "matmul", .thread = 1, .seconds = 1e-5}, {{"step", 3}});
//   file.Write(trace.Text());
//
// Format: Google, "Trace Event Format", complete events. Times are in microseconds.
#ifndef SINTER_TOOLS_TRACE_EVENTS_H_
#define SINTER_TOOLS_TRACE_EVENTS_H_

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace sinter::tools {

struct TraceEvent {
  std::string name, category;
  int process = 0, thread = 0;
  double begin_seconds = 0, seconds = 0;
};

class TraceEvents {
 public:
  TraceEvents();
  ~TraceEvents();

  void NameProcess(int process, const std::string& name);
  void NameThread(int process, int thread, const std::string& name);
  // `arguments` is an object, which the viewer shows with the event.
  void Add(const TraceEvent& event, nlohmann::ordered_json arguments);

  // Returns the trace as JSON text. Invalid UTF-8 in names is replaced.
  std::string Text() const;

 private:
  void Name(const char* what, int process, int thread, const std::string& name);

  std::vector<nlohmann::ordered_json> events_;
};

}  // namespace sinter::tools

#endif  // SINTER_TOOLS_TRACE_EVENTS_H_
