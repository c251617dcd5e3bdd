#include "ops/maps/score_plan.h"

#include <algorithm>

namespace longhaul::cuda {
namespace {

constexpr int64_t kMostScorePosition = int64_t{1} << 29;

int32_t score_distance(int64_t window) {
  return static_cast<int32_t>(std::clamp<int64_t>(window, -kFar + 1, kFar));
}

}  // namespace

int64_t parts_that_fill(int64_t blocks, int64_t processors, int64_t most, const PartCost& cost) {
  int64_t best = 1;
  double best_share = 0;
  for (int64_t parts = 1; parts <= most; ++parts) {
    const int64_t rounds = (blocks * parts + processors - 1) / processors;
    const double share =
        static_cast<double>(blocks * parts) / static_cast<double>(rounds * processors) -
        (parts > 1 ? cost.once : 0.0) - cost.each * static_cast<double>(parts - 1);
    if (share > best_share) best = parts, best_share = share;
  }
  return best;
}

bool can_read(const PagedRows& rows) {
  return rows.listed != nullptr && rows.head_dim > 0 && rows.head_dim % 16 == 0 &&
         rows.type.holds(rows.head_dim);
}

bool write_segment(const KeySegment& s, SegmentRecord& record) {
  record = {};
  const bool list = !s.index.empty();
  if (s.count > 0 && !can_read(s.rows)) return false;
  if (!s.device_count.empty() || !s.count_after.empty() || s.whole_pages) return false;
  if (s.count < 0 || s.count >= kFar || s.begin < 0 || s.begin >= kFar) return false;
  if (s.position <= -kMostScorePosition || s.position >= kMostScorePosition) return false;
  record.key_type = page_type(s.rows.type.k, true);
  record.value_type = page_type(s.rows.type.v, false);
  const int page_rows = std::max(1, s.rows.page_rows);
  record.pages =
      s.rows.listed == nullptr ? nullptr : s.rows.listed + (list ? 0 : s.begin / page_rows);
  record.index = list ? s.index.address() : nullptr;
  record.position = s.position + (s.indexed_positions && !list ? s.begin : 0);
  record.shift = list ? 0 : static_cast<int32_t>(s.begin % page_rows);
  record.count = static_cast<int32_t>(s.count);
  record.nearest = s.visible == Visibility::kAll      ? -kFar
                   : s.visible == Visibility::kBeyond ? score_distance(s.window)
                                                      : 0;
  record.furthest = s.visible == Visibility::kWindow ? score_distance(s.window) : kFar;
  record.rotate = s.rotate;
  record.indexed_positions = s.indexed_positions && list;
  return true;
}

void ScoreJobs::clear() {
  jobs_.clear();
  forms_.clear();
  lists_.clear();
  rows_ = {};
  blocks_ = 0;
}

ScoreJob* ScoreJobs::add(const AttendCall& call, const AttendTask& task,
                         const KeySegment& segment) {
  ScoreJob job{};
  if (!write_segment(segment, job.keys)) return nullptr;
  if (task.row_position <= -kMostScorePosition ||
      task.row_position + task.row_count >= kMostScorePosition) {
    return nullptr;
  }
  LH_ASSERT(segment.query >= 0 && static_cast<size_t>(segment.query) < call.queries.size());
  job.row_position = task.row_position;
  job.row_begin = task.row_begin;
  job.row_count = task.row_count;
  job.head_begin = task.head_begin;
  job.head_count = task.head_count;
  job.lists = job.parts = job.segments = 1;
  job.page_shift = log2_of(std::max(1, segment.rows.page_rows));
  rows_.add(task);
  jobs_.push_back(job);
  forms_.push_back(segment.query);
  const bool of_host = !segment.index.empty() && segment.index.place().host();
  lists_.push_back(of_host ? segment.index.address() : nullptr);
  return &jobs_.back();
}

void ScoreJobs::number_blocks() {
  blocks_ = 0;
  for (ScoreJob& job : jobs_) {
    job.first_block = blocks_;
    blocks_ += job.blocks();
  }
}

size_t ScoreJobs::bytes() {
  bytes_.clear();
  bytes_.add(jobs_.data(), std::ssize(jobs_));
  list_places_.assign(jobs_.size(), 0);
  for (size_t i = 0; i < jobs_.size(); ++i) {
    if (lists_[i] != nullptr) list_places_[i] = bytes_.add_list(lists_[i], jobs_[i].keys.count);
  }
  return bytes_.bytes();
}

void ScoreJobs::name_queries(const AttendCall& call, const uint16_t* queries) {
  const int64_t row = int64_t{call.heads} * call.head_dim;
  for (size_t i = 0; i < jobs_.size(); ++i) {
    jobs_[i].keys.queries = call.queries[static_cast<size_t>(forms_[i])].address();
    // `queries` begins with row rows_.first. The address is that of row 0, which may not exist.
    jobs_[i].queries = queries + (forms_[i] * rows_.count() - rows_.first) * row;
  }
}

bool ScoreJobs::have_lists() const {
  return std::ranges::any_of(lists_, [](const int32_t* list) { return list != nullptr; });
}

void ScoreJobs::write(std::byte* host, const std::byte* device) {
  for (size_t i = 0; i < jobs_.size(); ++i) {
    if (lists_[i] != nullptr) {
      jobs_[i].keys.index = reinterpret_cast<const int32_t*>(device + list_places_[i]);
    }
  }
  bytes_.write(host);
}

}  // namespace longhaul::cuda
