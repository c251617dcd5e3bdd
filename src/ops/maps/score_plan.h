#pragma once
// Data that operations on softmax maps pass to their kernels. A softmax map is a matrix of
// attention probabilities. Segments are those of the attention kernels (attend_records.h). A job is
// the work of consecutive thread blocks. Segments and jobs are uploaded in one block of memory.
// This is host code without CUDA.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

#include "ops/attention/attend_records.h"
#include "ops/attention/attention.h"

namespace longhaul::cuda {

/// The rows and heads of one task and the keys of one segment. The thread blocks of a job begin at
/// first_block and form an array [lists][parts][tiles]. List l has the head_count query heads from
/// head_begin + l * head_count on.
struct ScoreJob {
  SegmentRecord keys;
  /// Address of row 0 in the bf16 copy [rows, heads, head_dim]. The copy may begin with a later
  /// row.
  const uint16_t* queries;
  int64_t row_position;  ///< position of row `row_begin`
  int32_t row_begin, row_count;
  int32_t head_begin, head_count;
  int32_t lists, parts, tiles;
  int32_t first_block;
  int32_t page_shift;  ///< log2 of the rows per page
  /// Number of consecutive jobs, beginning with this one, that the same thread blocks process one
  /// after the other.
  int32_t segments;
  int64_t partial;  ///< offset in the call's scratch, which each operation uses in its own way
  int64_t stride;   ///< distance between lists in the result, in values
  float* out;
  float* more_out;

  LH_BOTH int blocks() const { return lists * parts * tiles; }
};
static_assert(sizeof(ScoreJob) == 152);

/// Cost of dividing work into parts, relative to the time without division. `once` is the cost of
/// having several parts, and `each` the cost of every part after the first.
struct PartCost {
  double once = 0, each = 0;
};

/// Returns the number of parts into which each of `blocks` thread blocks is divided, at most
/// `most`. It is chosen so that few processors are idle during the last wave of thread blocks.
int64_t parts_that_fill(int64_t blocks, int64_t processors, int64_t most, const PartCost& cost);

/// Number of jobs that fit into the arguments of a launch. All cards support 4 KiB of arguments.
inline constexpr size_t kOwnJobs = 20;

/// The range of query rows [first, end) that the tasks of a call use. They are copied as bf16.
struct QueryRows {
  int64_t first = std::numeric_limits<int64_t>::max(), end = 0;

  void add(const AttendTask& task) {
    if (task.row_count <= 0) return;
    first = first < task.row_begin ? first : task.row_begin;
    end = end > task.row_begin + task.row_count ? end : task.row_begin + task.row_count;
  }
  int64_t count() const { return end > first ? end - first : 0; }
};

/// Returns whether the kernels can read these pages. The list of pages must be in device memory,
/// and rows must have a multiple of 16 elements. All types are supported.
bool can_read(const PagedRows& rows);

/// Converts a segment to a record. All addresses are device addresses, except that the segment's
/// index may be in host memory. Returns false if the kernels do not support the segment (unknown
/// length, or positions beyond 2^29).
bool write_segment(const KeySegment& segment, SegmentRecord& record);

inline int log2_of(int x) {
  int shift = 0;
  while ((1 << shift) < x) ++shift;
  return shift;
}

/// Collects host records and lists that are uploaded together.
class PlanBytes {
 public:
  void clear() {
    bytes_ = 0;
    parts_.clear();
    last_list_ = kNone;
  }
  /// Adds an array and returns its offset in the upload. The array must exist until write() is
  /// called.
  template <class T>
  size_t add(const T* numbers, int64_t count) {
    const size_t at = bytes_, size = static_cast<size_t>(count) * sizeof(T);
    parts_.push_back({numbers, at, size});
    bytes_ += (size + 15) / 16 * 16;
    return at;
  }
  /// Like add(), for lists that records refer to. Consecutive heads usually use the same list,
  /// which is then added once.
  template <class T>
  size_t add_list(const T* numbers, int64_t count) {
    if (last_list_ != kNone) {
      const Part& last = parts_[last_list_];
      if (last.from == numbers && last.size == static_cast<size_t>(count) * sizeof(T)) {
        return last.at;
      }
    }
    last_list_ = parts_.size();
    return add(numbers, count);
  }
  size_t bytes() const { return bytes_; }
  void write(std::byte* to) const {
    for (const Part& part : parts_) {
      if (part.size > 0) std::memcpy(to + part.at, part.from, part.size);
    }
  }

 private:
  struct Part {
    const void* from;
    size_t at, size;
  };
  static constexpr size_t kNone = ~size_t{0};
  size_t bytes_ = 0;
  std::vector<Part> parts_;
  size_t last_list_ = kNone;  ///< index into parts_
};

/// The jobs of one call. The object can be reused for further calls.
class ScoreJobs {
 public:
  void clear();
  /// Adds a job for a segment, and notes its list of keys. Returns null if the kernels do not
  /// support the segment.
  ScoreJob* add(const AttendCall& call, const AttendTask& task, const KeySegment& segment);
  /// Assigns a range of thread blocks to each job. Call it after all jobs have been added.
  void number_blocks();

  std::vector<ScoreJob>& all() { return jobs_; }
  const std::vector<ScoreJob>& all() const { return jobs_; }
  const QueryRows& rows() const { return rows_; }
  int blocks() const { return blocks_; }

  /// Sets the queries of the jobs: the call's own in f32, and their bf16 copies. `queries` holds
  /// the copies of rows(), one query array after the other.
  void name_queries(const AttendCall& call, const uint16_t* queries);
  /// Returns whether host lists must be uploaded with the jobs.
  bool have_lists() const;
  /// Returns the bytes of the jobs and their lists. write() stores them at `host`. Their addresses
  /// are valid after the upload to `device`.
  size_t bytes();
  void write(std::byte* host, const std::byte* device);

 private:
  std::vector<ScoreJob> jobs_;
  std::vector<int32_t> forms_;         ///< index of the query array of each job
  std::vector<const int32_t*> lists_;  ///< host list of each job, or null
  std::vector<size_t> list_places_;
  QueryRows rows_;
  PlanBytes bytes_;
  int blocks_ = 0;
};

}  // namespace longhaul::cuda
