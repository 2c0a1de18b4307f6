#include "sinter/frontend/graph/named_scope.h"

#include <utility>

#include "sinter/frontend/graph/graph_state.h"

namespace sinter {

NamedScope::NamedScope(const Builder& b, std::string what, Where where)
    : graph_(b.function() == nullptr ? nullptr : &b.function()->graph()) {
  if (graph_ != nullptr) graph_->PushScope(where, std::move(what));
}

NamedScope::~NamedScope() {
  if (graph_ != nullptr) graph_->PopScope();
}

absl::Status NamedScope::status() const {
  return graph_ != nullptr ? graph_->status() : absl::FailedPreconditionError("the graph has been destroyed");
}

}  // namespace sinter
