#include "attention/step.h"

#include <algorithm>

#include "base/assert.h"
#include "base/host_stopwatch.h"
#include "ops/attention/decode_rotations.h"
#include "ops/core/columns.h"
#include "ops/core/pair_count.h"

namespace longhaul {
namespace {

/// Returns whether the tasks of a call may be computed in several calls, which requires that all
/// tasks have many rows. For tasks with few rows, the division of keys among threads depends on all
/// tasks of the call (ops/attention/key_parts.h). Several calls would change the results.
bool can_be_divided(std::span<const AttendTask> tasks) {
  constexpr int kFewTaskRows = 8;
  return std::ranges::all_of(tasks, [](const AttendTask& t) { return t.row_count > kFewTaskRows; });
}

}  // namespace

View<const float> LayerStep::q_from(int64_t position) const {
  const int64_t before = std::clamp<int64_t>(position - begin, 0, rows);
  return q.from(before * shape->heads * head_dim());
}

const RopeTable& LayerStep::rope() const {
  return workspace->stretched.of(*shape, layer)
      .of(shape->rope_of(layer), plans.empty() ? 1 : plans.front().see.stretch);
}

const Rotations& LayerStep::rotations(int64_t first, int64_t count) const {
  RotationBuffer& buffer = workspace->rotations.of(*shape, layer);
  const int64_t end = together_begin + together_rows;
  if (decoding()) return fill_for_decode(buffer, *queue, rope(), first, count);
  if (first < together_begin || first + count > end) {
    return buffer.fill(*queue, rope(), first, count);
  }
  return buffer.fill(*queue, rope(), together_begin, together_rows);
}

const Rotations& LayerStep::list_rotations(int64_t end) const {
  const RopeTable& table = rope();
  auto& [kept, buffer] = workspace->in_list.of(*shape, layer);
  if (buffer == nullptr || !(kept == table)) {
    kept = table;
    buffer = workspace->list_tables->of(table);
  }
  return buffer->up_to(*queue, table, end);
}

void LayerStep::weigh(View<float> queries) const {
  if (shape->query_weights.empty()) return;
  multiply_columns(*queue, nth(shape->query_weights, layer), queries);
}

void LayerStep::turn_queries(const Rotations& rotations, int64_t position, View<const float> from,
                             View<float> to) const {
  const int64_t count = from.size() / (int64_t{shape->heads} * head_dim());
  apply_rope(*queue, rotations, position, from, count, shape->heads, head_dim(), to);
  weigh(to);
}

View<const float> LayerStep::rotated_q() {
  if (!has_rotated_q_) {
    const Rotations& turned = rotations(begin, rows);
    turn_queries(turned, begin, q, take_rotated_q());
  }
  return rotated_q_room.empty() ? workspace->rotated_q.view() : rotated_q_room;
}

View<float> LayerStep::take_rotated_q() {
  has_rotated_q_ = true;
  return rotated_q_room.empty() ? workspace->rotated_q.resize(*queue, q.size()) : rotated_q_room;
}

View<float> LayerStep::take_list_q(int64_t position) {
  if (rotated_q_room.empty() || has_rotated_q_ || !shape->query_weights.empty()) return {};
  list_position_ = position;
  return list_q_ = std::exchange(rotated_q_room, {});  // rotated_q() would overwrite it
}

View<const float> LayerStep::queries_from(const Rotations& rotations, int64_t position,
                                          Array<float>& into) const {
  const View<float> y = into.resize(*queue, q.size());
  turn_queries(rotations, position, q, y);
  return y;
}

View<const float> LayerStep::queries_at(const Rotations& rotations, int64_t position,
                                        Array<float>& into) const {
  const View<float> y = into.resize(*queue, q.size());
  apply_rope_constant(*queue, rotations, position, q, rows, shape->heads, head_dim(), y);
  weigh(y);
  return y;
}

PagedRows LayerStep::rows_of(int list) const {
  const bool copied = !copies.empty() && nth(copies, list).pages != nullptr;
  return copied ? nth(copies, list) : store->rows(layer, list);
}

std::optional<int> LayerStep::list_of(const PagedRows& read) const {
  for (int list = 0; list < store->lists(layer); ++list) {
    const bool stored = read.pages == store->rows(layer, list).pages;
    if (stored || read.pages == rows_of(list).pages) return list;
  }
  return std::nullopt;
}

KeySegment LayerStep::all_keys(int list) const {
  const int64_t window = own_window();
  KeySegment keys;
  keys.rows = rows_of(list);
  keys.see_within(window, shape->chunked);
  keys.begin = keys.position = shape->first_visible(layer, begin);
  keys.count = store->length(layer, list) - keys.begin;
  return keys;
}

std::span<const AttendTask> LayerStep::over_all_keys(int first, int count) {
  workspace->segments.resize(static_cast<size_t>(kv_heads));
  workspace->tasks.clear();
  for (int head = 0; head < kv_heads; ++head) {
    if (!attends(head)) continue;
    KeySegment& keys = nth(workspace->segments, head) = all_keys(head);
    workspace->tasks.push_back({head * group(), group(), first, count, begin + first, {&keys, 1}});
  }
  return workspace->tasks;
}

void LayerStep::attend_all_keys(int count) {
  const View<const float> queries[] = {rotated_q()};
  attend(queries, over_all_keys(0, count));
}

std::span<const PagedRows> LayerStep::lists() {
  workspace->lists.clear();
  for (int list = 0; list < store->lists(layer); ++list) {
    workspace->lists.push_back(rows_of(list));
  }
  return workspace->lists;
}

void LayerStep::keep_lse() {
  if (lse.empty()) lse = workspace->lse.resize(*queue, int64_t{rows} * shape->heads);
}

AttendCall LayerStep::call(std::span<const View<const float>> queries,
                           const Rotations* rotations) const {
  AttendCall call = shape->call(*queue, layer);
  call.queries = queries;
  call.rotations = rotations;
  call.compute = compute;
  return call;
}

void LayerStep::attend(std::span<const View<const float>> queries, std::span<KeySegment> segments,
                       int per_list, const Rotations* rotations, std::optional<int64_t> position) {
  LH_ASSERT(per_list > 0 && segments.size() % static_cast<size_t>(per_list) == 0);
  const int lists = static_cast<int>(segments.size()) / per_list;
  LH_ASSERT(lists > 0 && shape->heads % lists == 0);
  resolve_counts(segments);
  const int heads_per_list = shape->heads / lists;
  std::vector<AttendTask>& tasks = workspace->tasks;
  tasks.clear();
  for (int list = 0; list < lists; ++list) {
    if (!attends(list * kv_heads / lists)) continue;
    tasks.push_back(
        {list * heads_per_list, heads_per_list, 0, rows, position.value_or(begin),
         segments.subspan(static_cast<size_t>(list * per_list), static_cast<size_t>(per_list))});
  }
  attend(queries, tasks, rotations);
}

View<int64_t> AttentionRecord::counted_pairs(Queue& on, std::span<const AttendTask> tasks) {
  const auto counts = [](const KeySegment& keys) { return !keys.device_count.empty(); };
  const bool any = std::ranges::any_of(
      tasks, [&](const AttendTask& task) { return std::ranges::any_of(task.segments, counts); });
  return any ? device_count(on, counted) : View<int64_t>();
}

int64_t AttentionRecord::all_pairs(Queue& on) const { return pairs + read_count(on, counted); }

void AttentionRecord::take_counts(Queue& on, const AttentionRecord& from) {
  pairs = from.pairs;
  dense_pairs = from.dense_pairs;
  seconds = from.seconds;
  copy_count(on, from.counted, counted);
}

void LayerStep::attend(std::span<const View<const float>> queries,
                       std::span<const AttendTask> tasks, const Rotations* rotations, bool stay) {
  if (record->observer) record->observer(*this, tasks);
  AttendCall run = call(queries, rotations);
  run.out = out;
  run.lse = lse;
  if (sinks && !shape->sinks.empty()) run.sinks = nth(shape->sinks, layer);
  run.counted = record->counted_pairs(*queue, tasks);
  const int64_t pairs = visible_pairs(tasks);
  record->pairs += pairs;
  if (batch != nullptr) return batch->add(run, tasks, pairs, *record, stay);
  const HostStopwatch watch(*queue);
  if (between_heads != nullptr && can_be_divided(tasks)) {
    attend_by_heads(run, tasks);
  } else {
    longhaul::attend(run, tasks);
  }
  record->seconds += watch.seconds();
}

/// Computes adjacent tasks of the same query heads in one call each, and calls between_heads after
/// each call.
void LayerStep::attend_by_heads(const AttendCall& call, std::span<const AttendTask> tasks) const {
  while (!tasks.empty()) {
    const int heads = tasks.front().head_begin;
    const auto others = std::ranges::find_if(
        tasks, [&](const AttendTask& task) { return task.head_begin != heads; });
    const auto own = tasks.first(static_cast<size_t>(others - tasks.begin()));
    longhaul::attend(call, own);
    (*between_heads)();
    tasks = tasks.subspan(own.size());
  }
}

}  // namespace longhaul
