#include "sinter/frontend/data/sets/image_sets.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sinter/frontend/data/data_folder.h"
#include "sinter/frontend/data/images/augment.h"
#include "sinter/frontend/data/mnist.h"
#include "sinter/runtime/formats/file.h"
#include "sinter/runtime/host/status.h"

namespace sinter::data {
namespace {

constexpr int64_t kSide = 32, kPlanes = 3, kImageBytes = kPlanes * kSide * kSide;

absl::Status CheckPart(std::string_view part) {
  if (part == "train" || part == "test") return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the parts of a set of images are 'train' and 'test', not '", std::string(part), "'"));
}

// Makes a set of u8 [n, channels, height, width] and i32 [n].
absl::StatusOr<Dataset> MakeImageSet(HostTensor images, HostTensor labels, const ImageSetOptions& options) {
  if (options.names.size() != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("a set of images has 2 names, of images and labels, not ", options.names.size()));
  }
  std::vector<NamedTensor> fields;
  fields.push_back({options.names[0], std::move(images)});
  fields.push_back({options.names[1], std::move(labels)});
  SINTER_ASSIGN_OR_RETURN(Dataset set, OwnTensors(std::move(fields)));
  if (!options.bytes) set = set.Map(ToFloat());
  if (!options.flat) return set;
  return set.Map([](Example example, SplitMix&) -> absl::StatusOr<Example> {
    HostTensor& image = example.fields[0];
    SINTER_ASSIGN_OR_RETURN(HostTensor flat, HostTensor::Empty(image.dtype(), {image.num_elements()}));
    std::memcpy(flat.mutable_data(), image.data(), static_cast<size_t>(image.num_bytes()));
    image = std::move(flat);
    return example;
  });
}

// The files of a part of a CIFAR set, and the place of the label in their records.
struct Layout {
  std::vector<std::string> files;
  int64_t label_bytes = 1;
  int64_t label_at = 0;
  int classes = 10;
};

absl::StatusOr<Dataset> ReadCifar(const std::string& name, const Layout& layout,
                                  const ImageSetOptions& options) {
  SINTER_ASSIGN_OR_RETURN(const std::string folder, FindDataFolder(name, options.folder));
  const int64_t record = layout.label_bytes + kImageBytes;
  std::vector<FileBytes> files;
  int64_t count = 0;
  for (const std::string& file_name : layout.files) {
    SINTER_ASSIGN_OR_RETURN(FileBytes file, FileBytes::Read(absl::StrCat(folder, "/", file_name)));
    const auto bytes = static_cast<int64_t>(file.bytes().size());
    if (bytes % record != 0) {
      return absl::DataLossError(
          absl::StrCat(file.path(), " has ", bytes, " bytes, which is no number of records of ", record,
                       " bytes (", layout.label_bytes, " of labels, ", kImageBytes, " of pixels)"));
    }
    count += bytes / record;
    files.push_back(std::move(file));
  }
  SINTER_ASSIGN_OR_RETURN(HostTensor images, HostTensor::Empty(DType::kU8, {count, kPlanes, kSide, kSide}));
  SINTER_ASSIGN_OR_RETURN(HostTensor labels, HostTensor::Empty(DType::kI32, {count}));
  auto* pixels = static_cast<uint8_t*>(images.mutable_data());
  auto* label = static_cast<int32_t*>(labels.mutable_data());
  for (const FileBytes& file : files) {
    for (std::span<const std::byte> rest = file.bytes(); !rest.empty();
         rest = rest.subspan(static_cast<size_t>(record))) {
      *label = std::to_integer<int32_t>(rest[static_cast<size_t>(layout.label_at)]);
      if (*label >= layout.classes) {
        return absl::DataLossError(absl::StrCat(
            file.path(), ": record ", (file.bytes().size() - rest.size()) / static_cast<size_t>(record),
            " has the label ", *label, ", labels are below ", layout.classes));
      }
      std::memcpy(pixels, rest.data() + layout.label_bytes, static_cast<size_t>(kImageBytes));
      pixels += kImageBytes;
      ++label;
    }
  }
  return MakeImageSet(std::move(images), std::move(labels), options);
}

}  // namespace

absl::StatusOr<Dataset> Mnist(std::string_view part, const ImageSetOptions& options) {
  SINTER_RETURN_IF_ERROR(CheckPart(part));
  SINTER_ASSIGN_OR_RETURN(MnistDataset mnist, LoadMnist("mnist", options.folder));
  const ImageSet& set = part == "train" ? mnist.train : mnist.test;
  const std::vector<int64_t>& shape = set.images.shape();
  SINTER_ASSIGN_OR_RETURN(HostTensor images,
                          HostTensor::Empty(DType::kU8, {shape[0], 1, shape[1], shape[2]}));
  if (images.num_bytes() > 0) {
    std::memcpy(images.mutable_data(), set.images.data(), static_cast<size_t>(images.num_bytes()));
  }
  SINTER_ASSIGN_OR_RETURN(HostTensor labels, HostTensor::Empty(DType::kI32, {shape[0]}));
  SINTER_ASSIGN_OR_RETURN(const std::span<const uint8_t> from, set.labels.Span<uint8_t>());
  SINTER_ASSIGN_OR_RETURN(const std::span<int32_t> to, labels.MutableSpan<int32_t>());
  std::ranges::copy(from, to.begin());
  return MakeImageSet(std::move(images), std::move(labels), options);
}

absl::StatusOr<Dataset> Cifar10(std::string_view part, const ImageSetOptions& options) {
  SINTER_RETURN_IF_ERROR(CheckPart(part));
  Layout layout;
  if (part == "test") layout.files = {"test_batch.bin"};
  for (int i = 1; part == "train" && i <= 5; ++i)
    layout.files.push_back(absl::StrCat("data_batch_", i, ".bin"));
  return ReadCifar("cifar-10-batches-bin", layout, options);
}

absl::StatusOr<Dataset> Cifar100(std::string_view part, const ImageSetOptions& options,
                                 Cifar100Labels labels) {
  SINTER_RETURN_IF_ERROR(CheckPart(part));
  const bool is_fine = labels == Cifar100Labels::kFine;
  const Layout layout = {{absl::StrCat(std::string(part), ".bin")}, 2, is_fine ? 1 : 0, is_fine ? 100 : 20};
  return ReadCifar("cifar-100-binary", layout, options);
}

}  // namespace sinter::data
