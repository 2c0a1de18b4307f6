#include "sinter/runtime/session/load_parts.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "sinter/runtime/formats/part_crc.h"
#include "sinter/runtime/host/printable_text.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/host/untrusted_bytes.h"
#include "sinter/runtime/session/file_pieces.h"
#include "sinter/runtime/session/session_variables.h"

namespace sinter::internal_session {
namespace {

using Part = SessionVariables::Part;

constexpr uint32_t kLoadTag = 6;

// Reads elements [first, first + count) of a part, and returns their place in `memory`, which is that of
// FilePieces::Work. `begin`: the tensor's place in the data. Rows that are close to each other are read
// together, through the page cache: it has them for the other ranks, which read between them. `is_last`: what
// is in one piece goes past it, since nobody reads it again.
absl::StatusOr<std::byte*> ReadRows(const SafetensorsFile& file, uint64_t begin, const TensorBox& box,
                                    int64_t size, const FilePiece& piece, bool is_last, std::byte* memory) {
  constexpr int64_t kMostBytes = int64_t{1} << 20, kMostGap = int64_t{16} << 10;
  struct Row {
    int64_t at, whole, bytes;
  };
  std::vector<Row> rows;  // The rows of one read.
  std::vector<std::byte> read;
  std::byte* values = memory;
  absl::Status status;
  const auto flush = [&] {
    if (rows.empty() || !status.ok()) return;
    const int64_t from = rows.front().whole, bytes = rows.back().whole + rows.back().bytes - from;
    const uint64_t offset = begin + static_cast<uint64_t>(from);
    if (is_last && bytes == piece.count * size) {
      const size_t count = static_cast<size_t>(bytes);
      const absl::StatusOr<std::span<std::byte>> got =
          file.ReadDataPastCache(offset, count, {memory, FileReader::RoomFor(count)});
      status = got.status();
      if (got.ok()) values = got->data();
    } else if (rows.size() == 1) {
      status = file.ReadData(offset, {memory + rows[0].at, static_cast<size_t>(bytes)});
    } else {
      read.resize(static_cast<size_t>(bytes));
      status = file.ReadData(offset, read);
      for (const Row& row : rows) std::copy_n(read.data() + (row.whole - from), row.bytes, memory + row.at);
    }
    rows.clear();
  };
  box.ForEachRun(piece.first, piece.count, [&](int64_t at, int64_t whole, int64_t run) {
    const Row row = {(at - piece.first) * size, whole * size, run * size};
    if (!rows.empty()) {
      const int64_t end = rows.back().whole + rows.back().bytes;
      if (row.whole - end > kMostGap || row.whole + row.bytes - rows.front().whole > kMostBytes) flush();
    }
    rows.push_back(row);
  });
  flush();
  SINTER_RETURN_IF_ERROR(status);
  return values;
}

// The values of a tensor that this process reads.
struct CheckedPart {
  size_t entry;  // In the file.
  TensorBox box;
  const Part* part;  // Null if the tensor is only checked.
  uint32_t term = 0;
};

class PartLoader {
 public:
  PartLoader(SessionState& state, const SessionPeers& peers, const SafetensorsFile& file,
             const std::vector<LoadedPart>& loaded)
      : variables_(state.variables()),
        threads_(state.pool().threads()),
        peers_(peers),
        file_(file),
        loaded_(loaded) {}

  // Reads all that this process is to check: the parts that it holds, and its share of the other tensors.
  // `writes`: writes the parts as well.
  absl::Status Read(bool writes) {
    ListItems();
    SINTER_RETURN_IF_ERROR(ReadItems(items_, writes));
    return writes ? FinishVariables() : absl::OkStatus();
  }

