#include "ops/attention/attend_plan.h"

#include <algorithm>

namespace longhaul::cuda {
namespace {

/// The decode kernel reads tasks of at most this many flat rows, in at most four units. Its time is
/// that of the memory (concurrent units find each other's keys in the device's cache), and a tile
/// of 128 rows would be mostly empty.
constexpr int kMostDecodeRows = 4 * kDecodeUnitRows;
constexpr int64_t kMostParts = 1024;
constexpr int kLatentDim = 576;
constexpr int64_t kMostPosition = int64_t{1} << 29;

/// The page list in device memory, or null if PagedRows has none.
template <class Pages>
const std::byte* const* listed_pages(const Pages& rows) {
  if constexpr (requires { rows.listed; }) {
    return rows.listed;
  } else {
    return nullptr;
  }
}

int32_t distance(int64_t window) {
  return static_cast<int32_t>(std::clamp<int64_t>(window, -kFar + 1, kFar));
}

void set_visibility(const KeySegment& s, SegmentRecord& record) {
  record.nearest = s.visible == Visibility::kAll      ? -kFar
                   : s.visible == Visibility::kBeyond ? distance(s.window)
                                                      : 0;
  record.furthest = s.visible == Visibility::kWindow ? distance(s.window) : kFar;
}

/// Time that a tile of 64 keys and 128 rows takes on one H100 processor, and the least tiles per
/// part.
struct TileCost {
  double us;
  int64_t least;
};
constexpr TileCost kSm90Tiles{0.9, 4};
constexpr TileCost kGatheredTiles{4.6, 2};  // thread blocks that gather keys, for mma.sync
constexpr TileCost kWideTiles{2.6, 2};      // 64 rows of wide heads

/// Parts of a decode unit with `tiles` tiles of 16 keys. A warp weighs 32 parts at a time. With up
/// to four more parts, the second round costs more than shorter parts save if a part has less than
/// 128 tiles.
int64_t parts_of_decode_rows(int64_t parts, int64_t tiles) {
  constexpr int64_t kLanes = 32, kShortTiles = 128;
  const bool decode_more = parts > kLanes && parts <= kLanes + 4;
  return decode_more && tiles < parts * kShortTiles ? kLanes : parts;
}

/// Best number of parts for units of equal length. A merge takes 3.6 us, plus 0.09 per part. The
/// parts of all units are limited to four rounds of thread blocks, as for other units: partial
/// results (66 KB per part for heads of 128) are not part of the memory forecast.
int64_t parts_of_equal_units(int64_t units, int64_t tiles, int64_t blocks_at_once,
                             const TileCost& tile) {
  constexpr double kMerge = 3.6, kMergedPart = 0.09, kWorthIt = 0.97;
  const auto cost_of = [&](int64_t parts) {
    const int64_t rounds = (units * parts + blocks_at_once - 1) / blocks_at_once;
    const int64_t longest = (tiles + parts - 1) / parts;
    return static_cast<double>(rounds * longest) * tile.us;
  };
  const int64_t most =
      std::min(tiles / tile.least, 4 * blocks_at_once / std::max<int64_t>(1, units));
  int64_t best = 1;
  double least = kWorthIt * cost_of(1);
  for (int64_t parts = 2; parts <= most; ++parts) {
    const double cost = cost_of(parts) + kMerge + kMergedPart * static_cast<double>(units * parts);
    if (cost >= least) continue;
    best = parts;
    least = cost;
  }
  return best;
}

}  // namespace

bool can_attend(int head_dim, int page_rows, const KvType& type) {
  constexpr int kHeadDims[] = {64, 80, 96, 112, 128, 256, 512, kLatentDim};
  return page_rows == kPageRows && type.holds(head_dim) &&
         std::ranges::find(kHeadDims, head_dim) != std::end(kHeadDims);
}

namespace {

bool has_few_known_keys(const AttendJob& job) {
  const auto counted = [](const KeySegment& s) {
    return !s.device_count.empty() || !s.count_after.empty();
  };
  return std::ranges::all_of(job.tasks, [&](const AttendTask& task) {
    return task.row_count <= kDecodeUnitRows && std::ranges::none_of(task.segments, counted);
  });
}

bool same_rows(const AttendCall& first, const AttendCall& call) {
  const int64_t floats = call.out.address() - first.out.address();
  const int64_t row = int64_t{first.heads} * first.head_dim;
  if (floats < 0 || floats % row != 0 || first.lse.empty() != call.lse.empty()) return false;
  return first.lse.empty() ||
         call.lse.address() - first.lse.address() == floats / row * first.heads;
}

bool can_join(const AttendCall& first, const AttendCall& call) {
  const bool turned = first.rotations != nullptr && call.rotations != nullptr &&
                      first.rotations->cosine != call.rotations->cosine;
  return !turned && first.heads == call.heads && first.head_dim == call.head_dim &&
         first.scale == call.scale && first.cap == call.cap &&
         first.sinks.address() == call.sinks.address() && first.compute == call.compute &&
         same_rows(first, call);
}

}  // namespace

void take_joinable(std::vector<const AttendJob*>& left, std::vector<AttendJob>& together) {
  together.assign(1, *left.front());
  size_t kept = 0;
  const bool alone = !has_few_known_keys(together.front());
  for (size_t i = 1; i < left.size(); ++i) {
    if (alone || !has_few_known_keys(*left[i]) || !can_join(together.front().call, left[i]->call)) {
      left[kept++] = left[i];
      continue;
    }
    together.push_back(*left[i]);
    AttendCall& call = together.front().call;
    if (call.rotations == nullptr) call.rotations = left[i]->call.rotations;
  }
  left.resize(kept);
}

AttendPlan::StoredForm AttendPlan::StoredForm::of(const PagedRows& rows) {
  LH_ASSERT(can_attend(rows.head_dim, rows.page_rows, rows.type));
  return {rows.type,
          rows.head_dim,
          rows.page_rows,
          page_type(rows.type.k, true),
          page_type(rows.type.v, false),
          static_cast<int>(rows.key_bytes()),
          static_cast<int>(rows.value_bytes()),
          is_block_type(rows.type.k) && is_block_type(rows.type.v)};
}

void AttendPlan::add_segment(const AttendCall& call, const KeySegment& s) {
  LH_ASSERT(s.rows.head_dim == call.head_dim);
  if (!form_.is_of(s.rows)) form_ = StoredForm::of(s.rows);
  LH_ASSERT(s.rows.values_in_keys == (call.head_dim == kLatentDim));
  LH_ASSERT(s.count >= 0 && s.count < kFar && s.begin >= 0 && s.begin < kFar);
  LH_ASSERT(s.position > -kMostPosition && s.position < kMostPosition);
  const bool list = !s.index.empty();
  const bool on_device = list && !s.index.place().host();
  const auto listed = listed_pages(s.rows);
  const int64_t first_page = list ? 0 : s.begin / kPageRows;

  SegmentRecord record{};
  // Row r of the plan reads the address plus r rows, whichever row of the plan is row 0 of the job.
  record.queries = reinterpret_cast<const float*>(
      reinterpret_cast<uintptr_t>(call.queries[static_cast<size_t>(s.query)].address()) -
      static_cast<uintptr_t>(first_row_ * row_floats_) * sizeof(float));
  record.position = s.position;
  record.shift = list ? 0 : static_cast<int32_t>(s.begin % kPageRows);
  record.count = static_cast<int32_t>(s.count);
  record.key_type = form_.key;
  record.value_type = form_.value;
  all_bf16_ = all_bf16_ && s.rows.type == DType::BF16;
  stored_.key_bytes = std::max(stored_.key_bytes, form_.key_bytes);
  stored_.value_bytes = std::max(stored_.value_bytes, form_.value_bytes);
  stored_.blocks = stored_.blocks && form_.blocks && (!list || s.whole_pages) && !s.rotate;
  record.rotate = s.rotate;
  record.indexed_positions = s.indexed_positions && list;
  turns_ = turns_ || (s.rotate && !record.indexed_positions);
  if (s.indexed_positions && !list) record.position += s.begin;
  record.index = list ? s.index.address() : nullptr;
  record.whole_pages = s.whole_pages;
  record.masks = s.masks.rows.address();
  set_visibility(s, record);
  if (!s.masks.empty()) {
    // The kernel walks over all listed pages and masks the keys after the rows itself.
    LH_ASSERT(s.whole_pages && !s.masks.rows.place().host() && s.count % kPageRows == 0);
    LH_ASSERT(s.visible == (s.indexed_positions ? Visibility::kCausal : Visibility::kAll));
    record.nearest = -kFar;
  }

  Source source{};
  source.counted = !(on_device && record.indexed_positions);
  LH_ASSERT(!s.whole_pages || (on_device && !s.rotate));
  LH_ASSERT(!s.whole_pages || !s.indexed_positions || !s.masks.empty());
  if (list && !on_device && s.count > 0) {
    source.index = s.index.address();
    index_.need(source.index, 0, s.count);
  }
  if (listed != nullptr) {
    record.pages = listed + first_page;
  } else if (s.count > 0) {
    LH_ASSERT(!on_device);  // only the device can read the page numbers
    const int64_t last_row = list ? s.index.address()[s.count - 1] : s.begin + s.count - 1;
    source.pages = s.rows.pages;
    source.first_page = first_page;
    pages_.need(source.pages, first_page, last_row / kPageRows + 1);
  }
  segments_.push_back(record);
  sources_.push_back(source);
}

int AttendPlan::add_segments(const AttendCall& call, const AttendTask& task) {
  const int first = static_cast<int>(segments_.size());
  for (const KeySegment& s : task.segments) add_segment(call, s);
  note_counts(task, first);
  return first;
}

void AttendPlan::note_counts(const AttendTask& task, int first_segment) {
  for (size_t i = 0; i < task.segments.size(); ++i) {
    const KeySegment& s = task.segments[i];
    if (s.device_count.empty() && s.count_after.empty()) continue;
    LH_ASSERT(s.device_count.empty() || !s.device_count.place().host());
    LH_ASSERT(s.count_after.empty() || !s.count_after.place().host());
    counts_.push_back({s.device_count.address(), s.count_after.address(), s.masks.pairs.address(),
                       task.row_position, first_segment + static_cast<int>(i), task.row_count,
                       task.head_count, 0});
  }
}

bool AttendPlan::fits_sm90(const AttendCall& call, const AttendTask& task) const {
  if (!machine_.sm90) return false;
  const auto inside = [&](const std::byte* page) {
    return machine_.pages.holds(page, call.head_dim);
  };
  return std::ranges::all_of(task.segments, [&](const KeySegment& s) {
    if (s.rows.type != DType::BF16 || s.rotate) return false;
    if (s.count == 0) return true;
    // Only the device can read the page numbers. All pages of a list are in the same memory.
    if (s.whole_pages) return s.rows.pages != nullptr && inside(s.rows.pages[0]);
    if (!s.index.empty()) return false;
    return s.rows.pages != nullptr &&
           std::all_of(s.rows.pages + s.begin / kPageRows,
                       s.rows.pages + (s.begin + s.count - 1) / kPageRows + 1, inside);
  });
}

AttendPlan::Kernel AttendPlan::kernel_for(const AttendCall& call, const AttendTask& task) const {
  if (is_wide(call.head_dim)) return kTiles;
  const auto masked = [](const KeySegment& s) { return !s.masks.empty(); };
  if (std::ranges::any_of(task.segments, masked)) {
    LH_ASSERT(std::ranges::all_of(task.segments, masked) && fits_sm90(call, task));
    LH_ASSERT(task.head_count == 1 && task.row_count <= kTileUnitRows);
    return kMasked;
  }
  const int64_t flat = static_cast<int64_t>(task.row_count) * task.head_count;
  if (flat <= kMostDecodeRows || task.row_count == 1) return kDecode;
  return fits_sm90(call, task) ? kSm90 : kTiles;
}

/// Whether the task's rows have the group's positions and see keys with equal numbers.
bool AttendPlan::same_sight(const Group& group, const AttendTask& task, int first_segment) const {
  const AttendTask& of = *group.task;
  if (group.job != job_) return false;
  if (of.row_begin != task.row_begin || of.row_count != task.row_count ||
      of.row_position != task.row_position || of.head_count != task.head_count ||
      of.segments.size() != task.segments.size())
    return false;
  for (size_t i = 0; i < task.segments.size(); ++i) {
    if (!same_sight(segments_[static_cast<size_t>(group.first_segment) + i],
                    segments_[static_cast<size_t>(first_segment) + i])) {
      return false;
    }
  }
  return true;
}

/// Whether rows see the same keys of both segments, by their numbers.
bool AttendPlan::same_sight(const SegmentRecord& a, const SegmentRecord& b) {
  // Visibility may depend on an index: not comparable.
  return !b.indexed_positions && !a.indexed_positions && a.position == b.position &&
         a.shift == b.shift && a.count == b.count && a.nearest == b.nearest &&
         a.furthest == b.furthest;
}

AttendPlan::Group& AttendPlan::group_of(const AttendTask& task, int first_segment, Kernel kernel) {
  constexpr size_t kLookedAt = 8;  // larger numbers of different forms are not searched
  for (size_t i = groups_.size(); i > 0 && i + kLookedAt > groups_.size(); --i) {
    Group& group = groups_[i - 1];
    if (group.kernel == kernel && same_sight(group, task, first_segment)) return group;
  }
  return groups_.emplace_back(Group{&task, job_, first_row_, first_segment, kernel, 0, -1, -1, 0});
}

int64_t AttendPlan::tiles_of(const Group& group, int row, int rows, int keys) const {
  const int64_t first = group.task->row_position + row, last = first + rows - 1;
  int64_t tiles = 0;
  for (size_t i = 0; i < group.task->segments.size(); ++i) {
    const size_t at = static_cast<size_t>(group.first_segment) + i;
    const SegmentRecord& s = segments_[at];
    tiles += sources_[at].counted ? visible_tiles(s, first, last, keys).size()
                                  : (s.count + keys - 1) / keys;
  }
  return tiles;
}

/// Adds a record for every part of the unit, or for decode units one record for all parts.
void AttendPlan::add_unit(UnitRecord unit, Kernel kernel, int head_dim,
                          std::vector<UnitRecord>& units) {
  const int flat = unit.row_count * unit.head_count;
  const int64_t floats = unit.parts == 1 ? 0 : part_floats(flat, head_dim);
  if (unit.parts > 1) {
    unit.partial = partial_floats_;
    partial_floats_ += unit.parts * floats;
    if (kernel == kDecode && flat * unit.parts <= kMostMerged) {
      unit.counter = counters_++;
    } else {
      merges_.push_back({unit.partial, unit.parts, unit.row_begin, unit.row_count, unit.head_begin,
                         unit.head_count, 0});
      most_merge_rows_ = std::max(most_merge_rows_, flat);
      most_merge_parts_ = std::max(most_merge_parts_, unit.parts);
    }
  }
  if (kernel == kDecode) {
    unit.first_block = decode_blocks_;
    decode_blocks_ += unit.parts;
    return units.push_back(unit);
  }
  for (; unit.part < unit.parts; ++unit.part, unit.partial += floats) units.push_back(unit);
}

/// Adds the units of the strip, each with `parts` parts.
void AttendPlan::add_units(const Strip& strip, int parts, int head_dim,
                           std::vector<UnitRecord>& units) {
  const Group& group = groups_[static_cast<size_t>(strip.group)];
  const AttendTask& task = *group.task;
  UnitRecord unit{};
  unit.segment_count = static_cast<int32_t>(task.segments.size());
  unit.row_begin = group.first_row + task.row_begin + strip.row;
  unit.row_count = strip.rows;
  unit.row_position = task.row_position + strip.row;
  unit.parts = parts;
  unit.partial = unit.counter = -1;
  for (int m = group.first_member; m >= 0; m = members_[static_cast<size_t>(m)].next) {
    const Member& member = members_[static_cast<size_t>(m)];
    unit.first_segment = member.first_segment;
    for (int h = 0; h < task.head_count; h += group.heads) {
      unit.head_begin = member.head_begin + h;
      unit.head_count = std::min(group.heads, task.head_count - h);
      add_unit(unit, group.kernel, head_dim, units);
    }
  }
}

/// Divides the kernel's groups into units. If these are too few to fill the device, long ones are
/// divided into parts. The longest units come first, so that no long unit is left at the end.
void AttendPlan::cut(Kernel kernel, const Sizes& sizes, int head_dim,
                     std::vector<UnitRecord>& units) {
  strips_.clear();
  int64_t all = 0, count = 0;
  for (size_t g = 0; g < groups_.size(); ++g) {
    Group& group = groups_[g];
    if (group.kernel != kernel) continue;
    // Uses whole tiles of one head if there are enough rows. Otherwise heads share a tile, since
    // they see equal keys.
    const AttendTask& task = *group.task;
    group.heads = std::min(task.head_count, std::max(1, sizes.flat_rows / task.row_count));
    if (kernel == kDecode) group.heads = std::min(task.head_count, sizes.flat_rows);
    const int rows = std::max(1, sizes.flat_rows / group.heads);
    const int64_t alike =
        static_cast<int64_t>(group.members) * ((task.head_count + group.heads - 1) / group.heads);
    for (int r = 0; r < task.row_count; r += rows) {
      const int some = std::min(rows, task.row_count - r);
      strips_.push_back({static_cast<int>(g), r, some, tiles_of(group, r, some, sizes.keys)});
      all += alike * strips_.back().work;
      count += alike;
    }
  }
  const auto longer = [](const Strip& a, const Strip& b) {
    if (a.work != b.work) return a.work > b.work;
    return a.group != b.group ? a.group < b.group : a.row < b.row;
  };
  if (!std::ranges::is_sorted(strips_, longer)) std::ranges::sort(strips_, longer);
  // Device-counted lengths and masks rule out equal units.
  const bool equal = (kernel == kSm90 || kernel == kTiles) && counts_.empty() && !strips_.empty() &&
                     jobs_ == 1 && 5 * strips_.back().work >= 4 * strips_.front().work;
  const int64_t at_once = machine_.processors * (kernel == kTiles && head_dim <= 64 ? 2 : 1);
  const TileCost& tile = is_wide(head_dim)  ? kWideTiles
                         : kernel == kTiles ? kGatheredTiles
                                            : kSm90Tiles;
  const int64_t of_equal =
      equal ? parts_of_equal_units(count, strips_.front().work, at_once, tile) : 0;
  for (const Strip& strip : strips_) {
    const int64_t share = all == 0 ? 1 : strip.work * sizes.blocks / all;
    int64_t parts = equal ? of_equal : std::min(share, strip.work / sizes.least_tiles);
    if (kernel == kDecode) parts = parts_of_decode_rows(parts, strip.work);
    add_units(strip, static_cast<int>(std::clamp<int64_t>(parts, 1, kMostParts)), head_dim, units);
  }
  // For long lists, units are ordered by their list of keys. The data of concurrent thread blocks
  // then stays in the device's cache (50 MB; a list of 32,768 keys of 128 elements has 17 MB).
  constexpr int64_t kLongTiles = 128;
  if (kernel != kDecode && !units.empty() && all / std::ssize(units) >= kLongTiles) {
    std::ranges::stable_sort(units, {}, &UnitRecord::first_segment);
  }
}

/// Forgets the segments and tasks of the last call, except for the comparison with the next one.
void AttendPlan::clear() {
  job_ = first_row_ = 0;
  std::swap(segments_, segments_before_);
  std::swap(planned_, planned_before_);
  head_dim_before_ = head_dim_;
  processors_before_ = machine_.processors;
  segments_.clear();
  planned_.clear();
  sources_.clear();
  pages_.clear();
  index_.clear();
  stored_ = {};
  all_bf16_ = true;
  turns_ = false;
  counts_.clear();
}

/// Whether the units of the last call are those of this one.
bool AttendPlan::divides_as_before() const {
  if (!can_repeat_ || !counts_.empty() || head_dim_ != head_dim_before_) return false;
  if (machine_.processors != processors_before_ || planned_ != planned_before_) return false;
  return std::ranges::equal(
      segments_, segments_before_,
      [](const SegmentRecord& a, const SegmentRecord& b) { return same_sight(a, b); });
}

void AttendPlan::make(const AttendCall& call, std::span<const AttendTask> tasks,
                      const AttendMachine& machine) {
  const AttendJob job{call, tasks};
  make({&job, 1}, machine);
}

void AttendPlan::add_tasks(const AttendCall& call, std::span<const AttendTask> tasks) {
  const AttendTask* before = nullptr;  // often has the same segments
  int first = 0;
  for (const AttendTask& task : tasks) {
    if (task.row_count <= 0 || task.head_count <= 0) continue;
    LH_ASSERT(task.head_begin >= 0 && task.head_begin + task.head_count <= call.heads);
    LH_ASSERT(task.row_position > -kMostPosition &&
              task.row_position + task.row_count < kMostPosition);
    // A record is resolved once, but its pairs are counted per task.
    const auto counted = [](const KeySegment& s) {
      return !s.device_count.empty() || !s.count_after.empty();
    };
    const bool same = before != nullptr && before->segments.data() == task.segments.data() &&
                      before->segments.size() == task.segments.size() &&
                      std::ranges::none_of(task.segments, counted);
    if (!same) first = add_segments(call, task);
    before = &task;
    planned_.push_back({job_, first, static_cast<int>(task.segments.size()),
                        first_row_ + task.row_begin, task.row_count, task.head_begin,
                        task.head_count, task.row_position, kernel_for(call, task)});
  }
}

/// Groups the planned tasks, which are those of the jobs in order.
void AttendPlan::group_tasks(std::span<const AttendJob> jobs) {
  groups_.clear();
  members_.clear();
  auto planned = planned_.begin();
  for (job_ = 0; job_ < jobs_; ++job_) {
    for (const AttendTask& task : jobs[static_cast<size_t>(job_)].tasks) {
      if (task.row_count <= 0 || task.head_count <= 0) continue;
      first_row_ = planned->row_begin - task.row_begin;
      Group& group = group_of(task, planned->first_segment, planned->kernel);
      const int member = static_cast<int>(members_.size());
      members_.push_back({planned->first_segment, task.head_begin, -1});
      if (group.members++ == 0) {
        group.first_member = member;
      } else {
        members_[static_cast<size_t>(group.last_member)].next = member;
      }
      group.last_member = member;
      ++planned;
    }
  }
}

void AttendPlan::make(std::span<const AttendJob> jobs, const AttendMachine& machine) {
  clear();
  const AttendCall& call = jobs.front().call;
  machine_ = machine;
  head_dim_ = call.head_dim;
  row_floats_ = int64_t{call.heads} * call.head_dim;
  jobs_ = static_cast<int>(jobs.size());
  for (job_ = 0; job_ < jobs_; ++job_) {
    const AttendJob& job = jobs[static_cast<size_t>(job_)];
    if (job_ > 0) {
      const int64_t floats = job.call.out.address() - call.out.address();
      LH_ASSERT(floats >= 0 && floats % row_floats_ == 0);
      first_row_ = static_cast<int>(floats / row_floats_);
    }
    add_tasks(job.call, job.tasks);
  }
  pages_.settle();
  index_.settle();
  same_division_ = divides_as_before();
  if (same_division_) return;
  can_repeat_ = false;  // also if one of these throws
  group_tasks(jobs);
  divide(call.head_dim);
  can_repeat_ = counts_.empty();
}

void AttendPlan::divide(int head_dim) {
  sm90_.clear();
  masked_.clear();
  tiles_.clear();
  decode_.clear();
  merges_.clear();
  decode_blocks_ = most_merge_rows_ = most_merge_parts_ = counters_ = 0;
  partial_floats_ = 0;
  // Tiles get four rounds of thread blocks, so that the idle part of the last round is short (units
  // of equal length are treated separately). Decode units get as many thread blocks as run at once,
  // two per processor.
  const int64_t processors = machine_.processors;
  const Sizes tiles{kTileKeys, kTileUnitRows, 4 * processors, 16};
  cut(kSm90, tiles, head_dim, sm90_);
  cut(kMasked, tiles, head_dim, masked_);
  const Sizes wide{kTileKeys, kWideUnitRows, processors, 2};
  cut(kTiles, is_wide(head_dim) ? wide : tiles, head_dim, tiles_);
  cut(kDecode, {kDecodeKeys, kDecodeUnitRows, 2 * processors, 8}, head_dim, decode_);
}

}  // namespace longhaul::cuda
