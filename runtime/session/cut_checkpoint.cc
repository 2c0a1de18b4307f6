#include "sinter/runtime/session/cut_checkpoint.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <random>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "sinter/runtime/formats/file.h"
#include "sinter/runtime/formats/part_crc.h"
#include "sinter/runtime/host/printable_text.h"
#include "sinter/runtime/host/sha256.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/host/untrusted_bytes.h"
#include "sinter/runtime/session/session_variables.h"
#include "sinter/runtime/tensor/tensor_bytes.h"
#include "sinter/runtime/world/world_agreement.h"

namespace sinter::internal_session {
namespace {

using Part = SessionVariables::Part;

constexpr int64_t kFilePieceBytes = int64_t{4} << 20;  // The most of a part in memory.
constexpr size_t kRandomDigits = kSha256Digits;
constexpr uint32_t kSaveTag = 5, kLoadTag = 6;

// The other processes of the session, if there are any.
struct Together {
  World* world;
  uint32_t session;

  int rank() const { return world == nullptr ? 0 : world->rank(); }
  int size() const { return world == nullptr ? 1 : world->size(); }
  absl::Status Agree(const std::string& call, const absl::Status& own) const {
    return AgreeOnCall(world, session, call, own);
  }
  // Gathers a list of equal length from each process, in the order of ranks.
  template <typename T>
  absl::StatusOr<std::vector<T>> Gather(const std::vector<T>& own, std::string_view name,
                                        uint32_t tag) const {
    if (size() == 1) return own;
    std::vector<T> all(own.size() * static_cast<size_t>(size()));
    SINTER_RETURN_IF_ERROR(world->AllGather(std::as_bytes(std::span(own)),
                                            std::as_writable_bytes(std::span(all)),
                                            {.name = name, .tag = tag, .session = session}));
    return all;
  }
};

Together TogetherOf(SessionState& state) {
  return {.world = state.buffers().world, .session = state.buffers().session};
}

// Returns the local part with this box; null if there is none. Of a sum: its first term, which alone has a
// value in a file.
const Part* FindPart(const SessionVariables& variables, size_t variable, const TensorBox& box) {
  for (const Part& part : variables.PartsOf(variable)) {
    if (part.box == box && part.term == 0) return &part;
  }
  return nullptr;
}

// Calls f(begin, count) for pieces of the part that fit in `most` elements.
template <typename F>
absl::Status ForEachPiece(const TensorBox& box, int64_t most, F&& f) {
  const int64_t elements = box.num_elements();
  for (int64_t begin = 0; begin < elements; begin += most) {
    SINTER_RETURN_IF_ERROR(f(begin, std::min(most, elements - begin)));
  }
  return absl::OkStatus();
}

int64_t PieceElements(const TensorBox& box, int64_t size) {
  return std::min(std::max<int64_t>(box.num_elements(), 1), kFilePieceBytes / size);
}

// Saving ---------------------------------------------------------------------------------------------------

// Tells the other processes about the file of rank 0.
struct FileNotice {
  std::array<char, 256> name = {};
  std::array<char, kRandomDigits> text = {};
  uint64_t text_begin = 0, data_begin = 0;
};

std::string RandomText() {
  std::random_device random;
  Sha256::Bytes bytes;
  for (auto& byte : bytes) byte = static_cast<std::remove_reference_t<decltype(byte)>>(random());
  return HexText(bytes);
}

class PartSaver {
 public:
  PartSaver(SessionState& state, const std::vector<size_t>& indices, const std::string& path)
      : variables_(state.variables()), together_(TogetherOf(state)), indices_(indices), path_(path) {}

  absl::Status Save(const Metadata& metadata) {
    SINTER_RETURN_IF_ERROR(together_.Agree("saving a checkpoint", Begin(metadata)));
    SINTER_RETURN_IF_ERROR(ShareNotice());
    SINTER_RETURN_IF_ERROR(together_.Agree("opening the checkpoint that rank 0 writes", OpenShared()));
    terms_.resize(indices_.size());
    SINTER_RETURN_IF_ERROR(together_.Agree("writing a checkpoint", WriteOwned()));
    SINTER_ASSIGN_OR_RETURN(const std::vector<uint32_t> all,
                            together_.Gather(terms_, "saving a checkpoint", kSaveTag));
    const absl::Status committed = together_.rank() == 0 ? Commit(all) : absl::OkStatus();
    return together_.Agree("completing a checkpoint", committed);
  }

