#include "sinter/runtime/world/world_agreement.h"

#include <array>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/plan_generated.h"
#include "sinter/runtime/host/sha256.h"
#include "sinter/runtime/host/status.h"

namespace sinter {
namespace {

// Longest error text sent. The cause comes first in a message.
constexpr size_t kTextBytes = 400;

constexpr World::Operation kComparePlans = {"comparing plans", 1};
constexpr World::Operation kCompareErrors = {"creating a session", 2};

constexpr uint32_t kCallTag = 3;

// Ranks of one version have it in one form.
struct Program {
  Sha256::Bytes plan;
  std::array<char, 64> library = {};
  std::array<char, 64> host = {};  // The same text for all processes of a computer.
};

struct Report {
  bool failed = false;
  Sha256::Bytes call = {};
  std::array<char, 100> name = {};
  std::array<char, kTextBytes> text = {};
};

template <typename T>
absl::StatusOr<std::vector<T>> Gather(World& world, const T& own, const World::Operation& operation) {
  std::vector<T> all(static_cast<size_t>(world.size()));
  SINTER_RETURN_IF_ERROR(
      world.AllGather(std::as_bytes(std::span(&own, 1)), std::as_writable_bytes(std::span(all)), operation));
  return all;
}

// A number of this start of the computer's system, which containers share. Empty if it is unknown: then every
// such process counts as one of the same computer.
std::string HostName() {
  std::string text;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), text);
  return text;
}

HostPosition PositionOf(const std::vector<Program>& all, size_t rank) {
  HostPosition position = {.rank = 0, .size = 0};
  for (size_t other = 0; other < all.size(); ++other) {
    if (all[other].host != all[rank].host) continue;
    ++position.size;
    if (other < rank) ++position.rank;
  }
  return position;
}

}  // namespace

std::string_view LibraryVersion() {
  static const std::string version = absl::StrCat(SINTER_VERSION ", plans of version ", Plan::kVersion);
  return version;
}

absl::StatusOr<HostPosition> AgreeOnPlan(World* world, const Plan& plan, std::string_view version) {
  if (world == nullptr || world->size() == 1) return HostPosition();
  Program own;
  std::memcpy(own.plan.data(), plan.table().content_hash()->data(), own.plan.size());
  version.copy(own.library.data(), own.library.size() - 1);
  HostName().copy(own.host.data(), own.host.size() - 1);
  SINTER_ASSIGN_OR_RETURN(const std::vector<Program> all, Gather(*world, own, kComparePlans));
  for (size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank].library == all[0].library) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "rank ", rank, " has version ", all[rank].library.data(), " of Sinter, and rank 0 has ",
        all[0].library.data(), ": start the same program, with the same libraries, on every machine"));
  }
  for (size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank].plan == all[0].plan) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("rank ", rank, " has another plan than rank 0: its hash is ",
                     HexText(all[rank].plan).substr(0, 16), "..., and that of rank 0 ",
                     HexText(all[0].plan).substr(0, 16), "...: give every process the same plan"));
  }
  // Ranks that exchange nothing are not there.
  return world->connects() ? PositionOf(all, static_cast<size_t>(world->rank())) : HostPosition();
}

absl::Status AgreeOnStatus(World* world, const absl::Status& own) {
  if (world == nullptr || world->size() == 1) return own;
  Report report = {.failed = !own.ok()};
  std::string(own.message()).copy(report.text.data(), kTextBytes - 1);
  const absl::StatusOr<std::vector<Report>> all = Gather(*world, report, kCompareErrors);
  if (!own.ok()) return own;
  SINTER_RETURN_IF_ERROR(all.status());
  for (size_t rank = 0; rank < all->size(); ++rank) {
    if (!(*all)[rank].failed) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("rank ", rank, " cannot create its session: ", (*all)[rank].text.data()));
  }
  return absl::OkStatus();
}

absl::Status AgreeOnCall(World* world, uint32_t session, const std::string& call, const absl::Status& own) {
  if (world == nullptr || world->size() == 1) return own;
  Report report = {.failed = !own.ok()};
  Sha256 hash;
  hash.Update(std::as_bytes(std::span(call)));
  report.call = hash.Digest();
  call.copy(report.name.data(), report.name.size() - 1);
  std::string(own.message()).copy(report.text.data(), kTextBytes - 1);
  const World::Operation operation = {
      .name = "agreeing on a call of all ranks", .tag = kCallTag, .session = session};
  const absl::StatusOr<std::vector<Report>> all = Gather(*world, report, operation);
  if (!own.ok()) return own;
  SINTER_RETURN_IF_ERROR(all.status());
  for (size_t rank = 0; rank < all->size(); ++rank) {
    const Report& other = (*all)[rank];
    if (other.failed) {
      return absl::FailedPreconditionError(
          absl::StrCat("rank ", rank, " fails at ", other.name.data(), ": ", other.text.data()));
    }
    if (other.call == report.call) continue;
    return absl::InvalidArgumentError(absl::StrCat("rank ", rank, " is at ", other.name.data(), ", and rank ",
                                                   world->rank(), " at ", report.name.data(),
                                                   ": all ranks make the same calls in the same order"));
  }
  return absl::OkStatus();
}

}  // namespace sinter
