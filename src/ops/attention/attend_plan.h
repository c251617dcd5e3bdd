#pragma once
// Splits the tasks of an attention call into units, each of which one thread block computes. A unit
// is a set of query rows, heads and keys. The plan packs the units and the data that they refer to
// into one block of memory, which is uploaded with one copy. A job is the attention call of one
// sequence together with its tasks. A flat row is the query of one head of one query row. This is
// host code without CUDA.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ops/attention/attend.gpu.h"
#include "ops/attention/attend_records.h"
#include "ops/attention/attention.h"
#include "ops/core/gpu/uploads.h"

namespace longhaul::cuda {

/// The properties of the GPU that determine how a plan splits tasks.
struct AttendMachine {
  int processors = 1;  ///< number of streaming multiprocessors
  bool sm90 = false;   ///< whether the wgmma kernel may run
  PageRange pages;     ///< pages that the tensor memory accelerator (TMA) of Hopper GPUs, and thus
                       ///< the wgmma kernel, can read
};

/// Moves the first job of `left`, and all other jobs that can run in one plan with it, to
/// `together`. Such jobs have equal settings, few rows per task, and no segment whose number of
/// keys is known only on the device. Their arrays `out` must be rows of one array that begins with
/// the `out` of the first job. The same holds for `lse`. The jobs use at most one table of
/// rotations. If the first call has none, it gets this table.
void take_joinable(std::vector<const AttendJob*>& left, std::vector<AttendJob>& together);

/// The plan of one attention call. If the object is used for further calls, it reuses its memory.
class AttendPlan {
 public:
  void make(const AttendCall& call, std::span<const AttendTask> tasks,
            const AttendMachine& machine);
  /// Plans several calls together. The calls must have equal heads and sinks. Their outputs must be
  /// rows of one array, which begins with the output of the first call. The keys of all calls
  /// together are split into about as many units as the device can run at the same time. The sums
  /// of a sequence may therefore be rounded differently than if the sequence had a plan of its own.
  void make(std::span<const AttendJob> jobs, const AttendMachine& machine);

  /// Units of the three prefill kernels: wgmma, wgmma for segments with masks, and mma.sync. In
  /// each list, units with more work come first.
  const std::vector<UnitRecord>& sm90() const { return sm90_; }
  const std::vector<UnitRecord>& masked() const { return masked_; }
  const std::vector<UnitRecord>& tiles() const { return tiles_; }
  /// Units of the decode kernel. Each record represents all parts of a unit. part_of_block()
  /// returns the record of the part that a thread block computes.
  const std::vector<UnitRecord>& decode() const { return decode_; }
  int decode_blocks() const { return decode_blocks_; }
  const std::vector<MergeRecord>& merges() const { return merges_; }
  /// Segments whose number of keys is known only on the device. launch_resolve_counts() must write
  /// these numbers into the segments before any other kernel reads the segments.
  const std::vector<CountRecord>& counts() const { return counts_; }
  /// most_merge_rows() returns the largest number of flat rows in a merge, and most_merge_parts()
  /// the largest number of parts.
  int most_merge_rows() const { return most_merge_rows_; }
  int most_merge_parts() const { return most_merge_parts_; }
  int64_t partial_floats() const { return partial_floats_; }
  int counters() const { return counters_; }

  /// The formats of the keys and values of all segments. key_bytes and value_bytes are the largest
  /// sizes in bytes of a stored key and of a stored value, or zero if all are bf16. `blocks` is
  /// true if all segments are consecutive rows in block formats (Q8_0, Q4_0), with keys that are
  /// not rotated when they are read.
  struct Stored {
    int key_bytes = 0, value_bytes = 0;
    bool blocks = true;
  };
  Stored stored() const { return all_bf16_ ? Stored{0, 0, false} : stored_; }
  /// Returns whether some segment has keys that RoPE rotates when they are read, at consecutive
  /// positions.
  bool turns() const { return turns_; }

  /// Returns whether the last make() found the same division into units as the make() before. Only
  /// the segments then differ. Layers of a decode step usually have the same division.
  bool same_division() const { return same_division_; }
  /// Returns whether the plan consists only of segments and decode units, so that nothing else must
  /// be uploaded.
  bool decode_alone() const;
  /// Byte offsets of the sections of a packed plan, and its total size in bytes.
  struct Layout {
    size_t segments, counts, sm90, masked, tiles, decode, merges, pages, index, bytes;
  };
  Layout layout() const;
  /// Writes the packed plan, which has layout().bytes bytes, to `to`. The plan will be copied to
  /// address `device`, and the addresses inside it refer to that copy.
  void pack(std::byte* to, const std::byte* device) const;
  /// Writes only the segments, which are the first layout().counts bytes.
  void pack_segments(std::byte* to, const std::byte* device) const;

