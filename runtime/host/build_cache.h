// Cache of values that are slow to build: builds each value at the first request and keeps it.
//
//   BuildCache<Shape, Primitive> primitives;
//   SINTER_ASSIGN_OR_RETURN(const Primitive* primitive,
//                           primitives.Get(shape, [&] { return MakePrimitive(shape); }));
//
// A key must hold every input of the value. A struct with a defaulted operator<=> compares all its members. A
// failed build is not kept; the next request tries again. Not thread-safe.
#ifndef SINTER_RUNTIME_HOST_BUILD_CACHE_H_
#define SINTER_RUNTIME_HOST_BUILD_CACHE_H_

#include <cstddef>
#include <map>
#include <utility>

#include "absl/status/statusor.h"

namespace sinter {

template <typename Key, typename Value>
class BuildCache {
 public:
  // `build` returns absl::StatusOr<Value>. The returned pointer is valid as long as this object lives.
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

  // Takes the values that `other` has built, except those whose key exists here. The pointers stay valid.
  void TakeFrom(BuildCache& other) { values_.merge(other.values_); }

  size_t size() const { return values_.size(); }

 private:
  std::map<Key, Value> values_;
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_HOST_BUILD_CACHE_H_
