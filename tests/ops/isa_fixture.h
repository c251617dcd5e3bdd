#pragma once
// Runs a test at every instruction-set level of this CPU, and restores level and threads.

#include <gtest/gtest.h>

#include <string>

#include "base/parallel.h"
#include "ops/core/isa/isa.h"

namespace longhaul {

struct RestoreIsaAndThreads {
  Isa isa = current_isa();
  int threads = thread_count();
  ~RestoreIsaAndThreads() {
    set_isa(isa);
    set_thread_count(threads);
  }
};

/// Calls body() at each level with one and with two threads.
template <class Body>
void at_every_isa(Body&& body) {
  const RestoreIsaAndThreads restore;
  for (int i = 0; i <= static_cast<int>(best_isa()); ++i) {
    for (const int threads : {1, 2}) {
      SCOPED_TRACE(std::string(name_of(static_cast<Isa>(i))) + ", threads " +
                   std::to_string(threads));
      set_isa(static_cast<Isa>(i));
      set_thread_count(threads);
      body();
    }
  }
}

}  // namespace longhaul
