#pragma once
// Passes records as kernel arguments. This avoids a copy to device memory before the launch.

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

/// Passes all records in as many launches as necessary. Calls launch(records, count) for each.
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
