// The training loop: updates, and extensions between them.
//
//   train::Trainer trainer(session, train::Updater(stream, "train"), {.stop = train::Epochs(20)});
//   trainer.Extend(train::Evaluator(test_stream, "test"))
//       .Extend(train::Snapshot({.keep = 3, .autoload = true}))
//       .Extend(train::LogReport())
//       .Extend(train::PrintReport({"epoch", "main/loss", "validation/main/accuracy", "elapsed_time"}))
//       .Extend([](train::Trainer& t) -> absl::Status {
//         SINTER_ASSIGN_OR_RETURN(train::Values seen, t.observation());
//         if (seen["main/loss"] > 1e3) t.Stop("the loss is too large");
//         return absl::OkStatus();
//       }, {.trigger = train::Every(100, train::kIteration)});
//   absl::Status status = trainer.Run();
//
// The semantics are those of Chainer's Trainer. After each update the extensions whose triggers fire run, by
// falling priority. The names of extensions are unique: an equal name gets "_1". Training ends when `stop`
// fires, when the stream has no more epochs, after Stop, or with an error.
//
// Observations wait for nothing: metrics (frontend/train/metrics.h) add up on the device until someone asks.
// observation() gives the means over all updates since the caller, an extension or a trigger, asked before:
// exact means over all examples, not means of batches' means. An extension that asks at each update sees that
// update alone, as in Chainer, and waits for the device each time.
//
// Resuming: Save gives the whole state as the metadata of a checkpoint (iteration, time, position of the
// stream, inputs, triggers, extensions, what was observed and not yet read), and Load takes it. A training
// that continues from a Snapshot (frontend/train/snapshot.h) gives the same bits and the same log as one
// without an interruption, except for times. An extension that the saved state does not know starts anew.
//
// SIGTERM and SIGINT, of one process or of all, end the training after the update: then Run takes a snapshot,
// if there is such an extension, and returns Cancelled. A second signal ends the program at once.
#ifndef SINTER_FRONTEND_TRAIN_TRAINER_H_
#define SINTER_FRONTEND_TRAIN_TRAINER_H_

#include <chrono>
#include <concepts>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sinter/frontend/train/extension.h"
#include "sinter/frontend/train/metric_values.h"
#include "sinter/frontend/train/state.h"
#include "sinter/frontend/train/trigger.h"
#include "sinter/frontend/train/updater.h"
#include "sinter/runtime/formats/safetensors.h"
#include "sinter/runtime/session/session.h"
#include "sinter/runtime/world/world.h"

namespace sinter::train {

struct TrainerOptions {
  // Never, without it: until the stream ends or an extension calls Stop.
  std::optional<Trigger> stop = std::nullopt;
  // Folder for logs and snapshots. Run makes it.
  std::string out = "result";
  // The processes that train together, as in SessionOptions. Rank 0 alone writes files and prints. Null: one.
  World* world = nullptr;
  // Ends after the update at SIGTERM and SIGINT. Of several processes all end after the same update, at most
  // about 0.2 s or two updates after one has got the signal.
  bool catch_signals = true;
};

struct ExtendOptions {
  std::optional<Trigger> trigger = std::nullopt;  // These three: the extension's own by default.
  std::optional<int> priority = std::nullopt;
  std::string name = {};
  bool before_training = false;  // Also runs once before the first update.
};

class Trainer {
 public:
  // The session must outlive the trainer.
  Trainer(Session& session, Updater updater, TrainerOptions options = {});
  ~Trainer();
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  template <typename E>
    requires std::derived_from<E, Extension>
  Trainer& Extend(E extension, ExtendOptions options = {}) {
    return Add(std::make_unique<E>(std::move(extension)), std::move(options));
  }
  Trainer& Extend(std::function<absl::Status(Trainer&)> function, ExtendOptions options = {});

  // Trains until the end. Cancelled: a signal ended it. Otherwise the first error of an update, a trigger or
  // an extension, with the extension's name; exceptions are Internal errors. FailedPrecondition at the second
  // call.
  absl::Status Run();

  // Ends the training when the extensions after this update have run. An OK end; stop_reason() has the text.
  void Stop(std::string why) { stop_reason_ = std::move(why); }
  // Empty while training goes on. Of a finished training: why it ended.
  const std::string& stop_reason() const { return stop_reason_; }

  // The means since the extension that runs asked before. Waits for the device.
  absl::StatusOr<Values> observation();
  // Adds a number to what was observed: "lr".
  void Observe(const std::string& name, double value);

  const Progress& progress() const { return progress_; }
  int64_t updates_per_epoch() const;
  Session& session() { return *session_; }
  // The path of a file in the folder `out`.
  std::string OutFile(const std::string& name) const { return options_.out + "/" + name; }
  // True in the process that writes files and prints.
  bool is_first() const { return options_.world == nullptr || options_.world->rank() == 0; }
  const TrainerOptions& options() const { return options_; }

  // The current value of one of UpdaterOptions::inputs, and a new one. NotFound lists the inputs;
  // FailedPrecondition: a function of the step decides the value.
  absl::StatusOr<double> Input(const std::string& name) const;
  absl::Status SetInput(const std::string& name, double value);

  // The first extension of a class; null if there is none.
  template <typename E>
  E* Find() {
    for (const std::unique_ptr<Entry>& entry : entries_) {
      if (E* const found = dynamic_cast<E*>(entry->extension.get())) return found;
    }
    return nullptr;
  }

  // The state, as entries "trainer/...", and back. InvalidArgument: entries are missing or do not fit.
  Metadata Save() const;
  absl::Status Load(const Metadata& metadata);

 private:
  // The observations that someone has not yet read.
  using Window = MetricTotals;
  struct Entry {
    std::string name;
    std::unique_ptr<Extension> extension;
    Trigger trigger;
    int priority = 0;
    bool before_training = false;
    Window seen = {}, seen_by_trigger = {};
  };

  Trainer& Add(std::unique_ptr<Extension> extension, ExtendOptions options);
  absl::Status Begin();
  absl::Status Step();
  absl::Status RunEntry(Entry& entry, absl::Status (Extension::*call)(Trainer&));
  absl::Status End(absl::Status status);
  absl::StatusOr<bool> MustStop();
  absl::StatusOr<Values> Take(Window& window);
  // Calls visit(owner, window) for everyone who reads observations.
  template <typename T, typename Visit>
  static void ForEachWindow(T& trainer, Visit visit);
  double ElapsedTime() const;

  Session* session_;
  Updater updater_;
  TrainerOptions options_;
  std::vector<std::unique_ptr<Entry>> entries_;  // By falling priority.
  Progress progress_;
  std::map<std::string, double> inputs_;
  Entry* running_ = nullptr;
  Window seen_by_stop_, seen_outside_;
  std::string stop_reason_;
  bool has_run_ = false;
  double time_before_ = 0;  // Time of earlier processes.
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace sinter::train

#endif  // SINTER_FRONTEND_TRAIN_TRAINER_H_