 private:
  // On rank 0, makes the file.
  absl::Status Begin(const Metadata& metadata) {
    for (const size_t index : indices_) SINTER_RETURN_IF_ERROR(variables_.CheckReadable(index));
    std::vector<TensorSource> sources;
    for (const size_t index : indices_) {
      const VariableInfo& info = variables_.infos()[index];
      sources.push_back({info.name, info.dtype, info.shape, {}});
    }
    SINTER_ASSIGN_OR_RETURN(layout_, SafetensorsLayout::Of(path_, sources, metadata));
    if (together_.rank() != 0) return absl::OkStatus();
    SINTER_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path_));
    file_.emplace(std::move(file));
    SINTER_RETURN_IF_ERROR(file_->Resize(static_cast<int64_t>(layout_->file_bytes())));
    const std::string text = RandomText(), name = file_->temporary_name();
    SINTER_RETURN_IF_ERROR(file_->Overwrite(static_cast<int64_t>(layout_->hash_begin()), AsBytes(text)));
    SINTER_RETURN_IF_ERROR(file_->Sync());
    name.copy(notice_.name.data(), notice_.name.size() - 1);
    text.copy(notice_.text.data(), notice_.text.size());
    notice_.text_begin = layout_->hash_begin();
    notice_.data_begin = layout_->data_begin();
    return absl::OkStatus();
  }

  absl::Status ShareNotice() {
    SINTER_ASSIGN_OR_RETURN(
        const std::vector<FileNotice> all,
        together_.Gather(std::vector<FileNotice>{notice_}, "saving a checkpoint", kSaveTag));
    notice_ = all[0];
    return absl::OkStatus();
  }

  absl::Status OpenShared() {
    const auto elsewhere = [&](const std::string& reason) {
      return absl::FailedPreconditionError(
          absl::StrCat("cannot write '", path_, "' with rank 0, whose file is not in the folder that rank ",
                       together_.rank(), " sees (", reason,
                       "): all processes must write to one folder, on a file system that they share"));
    };
    absl::StatusOr<SharedFile> shared = SharedFile::Open(path_, notice_.name.data());
    if (absl::IsNotFound(shared.status())) return elsewhere(std::string(shared.status().message()));
    SINTER_RETURN_IF_ERROR(shared.status());
    std::array<char, kRandomDigits> text;
    const absl::Status read = shared->Read(notice_.text_begin, std::as_writable_bytes(std::span(text)));
    if (!read.ok() || text != notice_.text) return elsewhere("a file of its name has other contents");
    shared_.emplace(*std::move(shared));
    return absl::OkStatus();
  }

  // Writes the parts of which this process has the first rank. All processes read a sum together, also one
  // that has failed to write.
  absl::Status WriteOwned() {
    absl::Status own;
    for (size_t i = 0; i < indices_.size(); ++i) {
      const size_t variable = indices_[layout_->places()[i].source];
      if (!variables_.infos()[variable].is_sum) {
        if (own.ok()) own = WriteParts(i, variable);
        continue;
      }
      const absl::StatusOr<HostTensor> sum = variables_.View(variable);
      if (!sum.ok()) return own.ok() ? sum.status() : own;
      if (own.ok() && static_cast<int>(i) % together_.size() == together_.rank()) own = WriteSum(i, *sum);
    }
    SINTER_RETURN_IF_ERROR(own);
    return shared_->Sync();
  }

  absl::Status WriteParts(size_t place, size_t variable) {
    for (const RankedPart& ranked : variables_.PartsOfAllRanks(variable)) {
      if (variables_.ProcessOf(ranked.rank) != together_.rank()) continue;
      const Part& part = *FindPart(variables_, variable, ranked.box);
      SINTER_RETURN_IF_ERROR(WriteBox(place, variables_.infos()[variable].dtype, part.box,
                                      [&](int64_t first, int64_t count, std::byte* to) {
                                        return variables_.ReadPart(part, first, count, to);
                                      }));
    }
    return absl::OkStatus();
  }

