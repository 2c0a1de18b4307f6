// MNIST and the data sets that copy its format (Fashion-MNIST, KMNIST), from a folder of IDX files.
//
//   SINTER_ASSIGN_OR_RETURN(MnistDataset mnist, LoadMnist());       // or LoadMnist("fashion-mnist")
//   mnist.train.images                                              // u8 [60000, 28, 28]
//
// Nothing is downloaded. The folder is `folder` if that is given, else $SINTER_DATA/<name>, else
// ../shared/data/<name>: the first that exists. Files are called t10k-images-idx3-ubyte or
// t10k-images.idx3-ubyte, plain or with .gz, and likewise with `train` and `labels.idx1`.
//
// A folder that has only the t10k files is split: its first four fifths (8,000 of 10,000) are the training
// set, the rest the test set, and `is_split_test_set` says so.
//
// Errors: NotFound names the folders looked at and the files missing; DataLoss: as many labels as images are
// needed, and labels below 10; and those of frontend/data/idx.h.
#ifndef SINTER_FRONTEND_DATA_MNIST_H_
#define SINTER_FRONTEND_DATA_MNIST_H_

#include <string>

#include "absl/status/statusor.h"
#include "sinter/frontend/data/image_set.h"

namespace sinter {

struct MnistDataset {
  ImageSet train;
  ImageSet test;
  std::string folder;  // Where the files were found.
  bool is_split_test_set = false;
};

absl::StatusOr<MnistDataset> LoadMnist(const std::string& name = "mnist", const std::string& folder = "");

}  // namespace sinter

#endif  // SINTER_FRONTEND_DATA_MNIST_H_
