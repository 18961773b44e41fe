// Of cooperative groups the cluster alone, by barriers and addresses of the machine.
#pragma once

#include "machine/thread.h"

namespace cooperative_groups {

class ClusterGroup {
 public:
  void sync() const {
    octavo::emulator::clusterArrive();
    octavo::emulator::clusterWait();
  }
  template <class T>
  T* map_shared_rank(T* address, int rank) const {
    using namespace octavo::emulator;
    return reinterpret_cast<T*>(sharedPointer(addressInBlock(sharedAddress(address), rank)));
  }
};

inline ClusterGroup this_cluster() { return {}; }

}  // namespace cooperative_groups
