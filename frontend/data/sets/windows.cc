#include "sinter/frontend/data/sets/windows.h"

#include <algorithm>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sinter/runtime/host/status.h"

namespace sinter::data {
namespace {

absl::Status CheckWindows(int64_t tokens, int64_t time, int64_t stride,
                          const std::vector<std::string>& names) {
  if (time < 1 || stride < 1 || names.size() != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("windows of tokens need a time and a stride of at least 1, and 2 names; "
                     "got ",
                     time, ", ", stride, " and ", names.size()));
  }
  if (tokens > time) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("a window of ", time,
                                                 " tokens and the one behind it do not fit in ", tokens,
                                                 " tokens; take more text or shorter windows"));
}

// Makes x and y of `time + 1` tokens.
absl::StatusOr<Example> ShiftByOne(std::span<const int32_t> tokens) {
  const std::vector<int32_t> x(tokens.begin(), tokens.end() - 1), y(tokens.begin() + 1, tokens.end());
  Example example;
  for (const std::vector<int32_t>& part : {x, y}) {
    SINTER_ASSIGN_OR_RETURN(HostTensor field,
                            HostTensor::FromVector({static_cast<int64_t>(part.size())}, part));
    example.fields.push_back(std::move(field));
  }
  return example;
}

class WindowSource : public Source {
 public:
  WindowSource(TokenSet tokens, int64_t time, int64_t stride, std::vector<std::string> names)
      : tokens_(std::move(tokens)), time_(time), stride_(stride), names_(std::move(names)) {}

  int64_t size() const override { return (tokens_.size() - time_ - 1) / stride_ + 1; }
  std::vector<std::string> names() const override { return names_; }

  absl::StatusOr<Example> Get(int64_t i, SplitMix&) const override {
    std::vector<int32_t> window(static_cast<size_t>(time_ + 1));
    SINTER_RETURN_IF_ERROR(tokens_.CopyTo(i * stride_, window));
    return ShiftByOne(window);
  }

 private:
  const TokenSet tokens_;
  const int64_t time_, stride_;
  const std::vector<std::string> names_;
};

absl::StatusOr<std::span<const int32_t>> TokensOf(const Example& example, int64_t i) {
  const HostTensor& field = example.fields[0];
  if (field.dtype() == DType::kI32 && field.rank() == 1) return *field.Span<int32_t>();
  return absl::InvalidArgumentError(
      absl::StrCat("Pack takes examples whose first field is i32 [length]; that of example ", i, " is ",
                   field.ToString()));
}

class PackSource : public Source {
 public:
  // `ends`: of the examples in the stream of tokens, with separators.
  PackSource(Dataset set, PackOptions options, std::vector<int64_t> ends)
      : set_(std::move(set)), options_(std::move(options)), ends_(std::move(ends)) {}

  int64_t size() const override { return (ends_.back() - 1) / options_.time; }
  std::vector<std::string> names() const override { return options_.names; }

  absl::StatusOr<Example> Get(int64_t window, SplitMix& bits) const override {
    const int64_t begin = window * options_.time, end = begin + options_.time + 1;
    std::vector<int32_t> tokens;
    auto i = static_cast<size_t>(std::ranges::upper_bound(ends_, begin) - ends_.begin());
    for (; static_cast<int64_t>(tokens.size()) < end - begin; ++i) {
      SINTER_ASSIGN_OR_RETURN(const std::vector<int32_t> stream, Read(static_cast<int64_t>(i), bits));
      const int64_t start = i == 0 ? 0 : ends_[i - 1];
      const auto from = stream.begin() + std::max<int64_t>(0, begin - start);
      tokens.insert(tokens.end(), from,
                    stream.begin() + std::min(end - start, static_cast<int64_t>(stream.size())));
    }
    return ShiftByOne(tokens);
  }

 private:
  // The tokens of an example and its separator.
  absl::StatusOr<std::vector<int32_t>> Read(int64_t i, SplitMix& bits) const {
    SINTER_ASSIGN_OR_RETURN(const Example example, set_.Get(i, bits));
    SINTER_ASSIGN_OR_RETURN(const std::span<const int32_t> own, TokensOf(example, i));
    std::vector<int32_t> tokens(own.begin(), own.end());
    if (options_.separator.has_value()) tokens.push_back(*options_.separator);
    const auto at = static_cast<size_t>(i);
    const int64_t expected = ends_[at] - (at == 0 ? 0 : ends_[at - 1]);
    if (static_cast<int64_t>(tokens.size()) == expected) return tokens;
    return absl::InvalidArgumentError(
        absl::StrCat("Pack: example ", i, " has ", own.size(), " tokens, but had ",
                     expected - (options_.separator.has_value() ? 1 : 0),
                     " when the lengths were counted; lengths must not change"));
  }

  const Dataset set_;
  const PackOptions options_;
  const std::vector<int64_t> ends_;
};

}  // namespace

absl::StatusOr<Dataset> Windows(TokenSet tokens, const WindowOptions& options) {
  const int64_t stride = options.stride == 0 ? options.time : options.stride;
  SINTER_RETURN_IF_ERROR(CheckWindows(tokens.size(), options.time, stride, options.names));
  return Dataset(
      std::make_shared<const WindowSource>(std::move(tokens), options.time, stride, options.names));
}

absl::StatusOr<Dataset> Windows(const std::string& path, const WindowOptions& options) {
  SINTER_ASSIGN_OR_RETURN(TokenSet tokens, TokenSet::ReadU16(path));
  return Windows(std::move(tokens), options);
}

absl::StatusOr<Dataset> Pack(const Dataset& set, const PackOptions& options) {
  const bool has_lengths = !options.lengths.empty();
  if (has_lengths && static_cast<int64_t>(options.lengths.size()) != set.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("Pack is given ", options.lengths.size(), " lengths for ", set.size(), " examples"));
  }
  std::vector<int64_t> ends;
  int64_t end = 0;
  for (int64_t i = 0; i < set.size(); ++i) {
    int64_t length = 0;
    if (has_lengths) {
      length = options.lengths[static_cast<size_t>(i)];
      if (length < 0) return absl::InvalidArgumentError(absl::StrCat("Pack is given the length ", length));
    } else {
      SplitMix bits(0);
      SINTER_ASSIGN_OR_RETURN(const Example example, set.Get(i, bits));
      SINTER_ASSIGN_OR_RETURN(const std::span<const int32_t> tokens, TokensOf(example, i));
      length = static_cast<int64_t>(tokens.size());
    }
    ends.push_back(end += length + (options.separator.has_value() ? 1 : 0));
  }
  SINTER_RETURN_IF_ERROR(CheckWindows(end, options.time, 1, options.names));
  PackOptions kept = options;
  kept.lengths.clear();
  return Dataset(std::make_shared<const PackSource>(set, std::move(kept), std::move(ends)));
}

}  // namespace sinter::data