  absl::Status WriteSum(size_t place, const HostTensor& sum) {
    const int64_t size = SizeOf(sum.dtype());
    return WriteBox(place, sum.dtype(), TensorBox::Whole(sum.num_elements()),
                    [&](int64_t first, int64_t count, std::byte* to) {
                      std::copy_n(static_cast<const std::byte*>(sum.data()) + first * size, count * size, to);
                      return absl::OkStatus();
                    });
  }

  // Writes a box of the tensor at this place, and adds its term to that of the tensor's CRC.
  template <typename Read>
  absl::Status WriteBox(size_t place, DType dtype, const TensorBox& box, Read&& read) {
    const int64_t size = SizeOf(dtype), most = PieceElements(box, size);
    const uint64_t begin = notice_.data_begin + layout_->places()[place].begin;
    SINTER_ASSIGN_OR_RETURN(HostTensor piece, HostTensor::Empty(dtype, {most}));
    const std::span<std::byte> bytes = MutableBytesOf(piece);
    PartCrc crc;
    SINTER_RETURN_IF_ERROR(ForEachPiece(box, most, [&](int64_t first, int64_t count) {
      SINTER_RETURN_IF_ERROR(read(first, count, bytes.data()));
      absl::Status status;
      box.ForEachRun(first, count, [&](int64_t at, int64_t whole, int64_t run) {
        const auto row =
            bytes.subspan(static_cast<size_t>((at - first) * size), static_cast<size_t>(run * size));
        const auto offset = static_cast<uint64_t>(whole * size);
        crc.Add(offset, row);
        if (status.ok()) status = shared_->Write(static_cast<int64_t>(begin + offset), row);
      });
      return status;
    }));
    terms_[place] ^= crc.Finish(static_cast<uint64_t>(box.whole_elements() * size));
    return absl::OkStatus();
  }

  // `all`: the terms of each process.
  absl::Status Commit(const std::vector<uint32_t>& all) {
    const size_t count = indices_.size();
    std::vector<uint32_t> crcs(count);
    for (size_t i = 0; i < all.size(); ++i) crcs[i % count] ^= all[i];
    for (size_t i = 0; i < count; ++i) crcs[i] = JoinCrcs(crcs[i], layout_->places()[i].bytes);
    SINTER_ASSIGN_OR_RETURN(const std::string header, layout_->Header(crcs));
    SINTER_RETURN_IF_ERROR(file_->Overwrite(0, AsBytes(header)));
    return file_->Commit();
  }

  const SessionVariables& variables_;
  const Together together_;
  const std::vector<size_t>& indices_;
  const std::string& path_;
  std::optional<SafetensorsLayout> layout_;
  std::optional<AtomicFile> file_;  // On rank 0.
  std::optional<SharedFile> shared_;
  FileNotice notice_;
  std::vector<uint32_t> terms_;  // In data order: of what this process has written.
};

// Loading --------------------------------------------------------------------------------------------------

// Reads elements [first, first + count) of a part. `begin`: the tensor's place in the data. Rows that are
// close to each other are read together.
absl::Status ReadRows(const SafetensorsFile& file, uint64_t begin, const TensorBox& box, int64_t size,
                      int64_t first, int64_t count, std::byte* to) {
  constexpr int64_t kMostBytes = int64_t{1} << 20, kMostGap = int64_t{16} << 10;
  struct Row {
    int64_t at, whole, bytes;
  };
  std::vector<Row> rows;  // The rows of one read.
  std::vector<std::byte> read;
  absl::Status status;
  const auto flush = [&] {
    if (rows.empty() || !status.ok()) return;
    const int64_t from = rows.front().whole, bytes = rows.back().whole + rows.back().bytes - from;
    const uint64_t offset = begin + static_cast<uint64_t>(from);
    if (rows.size() == 1) {
      status = file.ReadData(offset, {to + rows[0].at, static_cast<size_t>(bytes)});
    } else {
      read.resize(static_cast<size_t>(bytes));
      status = file.ReadData(offset, read);
      for (const Row& row : rows) std::copy_n(read.data() + (row.whole - from), row.bytes, to + row.at);
    }
    rows.clear();
  };
  box.ForEachRun(first, count, [&](int64_t at, int64_t whole, int64_t run) {
    const Row row = {(at - first) * size, whole * size, run * size};
    if (!rows.empty()) {
      const int64_t end = rows.back().whole + rows.back().bytes;
      if (row.whole - end > kMostGap || row.whole + row.bytes - rows.front().whole > kMostBytes) flush();
    }
    rows.push_back(row);
  });
  flush();
  return status;
}

