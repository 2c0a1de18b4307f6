// Images in folders, one folder for each class: what torchvision calls an ImageFolder.
//
//   photos/cat/1.jpg  photos/cat/2.png  photos/dog/1.jpg
//
//   SINTER_ASSIGN_OR_RETURN(data::Dataset set, data::ImageFolder("photos", {.size = 256}));
//   // x u8 [3, 256, w] or [3, h, 256]; t i32 []: 0 for cat, 1 for dog.
//   data::Dataset train = set.Map(data::RandomResizedCrop(224)).Map(data::Flip());
//
// Classes are the folders in the order of their names, as bytes; files too. Files in folders below a class
// belong to the class. Images are those that end in .jpg, .jpeg or .png, in any case; other files and links
// to folders are left out. Files are listed when the set is made, and each image is read when it is asked
// for.
//
// Errors: NotFound for no such folder, no class or a class without images; when reading, those of
// images/decode_image.h, with the file's name.
#ifndef SINTER_FRONTEND_DATA_SETS_IMAGE_FOLDER_H_
#define SINTER_FRONTEND_DATA_SETS_IMAGE_FOLDER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sinter/frontend/data/dataset.h"

namespace sinter::data {

struct ImageFolderOptions {
  int64_t size = 0;  // The shorter side is resized to it when an image is read. 0: images keep their sizes.
  int channels = 3;  // Or 1: grey.
  std::vector<std::string> names = {"x", "t"};  // Names of images and labels.
};

absl::StatusOr<Dataset> ImageFolder(const std::string& folder, const ImageFolderOptions& options = {});

// Returns the names of the classes; class i has the label i.
absl::StatusOr<std::vector<std::string>> ImageFolderClasses(const std::string& folder);

}  // namespace sinter::data

#endif  // SINTER_FRONTEND_DATA_SETS_IMAGE_FOLDER_H_
