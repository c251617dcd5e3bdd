#pragma once
// Data that operations on softmax maps pass to their kernels. A softmax map is a matrix of
// attention probabilities. Segments are described as in the attention kernels (attend_records.h). A
// job is the work of some consecutive thread blocks. Segments and jobs are uploaded in one block of
// memory. This is host code without CUDA.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

#include "ops/attention/attend_records.h"
#include "ops/attention/attention.h"

namespace longhaul::cuda {

/// The rows and heads of one task, and the keys of one segment. The thread blocks of a job begin at
/// first_block and form an array [lists][parts][tiles]. A list is one array of results. List l has
/// the results for the head_count query heads from head_begin + l * head_count on. The rows are
/// split into parts, and the keys into tiles.
struct ScoreJob {
  SegmentRecord keys;
  /// Address of row 0 of the bf16 queries [rows, heads, head_dim]. Because the copy may begin with
  /// a later row, this address may lie outside the copy.
  const uint16_t* queries;
  int64_t row_position;  ///< position of row `row_begin`
  int32_t row_begin, row_count;
  int32_t head_begin, head_count;
  int32_t lists, parts, tiles;
  int32_t first_block;
  int32_t page_shift;  ///< log2 of the number of rows per page
  /// Number of consecutive jobs, beginning with this one, that the same thread blocks process one
  /// after another.
  int32_t segments;
  int64_t partial;  ///< offset in the call's scratch memory, which each operation uses in its own
                    ///< way
  int64_t stride;   ///< distance between two lists in the result, in floats
  float* out;       ///< results
  float* more_out;  ///< second results (squares, diagonals or lse); null if there are none

  LH_BOTH int blocks() const { return lists * parts * tiles; }
};
static_assert(sizeof(ScoreJob) == 152);

/// The cost in time of splitting work into parts, relative to the time without splitting. `once` is
/// added if there are several parts, and `each` for every part after the first.
struct PartCost {
  double once = 0, each = 0;
};

/// Returns the number of parts, at most `most`, into which the work of each of `blocks` thread
/// blocks should be split. The number is chosen so that few processors are idle during the last
/// wave of thread blocks.
int64_t parts_that_fill(int64_t blocks, int64_t processors, int64_t most, const PartCost& cost);

/// Number of jobs that fit into the kernel arguments of a launch. All cards support 4 KiB of
/// arguments.
inline constexpr size_t kOwnJobs = 20;

/// The range [first, end) of all query rows that the tasks of a call use. These rows are copied as
/// bf16.
struct QueryRows {
  int64_t first = std::numeric_limits<int64_t>::max(), end = 0;

  void add(const AttendTask& task) {
    if (task.row_count <= 0) return;
    first = first < task.row_begin ? first : task.row_begin;
    end = end > task.row_begin + task.row_count ? end : task.row_begin + task.row_count;
  }
  int64_t count() const { return end > first ? end - first : 0; }
};

/// Returns whether the kernels can read these pages. The page addresses must be in device memory,
/// and keys must have a multiple of 16 elements. All types are supported.
bool can_read(const PagedRows& rows);

/// Converts a segment to a record. All addresses must be device addresses, except that the
/// segment's index may be in host memory. Returns false if the kernels do not support the segment,
/// because its number of keys is not known on the host or positions exceed 2^29.
bool write_segment(const KeySegment& segment, SegmentRecord& record);

inline int log2_of(int x) {
  int shift = 0;
  while ((1 << shift) < x) ++shift;
  return shift;
}

/// Collects arrays of records and row numbers in host memory that are uploaded together.
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
  /// Like add(), for row numbers to which records refer. Consecutive heads usually have the same
  /// row numbers, which are then added once.
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

/// The jobs of one call. The object can be cleared and used for further calls.
class ScoreJobs {
 public:
  void clear();
  /// Adds a job for a segment of a task and returns it. Returns null if the kernels do not support
  /// the segment.
  ScoreJob* add(const AttendCall& call, const AttendTask& task, const KeySegment& segment);
  /// Assigns a range of thread blocks to each job. Must be called after all jobs have been added.
  void number_blocks();

  std::vector<ScoreJob>& all() { return jobs_; }
  const std::vector<ScoreJob>& all() const { return jobs_; }
  const QueryRows& rows() const { return rows_; }
  int blocks() const { return blocks_; }

  /// Sets the query addresses of the jobs: SegmentRecord::queries to the call's own arrays in f32,
  /// and ScoreJob::queries to the bf16 copies. `queries` has the copies of rows(), one query array
  /// after another.
  void name_queries(const AttendCall& call, const uint16_t* queries);
  /// Returns whether row numbers in host memory must be uploaded with the jobs.
  bool have_lists() const;
  /// bytes() returns the size in bytes of the jobs and their row numbers. write() writes them to
  /// `host`. The addresses in the jobs become valid when the caller has copied the bytes from
  /// `host` to `device`.
  size_t bytes();
  void write(std::byte* host, const std::byte* device);

 private:
  std::vector<ScoreJob> jobs_;
  std::vector<int32_t> forms_;         ///< index of the query array of each job
  std::vector<const int32_t*> lists_;  ///< host array of row numbers of each job, or null
  std::vector<size_t> list_places_;
  QueryRows rows_;
  PlanBytes bytes_;
  int blocks_ = 0;
};

}  // namespace longhaul::cuda
