#pragma once
// Cuts the tasks of one attention call into units of the CUDA kernels, and packs them with what
// they point at into one block of memory that is uploaded at once. Host code without CUDA.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ops/attention/attend.gpu.h"
#include "ops/attention/attend_records.h"
#include "ops/attention/attention.h"
#include "ops/core/gpu/uploads.h"

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

  const std::vector<UnitRecord>& sm90() const { return sm90_; }      ///< wgmma tiles, longest first
  const std::vector<UnitRecord>& masked() const { return masked_; }  ///< ... of masked segments
  const std::vector<UnitRecord>& tiles() const { return tiles_; }    ///< mma.sync tiles, the same
  /// Whole units, each with all its parts: part_of_block() says which block does which.
  const std::vector<UnitRecord>& few() const { return few_; }
  int few_blocks() const { return few_blocks_; }
  const std::vector<MergeRecord>& merges() const { return merges_; }
  /// What must be put into the segments, on the device, before any kernel reads them.
  const std::vector<CountRecord>& counts() const { return counts_; }
  int most_merge_rows() const { return most_merge_rows_; }  ///< flat rows of a merge, and parts
  int most_merge_parts() const { return most_merge_parts_; }
  int64_t partial_floats() const { return partial_floats_; }
  int counters() const { return counters_; }

  /// How keys and values are stored: bytes of a row of each, at most, zeros where all are bf16;
  /// whether all are blocks of 32 in stretches that do not rotate.
  struct Stored {
    int key_bytes = 0, value_bytes = 0;
    bool blocks = true;
  };
  Stored stored() const { return all_bf16_ ? Stored{0, 0, false} : stored_; }
  bool turns() const { return turns_; }  ///< some keys rotate at consecutive positions

  /// Nothing but segments and few rows, and nothing that either names in host memory.
  bool few_alone() const;
  /// Where the parts of a packed plan begin, in bytes.
  struct Layout {
    size_t segments, counts, sm90, masked, tiles, few, merges, pages, index, bytes;
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
  enum Kernel : uint8_t { kSm90, kMasked, kTiles, kFew };
  /// Tasks of one kernel that differ in their heads and in where their keys lie, but neither in
  /// rows nor in what these see: they are cut once for all.
  struct Group {
    const AttendTask* task;
    int first_segment;
    Kernel kernel;
    int heads;  ///< of a unit, at most
    int first_member, last_member, members;
  };
  struct Member {
    int first_segment, head_begin;
    int next;  ///< below 0: none
  };
  /// Rows of a group whose units have the same work.
  struct Strip {
    int group;
    int row, rows;  ///< from the task's first row on
    int64_t work;   ///< tiles of each unit
  };
  /// How units of a kernel are made: tiles of `keys` keys; about `blocks` units in all, of
  /// `least_tiles` tiles or more.
  struct Sizes {
    int keys, flat_rows;
    int64_t blocks, least_tiles;
  };

  void clear();
  int add_segments(const AttendCall& call, const AttendTask& task);
  void add_segment(const AttendCall& call, const KeySegment& s);
  /// Work is estimated, and cut, by the most keys that segments can have (KeySegment::live): the
  /// kernels find out how many tiles there are.
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
  std::vector<SegmentRecord> segments_;
  std::vector<Source> sources_;
  Uploads<const std::byte*> pages_;
  Uploads<int32_t> index_;
  std::vector<UnitRecord> sm90_, masked_, tiles_, few_;
  std::vector<Group> groups_;
  std::vector<Member> members_;
  std::vector<Strip> strips_;
  std::vector<MergeRecord> merges_;
  int few_blocks_ = 0;
  Stored stored_;
  bool all_bf16_ = true, turns_ = false;
  std::vector<CountRecord> counts_;
  int most_merge_rows_ = 0, most_merge_parts_ = 0;
  int64_t partial_floats_ = 0;
  int counters_ = 0;
};

}  // namespace longhaul::cuda