  // Compares the terms of all processes with the file's CRCs.
  absl::Status CheckTerms() {
    for (const CheckedPart& item : items_) {
      if (item.part == nullptr) CheckTerm(item.entry, item.term);
    }
    SINTER_RETURN_IF_ERROR(peers_.is_alone ? CheckOwnTerms() : CheckTermsOfAll());
    if (damaged_.empty()) return absl::OkStatus();
    return absl::DataLossError(
        absl::StrCat(file_.path(), ": the checksum is wrong for ", absl::StrJoin(damaged_, ", ")));
  }

  // Reads the checked parts once more and writes them.
  absl::Status Write() {
    std::vector<CheckedPart> items;
    for (const CheckedPart& item : items_) {
      if (item.part == nullptr) continue;
      items.push_back(item);
      items.back().term = 0;
    }
    SINTER_RETURN_IF_ERROR(ReadItems(items, /*writes=*/true));
    SINTER_RETURN_IF_ERROR(FinishVariables());
    for (const CheckedPart& item : items) {
      if (item.term == TermOf(*item.part)) continue;
      return absl::DataLossError(absl::StrCat(
          file_.path(), ": the checksum is wrong for '", PrintableText(file_.entries()[item.entry].name),
          "': the file was written to while it was loaded, and the ", loaded_.size(),
          " loaded variables have values of it already; load a whole checkpoint, or reset the variables"));
    }
    return absl::OkStatus();
  }

 private:
  void ListItems() {
    std::vector<bool> is_loaded(file_.entries().size());
    for (const LoadedPart& one : loaded_) {
      const std::span<const Part> parts = variables_.PartsOf(one.variable);
      is_loaded[one.entry] = !parts.empty() || !peers_.is_alone;
      for (const Part& part : parts) {
        if (part.term == 0) items_.push_back({one.entry, part.box, &part});
      }
    }
    if (file_.checks() == SafetensorsChecks::kNone) return;
    for (size_t entry = 0; entry < is_loaded.size(); ++entry) {
      if (is_loaded[entry] || static_cast<int>(entry) % peers_.size() != peers_.rank()) continue;
      const int64_t elements =
          static_cast<int64_t>(BytesOfEntry(entry)) / SizeOf(file_.entries()[entry].dtype);
      items_.push_back({entry, TensorBox::Whole(elements), nullptr});
    }
  }

  uint64_t BytesOfEntry(size_t entry) const {
    return file_.entries()[entry].end - file_.entries()[entry].begin;
  }

  // Items that are read together: one, or all of a tensor that they cover.
  using Group = std::span<CheckedPart>;

  absl::Status ReadItems(std::vector<CheckedPart>& items, bool writes) {
    FilePieces pieces;
    std::vector<Group> groups;
    for (size_t begin = 0, end = 0; begin < items.size(); begin = end) {
      while (end < items.size() && items[end].entry == items[begin].entry) ++end;
      const Group of_entry(items.data() + begin, end - begin);
      const int64_t size = SizeOf(file_.entries()[items[begin].entry].dtype);
      if (AreReadWhole(of_entry)) {
        pieces.Add(groups.size(), items[begin].box.whole_elements(), size);
        groups.push_back(of_entry);
        continue;
      }
      for (CheckedPart& item : of_entry) {
        pieces.Add(groups.size(), item.box.num_elements(), size);
        groups.push_back(Group(&item, 1));
      }
    }
    return pieces.ForEach(threads_, [&](const FilePiece& piece, std::byte* memory) {
      const Group group = groups[piece.item];
      return group.size() > 1 ? ReadWhole(group, piece, writes, memory)
                              : ReadPiece(group.front(), piece, writes, memory);
    });
  }

  // True if the parts of one tensor cover it, and one is not in one piece in the file. To read the tensor in
  // large pieces, past the page cache, is then quicker than to read each part's rows.
  static bool AreReadWhole(Group parts) {
    int64_t elements = 0;
    for (const CheckedPart& part : parts) elements += part.part == nullptr ? 0 : part.box.num_elements();
    const auto has_rows = [](const CheckedPart& part) { return part.box.extents().size() > 1; };
    return parts.size() > 1 && elements == parts.front().box.whole_elements() &&
           std::ranges::any_of(parts, has_rows);
  }

