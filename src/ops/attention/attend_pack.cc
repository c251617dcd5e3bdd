#include <cstring>

#include "ops/attention/attend_plan.h"

namespace longhaul::cuda {
namespace {

size_t aligned(size_t bytes) { return (bytes + 255) / 256 * 256; }

template <class T>
void write_records(const std::vector<T>& records, std::byte* to) {
  if (!records.empty()) std::memcpy(to, records.data(), records.size() * sizeof(T));
}

}  // namespace

bool AttendPlan::decode_alone() const {
  return sm90_.empty() && masked_.empty() && tiles_.empty() && merges_.empty() && counts_.empty() &&
         pages_.size() == 0 && index_.size() == 0;
}

AttendPlan::Layout AttendPlan::layout() const {
  Layout at{};
  at.counts = aligned(segments_.size() * sizeof(SegmentRecord));
  at.sm90 = at.counts + aligned(counts_.size() * sizeof(CountRecord));
  at.masked = at.sm90 + aligned(sm90_.size() * sizeof(UnitRecord));
  at.tiles = at.masked + aligned(masked_.size() * sizeof(UnitRecord));
  at.decode = at.tiles + aligned(tiles_.size() * sizeof(UnitRecord));
  at.merges = at.decode + aligned(decode_.size() * sizeof(UnitRecord));
  at.pages = at.merges + aligned(merges_.size() * sizeof(MergeRecord));
  at.index = at.pages + aligned(static_cast<size_t>(pages_.size()) * sizeof(const std::byte*));
  at.bytes = at.index + aligned(static_cast<size_t>(index_.size()) * sizeof(int32_t));
  return at;
}

void AttendPlan::pack_segments(std::byte* to, const std::byte* device) const {
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
}

void AttendPlan::pack(std::byte* to, const std::byte* device) const {
  const Layout at = layout();
  pack_segments(to, device);
  write_records(counts_, to + at.counts);
  write_records(sm90_, to + at.sm90);
  write_records(masked_, to + at.masked);
  write_records(tiles_, to + at.tiles);
  write_records(decode_, to + at.decode);
  write_records(merges_, to + at.merges);
  pages_.write(reinterpret_cast<const std::byte**>(to + at.pages));
  index_.write(reinterpret_cast<int32_t*>(to + at.index));
}

}  // namespace longhaul::cuda
