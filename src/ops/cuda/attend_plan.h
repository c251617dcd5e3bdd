#pragma once
// Cuts the tasks of one attention call into units of the CUDA kernels, and packs them with what
// they point at into one block of memory that is uploaded at once. Host code without CUDA.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ops/attention.h"
#include "ops/cuda/attend.h"
#include "ops/cuda/attend_records.h"
#include "ops/cuda/uploads.h"

namespace longhaul::cuda {

/// What a plan is made for.
struct AttendMachine {
  int processors = 1;  ///< streaming multiprocessors
  bool sm90 = false;   ///< the wgmma kernel runs
  PageRange pages;     ///< what it reads
};

/// The plan of one call. Reused from call to call, so that its memory is.
class AttendPlan {
 public:
  void make(const AttendCall& call, std::span<const AttendTask> tasks,
            const AttendMachine& machine);

  const std::vector<UnitRecord>& sm90() const { return sm90_; }    ///< wgmma tiles, longest first
  const std::vector<UnitRecord>& tiles() const { return tiles_; }  ///< mma.sync tiles, the same
  const std::vector<UnitRecord>& few() const { return few_; }
  const std::vector<MergeRecord>& merges() const { return merges_; }
  int most_merge_rows() const { return most_merge_rows_; }  ///< flat rows of a merge
  int64_t partial_floats() const { return partial_floats_; }

  /// Where the parts of a packed plan begin, in bytes.
  struct Layout {
    size_t segments, sm90, tiles, few, merges, pages, index, bytes;
  };
  Layout layout() const;
  /// Writes layout().bytes to `to`, with addresses as they are once it lies at `device`.
  void pack(std::byte* to, const std::byte* device) const;

 private:
  struct Source {                   ///< of a SegmentRecord: what is uploaded for it
    const std::byte* const* pages;  ///< host array; null: nothing
    int64_t first_page;
    const int32_t* index;  ///< host list; null: nothing
    bool counted;          ///< its key ranges can be computed on the host
  };
  /// Units of one task that follow each other, all over the same keys.
  struct Cut {
    const AttendTask& task;
    int first_segment;
    int keys;       ///< by which tiles are counted
    int flat_rows;  ///< of a unit, at most
  };

  int add_segments(const AttendCall& call, const AttendTask& task);
  void add_segment(const AttendCall& call, const KeySegment& s);
  bool fits_sm90(const AttendCall& call, const AttendTask& task) const;
  void cut(const Cut& how, std::vector<UnitRecord>& units) const;
  int64_t tiles_of(const UnitRecord& unit, int keys) const;
  void split(std::vector<UnitRecord>& units, int head_dim, int keys, int64_t blocks,
             int64_t least_tiles);

  AttendMachine machine_;
  std::vector<SegmentRecord> segments_;
  std::vector<Source> sources_;
  Uploads<const std::byte*> pages_;
  Uploads<int32_t> index_;
  std::vector<UnitRecord> sm90_, tiles_, few_, whole_;
  std::vector<int64_t> work_;
  std::vector<int32_t> order_;
  std::vector<MergeRecord> merges_;
  int most_merge_rows_ = 0;
  int64_t partial_floats_ = 0;
};

}  // namespace longhaul::cuda