  // Reads a piece of a whole tensor for all parts of it.
  absl::Status ReadWhole(Group parts, const FilePiece& piece, bool writes, std::byte* memory) {
    const SafetensorsEntry& entry = file_.entries()[parts.front().entry];
    const int64_t size = SizeOf(entry.dtype);
    const TensorBox whole = TensorBox::Whole(parts.front().box.whole_elements());
    SINTER_ASSIGN_OR_RETURN(const std::byte* const tensor,
                            ReadRows(file_, entry.begin, whole, size, piece, /*is_last=*/writes, memory));
    std::vector<std::byte> others;
    for (CheckedPart& part : parts) {
      const int64_t first = part.box.CountBefore(piece.first);
      const int64_t count = part.box.CountBefore(piece.first + piece.count) - first;
      if (count == 0) continue;
      std::byte* values = writes ? PlaceInMemory(part) : nullptr;
      if (values != nullptr) {
        values += first * size;
      } else {
        others.resize(static_cast<size_t>(count * size));
        values = others.data();
      }
      part.box.ForEachRun(first, count, [&](int64_t at, int64_t from, int64_t run) {
        std::copy_n(tensor + (from - piece.first) * size, run * size, values + (at - first) * size);
      });
      SINTER_RETURN_IF_ERROR(Take(part, {piece.item, first, count}, writes, values));
    }
    return absl::OkStatus();
  }

  absl::Status ReadPiece(CheckedPart& item, const FilePiece& piece, bool writes, std::byte* memory) {
    const SafetensorsEntry& entry = file_.entries()[item.entry];
    SINTER_ASSIGN_OR_RETURN(
        std::byte* const values,
        ReadRows(file_, entry.begin, item.box, SizeOf(entry.dtype), piece, /*is_last=*/writes, memory));
    return Take(item, piece, writes, values);
  }

  // Returns the place of the part's values in main memory; null if they are elsewhere, or in several places.
  std::byte* PlaceInMemory(const CheckedPart& item) {
    return item.part != nullptr && item.part->copies.size() == 1 ? variables_.InMemory(*item.part) : nullptr;
  }

