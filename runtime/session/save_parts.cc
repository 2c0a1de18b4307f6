#include "sinter/runtime/session/save_parts.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <optional>
#include <random>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sinter/runtime/formats/file.h"
#include "sinter/runtime/formats/part_crc.h"
#include "sinter/runtime/host/sha256.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/session/file_pieces.h"
#include "sinter/runtime/session/session_variables.h"
#include "sinter/runtime/tensor/tensor_bytes.h"

namespace sinter::internal_session {
namespace {

using Part = SessionVariables::Part;

constexpr size_t kRandomDigits = kSha256Digits;
constexpr uint32_t kSaveTag = 5;

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

// The values of a tensor that this process writes.
struct SavedPart {
  size_t place;  // The tensor's place in the layout.
  DType dtype;
  TensorBox box;
  const Part* part;            // Null for a sum.
  const std::byte* in_memory;  // The values of the box, if they are in main memory; otherwise null.
};

class PartSaver {
 public:
  PartSaver(SessionState& state, const SessionPeers& peers, const std::vector<size_t>& indices,
            const std::string& path)
      : variables_(state.variables()),
        threads_(state.pool().threads()),
        peers_(peers),
        indices_(indices),
        path_(path) {}

  absl::Status Save(const Metadata& metadata) {
    SINTER_RETURN_IF_ERROR(peers_.Agree("saving a checkpoint", Begin(metadata)));
    SINTER_RETURN_IF_ERROR(ShareNotice());
    SINTER_RETURN_IF_ERROR(peers_.Agree("opening the checkpoint that rank 0 writes", OpenShared()));
    terms_.resize(indices_.size());
    SINTER_RETURN_IF_ERROR(peers_.Agree("writing a checkpoint", WriteOwned()));
    SINTER_ASSIGN_OR_RETURN(const std::vector<uint32_t> all,
                            peers_.Gather(terms_, "saving a checkpoint", kSaveTag));
    const absl::Status committed = peers_.rank() == 0 ? Commit(all) : absl::OkStatus();
    return peers_.Agree("completing a checkpoint", committed);
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
    if (peers_.rank() != 0) return absl::OkStatus();
    SINTER_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path_));
    file_.emplace(std::move(file));
    SINTER_RETURN_IF_ERROR(file_->Resize(static_cast<int64_t>(layout_->file_bytes())));
    const std::string name = file_->temporary_name();
    name.copy(notice_.name.data(), notice_.name.size() - 1);
    notice_.data_begin = layout_->data_begin();
    if (peers_.size() == 1) return absl::OkStatus();
    const std::string text = RandomText();
    text.copy(notice_.text.data(), notice_.text.size());
    notice_.text_begin = layout_->hash_begin();
    SINTER_RETURN_IF_ERROR(file_->Overwrite(static_cast<int64_t>(layout_->hash_begin()), AsBytes(text)));
    return file_->Sync();
  }

  absl::Status ShareNotice() {
    SINTER_ASSIGN_OR_RETURN(const std::vector<FileNotice> all,
                            peers_.Gather(std::vector<FileNotice>{notice_}, "saving a checkpoint", kSaveTag));
    notice_ = all[0];
    return absl::OkStatus();
  }

  absl::Status OpenShared() {
    const auto elsewhere = [&](const std::string& reason) {
      return absl::FailedPreconditionError(absl::StrCat(
          "cannot write '", path_, "' with rank 0, whose file is not in the folder that rank ", peers_.rank(),
          " sees (", reason, "): all processes must write to one folder, on a file system that they share"));
    };
    absl::StatusOr<SharedFile> shared = SharedFile::Open(path_, notice_.name.data());
    if (absl::IsNotFound(shared.status())) return elsewhere(std::string(shared.status().message()));
    SINTER_RETURN_IF_ERROR(shared.status());
    if (peers_.size() > 1) {
      std::array<char, kRandomDigits> text;
      const absl::Status read = shared->Read(notice_.text_begin, std::as_writable_bytes(std::span(text)));
      if (!read.ok() || text != notice_.text) return elsewhere("a file of its name has other contents");
    }
    shared_.emplace(*std::move(shared));
    return absl::OkStatus();
  }

  // Writes the parts of which this process has the first rank. All processes read a sum together, also one
  // that has failed to write.
  absl::Status WriteOwned() {
    absl::Status own;
    std::vector<SavedPart> items;
    for (size_t i = 0; i < indices_.size(); ++i) {
      const size_t variable = indices_[layout_->places()[i].source];
      if (!variables_.infos()[variable].is_sum) {
        AddParts(i, variable, items);
        continue;
      }
      const absl::StatusOr<HostTensor> sum = variables_.View(variable);
      if (!sum.ok()) return own.ok() ? sum.status() : own;
      if (own.ok() && static_cast<int>(i) % peers_.size() == peers_.rank()) own = WriteSum(i, *sum);
    }
    SINTER_RETURN_IF_ERROR(own);
    SINTER_RETURN_IF_ERROR(Write(items));
    return shared_->Sync();
  }

