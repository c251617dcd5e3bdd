#include "ops/attention/staged_keys.gpu.h"

#include <algorithm>

#include "base/error.h"
#include "base/nth.h"

namespace longhaul::cuda {
namespace {

/// Gathering keys takes about as long as reading them for one unit of 128 flat rows. It is
/// therefore faster from four units on.
constexpr int64_t kLeastRows = 512;
/// Rows that see few of the keys gain less. 64 flat rows save about a microsecond, in which some
/// 4,096 keys are gathered (256 bytes become 512).
constexpr int64_t kMostKeysOfRow = 64;

bool lies_well(const KeySegment& s) {
  return s.rows.type == DType::BF16 && !s.rotate && (s.index.empty() || s.whole_pages);
}

/// A stretch cannot represent keys at listed positions.
bool can_lie_well(const KeySegment& s) {
  if (s.rows.listed == nullptr || s.rows.page_rows != kPageRows) return false;
  if (s.rows.values_in_keys) return false;
  if (s.index.empty()) return true;
  return !s.whole_pages && (!s.indexed_positions || s.visible == Visibility::kAll);
}

int64_t first_slot(const KeySegment& s) { return s.index.empty() ? s.begin % kPageRows : 0; }

int64_t pages_of(const KeySegment& s) {
  return lies_well(s) || s.count == 0 ? 0 : (first_slot(s) + s.count + kPageRows - 1) / kPageRows;
}

int64_t pages_of(const AttendTask& task) {
  int64_t pages = 0;
  for (const KeySegment& s : task.segments) pages += pages_of(s);
  return pages;
}

}  // namespace

bool StagedKeys::can_stage(int head_dim) const {
  return queue_.capability() == 90 && can_gather(head_dim);
}

bool StagedKeys::gains(const AttendCall& call, const AttendTask& task) const {
  return can_stage(call.head_dim) && task.row_count > 1 &&
         int64_t{task.row_count} * task.head_count >= kLeastRows && pages_of(task) > 0 &&
         std::ranges::all_of(task.segments, [](const KeySegment& s) {
           return s.count == 0 || lies_well(s) || can_lie_well(s);
         });
}

/// Number of pages that may be gathered at a time, at least `pages`.
int64_t StagedKeys::room_for(int64_t pages, int head_dim) {
  const size_t page_bytes = bf16_page_bytes(head_dim);
  const int64_t most = std::max(pages, static_cast<int64_t>(most_bytes_ / page_bytes));
  pages_.set_form(head_dim, static_cast<size_t>(most) * page_bytes);
  return most;
}

/// Records a segment to gather. Returns the segment over the gathered keys.
KeySegment StagedKeys::gather(const KeySegment& keys) {
  if (pages_of(keys) == 0) return keys;
  KeySegment plain = keys;
  plain.device_count = plain.count_after = {};
  GatherRecord record{};
  const bool written = write_segment(plain, record.keys);
  LH_ASSERT(written);
  record.device_count = keys.device_count.empty() ? nullptr : keys.device_count.address();
  record.count_after = keys.count_after.empty() ? nullptr : keys.count_after.address();
  record.to = pages_.listed_from(used_);
  record.first_block = static_cast<int32_t>(used_);
  records_.push_back(record);
  const bool on_host = !keys.index.empty() && keys.index.place().host();
  lists_.push_back(on_host ? keys.index.address() : nullptr);

  KeySegment to = keys;
  to.rows = pages_.rows_from(used_);
  to.begin = first_slot(keys);
  to.index = {};
  to.whole_pages = to.rotate = to.indexed_positions = false;
  to.position = record.keys.position;
  used_ += pages_of(keys);
  return to;
}

void StagedKeys::send(int head_dim, const longhaul::Rotations* rotations) {
  if (records_.empty()) return;
  gather_keys(queue_.handle(), upload_records(), static_cast<int>(records_.size()),
              static_cast<int>(used_), head_dim, rotation_table(rotations));
}

/// Uploads the records, followed by the lists of rows that are in host memory.
const GatherRecord* StagedKeys::upload_records() {
  bytes_.clear();
  bytes_.add(records_.data(), std::ssize(records_));
  std::vector<size_t> places(records_.size());
  for (size_t i = 0; i < records_.size(); ++i) {
    if (lists_[i] != nullptr) places[i] = bytes_.add_list(lists_[i], records_[i].keys.count);
  }
  sent_.at_least(bytes_.bytes());
  const auto* const there = static_cast<const std::byte*>(sent_.data);
  for (size_t i = 0; i < records_.size(); ++i) {
    if (lists_[i] == nullptr) continue;
    records_[i].keys.index = reinterpret_cast<const int32_t*>(there + places[i]);
  }
  packed_.resize(bytes_.bytes());
  bytes_.write(packed_.data());
  return reinterpret_cast<const GatherRecord*>(sent_.upload(std::span<const std::byte>(packed_)));
}

void StagedKeys::flush(const AttendCall& call,
                       const std::function<void(std::span<const AttendTask>)>& attend) {
  send(call.head_dim, call.rotations);
  if (!tasks_.empty()) attend(tasks_);
  clear();
}

void StagedKeys::clear() {
  records_.clear();
  lists_.clear();
  tasks_.clear();
  segments_.clear();
  used_ = 0;
}

int StagedKeys::gather_lists(std::span<const PagedRows> lists, int64_t keys, int64_t rows,
                             std::span<PagedRows> to) {
  LH_ASSERT(!lists.empty() && to.size() == lists.size());
  KeySegment whole;
  whole.rows = lists.front();
  whole.count = keys;
  const int head_dim = whole.rows.head_dim;
  if (rows < kLeastRows || rows * kMostKeysOfRow < keys || !can_stage(head_dim) ||
      lies_well(whole) || !can_lie_well(whole))
    return 0;
  const int64_t each = pages_of(whole);
  const int64_t some = std::min<int64_t>(std::ssize(lists), room_for(each, head_dim) / each);
  // A repeated request would take as long each time.
  if (no_room_ || !pages_.reserve(some * each)) {
    no_room_ = true;
    return 0;
  }
  clear();
  for (size_t list = 0; list < static_cast<size_t>(some); ++list) {
    whole.rows = lists[list];
    to[list] = gather(whole).rows;
  }
  send(head_dim, nullptr);
  clear();
  return static_cast<int>(some);
}

void StagedKeys::run(const AttendCall& call, std::span<const AttendTask> tasks,
                     const std::function<void(std::span<const AttendTask>)>& attend) {
  // First the most of one task, then the limit for all that are gathered at a time.
  int64_t most_pages = 0;
  size_t segments = 0;
  for (const AttendTask& task : tasks) {
    if (gains(call, task)) most_pages = std::max(most_pages, pages_of(task));
    segments += task.segments.size();
  }
  if (most_pages == 0) return attend(tasks);
  most_pages = room_for(most_pages, call.head_dim);
  clear();                               // an earlier call may have ended with an error
  segments_.reserve(segments);           // keeps the tasks' views valid
  const KeySegment* before = nullptr;    // segments of the task whose keys were gathered last
  std::span<const KeySegment> gathered;  // the gathered form of `before`
  for (const AttendTask& task : tasks) {
    if (!gains(call, task)) {
      tasks_.push_back(task);
      continue;
    }
    AttendTask own = task;
    if (task.segments.data() == before && !records_.empty()) {
      own.segments = gathered;
    } else {
      const int64_t own_pages = pages_of(task);
      bool fits = used_ + own_pages <= most_pages && pages_.reserve(used_ + own_pages);
      if (!fits && used_ > 0) {
        flush(call, attend);
        fits = pages_.reserve(own_pages);
      }
      if (fits) {
        const size_t first = segments_.size();
        for (const KeySegment& s : task.segments) segments_.push_back(gather(s));
        own.segments = gathered = std::span(segments_).subspan(first);
        before = task.segments.data();
      }
    }
    tasks_.push_back(own);
  }
  flush(call, attend);
}

}  // namespace longhaul::cuda
