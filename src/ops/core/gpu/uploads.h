#pragma once
// Collects the ranges of host arrays that must be uploaded to the device. Arrays are identified by
// their addresses. A range that is requested several times is uploaded once.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/assert.h"

namespace longhaul::cuda {

template <class T>
class Uploads {
 public:
  void clear() {
    parts_.clear();
    size_ = 0;
  }
  /// Requests elements [first, end) of the array that begins at `from`.
  void need(const T* from, int64_t first, int64_t end) {
    // Fast path: several heads often request the same array one after another.
    if (!parts_.empty() && parts_.back().from == from) {
      parts_.back().first = std::min(parts_.back().first, first);
      parts_.back().end = std::max(parts_.back().end, end);
      return;
    }
    parts_.push_back({from, first, end, 0});
  }
  /// Merges the ranges of each array and assigns each array its offset in the upload. Must be
  /// called after the last need().
  void settle() {
    std::sort(parts_.begin(), parts_.end(),
              [](const Part& a, const Part& b) { return a.from < b.from; });
    size_t kept = 0;
    for (const Part& part : parts_) {
      if (kept > 0 && parts_[kept - 1].from == part.from) {
        parts_[kept - 1].first = std::min(parts_[kept - 1].first, part.first);
        parts_[kept - 1].end = std::max(parts_[kept - 1].end, part.end);
      } else {
        parts_[kept++] = part;
      }
    }
    parts_.resize(kept);
    size_ = 0;
    for (Part& part : parts_) {
      part.at = size_;
      size_ += part.end - part.first;
    }
  }
  /// Returns the index, within the upload, of element `element` of the array that begins at `from`.
  int64_t place_of(const T* from, int64_t element) const {
    const auto part =
        std::lower_bound(parts_.begin(), parts_.end(), from,
                         [](const Part& a, const T* address) { return a.from < address; });
    LH_ASSERT(part != parts_.end() && part->from == from);
    return part->at + element - part->first;
  }
  int64_t size() const { return size_; }  ///< returns the number of elements in the upload
  void write(T* to) const {
    for (const Part& part : parts_) {
      std::copy(part.from + part.first, part.from + part.end, to + part.at);
    }
  }

 private:
  struct Part {
    const T* from;
    int64_t first, end;
    int64_t at;
  };
  std::vector<Part> parts_;
  int64_t size_ = 0;
};

}  // namespace longhaul::cuda
