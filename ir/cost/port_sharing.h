// PortSharing: the speeds of transfers that use ports at the same time, max-min fair.
//
//   PortSharing ports(/*ports=*/8);
//   ports.Add(0, {0, 1});                              // Transfer 0 uses ports 0 and 1.
//   ports.Add(1, {1, 2});
//   for (const auto& [transfer, speed] : ports.SpeedsBeside({0})) ...   // Both: 0.5.
//
// A transfer alone uses all of each of its ports, and has the speed 1. No transfer can then be made faster
// without making one slower that is no faster (progressive filling: Bertsekas and Gallager, "Data Networks",
// section 6.5.2).
#ifndef SINTER_IR_COST_PORT_SHARING_H_
#define SINTER_IR_COST_PORT_SHARING_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace sinter::cost {

class PortSharing {
 public:
  explicit PortSharing(size_t ports) : users_(ports) {}

  // `transfer` must use no ports yet, and must name none twice.
  void Add(uint32_t transfer, std::vector<uint32_t> ports);
  // Returns the transfers that used one of its ports too.
  std::vector<uint32_t> Remove(uint32_t transfer);

  // The speeds of these transfers and of all whose speed depends on theirs, ascending by transfer.
  std::map<uint32_t, double> SpeedsBeside(const std::vector<uint32_t>& transfers) const;

 private:
  std::vector<std::vector<uint32_t>> users_;            // By port.
  std::map<uint32_t, std::vector<uint32_t>> ports_of_;  // By transfer.
};

}  // namespace sinter::cost

#endif  // SINTER_IR_COST_PORT_SHARING_H_
