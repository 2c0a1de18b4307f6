#include "sinter/frontend/data/dataset.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/tensor/tensor_bytes.h"

namespace sinter::data {
namespace {

absl::Status CheckNames(const std::vector<std::string>& names) {
  std::set<std::string> seen;
  for (const std::string& name : names) {
    if (name.empty()) return absl::InvalidArgumentError("a field of a set has an empty name");
    if (!seen.insert(name).second) {
      return absl::InvalidArgumentError(absl::StrCat("two fields of a set are named '", name, "'"));
    }
  }
  return absl::OkStatus();
}

class TensorSource : public Source {
 public:
  TensorSource(std::vector<NamedTensor> fields, int64_t size) : fields_(std::move(fields)), size_(size) {}

  int64_t size() const override { return size_; }

  absl::StatusOr<Example> Get(int64_t i, SplitMix&) const override {
    Example example;
    for (const NamedTensor& field : fields_) {
      const std::vector<int64_t>& shape = field.tensor.shape();
      SINTER_ASSIGN_OR_RETURN(HostTensor row,
                              HostTensor::Empty(field.tensor.dtype(), {shape.begin() + 1, shape.end()}));
      const auto bytes = static_cast<size_t>(row.num_bytes());
      if (bytes > 0) {
        const auto* from = static_cast<const std::byte*>(field.tensor.data());
        std::memcpy(row.mutable_data(), from + static_cast<size_t>(i) * bytes, bytes);
      }
      example.fields.push_back(std::move(row));
    }
    return example;
  }

  std::vector<std::string> names() const override {
    std::vector<std::string> names;
    for (const NamedTensor& field : fields_) names.push_back(field.name);
    return names;
  }

 private:
  const std::vector<NamedTensor> fields_;
  const int64_t size_;
};

class MapSource : public Source {
 public:
  MapSource(Dataset set, MapFunction function, std::vector<std::string> names)
      : set_(std::move(set)),
        function_(std::move(function)),
        names_(names.empty() ? set_.names() : std::move(names)) {}

  int64_t size() const override { return set_.size(); }
  std::vector<std::string> names() const override { return names_; }

  absl::StatusOr<Example> Get(int64_t i, SplitMix& bits) const override {
    SINTER_ASSIGN_OR_RETURN(Example example, set_.Get(i, bits));
    SINTER_ASSIGN_OR_RETURN(example, function_(std::move(example), bits));
    if (example.fields.size() == names_.size()) return example;
    return absl::InvalidArgumentError(absl::StrCat(
        "the function of Map gave ", example.fields.size(), " fields, the set's names are ",
        absl::StrJoin(names_, ", "), "; give Map the names of the new fields as its second argument"));
  }

 private:
  const Dataset set_;
  const MapFunction function_;
  const std::vector<std::string> names_;
};

class ConcatSource : public Source {
 public:
  explicit ConcatSource(std::vector<Dataset> sets) : sets_(std::move(sets)) {
    int64_t end = 0;
    for (const Dataset& set : sets_) ends_.push_back(end += set.size());
  }

  int64_t size() const override { return ends_.back(); }
  std::vector<std::string> names() const override { return sets_[0].names(); }

  absl::StatusOr<Example> Get(int64_t i, SplitMix& bits) const override {
    const auto which = static_cast<size_t>(std::ranges::upper_bound(ends_, i) - ends_.begin());
    return sets_[which].Get(i - (which == 0 ? 0 : ends_[which - 1]), bits);
  }

 private:
  const std::vector<Dataset> sets_;
  std::vector<int64_t> ends_;  // End of each set, in the whole.
};

class SubsetSource : public Source {
 public:
  SubsetSource(Dataset set, std::vector<int64_t> indices)
      : set_(std::move(set)), indices_(std::move(indices)) {}

  int64_t size() const override { return static_cast<int64_t>(indices_.size()); }
  std::vector<std::string> names() const override { return set_.names(); }
  absl::StatusOr<Example> Get(int64_t i, SplitMix& bits) const override {
    return set_.Get(indices_[static_cast<size_t>(i)], bits);
  }

 private:
  const Dataset set_;
  const std::vector<int64_t> indices_;
};

class ZipSource : public Source {
 public:
  explicit ZipSource(std::vector<Dataset> sets) : sets_(std::move(sets)) {}

  int64_t size() const override { return sets_[0].size(); }

  std::vector<std::string> names() const override {
    std::vector<std::string> names;
    for (const Dataset& set : sets_) {
      for (std::string& name : set.names()) names.push_back(std::move(name));
    }
    return names;
  }

  absl::StatusOr<Example> Get(int64_t i, SplitMix& bits) const override {
    Example all;
    for (const Dataset& set : sets_) {
      SINTER_ASSIGN_OR_RETURN(Example example, set.Get(i, bits));
      std::ranges::move(example.fields, std::back_inserter(all.fields));
    }
    return all;
  }

