#include "ops/host_copies.h"

namespace longhaul {

AttendCall HostCopies::operator()(const AttendCall& call) {
  AttendCall here = call;
  here.queue = &host_queue();
  queries_.clear();
  for (const View<const float>& form : call.queries) queries_.push_back(stage_(form));
  here.queries = queries_;
  here.rotations = call.rotations == nullptr ? nullptr : &rotations_.copy(*call.rotations, stage_);
  here.out = stage_(call.out);
  here.lse = stage_(call.lse);
  here.known_lse = stage_(call.known_lse);
  return here;
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
  KeySegment here = segment;
  here.index = stage_(segment.index);
  here.live = stage_(segment.live);
  here.behind = stage_(segment.behind);
  int64_t end = segment.begin + segment.count;
  if (!segment.index.empty()) {
    end = segment.count > 0 ? host(here.index)[static_cast<size_t>(segment.count - 1)] + 1 : 0;
  }
  here.rows = (*this)(segment.rows, segment.index.empty() ? segment.begin : 0, end);
  return here;
}

PagedRows HostCopies::operator()(const PagedRows& rows, int64_t begin, int64_t end) {
  if (rows.place.host()) return rows;
  const size_t bytes = 2 * static_cast<size_t>(rows.page_rows) * bytes_of(rows.type, rows.head_dim);
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
