#include "ops/cuda/attend_plan.h"

#include <algorithm>
#include <cstring>

namespace longhaul::cuda {
namespace {

/// A task of so many flat rows or fewer is read by the few-row kernel, in one or two units: it
/// takes what the memory takes, and a tile of 128 rows would be mostly empty.
constexpr int kMostFewRows = 2 * kFewUnitRows;
constexpr int64_t kMostParts = 1024;
constexpr int64_t kMostPosition = int64_t{1} << 29;

PageType page_type(DType type) {
  switch (type) {
    case DType::F32:
      return PageType::kF32;
    case DType::F16:
      return PageType::kF16;
    case DType::Q8_0:
      return PageType::kQ8_0;
    default:
      LH_ASSERT(type == DType::BF16);
      return PageType::kBF16;
  }
}

/// The page list in device memory, where PagedRows says so.
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

size_t aligned(size_t bytes) { return (bytes + 255) / 256 * 256; }

template <class T>
void write_records(const std::vector<T>& records, std::byte* to) {
  if (!records.empty()) std::memcpy(to, records.data(), records.size() * sizeof(T));
}

}  // namespace

bool can_attend(int head_dim, int page_rows, DType type) {
  if (page_rows != kPageRows) return false;
  const bool plain = type == DType::F32 || type == DType::F16 || type == DType::BF16;
  switch (head_dim) {
    case 64:
    case 96:
    case 128:
    case 256:
      return plain || type == DType::Q8_0;
    case 80:
    case 112:
      return plain;
    default:
      return false;
  }
}

void AttendPlan::add_segment(const AttendCall& call, const KeySegment& s) {
  LH_ASSERT(can_attend(call.head_dim, s.rows.page_rows, s.rows.type));
  LH_ASSERT(s.rows.head_dim == call.head_dim && s.live.empty() && s.behind.empty());
  LH_ASSERT(s.count >= 0 && s.count < kFar && s.begin >= 0 && s.begin < kFar);
  LH_ASSERT(s.position > -kMostPosition && s.position < kMostPosition);
  const bool list = !s.index.empty();
  const bool on_device = list && !s.index.place().host();
  const auto listed = listed_pages(s.rows);
  const int64_t first_page = list ? 0 : s.begin / kPageRows;

  SegmentRecord record{};
  record.queries = call.queries[static_cast<size_t>(s.query)].address();
  record.position = s.position;
  record.shift = list ? 0 : static_cast<int32_t>(s.begin % kPageRows);
  record.count = static_cast<int32_t>(s.count);
  record.type = page_type(s.rows.type);
  record.rotate = s.rotate;
  record.indexed_positions = s.indexed_positions && list;
  if (s.indexed_positions && !list) record.position += s.begin;
  record.index = list ? s.index.address() : nullptr;
  set_visibility(s, record);

  Source source{};
  source.counted = !(on_device && record.indexed_positions);
  if (list && !on_device && s.count > 0) {
    source.index = s.index.address();
    index_.need(source.index, 0, s.count);
  }
  if (listed != nullptr) {
    record.pages = listed + first_page;
  } else if (s.count > 0) {
    LH_ASSERT(!on_device);  // only the device knows which pages it names
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
  return first;
}

bool AttendPlan::fits_sm90(const AttendCall& call, const AttendTask& task) const {
  const int dim = call.head_dim;
  if (!machine_.sm90 || (dim != 64 && dim != 128)) return false;
  const PageRange& range = machine_.pages;
  if (range.base == nullptr || range.page_bytes != size_t{4} * kPageRows * static_cast<size_t>(dim))
    return false;
  const auto inside = [&](const std::byte* page) {
    return page >= range.base && page + range.page_bytes <= range.base + range.bytes &&
           static_cast<size_t>(page - range.base) % range.page_bytes == 0;
  };
  return std::ranges::all_of(task.segments, [&](const KeySegment& s) {
    if (s.rows.type != DType::BF16 || !s.index.empty() || s.rotate) return false;
    // All pages of a head come from one memory, so that the ends speak for those between.
    return s.count == 0 || s.rows.pages == nullptr ||
           (inside(s.rows.pages[s.begin / kPageRows]) &&
            inside(s.rows.pages[(s.begin + s.count - 1) / kPageRows]));
  });
}

void AttendPlan::cut(const Cut& how, std::vector<UnitRecord>& units) const {
  const AttendTask& task = how.task;
  // Whole tiles of one head where there are that many rows; otherwise heads lie together, since
  // they see the same keys.
  const int most_heads = std::max(1, how.flat_rows / task.row_count);
  const int heads =
      std::min(task.head_count, how.flat_rows == kFewUnitRows ? how.flat_rows : most_heads);
  const int rows = std::max(1, how.flat_rows / heads);
  for (int r = 0; r < task.row_count; r += rows) {
    for (int h = 0; h < task.head_count; h += heads) {
      UnitRecord unit{};
      unit.first_segment = how.first_segment;
      unit.segment_count = static_cast<int32_t>(task.segments.size());
      unit.head_begin = task.head_begin + h;
      unit.head_count = std::min(heads, task.head_count - h);
      unit.row_begin = task.row_begin + r;
      unit.row_count = std::min(rows, task.row_count - r);
      unit.row_position = task.row_position + r;
      unit.parts = 1;
      unit.partial = -1;
      units.push_back(unit);
    }
  }
}

int64_t AttendPlan::tiles_of(const UnitRecord& unit, int keys) const {
  const int64_t last = unit.row_position + unit.row_count - 1;
  int64_t tiles = 0;
  for (int i = 0; i < unit.segment_count; ++i) {
    const size_t at = static_cast<size_t>(unit.first_segment + i);
    const SegmentRecord& s = segments_[at];
    tiles += sources_[at].counted ? visible_tiles(s, unit.row_position, last, keys).size()
                                  : (s.count + keys - 1) / keys;
  }
  return tiles;
}

/// Where units are too few to fill the device, the long ones become parts: about `blocks` units in
/// all, of `least_tiles` tiles or more. The longest come first, so that none is left at the end.
void AttendPlan::split(std::vector<UnitRecord>& units, int head_dim, int keys, int64_t blocks,
                       int64_t least_tiles) {
  whole_.swap(units);
  units.clear();
  const size_t count = whole_.size();
  work_.resize(count);
  order_.resize(count);
  int64_t all = 0;
  for (size_t i = 0; i < count; ++i) {
    work_[i] = tiles_of(whole_[i], keys);
    order_[i] = static_cast<int32_t>(i);
    all += work_[i];
  }
  std::sort(order_.begin(), order_.end(), [&](int32_t a, int32_t b) {
    const int64_t x = work_[static_cast<size_t>(a)], y = work_[static_cast<size_t>(b)];
    return x != y ? x > y : a < b;
  });
  for (const int32_t i : order_) {
    UnitRecord unit = whole_[static_cast<size_t>(i)];
    const int64_t work = work_[static_cast<size_t>(i)];
    const int64_t share = all == 0 ? 1 : work * blocks / all;
    unit.parts = static_cast<int32_t>(
        std::clamp<int64_t>(std::min(share, work / least_tiles), 1, kMostParts));
    if (unit.parts == 1) {
      units.push_back(unit);
      continue;
    }
    const int flat = unit.row_count * unit.head_count;
    merges_.push_back({partial_floats_, unit.parts, unit.row_begin, unit.row_count, unit.head_begin,
                       unit.head_count, 0});
    most_merge_rows_ = std::max(most_merge_rows_, flat);
    for (unit.part = 0; unit.part < unit.parts; ++unit.part) {
      unit.partial = partial_floats_;
      partial_floats_ += part_floats(flat, head_dim);
      units.push_back(unit);
    }
  }
}

void AttendPlan::make(const AttendCall& call, std::span<const AttendTask> tasks,
                      const AttendMachine& machine) {
  machine_ = machine;
  segments_.clear();
  sources_.clear();
  pages_.clear();
  index_.clear();
  sm90_.clear();
  tiles_.clear();
  few_.clear();
  merges_.clear();
  most_merge_rows_ = 0;
  partial_floats_ = 0;
  const AttendTask* before = nullptr;  // with the same segments, often
  int first = 0;
  for (const AttendTask& task : tasks) {
    if (task.row_count <= 0 || task.head_count <= 0) continue;
    LH_ASSERT(task.head_begin >= 0 && task.head_begin + task.head_count <= call.heads);
    LH_ASSERT(task.row_position > -kMostPosition &&
              task.row_position + task.row_count < kMostPosition);
    const bool same = before != nullptr && before->segments.data() == task.segments.data() &&
                      before->segments.size() == task.segments.size();
    if (!same) first = add_segments(call, task);
    before = &task;
    const int64_t flat = static_cast<int64_t>(task.row_count) * task.head_count;
    if (flat <= kMostFewRows || task.row_count == 1) {
      cut({task, first, kFewKeys, kFewUnitRows}, few_);
    } else {
      cut({task, first, kTileKeys, kTileUnitRows}, fits_sm90(call, task) ? sm90_ : tiles_);
    }
  }
  pages_.settle();
  index_.settle();
  // Tiles: four rounds of blocks, so that the last round's idle part is short. Few rows: as many
  // blocks as run at once, two on each processor.
  split(sm90_, call.head_dim, kTileKeys, 4 * machine.processors, 16);
  split(tiles_, call.head_dim, kTileKeys, 4 * machine.processors, 16);
  split(few_, call.head_dim, kFewKeys, 2 * machine.processors, 8);
}

AttendPlan::Layout AttendPlan::layout() const {
  Layout at{};
  at.sm90 = aligned(segments_.size() * sizeof(SegmentRecord));
  at.tiles = at.sm90 + aligned(sm90_.size() * sizeof(UnitRecord));
  at.few = at.tiles + aligned(tiles_.size() * sizeof(UnitRecord));
  at.merges = at.few + aligned(few_.size() * sizeof(UnitRecord));
  at.pages = at.merges + aligned(merges_.size() * sizeof(MergeRecord));
  at.index = at.pages + aligned(static_cast<size_t>(pages_.size()) * sizeof(const std::byte*));
  at.bytes = at.index + aligned(static_cast<size_t>(index_.size()) * sizeof(int32_t));
  return at;
}

void AttendPlan::pack(std::byte* to, const std::byte* device) const {
  const Layout at = layout();
  const auto pages = reinterpret_cast<const std::byte* const*>(device + at.pages);
  const auto index = reinterpret_cast<const int32_t*>(device + at.index);
  for (size_t i = 0; i < segments_.size(); ++i) {
    SegmentRecord record = segments_[i];
    const Source& source = sources_[i];
    if (source.pages != nullptr) {
      record.pages = pages + pages_.place_of(source.pages, source.first_page);
    }
    if (source.index != nullptr) record.index = index + index_.place_of(source.index, 0);
    std::memcpy(to + i * sizeof record, &record, sizeof record);
  }
  write_records(sm90_, to + at.sm90);
  write_records(tiles_, to + at.tiles);
  write_records(few_, to + at.few);
  write_records(merges_, to + at.merges);
  pages_.write(reinterpret_cast<const std::byte**>(to + at.pages));
  index_.write(reinterpret_cast<int32_t*>(to + at.index));
}

}  // namespace longhaul::cuda
