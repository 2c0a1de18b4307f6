#include "sinter/runtime/world/call_stamp.h"

#include <cstring>

#include "absl/strings/str_cat.h"

namespace sinter {
namespace {

// "run 3 of session 2". "no run" outside runs, for example while a session is created.
std::string RunText(const CallStamp& stamp, bool with_session) {
  if (stamp.run == 0) return "no run";
  return absl::StrCat("run ", stamp.run,
                      with_session ? absl::StrCat(" of session ", stamp.session) : std::string());
}

}  // namespace

CallStamp CallStamp::Of(const World::Operation& operation) {
  CallStamp stamp;
  stamp.run = operation.run;
  stamp.session = operation.session;
  stamp.function = operation.function;
  stamp.tag = operation.tag;
  operation.name.copy(stamp.name, sizeof(stamp.name) - 1);
  return stamp;
}

std::string CallStamp::DifferenceFrom(const CallStamp& own, int peer, int rank) const {
  constexpr const char* kAdvice = " (all ranks must run the same functions in the same order)";
  if (run == own.run && session == own.session && function == own.function && tag == own.tag) {
    if (bytes == own.bytes) return "";
    return absl::StrCat("rank ", peer, " sends ", bytes, " bytes where rank ", rank, " expects ", own.bytes,
                        kAdvice);
  }
  const bool with_session = session != own.session;
  return absl::StrCat("rank ", peer, " is at ", RunText(*this, with_session), ", ",
                      std::string(name, strnlen(name, sizeof(name))), ", where rank ", rank, " is at ",
                      RunText(own, with_session), kAdvice);
}

}  // namespace sinter