class PartLoader {
 public:
  PartLoader(SessionState& state, const SafetensorsFile& file, const std::vector<LoadedPart>& loaded)
      : variables_(state.variables()), together_(TogetherOf(state)), file_(file), loaded_(loaded) {}

  // Reads all that this process is to check: the parts that it holds, and its share of the other tensors.
  absl::Status ReadTerms() {
    std::vector<bool> is_loaded(file_.entries().size());
    for (const LoadedPart& one : loaded_) {
      is_loaded[one.entry] = true;
      for (const Part& part : variables_.PartsOf(one.variable)) {
        if (part.term > 0) continue;
        SINTER_ASSIGN_OR_RETURN(terms_[part.number], Read(one.entry, part.box, /*part=*/nullptr));
      }
    }
    for (size_t entry = 0; entry < is_loaded.size(); ++entry) {
      if (is_loaded[entry] || static_cast<int>(entry) % together_.size() != together_.rank()) continue;
      const auto elements = static_cast<int64_t>(BytesOfEntry(entry)) / SizeOf(file_.entries()[entry].dtype);
      SINTER_ASSIGN_OR_RETURN(const uint32_t term, Read(entry, TensorBox::Whole(elements), nullptr));
      CheckTerm(entry, term);
    }
    return absl::OkStatus();
  }

  // Compares the terms of all processes with the file's CRCs.
  absl::Status CheckTerms() {
    SINTER_ASSIGN_OR_RETURN(const std::vector<uint32_t> all,
                            together_.Gather(OwnTerms(), "checking a checkpoint", kLoadTag));
    const size_t ranks = all.size() / std::max<size_t>(loaded_.size(), 1);
    const size_t local = ranks / static_cast<size_t>(together_.size());
    // The term of a variable's part on some rank.
    const auto term_of = [&](size_t i, uint32_t rank) {
      return all[(rank / local * loaded_.size() + i) * local + rank % local];
    };
    for (size_t i = 0; i < loaded_.size(); ++i) {
      uint32_t terms = 0;
      bool is_same = true;
      for (const RankedPart& part : variables_.PartsOfAllRanks(loaded_[i].variable)) {
        if (part.term > 0) continue;
        const uint32_t term = term_of(i, part.rank);
        terms ^= term;
        const Part* const own = FindPart(variables_, loaded_[i].variable, part.box);
        if (own != nullptr) is_same = is_same && terms_.at(own->number) == term;
      }
      CheckTerm(loaded_[i].entry, is_same ? std::optional(terms) : std::nullopt);
    }
    if (damaged_.empty()) return absl::OkStatus();
    return absl::DataLossError(
        absl::StrCat(file_.path(), ": the checksum is wrong for ", absl::StrJoin(damaged_, ", ")));
  }

  absl::Status Write() {
    for (size_t i = 0; i < loaded_.size(); ++i) {
      for (const Part& part : variables_.PartsOf(loaded_[i].variable)) {
        if (part.term > 0) {
          SINTER_RETURN_IF_ERROR(variables_.ZeroPart(part));
          continue;
        }
        SINTER_ASSIGN_OR_RETURN(const uint32_t term, Read(loaded_[i].entry, part.box, &part));
        if (term == terms_.at(part.number)) continue;
        return absl::DataLossError(absl::StrCat(
            file_.path(), ": the checksum is wrong for '", variables_.infos()[loaded_[i].variable].name,
            "': the file was written to while it was loaded, and ", i + 1, " of ", loaded_.size(),
            " variables have values of it already; load a whole checkpoint, or reset the variables"));
      }
      variables_.MarkWritten(loaded_[i].variable);
    }
    return absl::OkStatus();
  }

 private:
  uint64_t BytesOfEntry(size_t entry) const {
    return file_.entries()[entry].end - file_.entries()[entry].begin;
  }

