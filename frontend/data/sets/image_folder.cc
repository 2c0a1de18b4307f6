#include "sinter/frontend/data/sets/image_folder.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "sinter/frontend/data/images/decode_image.h"
#include "sinter/frontend/data/images/resize_image.h"
#include "sinter/runtime/host/status.h"

namespace sinter::data {
namespace {

struct ImageFile {
  std::string path;
  int32_t label = 0;
};

bool IsImageName(const std::filesystem::path& path) {
  const std::string ending = absl::AsciiStrToLower(path.extension().string());
  return ending == ".jpg" || ending == ".jpeg" || ending == ".png";
}

absl::Status CannotList(const std::string& folder, const std::error_code& error) {
  return absl::NotFoundError(absl::StrCat(folder, ": cannot list the folder: ", error.message()));
}

absl::StatusOr<std::vector<std::string>> ImagesBelow(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code error;
  std::filesystem::recursive_directory_iterator at(folder, error);
  for (; !error && at != std::filesystem::recursive_directory_iterator(); at.increment(error)) {
    std::error_code ignored;
    if (IsImageName(at->path()) && at->is_regular_file(ignored)) paths.push_back(at->path().string());
  }
  if (error) return CannotList(folder, error);
  std::ranges::sort(paths);
  return paths;
}

class ImageFolderSource : public Source {
 public:
  ImageFolderSource(std::vector<ImageFile> files, ImageFolderOptions options)
      : files_(std::move(files)), options_(std::move(options)) {}

  int64_t size() const override { return static_cast<int64_t>(files_.size()); }
  std::vector<std::string> names() const override { return options_.names; }

  absl::StatusOr<Example> Get(int64_t i, SplitMix&) const override {
    const ImageFile& file = files_[static_cast<size_t>(i)];
    SINTER_ASSIGN_OR_RETURN(HostTensor image, ReadImage(file.path, {.channels = options_.channels,
                                                                    .shorter_side = options_.size}));
    if (options_.size > 0) {
      SINTER_ASSIGN_OR_RETURN(image, ResizeShorterSide(image, options_.size));
    }
    SINTER_ASSIGN_OR_RETURN(HostTensor label, HostTensor::FromVector<int32_t>({}, {file.label}));
    Example example;
    example.fields.push_back(std::move(image));
    example.fields.push_back(std::move(label));
    return example;
  }

 private:
  const std::vector<ImageFile> files_;
  const ImageFolderOptions options_;
};

}  // namespace

absl::StatusOr<std::vector<std::string>> ImageFolderClasses(const std::string& folder) {
  std::vector<std::string> classes;
  std::error_code error;
  std::filesystem::directory_iterator at(folder, error);
  for (; !error && at != std::filesystem::directory_iterator(); at.increment(error)) {
    std::error_code ignored;
    if (at->is_directory(ignored)) classes.push_back(at->path().filename().string());
  }
  if (error) return CannotList(folder, error);
  if (classes.empty()) {
    return absl::NotFoundError(
        absl::StrCat(folder, ": has no folders; each class of images is a folder in it"));
  }
  std::ranges::sort(classes);
  return classes;
}

absl::StatusOr<Dataset> ImageFolder(const std::string& folder, const ImageFolderOptions& options) {
  if (options.size < 0 || (options.channels != 1 && options.channels != 3) || options.names.size() != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("ImageFolder needs a size of at least 0, 1 or 3 channels, and 2 names; got ",
                     options.size, ", ", options.channels, " and ", options.names.size()));
  }
  SINTER_ASSIGN_OR_RETURN(const std::vector<std::string> classes, ImageFolderClasses(folder));
  std::vector<ImageFile> files;
  for (size_t label = 0; label < classes.size(); ++label) {
    const std::string class_folder = absl::StrCat(folder, "/", classes[label]);
    SINTER_ASSIGN_OR_RETURN(const std::vector<std::string> paths, ImagesBelow(class_folder));
    if (paths.empty()) {
      return absl::NotFoundError(absl::StrCat(class_folder, ": has no images (.jpg, .jpeg or .png)"));
    }
    for (const std::string& path : paths) files.push_back({path, static_cast<int32_t>(label)});
  }
  return Dataset(std::make_shared<const ImageFolderSource>(std::move(files), options));
}

}  // namespace sinter::data