  void AddParts(size_t place, size_t variable, std::vector<SavedPart>& items) const {
    const auto add = [&](const Part& part) {
      items.push_back(
          {place, variables_.infos()[variable].dtype, part.box, &part, variables_.InMemory(part)});
    };
    if (peers_.is_alone) {
      for (const Part& part : variables_.PartsOf(variable)) add(part);
      return;
    }
    for (const RankedPart& ranked : variables_.PartsOfAllRanks(variable)) {
      if (variables_.ProcessOf(ranked.rank) != peers_.rank()) continue;
      add(*FindPart(variables_.PartsOf(variable), ranked.box));
    }
  }

  absl::Status WriteSum(size_t place, const HostTensor& sum) {
    return Write({{place, sum.dtype(), TensorBox::Whole(sum.num_elements()), nullptr, BytesOf(sum).data()}});
  }

  absl::Status Write(const std::vector<SavedPart>& items) {
    FilePieces pieces;
    for (size_t i = 0; i < items.size(); ++i) {
      pieces.Add(i, items[i].box.num_elements(), SizeOf(items[i].dtype), OffsetOf(items[i], 0));
    }
    return pieces.ForEach(threads_, [&](const FilePiece& piece, std::byte* memory) {
      return WritePiece(items[piece.item], piece, memory);
    });
  }

  // The place in the file of an element of the item's box.
  uint64_t OffsetOf(const SavedPart& item, int64_t element) const {
    int64_t at = 0;
    if (item.box.num_elements() > 0) {
      item.box.ForEachRun(element, 1, [&](int64_t, int64_t whole, int64_t) { at = whole; });
    }
    return notice_.data_begin + layout_->places()[item.place].begin +
           static_cast<uint64_t>(at * SizeOf(item.dtype));
  }

  // Writes a piece, and adds its term to that of the tensor's CRC. Rows have the alignment in memory that
  // they have in the file (SharedFile::kAlignment) if they come from main memory, or if the piece is one row.
  absl::Status WritePiece(const SavedPart& item, const FilePiece& piece, std::byte* memory) {
    const int64_t size = SizeOf(item.dtype);
    const uint64_t begin = notice_.data_begin + layout_->places()[item.place].begin;
    const std::byte* values = nullptr;
    if (item.in_memory != nullptr) {
      values = item.in_memory + piece.first * size;
    } else {
      std::byte* const to = memory + OffsetOf(item, piece.first) % FilePieces::kAlignment;
      const std::lock_guard<std::mutex> lock(device_mutex_);
      SINTER_RETURN_IF_ERROR(variables_.ReadPart(*item.part, piece.first, piece.count, to));
      values = to;
    }
    PartCrc crc;
    absl::Status status;
    item.box.ForEachRun(piece.first, piece.count, [&](int64_t at, int64_t whole, int64_t run) {
      std::span<const std::byte> row(values + (at - piece.first) * size, static_cast<size_t>(run * size));
      const auto offset = static_cast<uint64_t>(whole * size);
      if (item.in_memory != nullptr) {
        std::byte* const to = memory + (begin + offset) % FilePieces::kAlignment;
        std::ranges::copy(row, to);
        row = {to, row.size()};
      }
      crc.Add(offset, row);
      if (status.ok()) status = shared_->Write(static_cast<int64_t>(begin + offset), row);
    });
    const uint32_t term = crc.Finish(static_cast<uint64_t>(item.box.whole_elements() * size));
    const std::lock_guard<std::mutex> lock(terms_mutex_);
    terms_[item.place] ^= term;
    return status;
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
  const int threads_;
  const SessionPeers peers_;
  const std::vector<size_t>& indices_;
  const std::string& path_;
  std::optional<SafetensorsLayout> layout_;
  std::optional<AtomicFile> file_;  // On rank 0.
  std::optional<SharedFile> shared_;
  FileNotice notice_;
  std::mutex device_mutex_;      // Held to read from a device other than a CPU.
  std::mutex terms_mutex_;       // Guards the next.
  std::vector<uint32_t> terms_;  // In data order: of what this process has written.
};

}  // namespace

absl::Status SaveParts(SessionState& state, const SessionPeers& peers, const std::vector<size_t>& variables,
                       const std::string& path, const Metadata& metadata) {
  SINTER_ASSIGN_OR_RETURN(const SessionUse::Scope use, state.buffers().use.Begin());
  return PartSaver(state, peers, variables, path).Save(metadata);
}

}  // namespace sinter::internal_session