 private:
  const std::vector<Dataset> sets_;
};

template <typename S, typename... A>
Dataset MakeSet(A&&... arguments) {
  return Dataset(std::make_shared<const S>(std::forward<A>(arguments)...));
}

}  // namespace

absl::StatusOr<Example> Dataset::Get(int64_t i, SplitMix& bits) const {
  if (i < 0 || i >= size()) {
    return absl::OutOfRangeError(absl::StrCat("there is no example ", i, " in a set of ", size()));
  }
  SINTER_ASSIGN_OR_RETURN(Example example, source_->Get(i, bits));
  if (example.fields.size() == num_fields_) return example;
  return absl::InternalError(absl::StrCat("a source gave an example of ", example.fields.size(),
                                          " fields, but it has ", num_fields_, " names"));
}

Dataset Dataset::Map(MapFunction function, std::vector<std::string> names) const {
  return MakeSet<MapSource>(*this, std::move(function), std::move(names));
}

absl::StatusOr<Dataset> OwnTensors(std::vector<NamedTensor> fields) {
  if (fields.empty()) return absl::InvalidArgumentError("a set of tensors needs at least one tensor");
  std::vector<std::string> names;
  for (const NamedTensor& field : fields) {
    names.push_back(field.name);
    const HostTensor& tensor = field.tensor;
    if (tensor.rank() == 0) {
      return absl::InvalidArgumentError(absl::StrCat("'", field.name, "' is a scalar, ", tensor.ToString(),
                                                     ": examples are the rows of the tensors of a set"));
    }
    if (tensor.shape()[0] != fields[0].tensor.shape()[0]) {
      return absl::InvalidArgumentError(absl::StrCat(
          "'", fields[0].name, "' and '", field.name,
          "' have different numbers of examples: ", fields[0].tensor.ToString(), " and ", tensor.ToString()));
    }
  }
  SINTER_RETURN_IF_ERROR(CheckNames(names));
  const int64_t size = fields[0].tensor.shape()[0];
  return MakeSet<TensorSource>(std::move(fields), size);
}

absl::StatusOr<Dataset> Tensors(std::initializer_list<FieldRef> fields) {
  std::vector<NamedTensor> copies;
  for (const FieldRef& field : fields) {
    SINTER_ASSIGN_OR_RETURN(HostTensor copy, field.tensor.Clone());
    copies.push_back({field.name, std::move(copy)});
  }
  return OwnTensors(std::move(copies));
}

absl::StatusOr<Dataset> Concat(std::vector<Dataset> sets) {
  if (sets.empty()) return absl::InvalidArgumentError("Concat needs at least one set");
  for (const Dataset& set : sets) {
    if (set.names() == sets[0].names()) continue;
    return absl::InvalidArgumentError(absl::StrCat("Concat needs sets of equal names, got ",
                                                   absl::StrJoin(sets[0].names(), ", "), " and ",
                                                   absl::StrJoin(set.names(), ", ")));
  }
  return MakeSet<ConcatSource>(std::move(sets));
}

absl::StatusOr<Dataset> Subset(const Dataset& set, std::vector<int64_t> indices) {
  for (const int64_t i : indices) {
    if (i >= 0 && i < set.size()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("Subset is asked for example ", i, " of a set of ", set.size()));
  }
  return MakeSet<SubsetSource>(set, std::move(indices));
}

absl::StatusOr<Dataset> Zip(std::vector<Dataset> sets) {
  if (sets.empty()) return absl::InvalidArgumentError("Zip needs at least one set");
  for (const Dataset& set : sets) {
    if (set.size() == sets[0].size()) continue;
    return absl::InvalidArgumentError(absl::StrCat("Zip needs sets of equal sizes, got ", sets[0].size(),
                                                   " and ", set.size(), " examples"));
  }
  Dataset zipped = MakeSet<ZipSource>(std::move(sets));
  SINTER_RETURN_IF_ERROR(CheckNames(zipped.names()));
  return zipped;
}

std::vector<int64_t> Permutation(int64_t size, SplitMix bits) {
  std::vector<int64_t> order(static_cast<size_t>(size));
  std::iota(order.begin(), order.end(), int64_t{0});
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[bits.Below(i)]);
  return order;
}

absl::StatusOr<std::vector<Dataset>> Split(const Dataset& set, const std::vector<double>& shares,
                                           uint64_t seed) {
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  const bool all_above_0 = std::ranges::all_of(shares, [](double share) { return share > 0; });
  constexpr double kRounding = 1e-9;
  if (shares.empty() || !all_above_0 || sum > 1 + kRounding) {
    return absl::InvalidArgumentError(
        absl::StrCat("the shares of Split are ", absl::StrJoin(shares, ", "),
                     "; they must be above 0 and add up to at most 1, such as 0.9, 0.1"));
  }
  const std::vector<int64_t> order = Permutation(set.size(), SplitMix(seed));
  std::vector<Dataset> parts;
  int64_t begin = 0;
  for (size_t k = 0; k < shares.size(); ++k) {
    const bool takes_rest = k + 1 == shares.size() && sum > 1 - kRounding;
    const auto count =
        static_cast<int64_t>(std::floor(shares[k] * static_cast<double>(set.size()) + kRounding));
    const int64_t end = takes_rest ? set.size() : std::min(begin + count, set.size());
    SINTER_ASSIGN_OR_RETURN(Dataset part, Subset(set, {order.begin() + begin, order.begin() + end}));
    parts.push_back(std::move(part));
    begin = end;
  }
  return parts;
}

absl::StatusOr<std::vector<Fold>> Folds(const Dataset& set, int64_t folds, uint64_t seed) {
  if (folds < 2 || folds > set.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("a cross-validation has 2 folds to as many as examples, which are ", set.size(),
                     "; it was asked for ", folds));
  }
  const std::vector<int64_t> order = Permutation(set.size(), SplitMix(seed));
  std::vector<Fold> result;
  for (int64_t k = 0; k < folds; ++k) {
    const auto begin = order.begin() + set.size() * k / folds,
               end = order.begin() + set.size() * (k + 1) / folds;
    std::vector<int64_t> others(order.begin(), begin);
    others.insert(others.end(), end, order.end());
    SINTER_ASSIGN_OR_RETURN(Dataset train, Subset(set, std::move(others)));
    SINTER_ASSIGN_OR_RETURN(Dataset validation, Subset(set, {begin, end}));
    result.push_back({std::move(train), std::move(validation)});
  }
  return result;
}

}  // namespace sinter::data
