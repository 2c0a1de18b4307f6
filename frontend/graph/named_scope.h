// A part of a function that a translator builds from another program, such as a node of an imported model.
//
//   NamedScope scope(b, "det.onnx:459: ConvTranspose 'deconv'", where);
//   Tensor y = ConvTranspose2d(x, w);          // In errors and reports: the user's line and this text.
//   if (!scope.ok()) return scope.status();
#ifndef SINTER_FRONTEND_GRAPH_NAMED_SCOPE_H_
#define SINTER_FRONTEND_GRAPH_NAMED_SCOPE_H_

#include <string>

#include "absl/status/status.h"
#include "sinter/frontend/graph/graph.h"

namespace sinter {

class NamedScope {
 public:
  // Without effect, and not ok, if the builder's graph has been destroyed.
  NamedScope(const Builder& b, std::string what, Where where = Where::current());
  ~NamedScope();
  NamedScope(const NamedScope&) = delete;
  NamedScope& operator=(const NamedScope&) = delete;

  // The errors of the graph so far.
  absl::Status status() const;
  bool ok() const { return status().ok(); }

 private:
  GraphState* graph_;
};

}  // namespace sinter

#endif  // SINTER_FRONTEND_GRAPH_NAMED_SCOPE_H_
