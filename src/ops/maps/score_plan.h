#pragma once
// What the operations on softmax maps hand to their kernels: segments as the attention kernels see
// them (attend_records.h), jobs that say which blocks of threads do what, and the one block of
// memory that both are uploaded in. Host code without CUDA.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

#include "ops/attention/attend_records.h"
#include "ops/attention/attention.h"

namespace longhaul::cuda {

/// Rows and heads of one task against the keys of one segment. Blocks of threads from first_block
/// on are its [lists][parts][tiles], where list l has query heads head_begin + l * head_count and
/// the following.
struct ScoreJob {
  SegmentRecord keys;
  const uint16_t* queries;  ///< bf16 [rows, heads, head_dim], from the call's first row on
  int64_t row_position;     ///< of row_begin
  int32_t row_begin, row_count;
  int32_t head_begin, head_count;
  int32_t lists, parts, tiles;
  int32_t first_block;
  int32_t page_shift;  ///< log2 of the rows of a page
  int32_t segments;    ///< jobs, from this one on, that the same blocks do one after the other
  int64_t partial;     ///< numbers into the call's scratch; what lies there is the operation's
  int64_t stride;      ///< numbers between lists of the result
  float* out;
  float* more_out;

  LH_BOTH int blocks() const { return lists * parts * tiles; }
};
static_assert(sizeof(ScoreJob) == 152);

/// What parts cost beside what they compute, as shares of the time of the whole: that there are
/// several, and each after the first.
struct PartCost {
  double once = 0, each = 0;
};

/// Into how many parts, up to `most`, `blocks` blocks are each cut, so that rounds of as many
/// blocks as the device has processors leave little of it idle.
int64_t parts_that_fill(int64_t blocks, int64_t processors, int64_t most, const PartCost& cost);

/// So many jobs travel with the launch of a kernel, of which all cards take 4 KiB.
inline constexpr size_t kOwnJobs = 20;

/// Query forms that a call uses, of rows [first, end), as bf16 one behind the other.
struct QueryRows {
  int64_t first = std::numeric_limits<int64_t>::max(), end = 0;

  void add(const AttendTask& task) {
    if (task.row_count <= 0) return;
    first = first < task.row_begin ? first : task.row_begin;
    end = end > task.row_begin + task.row_count ? end : task.row_begin + task.row_count;
  }
  int64_t count() const { return end > first ? end - first : 0; }
};

/// Whether the kernels read such pages: their list must be in device memory, rows of whole sixteens
/// of numbers, of any type.
bool can_read(const PagedRows& rows);

/// A segment as a record: addresses are the device's, `index` too where it lies there. False for
/// what the kernels do not take (an unresolved count, positions beyond 2^29).
bool write_segment(const KeySegment& segment, SegmentRecord& record);

inline int log2_of(int x) {
  int shift = 0;
  while ((1 << shift) < x) ++shift;
  return shift;
}

/// Records and lists of the host that are uploaded together.
class PlanBytes {
 public:
  void clear() {
    bytes_ = 0;
    parts_.clear();
    last_list_ = kNone;
  }
  /// Its place in the upload. The numbers must stay until write().
  template <class T>
  size_t add(const T* numbers, int64_t count) {
    const size_t at = bytes_, size = static_cast<size_t>(count) * sizeof(T);
    parts_.push_back({numbers, at, size});
    bytes_ += (size + 15) / 16 * 16;
    return at;
  }
  /// The same of a list that records name. Heads mostly name the same one after the other: it is
  /// sent once.
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
  size_t last_list_ = kNone;  ///< of parts_
};

/// The jobs of one call, reused from call to call.
class ScoreJobs {
 public:
  void clear();
  /// A job for a segment, its lists of keys noted; null for what the kernels do not take.
  ScoreJob* add(const AttendCall& call, const AttendTask& task, const KeySegment& segment);
  /// All jobs are known: gives each its blocks, where it has at least one.
  void number_blocks();

  std::vector<ScoreJob>& all() { return jobs_; }
  const std::vector<ScoreJob>& all() const { return jobs_; }
  const QueryRows& rows() const { return rows_; }
  int blocks() const { return blocks_; }

  /// Names the query rows: the call's own, and their bf16 copies at `queries`, form after form.
  void name_queries(const AttendCall& call, const uint16_t* queries);
  /// Whether lists of the host belong to them, which must be sent with them.
  bool have_lists() const;
  /// Bytes of the jobs and their lists; write() puts them to `host` with addresses as they are once
  /// they lie at `device`.
  size_t bytes();
  void write(std::byte* host, const std::byte* device);

 private:
  std::vector<ScoreJob> jobs_;
  std::vector<int32_t> forms_;         ///< of each job
  std::vector<const int32_t*> lists_;  ///< of each job: a list of the host, or null
  std::vector<size_t> list_places_;
  QueryRows rows_;
  PlanBytes bytes_;
  int blocks_ = 0;
};

}  // namespace longhaul::cuda
