// An extension of the training loop: what happens between updates.
//
//   class Announce : public train::Extension {
//    public:
//     absl::Status Run(train::Trainer& trainer) override {
//       SINTER_ASSIGN_OR_RETURN(const train::Values seen, trainer.observation());
//       std::cout << "loss " << seen.at("main/loss") << "\n";
//       return absl::OkStatus();
//     }
//     train::Trigger trigger() const override { return train::Every(1, train::kEpoch); }
//   };
//   trainer.Extend(Announce());
//
// A function `absl::Status(train::Trainer&)` is an extension too. A Status that is not OK, or an exception,
// ends training.
#ifndef SINTER_FRONTEND_TRAIN_EXTENSION_H_
#define SINTER_FRONTEND_TRAIN_EXTENSION_H_

#include <string>

#include "absl/status/status.h"
#include "sinter/frontend/train/state.h"
#include "sinter/frontend/train/trigger.h"

namespace sinter::train {

class Trainer;

// Extensions run by falling priority: those that observe new values, those that change what was observed,
// those that read it, and then snapshots.
inline constexpr int kWriter = 300, kEditor = 200, kReader = 100, kLast = -100;

class Extension {
 public:
  virtual ~Extension() = default;

  // Before everything else, by falling priority: may load an earlier state by Trainer::Load.
  virtual absl::Status Resume(Trainer& /*trainer*/) { return absl::OkStatus(); }
  // Before the first update of this process.
  virtual absl::Status Start(Trainer& /*trainer*/) { return absl::OkStatus(); }
  // After an update, if the trigger fires.
  virtual absl::Status Run(Trainer& trainer) = 0;
  // After a signal to end, when the update and the extensions after it are done.
  virtual absl::Status Interrupt(Trainer& /*trainer*/) { return absl::OkStatus(); }
  // After an error, in reverse order, before Finish.
  virtual void OnError(Trainer& /*trainer*/, const absl::Status& /*error*/) {}
  // At the end, also after an error.
  virtual absl::Status Finish(Trainer& /*trainer*/) { return absl::OkStatus(); }

  // The state in snapshots. Load is not called if the snapshot has nothing of an extension of this name.
  virtual void Save(State& /*state*/) const {}
  virtual absl::Status Load(const State& /*state*/) { return absl::OkStatus(); }

  // Told the unique name that it has in the trainer, by Extend.
  virtual void Rename(const std::string& /*name*/) {}

  // Defaults of Trainer::Extend's options.
  virtual std::string name() const { return "extension"; }
  virtual int priority() const { return kReader; }
  virtual Trigger trigger() const { return Every(1, kIteration); }
};

}  // namespace sinter::train

#endif  // SINTER_FRONTEND_TRAIN_EXTENSION_H_
