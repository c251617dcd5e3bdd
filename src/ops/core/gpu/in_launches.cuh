#pragma once
// Passes records as kernel arguments, so that they need no copy to device memory before the launch.

#include <cuda_runtime.h>

#include <algorithm>
#include <span>

#include "ops/core/gpu/device_error.gpu.h"

namespace longhaul::cuda {

/// The records of one launch. They fit into 4 KiB of arguments, which all cards support.
template <class Record>
struct Records {
  static constexpr size_t kMost = 3584 / sizeof(Record);
  Record each[kMost];
};

/// Calls launch(some, count) for consecutive groups of records until all records are passed. `some`
/// holds `count` records. `what` names the kernel in error messages.
template <class Record, class Launch>
void in_launches(std::span<const Record> records, const char* what, Launch&& launch) {
  while (!records.empty()) {
    const size_t count = std::min(records.size(), Records<Record>::kMost);
    Records<Record> some;
    std::copy_n(records.begin(), count, some.each);
    launch(some, static_cast<unsigned>(count));
    check_launch(what);
    records = records.subspan(count);
  }
}

}  // namespace longhaul::cuda