  // Adds a piece's term to the item's, and writes its values, which may already be in their place.
  absl::Status Take(CheckedPart& item, const FilePiece& piece, bool writes, std::byte* values) {
    const SafetensorsEntry& entry = file_.entries()[item.entry];
    const int64_t size = SizeOf(entry.dtype);
    PartCrc crc;
    item.box.ForEachRun(piece.first, piece.count, [&](int64_t at, int64_t whole, int64_t run) {
      crc.Add(static_cast<uint64_t>(whole * size),
              {values + (at - piece.first) * size, static_cast<size_t>(run * size)});
    });
    const uint32_t term = crc.Finish(BytesOfEntry(item.entry));
    if (entry.dtype == DType::kI1 &&
        FindBadBool({values, static_cast<size_t>(piece.count * size)}).has_value()) {
      return absl::DataLossError(absl::StrCat(file_.path(), ": an element of the BOOL tensor '",
                                              PrintableText(entry.name), "' is neither 0 nor 1"));
    }
    const std::byte* const place = PlaceInMemory(item);
    const bool is_in_memory = place != nullptr;
    if (writes && is_in_memory && values != place + piece.first * size) {
      SINTER_RETURN_IF_ERROR(variables_.WritePart(*item.part, piece.first, piece.count, values));
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    item.term ^= term;
    if (!writes || item.part == nullptr || is_in_memory) return absl::OkStatus();
    return variables_.WritePart(*item.part, piece.first, piece.count, values);
  }

  // After the first terms are written.
  absl::Status FinishVariables() {
    for (const LoadedPart& one : loaded_) {
      for (const Part& part : variables_.PartsOf(one.variable)) {
        if (part.term > 0) SINTER_RETURN_IF_ERROR(variables_.ZeroPart(part));
      }
      variables_.MarkWritten(one.variable);
    }
    return absl::OkStatus();
  }

  // The term that Read found.
  uint32_t TermOf(const Part& part) const {
    const auto is_of_part = [&](const CheckedPart& item) { return item.part == &part; };
    return std::ranges::find_if(items_, is_of_part)->term;
  }

  // For whole variables.
  absl::Status CheckOwnTerms() {
    for (const CheckedPart& item : items_) {
      if (item.part != nullptr) CheckTerm(item.entry, item.term);
    }
    return absl::OkStatus();
  }

  absl::Status CheckTermsOfAll() {
    SINTER_ASSIGN_OR_RETURN(const std::vector<uint32_t> all,
                            peers_.Gather(OwnTerms(), "checking a checkpoint", kLoadTag));
    const size_t ranks = all.size() / std::max<size_t>(loaded_.size(), 1);
    const size_t local = ranks / static_cast<size_t>(peers_.size());
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
        const Part* const own = FindPart(variables_.PartsOf(loaded_[i].variable), part.box);
        if (own != nullptr) is_same = is_same && TermOf(*own) == term;
      }
      CheckTerm(loaded_[i].entry, is_same ? std::optional(terms) : std::nullopt);
    }
    return absl::OkStatus();
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
        terms.push_back(own.term > 0 ? 0 : TermOf(*FindPart(variables_.PartsOf(one.variable), own.box)));
      }
    }
    return terms;
  }

  SessionVariables& variables_;
  const int threads_;
  const SessionPeers peers_;
  const SafetensorsFile& file_;
  const std::vector<LoadedPart>& loaded_;
  std::mutex mutex_;                // Guards the terms of items, and writes to devices and of several copies.
  std::vector<CheckedPart> items_;  // With the terms of the file as it was checked.
  std::vector<std::string> damaged_;
};

}  // namespace

absl::Status LoadParts(SessionState& state, const SessionPeers& peers, const SafetensorsFile* file,
                       const std::vector<LoadedPart>& variables, const absl::Status& own) {
  SINTER_ASSIGN_OR_RETURN(const SessionUse::Scope use, state.buffers().use.Begin());
  absl::Status status = own;
  if (status.ok()) status = state.CheckNotShared();
  // Equal on all processes: the header, and which of its tensors are loaded.
  std::string call = "loading a checkpoint";
  if (status.ok()) {
    absl::StrAppend(&call, " whose header has the hash ", file->header_hash().substr(0, 16), ": tensors");
    for (const LoadedPart& one : variables) absl::StrAppend(&call, " ", one.entry);
  }
  SINTER_RETURN_IF_ERROR(peers.Agree(call, status));
  const std::vector<uint8_t> has_initial = {state.buffers().has_initial_values};
  SINTER_ASSIGN_OR_RETURN(const std::vector<uint8_t> all_have,
                          peers.Gather(has_initial, "loading a checkpoint", kLoadTag));
  const bool at_once = std::ranges::all_of(all_have, [](uint8_t has) { return has != 0; });
  PartLoader loader(state, peers, *file, variables);
  status = peers.Agree("reading a checkpoint", loader.Read(/*writes=*/at_once));
  if (status.ok()) status = peers.Agree("checking a checkpoint", loader.CheckTerms());
  if (!at_once) {
    SINTER_RETURN_IF_ERROR(status);
    return peers.Agree("loading the values of a checkpoint", loader.Write());
  }
  if (status.ok()) return status;
  const absl::Status reset = state.variables().Initialize();
  if (reset.ok()) return status;
  return absl::Status(status.code(),
                      absl::StrCat(status.message(), "; nor have the variables their initial values again (",
                                   reset.message(), "): reset them, or end this session"));
}

}  // namespace sinter::internal_session
