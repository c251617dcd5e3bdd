#include "ops/core/host_copies.h"

#include <algorithm>

#include "ops/core/convert.h"

namespace longhaul {

AttendCall HostCopies::operator()(const AttendCall& call) {
  AttendCall here = call;
  here.queue = &host_queue();
  queries_.clear();
  for (const View<const float>& form : call.queries) queries_.push_back(stage_(form));
  if (!call.rounded.empty() && queries_.front().empty()) queries_ = {expanded(call.rounded)};
  here.rounded = {};
  here.queries = queries_;
  here.rotations = call.rotations == nullptr ? nullptr : &rotations_.copy(*call.rotations, stage_);
  here.sinks = stage_(call.sinks);
  here.out = stage_(call.out);
  here.lse = stage_(call.lse);
  here.lse_in = stage_(call.lse_in);
  return here;
}

KeySegment with_host_index(HostStage& stage, const KeySegment& segment) {
  KeySegment here = segment;
  here.index = stage(segment.index);
  here.device_count = stage(segment.device_count);
  here.count_after = stage(segment.count_after);
  resolve_counts({&here, 1});
  return here;
}

View<const float> HostCopies::expanded(View<const uint8_t> rounded) {
  const std::span<const uint8_t> bytes = host(stage_(rounded));
  expanded_.resize(bytes.size() / sizeof(bf16_t));
  bf16_to_f32(reinterpret_cast<const bf16_t*>(bytes.data()), std::ssize(expanded_),
              expanded_.data());
  return std::span<const float>(expanded_);
}

std::span<const AttendTask> HostCopies::operator()(std::span<const AttendTask> tasks) {
  tasks_.assign(tasks.begin(), tasks.end());
  for (AttendTask& task : tasks_) task.segments = (*this)(task.segments);
  return tasks_;
}

std::span<const KeySegment> HostCopies::operator()(std::span<const KeySegment> segments) {
  auto& here = *segments_.emplace_back(std::make_unique<std::vector<KeySegment>>());
  for (const KeySegment& segment : segments) here.push_back((*this)(segment));
  return here;
}

KeySegment HostCopies::operator()(const KeySegment& segment) {
  LH_ASSERT(segment.masks.empty());  // masks exist only for a device whose attend() supports them
  KeySegment here = with_host_index(stage_, segment);
  if (here.whole_pages) here.index = rows_of_pages(here);
  here.whole_pages = false;
  int64_t end = here.begin + here.count;
  if (!here.index.empty()) {
    end = here.count > 0 ? host(here.index)[static_cast<size_t>(here.count - 1)] + 1 : 0;
  }
  here.rows = (*this)(segment.rows, here.index.empty() ? here.begin : 0, end);
  return here;
}

/// The keys of a list of pages, row by row.
View<const int32_t> HostCopies::rows_of_pages(const KeySegment& segment) {
  auto& rows = *indices_.emplace_back(std::make_unique<std::vector<int32_t>>());
  const auto pages = host(segment.index);
  const auto per_page = static_cast<size_t>(segment.rows.page_rows);
  // not empty, so that it counts as a list
  rows.resize(std::max<size_t>(1, static_cast<size_t>(segment.count)));
  for (size_t i = 0; i < static_cast<size_t>(segment.count); ++i) {
    rows[i] =
        static_cast<int32_t>(static_cast<size_t>(pages[i / per_page]) * per_page + i % per_page);
  }
  return std::span<const int32_t>(rows);
}

PagedRows HostCopies::operator()(const PagedRows& rows, int64_t begin, int64_t end) {
  if (rows.place.host()) return rows;
  const size_t bytes = rows.page_bytes();
  const auto pages = static_cast<size_t>((end + rows.page_rows - 1) / rows.page_rows);
  auto& here = *pages_.emplace_back(std::make_unique<std::vector<const std::byte*>>(pages));
  for (size_t page = static_cast<size_t>(begin / rows.page_rows); page < pages; ++page) {
    here[page] = stage_.bytes(rows.pages[page], bytes);
  }
  PagedRows copy = rows;
  copy.pages = here.data();
  copy.place = {};
  copy.listed = nullptr;
  return copy;
}

}  // namespace longhaul
