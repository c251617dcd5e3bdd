#include "kv/rope_append.h"

#include "base/assert.h"
#include "base/on_device.h"
#include "ops/attention/row_moves.h"

namespace longhaul {

void rope_append(Queue& queue, const Rotations& rotations, int64_t position, const NewRows& added,
                 KvStore& store, int layer, Array<float>& rotated) {
  const int head_dim = store.layout().dim_of(layer);
  const int64_t size = added.rows * added.kv_heads * head_dim;
  if (store.append_rotated(layer, added, rotations, position)) return;
  const View<float> keys = rotated.resize(queue, size);
  apply_rope(queue, rotations, position, added.k, added.rows, added.kv_heads, head_dim, keys);
  store.append(layer, added.rows, keys, added.v.part(0, size));
  if (added.rotated_q.empty()) return;
  const auto heads = static_cast<int>(added.q.size() / added.rows / head_dim);
  apply_rope(queue, rotations, position, added.q, added.rows, heads, head_dim, added.rotated_q);
}

struct AppendBatch::State {
  struct Lists {
    size_t first, count;
  };
  std::vector<DeviceAppend> appends;
  std::vector<Lists> own;  ///< lists of each sequence
  std::vector<PagedRows> lists;
  std::vector<int64_t> first;

  bool fits(const PagedRows& other) const {
    const PagedRows& known = lists.front();
    return known.type == other.type && known.head_dim == other.head_dim &&
           known.page_rows == other.page_rows;
  }
};

AppendBatch::AppendBatch() : state_(std::make_unique<State>()) {}
AppendBatch::~AppendBatch() = default;

bool AppendBatch::add(KvStore& store, int layer, const NewRows& added, const Rotations* rotations,
                      int64_t position) {
  State& s = *state_;
  const Queue& queue = store.queue_;
  const int lists = store.lists(layer);
  if (queue.on_host() || added.rows == 0 || lists == 0) return false;
  if (!has(kAppendRows, queue)) return false;
  store.reserve_layer(layer, added.rows);
  if (!s.lists.empty() && !s.fits(store.rows(layer, 0))) return false;
  const int64_t size = added.rows * added.kv_heads * store.layout().dim_of(layer);
  const size_t first_list = s.lists.size();
  int list = 0;
  for (KvStore::Head& h : store.heads_of(layer)) {
    s.lists.push_back(store.rows(layer, list++, h));
    s.first.push_back(h.length);
    store.add_rows(h, added.rows);
  }
  s.appends.push_back({.k = added.k.part(0, size),
                       .v = added.v.part(0, size),
                       .rows = added.rows,
                       .kv_heads = added.kv_heads,
                       .rotations = rotations,
                       .position = position,
                       .q = added.q,
                       .rotated_q = added.rotated_q,
                       .raw_keys = added.raw_keys});
  s.own.push_back({first_list, static_cast<size_t>(lists)});
  return true;
}

size_t AppendBatch::size() const { return state_->appends.size(); }

void AppendBatch::shrink(size_t size) {
  State& s = *state_;
  LH_ASSERT(size <= s.own.size());
  const size_t lists = size == 0 ? 0 : s.own[size - 1].first + s.own[size - 1].count;
  s.lists.resize(lists);
  s.first.resize(lists);
  s.own.resize(size);
  s.appends.resize(size);
}

void AppendBatch::run(Queue& queue) {
  State& s = *state_;
  if (s.appends.empty()) return;
  // The arrays are complete, so that pointers to elements are valid.
  for (size_t i = 0; i < s.appends.size(); ++i) {
    s.appends[i].lists = std::span(s.lists).subspan(s.own[i].first, s.own[i].count);
    s.appends[i].first = std::span(s.first).subspan(s.own[i].first, s.own[i].count);
  }
  LH_ASSERT(on_device(kAppendRows, queue, s.appends));
  shrink(0);
}

}  // namespace longhaul
