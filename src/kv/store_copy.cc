#include "kv/store_copy.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/assert.h"
#include "kv/pinned_pages.h"

namespace longhaul {

KvStore StoreCopy::on_host(
    const KvLayout& layout,
    const std::function<std::shared_ptr<PageMemory>(const RowForm&)>& pages) {
  std::vector<KvStore::Space> spaces = KvStore::spaces_of(layout, nullptr);
  for (KvStore::Space& each : spaces) each.memory = pages(each.form);
  return {layout, std::move(spaces), Queue()};
}

bool StoreCopy::can_copy(const KvStore& store) {
  return std::ranges::all_of(store.heads_, [](const KvStore::Head& h) {
    return std::ranges::find(h.pages, nullptr) == h.pages.end();
  });
}

bool StoreCopy::is_pinned(const KvStore& store) {
  return std::ranges::all_of(store.spaces_, [](const KvStore::Space& each) {
    return dynamic_cast<const PinnedPages*>(each.memory.get()) != nullptr;
  });
}

StoreCopy::StoreCopy(const KvStore& from, KvStore to, const StoreTwins& twins)
    : to_(std::move(to)) {
  LH_ASSERT(from.layout().same_rows(to_.layout()) && to_.longest() == 0);
  LH_ASSERT(from.queue_.on_host() != to_.queue_.on_host());
  lists_.resize(from.heads_.size());
  for (size_t list = 0; list < lists_.size(); ++list) begin_list(list, from, twins);
}

/// Takes over the numbers of a list, and the pages of its twin.
void StoreCopy::begin_list(size_t list, const KvStore& from, const StoreTwins& twins) {
  const KvStore::Head& source = from.heads_[list];
  KvStore::Head& target = to_.heads_[list];
  to_.forget_bytes();
  target.length = source.length;
  target.appended = source.appended;
  target.tokens = source.tokens;
  target.alone = false;
  if (source.chosen.count > 0) {  // a device has the numbers of the first rows
    LH_ASSERT(to_.queue_.on_host());
    const auto chosen = static_cast<size_t>(std::min(source.chosen.count, source.length));
    target.tokens.resize(static_cast<size_t>(source.length));
    std::iota(target.tokens.begin() + static_cast<std::ptrdiff_t>(chosen), target.tokens.end(),
              static_cast<int32_t>(source.appended - source.length) + static_cast<int32_t>(chosen));
    arrays_.push_back(
        {source.chosen.memory->data(), target.tokens.data(), chosen * sizeof(int32_t)});
  }
  for (const KvStore::Column& column : source.columns) {
    const View<const float> values = const_cast<RowNumbers&>(column.values).view();
    RowNumbers copy = RowNumbers::undefined(to_.queue_, values.size());
    target.columns.push_back({column.name, std::move(copy)});
    if (values.empty()) continue;
    arrays_.push_back({values.address(), target.columns.back().values.view().address(),
                       static_cast<size_t>(values.size()) * sizeof(float)});
  }
  lists_[list].pages = source.pages;
  target.pages.reserve(source.pages.size());
  if (twins.here != nullptr && twins.there != nullptr) {
    const std::vector<std::byte*>& here = twins.here->heads_[list].pages;
    const KvStore::Head& there = twins.there->heads_[list];
    const auto same = std::ranges::mismatch(source.pages, here).in1 - source.pages.begin();
    const auto shared = std::min<std::ptrdiff_t>(same, std::ssize(there.pages));
    target.pages.assign(there.pages.begin(), there.pages.begin() + shared);
    to_.memory(target).share_all(target.pages);
    if (shared > 0) {
      there.own_page = KvStore::Head::kNoPage;
      there.alone = false;
    }
  }
  left_ += (source.pages.size() - target.pages.size()) * to_.form(target).page_bytes();
}

void StoreCopy::next(size_t bytes, std::vector<DeviceBytes>& copies) {
  to_.forget_bytes();
  size_t added = 0;
  for (; list_ < lists_.size(); ++list_) {
    KvStore::Head& target = to_.heads_[list_];
    const std::vector<std::byte*>& from = lists_[list_].pages;
    const size_t page_bytes = to_.form(target).page_bytes();
    const size_t first = target.pages.size();
    const size_t fitting = std::max<size_t>(1, (bytes - std::min(bytes, added)) / page_bytes);
    const size_t count = std::min(from.size() - first, fitting);
    if (count == 0) continue;
    if (added > 0 && added + page_bytes > bytes) return;
    to_.memory(target).acquire_all(static_cast<int64_t>(count), target.pages);
    for (size_t page = first; page < target.pages.size(); ++page) {
      copies.push_back({from[page], target.pages[page], page_bytes});
    }
    added += count * page_bytes;
    left_ -= count * page_bytes;
    if (target.pages.size() < from.size()) return;
  }
}

KvStore StoreCopy::take() {
  LH_ASSERT(left_ == 0);
  return std::move(to_);
}

}  // namespace longhaul
