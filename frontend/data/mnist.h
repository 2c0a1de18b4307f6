// Loads MNIST and data sets of its format (Fashion-MNIST, KMNIST) from a folder of IDX files.
//
//   SINTER_ASSIGN_OR_RETURN(MnistDataset mnist, LoadMnist());       // or LoadMnist("fashion-mnist")
//   mnist.train.images                                              // u8 [60000, 28, 28]
//
// Nothing is downloaded. The folder is `folder` if given, else the first that exists of $SINTER_DATA/<name>
// and ../shared/data/<name>. The file names are t10k-images-idx3-ubyte or t10k-images.idx3-ubyte, plain or
// with .gz, and the same with `train` and with `labels-idx1` or `labels.idx1`.
//
// A folder with only the t10k files is split: the first four fifths (8,000 of 10,000) are the training set,
// the rest is the test set, and `is_split_test_set` is true.
//
// Errors: NotFound names the folders searched and the missing files. DataLoss: the numbers of images and
// labels differ, or a label is above 9. Also the errors of frontend/data/idx.h.
#ifndef SINTER_FRONTEND_DATA_MNIST_H_
#define SINTER_FRONTEND_DATA_MNIST_H_

#include <string>

#include "absl/status/statusor.h"
#include "sinter/frontend/data/image_set.h"

namespace sinter {

struct MnistDataset {
  ImageSet train;
  ImageSet test;
  std::string folder;  // The folder of the files.
  bool is_split_test_set = false;
};

absl::StatusOr<MnistDataset> LoadMnist(const std::string& name = "mnist", const std::string& folder = "");

}  // namespace sinter

#endif  // SINTER_FRONTEND_DATA_MNIST_H_
