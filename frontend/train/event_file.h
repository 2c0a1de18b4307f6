// TensorBoard's event files: numbers by tag and step.
//
//   SINTER_ASSIGN_OR_RETURN(auto events, train::EventFile::Create("result"));
//   SINTER_RETURN_IF_ERROR(events.Write({{"main/loss", 0.31}}, /*step=*/600, /*wall_time=*/seconds));
//
//   trainer.Extend(train::TensorBoard());                          // Writes the entries of the LogReport.
//
// A file is a sequence of records: the length in 8 bytes, its masked CRC-32C, the data, its masked CRC-32C
// (tensorflow/core/lib/io/record_writer.h). The data is a message Event in the wire format of protocol
// buffers (tensorflow/core/util/event.proto) with a Summary of simple values. Numbers are f32.
#ifndef SINTER_FRONTEND_TRAIN_EVENT_FILE_H_
#define SINTER_FRONTEND_TRAIN_EVENT_FILE_H_

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sinter/frontend/train/extension.h"
#include "sinter/frontend/train/metric_values.h"

namespace sinter::train {

// CRC-32C (Castagnoli) of the bytes: reflected polynomial 0x82f63b78.
uint32_t Crc32c(std::string_view bytes);

class EventFile {
 public:
  // Makes "events.out.tfevents.<seconds>.<host>.<process>" in the folder. Errors fit errno.
  static absl::StatusOr<EventFile> Create(const std::string& folder);

  // Appends one event and flushes it, so that TensorBoard sees it.
  absl::Status Write(const Values& values, int64_t step, double wall_time);
  const std::string& path() const { return path_; }

 private:
  struct Closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  EventFile(std::string path, std::FILE* file) : path_(std::move(path)), file_(file) {}
  absl::Status WriteRecord(const std::string& data);

  std::string path_;
  std::unique_ptr<std::FILE, Closer> file_;
};

// Writes every new entry of the trainer's first LogReport, with the iteration as step. A resumed training
// writes a new file, which TensorBoard joins with the former. FailedPrecondition: there is no LogReport.
class TensorBoard : public Extension {
 public:
  absl::Status Start(Trainer& trainer) override;
  absl::Status Run(Trainer& trainer) override;
  void Save(State& state) const override { state.SetInteger("written", static_cast<int64_t>(written_)); }
  absl::Status Load(const State& state) override;
  std::string name() const override { return "TensorBoard"; }
  int priority() const override { return kReader - 10; }

 private:
  std::unique_ptr<EventFile> file_;
  size_t written_ = 0;
};

}  // namespace sinter::train

#endif  // SINTER_FRONTEND_TRAIN_EVENT_FILE_H_
