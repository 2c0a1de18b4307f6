#include "sinter/ir/cost/port_sharing.h"

#include <algorithm>
#include <set>

namespace sinter::cost {

void PortSharing::Add(uint32_t transfer, std::vector<uint32_t> ports) {
  for (const uint32_t port : ports) users_[port].push_back(transfer);
  ports_of_[transfer] = std::move(ports);
}

std::vector<uint32_t> PortSharing::Remove(uint32_t transfer) {
  std::set<uint32_t> others;
  for (const uint32_t port : ports_of_[transfer]) {
    std::erase(users_[port], transfer);
    others.insert(users_[port].begin(), users_[port].end());
  }
  ports_of_.erase(transfer);
  return {others.begin(), others.end()};
}

std::map<uint32_t, double> PortSharing::SpeedsBeside(const std::vector<uint32_t>& transfers) const {
  std::map<uint32_t, double> speeds;  // 0: not known yet.
  std::vector<uint32_t> reached(transfers);
  for (const uint32_t transfer : reached) speeds[transfer] = 0;
  struct Port {
    double free = 1;
    uint32_t users = 0;  // Without a known speed.
  };
  std::map<uint32_t, Port> shared;  // Ports of several transfers.
  for (size_t i = 0; i < reached.size(); ++i) {
    for (const uint32_t port : ports_of_.at(reached[i])) {
      if (users_[port].size() < 2 || !shared.try_emplace(port, 1.0, users_[port].size()).second) continue;
      for (const uint32_t other : users_[port]) {
        if (speeds.try_emplace(other, 0).second) reached.push_back(other);
      }
    }
  }
  for (size_t known = 0; known < reached.size();) {
    const auto share = [](const Port& port) { return port.free / port.users; };
    const std::pair<const uint32_t, Port>* least = nullptr;
    for (const auto& port : shared) {
      if (port.second.users > 0 && (least == nullptr || share(port.second) < share(least->second)))
        least = &port;
    }
    // Transfers that share no port with others have the speed 1.
    const double speed = least == nullptr ? 1 : std::min(1.0, share(least->second));
    const std::vector<uint32_t> fixed = least == nullptr ? reached : users_[least->first];
    for (const uint32_t transfer : fixed) {
      if (speeds[transfer] > 0) continue;
      speeds[transfer] = speed;
      ++known;
      for (const uint32_t port : ports_of_.at(transfer)) {
        const auto found = shared.find(port);
        if (found == shared.end()) continue;
        found->second.free = std::max(0.0, found->second.free - speed);
        --found->second.users;
      }
    }
  }
  return speeds;
}

}  // namespace sinter::cost
