#pragma once
// Records that travel with the launches of a kernel as its parameters, instead of a copy to device
// memory before it.

#include <cuda_runtime.h>

#include <algorithm>
#include <span>

#include "ops/core/gpu/device_error.gpu.h"

namespace longhaul::cuda {

/// Records of one launch: all cards take 4 KiB of parameters.
template <class Record>
struct Records {
  static constexpr size_t kMost = 3584 / sizeof(Record);
  Record each[kMost];
};

/// Calls launch(records, how many) until all have been sent.
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
