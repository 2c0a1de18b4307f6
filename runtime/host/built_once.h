// Values that take long to build, by what they are built from: each is built when it is first asked for, and kept.
//
//   BuiltOnce<Shape, Primitive> primitives;
//   SINTER_ASSIGN_OR_RETURN(const Primitive* primitive, primitives.Get(shape, [&] { return MakePrimitive(shape); }));
//
// A key holds all that the value depends on: a struct with a defaulted operator<=> leaves out no member. What fails is not
// kept, and is tried again when it is next asked for. One thread at a time.
#ifndef SINTER_RUNTIME_HOST_BUILT_ONCE_H_
#define SINTER_RUNTIME_HOST_BUILT_ONCE_H_

#include <cstddef>
#include <map>
#include <utility>

#include "absl/status/statusor.h"

namespace sinter {

template <typename Key, typename Value>
class BuiltOnce {
 public:
  // `build` returns absl::StatusOr<Value>. What is given stays where it is for as long as this lives.
  template <typename Build>
  absl::StatusOr<const Value*> Get(const Key& key, Build&& build) {
    auto found = values_.find(key);
    if (found == values_.end()) {
      absl::StatusOr<Value> built = build();
      if (!built.ok()) return built.status();
      found = values_.emplace(key, *std::move(built)).first;
    }
    return &found->second;
  }

  // Takes what `other` has built, but for keys that are here; it stays where it is.
  void TakeFrom(BuiltOnce& other) { values_.merge(other.values_); }

  size_t size() const { return values_.size(); }

 private:
  std::map<Key, Value> values_;
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_HOST_BUILT_ONCE_H_