  // Reads a part of a tensor and returns its term. Writes it to the variable's part, unless it is null.
  absl::StatusOr<uint32_t> Read(size_t index, const TensorBox& box, const Part* part) {
    const SafetensorsEntry& entry = file_.entries()[index];
    const int64_t size = SizeOf(entry.dtype), most = PieceElements(box, size);
    SINTER_ASSIGN_OR_RETURN(HostTensor piece, HostTensor::Empty(entry.dtype, {most}));
    const std::span<std::byte> bytes = MutableBytesOf(piece);
    PartCrc crc;
    SINTER_RETURN_IF_ERROR(ForEachPiece(box, most, [&](int64_t first, int64_t count) {
      SINTER_RETURN_IF_ERROR(ReadRows(file_, entry.begin, box, size, first, count, bytes.data()));
      box.ForEachRun(first, count, [&](int64_t at, int64_t whole, int64_t run) {
        crc.Add(static_cast<uint64_t>(whole * size),
                bytes.subspan(static_cast<size_t>((at - first) * size), static_cast<size_t>(run * size)));
      });
      const std::span<const std::byte> read = bytes.first(static_cast<size_t>(count * size));
      if (entry.dtype == DType::kI1 && FindBadBool(read).has_value()) {
        return absl::DataLossError(absl::StrCat(file_.path(), ": an element of the BOOL tensor '",
                                                PrintableText(entry.name), "' is neither 0 nor 1"));
      }
      return part == nullptr ? absl::OkStatus() : variables_.WritePart(*part, first, count, bytes.data());
    }));
    return crc.Finish(BytesOfEntry(index));
  }

  void CheckTerm(size_t entry, std::optional<uint32_t> terms) {
    if (terms.has_value() && file_.HasCrc(entry, JoinCrcs(*terms, BytesOfEntry(entry)))) return;
    damaged_.push_back(absl::StrCat("'", PrintableText(file_.entries()[entry].name), "'"));
  }

  // For each loaded variable, the terms of this process's ranks; 0 for a rank whose variable becomes zero.
  std::vector<uint32_t> OwnTerms() const {
    std::vector<uint32_t> terms;
    for (const LoadedPart& one : loaded_) {
      for (const RankedPart& own : variables_.PartsOfLocalRanks(one.variable)) {
        terms.push_back(own.term > 0 ? 0 : terms_.at(FindPart(variables_, one.variable, own.box)->number));
      }
    }
    return terms;
  }

  SessionVariables& variables_;
  const Together together_;
  const SafetensorsFile& file_;
  const std::vector<LoadedPart>& loaded_;
  std::map<size_t, uint32_t> terms_;  // By the number of a part.
  std::vector<std::string> damaged_;
};

}  // namespace

absl::Status SaveParts(SessionState& state, const std::vector<size_t>& variables, const std::string& path,
                       const Metadata& metadata) {
  SINTER_ASSIGN_OR_RETURN(const SessionUse::Scope use, state.buffers().use.Begin());
  return PartSaver(state, variables, path).Save(metadata);
}

absl::Status LoadParts(SessionState& state, const SafetensorsFile* file,
                       const std::vector<LoadedPart>& variables, const absl::Status& own) {
  SINTER_ASSIGN_OR_RETURN(const SessionUse::Scope use, state.buffers().use.Begin());
  const Together together = TogetherOf(state);
  absl::Status status = own;
  if (status.ok()) status = state.CheckNotShared();
  // Equal on all processes: the header, and which of its tensors are loaded.
  std::string call = "loading a checkpoint";
  if (status.ok()) {
    absl::StrAppend(&call, " whose header has the hash ", file->header_hash().substr(0, 16), ": tensors");
    for (const LoadedPart& one : variables) absl::StrAppend(&call, " ", one.entry);
  }
  SINTER_RETURN_IF_ERROR(together.Agree(call, status));
  PartLoader loader(state, *file, variables);
  SINTER_RETURN_IF_ERROR(together.Agree("reading a checkpoint", loader.ReadTerms()));
  SINTER_RETURN_IF_ERROR(together.Agree("checking a checkpoint", loader.CheckTerms()));
  return together.Agree("loading the values of a checkpoint", loader.Write());
}

}  // namespace sinter::internal_session