 private:
  struct Source {                   ///< host arrays that a SegmentRecord needs on the device
    const std::byte* const* pages;  ///< page addresses to upload; null: none
    int64_t first_page;
    const int32_t* index;  ///< row numbers to upload; null: none
    bool counted;          ///< whether the number of keys is known on the host
  };
  /// Type and layout of the stored rows of a segment. The latest result of of() is kept in `form_`,
  /// because consecutive segments usually have the same form.
  struct StoredForm {
    KvType type;
    int head_dim = 0, page_rows = 0;
    PageType key{}, value{};
    int key_bytes = 0, value_bytes = 0;
    bool blocks = false;  ///< whether keys and values are both in block formats

    static StoredForm of(const PagedRows& rows);
    bool is_of(const PagedRows& rows) const {
      return type == rows.type && head_dim == rows.head_dim && page_rows == rows.page_rows;
    }
  };
  enum Kernel : uint8_t { kSm90, kMasked, kTiles, kDecode };
  /// A task as far as the division depends on it.
  struct PlannedTask {
    int job, first_segment, segments;
    int row_begin, row_count, head_begin, head_count;
    int64_t row_position;
    Kernel kernel;
    bool operator==(const PlannedTask&) const = default;
  };
  /// Tasks of one kernel that have equal rows and visibility. They differ only in their heads and
  /// in the location of their keys. The group is therefore split into units once, and all its tasks
  /// use the same split.
  struct Group {
    const AttendTask* task;
    int job;
    int first_row;  ///< row of the plan's output array that is row 0 of the job
    int first_segment;
    Kernel kernel;
    int heads;  ///< largest number of heads per unit
    int first_member, last_member, members;
  };
  struct Member {
    int first_segment, head_begin;
    int next;  ///< index in `members_` of the next member; negative: none
  };
  /// Consecutive rows of a group, in units that all have the same number of key tiles.
  struct Strip {
    int group;
    int row, rows;  ///< row numbers within the task
    int64_t work;   ///< key tiles per unit
  };
  /// The sizes of a kernel's units. A unit has at most `flat_rows` flat rows, and a tile has `keys`
  /// keys. The plan makes about `blocks` units in total, each with at least `least_tiles` tiles.
  struct Sizes {
    int keys, flat_rows;
    int64_t blocks, least_tiles;
  };

  void clear();
  void add_tasks(const AttendCall& call, std::span<const AttendTask> tasks);
  bool divides_as_before() const;
  void group_tasks(std::span<const AttendJob> jobs);
  void divide(int head_dim);
  int add_segments(const AttendCall& call, const AttendTask& task);
  void add_segment(const AttendCall& call, const KeySegment& s);
  /// Adds a CountRecord for each segment of the task whose number of keys is known only on the
  /// device (KeySegment::device_count). The plan splits such a segment as if it had its largest
  /// possible number of keys. The kernels compute the actual number of tiles.
  void note_counts(const AttendTask& task, int first_segment);
  Kernel kernel_for(const AttendCall& call, const AttendTask& task) const;
  bool fits_sm90(const AttendCall& call, const AttendTask& task) const;
  Group& group_of(const AttendTask& task, int first_segment, Kernel kernel);
  bool same_sight(const Group& group, const AttendTask& task, int first_segment) const;
  static bool same_sight(const SegmentRecord& a, const SegmentRecord& b);
  int64_t tiles_of(const Group& group, int row, int rows, int keys) const;
  void cut(Kernel kernel, const Sizes& sizes, int head_dim, std::vector<UnitRecord>& units);
  void add_unit(UnitRecord unit, Kernel kernel, int head_dim, std::vector<UnitRecord>& units);
  void add_units(const Strip& strip, int parts, int head_dim, std::vector<UnitRecord>& units);

  AttendMachine machine_;
  int job_ = 0, jobs_ = 1;  ///< index of the job that is being added, and number of jobs
  int first_row_ = 0;       ///< first row of the job that is being added
  int64_t row_floats_ = 0;  ///< floats per row of queries
  std::vector<SegmentRecord> segments_, segments_before_;
  std::vector<Source> sources_;
  std::vector<PlannedTask> planned_, planned_before_;
  int head_dim_ = 0, head_dim_before_ = 0, processors_before_ = 0;
  bool can_repeat_ = false, same_division_ = false;
  Uploads<const std::byte*> pages_;
  Uploads<int32_t> index_;
  std::vector<UnitRecord> sm90_, masked_, tiles_, decode_;
  std::vector<Group> groups_;
  std::vector<Member> members_;
  std::vector<Strip> strips_;
  std::vector<MergeRecord> merges_;
  int decode_blocks_ = 0;
  Stored stored_;
  StoredForm form_;
  bool all_bf16_ = true, turns_ = false;
  std::vector<CountRecord> counts_;
  int most_merge_rows_ = 0, most_merge_parts_ = 0;
  int64_t partial_floats_ = 0;
  int counters_ = 0;
};

}  // namespace longhaul::cuda
