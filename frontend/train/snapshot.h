// Snapshot: checkpoints of the session together with the whole state of the trainer.
//
//   trainer.Extend(train::Snapshot({.keep = 3, .autoload = true}));  // Keeps three; goes on from the newest.
//   trainer.Extend(train::Snapshot({.file = "best"}),                // Replaced when it gets better.
//                  {.trigger = train::OnBest("validation/main/accuracy", train::kMax)});
//
// A snapshot is a checkpoint (runtime/session/checkpoint.h): LoadCheckpoint reads its variables, also without
// a trainer. The file is replaced as a whole: a program that is killed while it writes leaves the old one.
#ifndef SINTER_FRONTEND_TRAIN_SNAPSHOT_H_
#define SINTER_FRONTEND_TRAIN_SNAPSHOT_H_

#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sinter/frontend/train/extension.h"

namespace sinter::train {

struct SnapshotOptions {
  // Name in the trainer's folder, without ".safetensors". "{iteration}" stands for the number of the update.
  std::string file = "snapshot_iter_{iteration}";
  // The most files to keep, the newest ones; others that this training wrote are removed. 0: all.
  int64_t keep = 0;
  // Continues from the newest of these files in the folder, by the iteration in the name, if there is one.
  // The program may have other metrics than before: new ones begin empty.
  // InvalidArgument, DataLoss: it does not fit, or is damaged.
  bool autoload = false;
  // Copies the variables at once, and writes them on a thread while training goes on. An error is that of the
  // next snapshot or of the end. Needs main memory for the copy. Of several processes the first one writes;
  // Unimplemented if ranks hold parts of variables.
  bool asynchronous = false;
  // Also writes when a signal ends the training, if the name has an iteration or with autoload. Such a file
  // does not count for `keep`.
  bool on_signal = true;
};

// Every epoch, after all other extensions (priority kLast).
class Snapshot : public Extension {
 public:
  explicit Snapshot(SnapshotOptions options = {}) : options_(std::move(options)) {}

  absl::Status Resume(Trainer& trainer) override;
  absl::Status Run(Trainer& trainer) override;
  absl::Status Interrupt(Trainer& trainer) override;
  absl::Status Finish(Trainer& /*trainer*/) override { return Wait(); }
  void Save(State& state) const override;
  absl::Status Load(const State& state) override;
  std::string name() const override { return "snapshot"; }
  int priority() const override { return kLast; }
  Trigger trigger() const override { return Every(1, kEpoch); }

 private:
  bool has_iteration() const { return options_.file.find("{iteration}") != std::string::npos; }
  std::string NameAt(int64_t iteration) const;
  absl::StatusOr<std::string> Newest(const std::string& folder) const;
  absl::Status Write(Trainer& trainer, const std::string& path, std::vector<std::string> doomed);
  absl::Status Wait();

  SnapshotOptions options_;
  std::vector<std::string> files_;  // Names of the files that are kept, the oldest first.
  std::future<absl::Status> writing_;
};

}  // namespace sinter::train

#endif  // SINTER_FRONTEND_TRAIN_SNAPSHOT_H_
