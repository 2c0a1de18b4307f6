// Sets of small labelled images: MNIST and its kin, CIFAR-10 and CIFAR-100.
//
//   data::Mnist("train")                       // x f32 [1, 28, 28], t i32 []
//   data::Cifar10("test", {.bytes = true})     // x u8 [3, 32, 32], t i32 []
//
// Nothing is downloaded. The images are in main memory, as bytes. `part` is "train" or "test".
//
// Folders: ImageSetOptions::folder if given, else the first that exists of $SINTER_DATA/<name> and
// ../shared/data/<name>. The name is "mnist", "cifar-10-batches-bin" or "cifar-100-binary": what the archives
// of CIFAR's binary version hold.
//
// Errors: NotFound names the folders searched or the missing file. InvalidArgument: another part. DataLoss: a
// file of another size than its records, or a label outside of the classes. Also those of files.
#ifndef SINTER_FRONTEND_DATA_SETS_IMAGE_SETS_H_
#define SINTER_FRONTEND_DATA_SETS_IMAGE_SETS_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "sinter/frontend/data/dataset.h"

namespace sinter::data {

struct ImageSetOptions {
  std::string folder = "";
  std::vector<std::string> names = {"x", "t"};  // Names of images and labels.
  bool flat = false;                            // Images have rank 1, for networks without convolutions.
  bool bytes = false;                           // Pixels are u8; else f32 in [0, 1].
};

// 60,000 and 10,000 images of 10 digits; also Fashion-MNIST and KMNIST, by their folder. A folder with only
// the 10,000 is divided as LoadMnist (mnist.h) does.
absl::StatusOr<Dataset> Mnist(std::string_view part, const ImageSetOptions& options = {});

// 50,000 and 10,000 images of 10 classes, in data_batch_1.bin to data_batch_5.bin and test_batch.bin.
absl::StatusOr<Dataset> Cifar10(std::string_view part, const ImageSetOptions& options = {});

enum class Cifar100Labels {
  kFine,    // 100 classes.
  kCoarse,  // 20 groups of classes.
};
// 50,000 and 10,000 images, in train.bin and test.bin.
absl::StatusOr<Dataset> Cifar100(std::string_view part, const ImageSetOptions& options = {},
                                 Cifar100Labels labels = Cifar100Labels::kFine);

}  // namespace sinter::data

#endif  // SINTER_FRONTEND_DATA_SETS_IMAGE_SETS_H_
