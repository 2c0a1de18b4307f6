#include "sinter/frontend/data/mnist.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sinter/frontend/data/data_folder.h"
#include "sinter/frontend/data/idx.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/tensor/tensor_bytes.h"

namespace sinter {
namespace {

namespace fs = std::filesystem;

// `part` is "train" or "t10k", `kind` is "images-idx3" or "labels-idx1".
std::optional<std::string> FindFile(const std::string& folder, const std::string& part,
                                    const std::string& kind) {
  std::string dotted = kind;
  dotted[dotted.find('-')] = '.';
  std::error_code ignored;
  for (const std::string& style : {kind, dotted}) {
    for (const char* ending : {"-ubyte", "-ubyte.gz"}) {
      std::string path = absl::StrCat(folder, "/", part, "-", style, ending);
      if (fs::exists(path, ignored)) return path;
    }
  }
  return std::nullopt;
}

// nullopt if neither file exists.
absl::StatusOr<std::optional<ImageSet>> LoadPart(const std::string& folder, const std::string& part) {
  const std::optional<std::string> images = FindFile(folder, part, "images-idx3");
  const std::optional<std::string> labels = FindFile(folder, part, "labels-idx1");
  if (!images.has_value() && !labels.has_value()) return std::nullopt;
  if (!images.has_value() || !labels.has_value()) {
    return absl::NotFoundError(
        absl::StrCat(folder, ": has ", part, " ", images.has_value() ? "images" : "labels", ", but no ", part,
                     images.has_value() ? "-labels-idx1-ubyte" : "-images-idx3-ubyte", " (plain or .gz)"));
  }
  ImageSet set;
  SINTER_ASSIGN_OR_RETURN(set.images, ReadIdxImages(*images));
  SINTER_ASSIGN_OR_RETURN(set.labels, ReadIdxLabels(*labels));
  const int64_t count = set.images.shape()[0];
  if (count != set.labels.shape()[0]) {
    return absl::DataLossError(
        absl::StrCat(folder, ": ", count, " ", part, " images, but ", set.labels.shape()[0], " labels"));
  }
  const std::span<const std::byte> values = BytesOf(set.labels);
  const auto bad = std::ranges::find_if(values, [](std::byte label) { return label > std::byte{9}; });
  if (bad != values.end()) {
    return absl::DataLossError(absl::StrCat(*labels, ": label ", bad - values.begin(), " is ",
                                            std::to_integer<int>(*bad), ", labels are below 10"));
  }
  return set;
}

// Returns a copy of rows [begin, end) of the first dimension.
absl::StatusOr<HostTensor> Rows(const HostTensor& tensor, int64_t begin, int64_t end) {
  std::vector<int64_t> shape = tensor.shape();
  const int64_t row_bytes = shape[0] == 0 ? 0 : tensor.num_bytes() / shape[0];
  shape[0] = end - begin;
  SINTER_ASSIGN_OR_RETURN(HostTensor rows, HostTensor::Empty(tensor.dtype(), std::move(shape)));
  std::ranges::copy(BytesOf(tensor).subspan(begin * row_bytes, (end - begin) * row_bytes),
                    MutableBytesOf(rows).begin());
  return rows;
}

absl::StatusOr<ImageSet> Rows(const ImageSet& set, int64_t begin, int64_t end) {
  ImageSet rows;
  SINTER_ASSIGN_OR_RETURN(rows.images, Rows(set.images, begin, end));
  SINTER_ASSIGN_OR_RETURN(rows.labels, Rows(set.labels, begin, end));
  return rows;
}

}  // namespace

absl::StatusOr<MnistDataset> LoadMnist(const std::string& name, const std::string& folder) {
  MnistDataset data;
  SINTER_ASSIGN_OR_RETURN(data.folder, FindDataFolder(name, folder));
  SINTER_ASSIGN_OR_RETURN(std::optional<ImageSet> test, LoadPart(data.folder, "t10k"));
  if (!test.has_value()) {
    return absl::NotFoundError(absl::StrCat(data.folder, ": no t10k-images-idx3-ubyte (plain or .gz) there"));
  }
  SINTER_ASSIGN_OR_RETURN(std::optional<ImageSet> train, LoadPart(data.folder, "train"));
  data.is_split_test_set = !train.has_value();
  if (train.has_value()) {
    data.train = *std::move(train);
    data.test = *std::move(test);
    return data;
  }
  const int64_t count = test->labels.shape()[0];
  SINTER_ASSIGN_OR_RETURN(data.train, Rows(*test, 0, count * 4 / 5));
  SINTER_ASSIGN_OR_RETURN(data.test, Rows(*test, count * 4 / 5, count));
  return data;
}

}  // namespace sinter
