#include "sinter/runtime/host/process_forks.h"

#include <pthread.h>

#include <atomic>

namespace sinter {
namespace {

std::atomic<uint32_t> forks = 0;

bool CountFromNowOn() {
  return pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); }) == 0;
}

}  // namespace

uint32_t ForkCount() {
  static const bool is_counted = CountFromNowOn();
  (void)is_counted;
  return forks.load(std::memory_order_relaxed);
}

}  // namespace sinter
