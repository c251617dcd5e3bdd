#pragma once
// Passes records as kernel arguments instead of by a copy to device memory before the launch.

#include <cuda_runtime.h>

#include <algorithm>
#include <span>

#include "ops/core/gpu/device_error.gpu.h"

namespace longhaul::cuda {

/// Records of one launch. All cards support 4 KiB of arguments.
template <class Record>
struct Records {
  static constexpr size_t kMost = 3584 / sizeof(Record);
  Record each[kMost];
};

/// Calls launch(records, count) until all records are passed.
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
