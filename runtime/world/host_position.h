// HostPosition: the place of a process among those of a world that run on the same computer.
#ifndef SINTER_RUNTIME_WORLD_HOST_POSITION_H_
#define SINTER_RUNTIME_WORLD_HOST_POSITION_H_

namespace sinter {

struct HostPosition {
  int rank = 0;  // The number of such processes with a lower rank.
  int size = 1;
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_WORLD_HOST_POSITION_H_
