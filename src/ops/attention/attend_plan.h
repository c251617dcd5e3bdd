#pragma once
// Divides the tasks of one attention call into units. A unit is the rows, heads and keys that one
// thread block computes. Packs them with the data that they point to into one block of memory,
// which is uploaded at once. Host code without CUDA.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ops/attention/attend.gpu.h"
#include "ops/attention/attend_records.h"
#include "ops/attention/attention.h"
#include "ops/core/gpu/uploads.h"

namespace longhaul::cuda {

/// The GPU's properties.
struct AttendMachine {
  int processors = 1;  ///< streaming multiprocessors
  bool sm90 = false;   ///< the wgmma kernel may run
  PageRange pages;     ///< pages that the wgmma kernel can read
};

/// Moves the first of the jobs in `left`, and those that can run in one plan with it, to
/// `together`. They have equal settings, outputs and lse in the same arrays behind those of the
/// first, few rows per task, at most one table of rotations, and no lengths that only the device
/// knows. The first call gets the table.
void take_joinable(std::vector<const AttendJob*>& left, std::vector<AttendJob>& together);

/// The plan of one call. An object that is reused for further calls keeps its memory.
class AttendPlan {
 public:
  void make(const AttendCall& call, std::span<const AttendTask> tasks,
            const AttendMachine& machine);
  /// The plan of several calls with equal heads and sinks, whose outputs are rows of one array that
  /// begins with the first call's. The keys of all of them together are divided into about as many
  /// units as fill the device, so a sequence's sums may be rounded otherwise than alone.
  void make(std::span<const AttendJob> jobs, const AttendMachine& machine);

  /// Units of the wgmma kernel, of its variant for masked segments, and of the mma.sync kernel. The
  /// units with most work come first.
  const std::vector<UnitRecord>& sm90() const { return sm90_; }
  const std::vector<UnitRecord>& masked() const { return masked_; }
  const std::vector<UnitRecord>& tiles() const { return tiles_; }
  /// Decode units, each with all its parts; part_of_block() maps a thread block to a part.
  const std::vector<UnitRecord>& decode() const { return decode_; }
  int decode_blocks() const { return decode_blocks_; }
  const std::vector<MergeRecord>& merges() const { return merges_; }
  /// Counted lengths that the device must write into the segments before any kernel reads them.
  const std::vector<CountRecord>& counts() const { return counts_; }
  /// Largest number of (row, head) rows in a merge, and largest number of parts in a merge.
  int most_merge_rows() const { return most_merge_rows_; }
  int most_merge_parts() const { return most_merge_parts_; }
  int64_t partial_floats() const { return partial_floats_; }
  int counters() const { return counters_; }

  /// Storage of keys and values: the largest bytes per key row and per value row (zeros if all are
  /// bf16), and whether all segments are consecutive rows of 32-blocks without rotation.
  struct Stored {
    int key_bytes = 0, value_bytes = 0;
    bool blocks = true;
  };
  Stored stored() const { return all_bf16_ ? Stored{0, 0, false} : stored_; }
  bool turns() const { return turns_; }  ///< some keys rotate at consecutive positions

  /// Returns whether the plan has only segments and decode units and uploads nothing else from host
  /// memory.
  bool decode_alone() const;
  /// Byte offsets of the parts of a packed plan.
  struct Layout {
    size_t segments, counts, sm90, masked, tiles, decode, merges, pages, index, bytes;
  };
  Layout layout() const;
  /// Writes layout().bytes to `to`. Addresses in the packed plan are valid after it has been copied
  /// to `device`.
  void pack(std::byte* to, const std::byte* device) const;

 private:
  struct Source {                   ///< uploads that belong to a SegmentRecord
    const std::byte* const* pages;  ///< host array; null: no upload
    int64_t first_page;
    const int32_t* index;  ///< host list; null: no upload
    bool counted;          ///< its key ranges can be computed on the host
  };
  enum Kernel : uint8_t { kSm90, kMasked, kTiles, kDecode };
  /// Tasks of one kernel with equal rows and visibility, but other heads and key locations. They
  /// are tiled once.
  struct Group {
    const AttendTask* task;
    int job;
    int first_row;  ///< row of the plan that is row 0 of the job
    int first_segment;
    Kernel kernel;
    int heads;  ///< most heads per unit
    int first_member, last_member, members;
  };
  struct Member {
    int first_segment, head_begin;
    int next;  ///< below 0: none
  };
  /// Rows of a group whose units have equal work.
  struct Strip {
    int group;
    int row, rows;  ///< row numbers within the task
    int64_t work;   ///< tiles per unit
  };
  /// Sizes of a kernel's units. Tiles have `keys` keys. There are about `blocks` units in total,
  /// each with at least `least_tiles` tiles.
  struct Sizes {
    int keys, flat_rows;
    int64_t blocks, least_tiles;
  };

  void clear();
  void add_tasks(const AttendCall& call, std::span<const AttendTask> tasks);
  int add_segments(const AttendCall& call, const AttendTask& task);
  void add_segment(const AttendCall& call, const KeySegment& s);
  /// Records counted lengths. Work is estimated and divided by the largest possible number of keys
  /// (KeySegment::device_count); the kernels find the actual number of tiles.
  void note_counts(const AttendTask& task, int first_segment);
  Kernel kernel_for(const AttendCall& call, const AttendTask& task) const;
  bool fits_sm90(const AttendCall& call, const AttendTask& task) const;
  Group& group_of(const AttendTask& task, int first_segment, Kernel kernel);
  bool same_sight(const Group& group, const AttendTask& task, int first_segment) const;
  int64_t tiles_of(const Group& group, int row, int rows, int keys) const;
  void cut(Kernel kernel, const Sizes& sizes, int head_dim, std::vector<UnitRecord>& units);
  void add_unit(UnitRecord unit, Kernel kernel, int head_dim, std::vector<UnitRecord>& units);
  void add_units(const Strip& strip, int parts, int head_dim, std::vector<UnitRecord>& units);

  AttendMachine machine_;
  int job_ = 0, jobs_ = 1;  ///< the job that is added, and the number of jobs
  int first_row_ = 0;       ///< its first row
  int64_t row_floats_ = 0;  ///< floats per row of queries
  std::vector<SegmentRecord> segments_;
  std::vector<Source> sources_;
  Uploads<const std::byte*> pages_;
  Uploads<int32_t> index_;
  std::vector<UnitRecord> sm90_, masked_, tiles_, decode_;
  std::vector<Group> groups_;
  std::vector<Member> members_;
  std::vector<Strip> strips_;
  std::vector<MergeRecord> merges_;
  int decode_blocks_ = 0;
  Stored stored_;
  bool all_bf16_ = true, turns_ = false;
  std::vector<CountRecord> counts_;
  int most_merge_rows_ = 0, most_merge_parts_ = 0;
  int64_t partial_floats_ = 0;
  int counters_ = 0;
};

}  // namespace longhaul::cuda
