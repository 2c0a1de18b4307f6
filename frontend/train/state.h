// State of an extension, a trigger or the trainer in a checkpoint: texts and numbers by name.
//
//   void Save(State& state) const override { state.SetNumber("best", best_); }
//   absl::Status Load(const State& state) override {
//     SINTER_ASSIGN_OR_RETURN(best_, state.Number("best"));
//     return absl::OkStatus();
//   }
//
// Numbers keep every bit. Texts are UTF-8.
#ifndef SINTER_FRONTEND_TRAIN_STATE_H_
#define SINTER_FRONTEND_TRAIN_STATE_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sinter/frontend/train/metric_values.h"

namespace sinter::train {

class State {
 public:
  void SetText(const std::string& key, std::string text) { entries_[key] = std::move(text); }
  void SetNumber(const std::string& key, double number);
  void SetInteger(const std::string& key, int64_t number);
  // Sets key/<name> for each total, and reads them back.
  void SetTotals(const std::string& key, const MetricTotals& totals);

  // InvalidArgument: there is no such entry, or it is no number.
  absl::StatusOr<std::string> Text(const std::string& key) const;
  absl::StatusOr<double> Number(const std::string& key) const;
  absl::StatusOr<int64_t> Integer(const std::string& key) const;
  absl::StatusOr<MetricTotals> Totals(const std::string& key) const;
  bool Has(const std::string& key) const { return entries_.contains(key); }

  // Sets key/<name> for each entry of another state, and returns the entries below a key.
  void SetPart(const std::string& key, const State& part);
  State Part(const std::string& key) const;

  bool empty() const { return entries_.empty(); }
  const std::map<std::string, std::string>& entries() const { return entries_; }

 private:
  std::map<std::string, std::string> entries_;
};

}  // namespace sinter::train

#endif  // SINTER_FRONTEND_TRAIN_STATE_H_
