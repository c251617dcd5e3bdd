#include "attention/parts/planned_attention.h"

#include <algorithm>

#include "base/assert.h"
#include "base/nth.h"
#include "kv/rope_append.h"
#include "ops/core/fill.h"

namespace longhaul {
namespace {

constexpr int kPerList = 3;  // segments: sinks, window, all rows

int lists_of(const LayerStep& step) { return step.store->lists(step.layer); }

int kv_head_of(const LayerStep& step, int list) { return list * step.kv_heads / lists_of(step); }

const See& see_of(const LayerStep& step, int list) {
  return nth(step.plans, kv_head_of(step, list)).see;
}

/// Sets `keys` to rows [begin, end) of a list, with row i at position i + moved. The segment is
/// written in place for speed, because a decode step of many sequences has thousands of segments.
void set_stretch(const LayerStep& step, int list, int64_t begin, int64_t end, int64_t moved,
                 KeySegment& keys) {
  keys = {};
  keys.rows = step.store->rows(step.layer, list);
  keys.begin = begin;
  keys.count = std::max<int64_t>(0, end - begin);
  keys.position = begin + moved;
  keys.rotate = step.method->place == KeyPlace::kCache;
}

/// Sets `keys` to all rows of a list, limited to the model's own window, for a query row 0 at
/// `position`. After evictions, positions of kept rows need not be exact, because the rows of the
/// step are the last rows of the list.
void set_whole_list(const LayerStep& step, int list, int64_t position, KeySegment& keys) {
  const int64_t length = step.store->length(step.layer, list), window = step.own_window();
  const int64_t before = length - step.rows;
  const int64_t first = window > 0 ? std::max<int64_t>(0, before - window + 1) : 0;
  set_stretch(step, list, first, length, position - before, keys);
  keys.see_within(window, step.shape->chunked);
}

/// Returns how many of the step's first rows see only sinks and a window. The other rows see all
/// keys.
int windowed_rows(const LayerStep& step, const See& see) {
  if (see.window == kNoBound) return 0;
  // The model's own window replaces that of the method.
  if (step.method->place == KeyPlace::kAbsolute && step.own_window() > 0) return 0;
  if (see.dense_rows < 0) return step.rows;
  if (step.decoding()) return 0;
  const int64_t dense_from = step.prompt_end - see.dense_rows;
  return static_cast<int>(std::clamp<int64_t>(dense_from - step.begin, 0, step.rows));
}

/// Sets two segments for keys at list positions: the sinks, and the window before the pass with the
/// rows of the pass. The positions of the window follow those of the sinks directly.
void see_in_list(const LayerStep& step, int list, const See& see, KeySegment* to) {
  const int64_t after = step.store->length(step.layer, list), before = after - step.rows;
  const int64_t near = std::max(see.sink, before - see.window);
  set_stretch(step, list, 0, std::min(see.sink, after), 0, to[0]);
  set_stretch(step, list, near, after, see.sink - near, to[1]);
  to[0].see_within(step.own_window());
  to[1].see_within(step.own_window());
}

/// Sets two segments for keys at absolute positions, for the step's first `rows` rows: the sinks,
/// and the windows.
void see_in_text(const LayerStep& step, int list, const See& see, int rows, KeySegment* to) {
  const int64_t before = step.store->length(step.layer, list) - step.rows;
  const int64_t moved = step.begin - before;  // row i after the sinks is token i + moved
  const int64_t end = before + rows;
  int64_t near = std::max<int64_t>(0, before - see.window + (see.strict ? 1 : 0));
  if (!see.strict) near = std::max(near, see.sink);
  set_stretch(step, list, 0, std::min(see.sink, end), 0, to[0]);
  set_stretch(step, list, near, end, moved, to[1]);
  if (!see.strict) return;
  to[0].visible = Visibility::kBeyond;  // a sink that is also in the window belongs to the window
  to[1].visible = Visibility::kWindow;
  to[0].window = to[1].window = see.window;
}

/// The position of row 0 in list 0, which had `before` rows before the step.
int64_t list_position(const LayerStep& step, int64_t before) {
  const See& see = see_of(step, 0);
  const bool windowed = see.window != kNoBound;
  return windowed ? before - std::max(see.sink, before - see.window) + see.sink : before;
}

/// Sets the position of row 0, and the queries rotated to those positions.
void place_queries(LayerStep& step) {
  Attended& at = step.workspace->attended;
  if (step.method->place == KeyPlace::kAbsolute) {
    at = {step.rotated_q(), nullptr, step.begin};
    return;
  }
  at.position = list_position(step, step.store->length(step.layer, 0) - step.rows);
  at.rotations = &step.list_rotations(at.position + step.rows);
  at.queries = step.list_q(at.position);
  if (!at.queries.empty()) return;
  at.queries = step.queries_from(*at.rotations, at.position, step.workspace->list_q);
}

/// Adds raw keys to the step's batch. The launch that appends them also rotates the queries to list
/// positions. Returns false if the keys cannot be added.
bool add_raw_keys(LayerStep& step, NewRows raw) {
  if (step.appends == nullptr) return false;
  const bool in_list = step.method->place == KeyPlace::kCache && lists_of(step) > 0;
  const Rotations* rotations = nullptr;
  int64_t position = 0;
  if (in_list && step.decoding()) {
    position = list_position(step, step.store->length(step.layer, 0));
    raw.rotated_q = step.take_list_q(position);
  }
  if (!raw.rotated_q.empty()) {
    raw.q = step.q;
    raw.raw_keys = true;
    rotations = &step.list_rotations(position + step.rows);
  }
  if (step.appends->add(*step.store, step.layer, raw, rotations, position)) return true;
  step.drop_list_q();
  return false;
}

void add_tasks(const LayerStep& step, int list, int windowed) {
  LayerStep::Workspace& work = *step.workspace;
  const int heads = step.shape->heads / lists_of(step);
  const std::span<const KeySegment> own =
      std::span(work.segments).subspan(static_cast<size_t>(list * kPerList), kPerList);
  const int64_t position = work.attended.position;
  if (windowed > 0) {
    work.tasks.push_back({list * heads, heads, 0, windowed, position, own.first(2)});
  }
  if (windowed < step.rows) {
    work.tasks.push_back(
        {list * heads, heads, windowed, step.rows - windowed, position + windowed, own.last(1)});
  }
}

}  // namespace

void append_keys(LayerStep& step) {
  if (step.method->place != KeyPlace::kAbsolute) {
    if (add_raw_keys(step, {step.rows, step.kv_heads, step.k, step.v, {}, {}})) return;
    return step.store->append(step.layer, step.rows, step.k, step.v);
  }
  const Rotations& rotations = step.rotations(step.begin, step.rows);
  NewRows added{step.rows, step.kv_heads, step.k, step.v, {}, {}};
  if (step.shape->query_weights.empty()) {  // otherwise rotated_q() rotates the queries later
    added.q = step.q;
    added.rotated_q = step.take_rotated_q();
  }
  if (step.appends != nullptr &&
      step.appends->add(*step.store, step.layer, added, &rotations, step.begin)) {
    return;
  }
  rope_append(*step.queue, rotations, step.begin, added, *step.store, step.layer,
              step.workspace->rotated_k);
}

void attend_by_plan(LayerStep& step) {
  place_queries(step);
  LayerStep::Workspace& work = *step.workspace;
  const int lists = lists_of(step);
  work.segments.resize(static_cast<size_t>(lists * kPerList));
  work.tasks.clear();
  for (int list = 0; list < lists; ++list) {
    if (!step.attends(kv_head_of(step, list))) continue;
    const See& see = see_of(step, list);
    const int windowed = windowed_rows(step, see);
    KeySegment* own = work.segments.data() + list * kPerList;
    if (windowed > 0 && step.method->place == KeyPlace::kCache) see_in_list(step, list, see, own);
    if (windowed > 0 && step.method->place == KeyPlace::kAbsolute) {
      see_in_text(step, list, see, windowed, own);
    }
    set_whole_list(step, list, work.attended.position, own[2]);
    add_tasks(step, list, windowed);
  }
  // Without `only` this is the step's only attention, so nothing else uses the workspace before it
  // runs.
  step.attend({&work.attended.queries, 1}, work.tasks, work.attended.rotations, step.only.empty());
}

void add_attention(LayerStep& step, const Observation& what,
                   std::span<const ColumnTarget> targets) {
  LayerStep::Workspace& work = *step.workspace;
  const Attended& at = work.attended;
  const int lists = lists_of(step), heads = step.shape->heads / lists;
  LH_ASSERT(std::ssize(targets) == lists && !step.lse.empty());
  work.segments.resize(static_cast<size_t>(lists * kPerList));
  work.tasks.clear();
  work.observed_targets.clear();
  for (int list = 0; list < lists; ++list) {
    const ColumnTarget& target = nth(targets, list);
    if (target.sums.empty()) continue;
    KeySegment& keys = nth(work.segments, list);
    set_whole_list(step, list, at.position, keys);
    keys.count = std::min(keys.count, what.rows);
    if (what.window > 0) keys.see_within(what.window);
    work.tasks.push_back({list * heads, heads, 0, step.rows, at.position, {&keys, 1}});
    work.observed_targets.push_back(target);
  }
  AttendCall call = step.call({&at.queries, 1}, at.rotations);
  call.lse_in = step.lse;
  if (what.alone) {
    call.lse = step.lse;
    call.out = work.unused.resize(*step.queue, step.lse.size() * call.head_dim);
    longhaul::attend(call, work.tasks);
  }
  column_sums(call, work.tasks, work.observed_targets);
}

void add_attention_to_tokens(LayerStep& step, View<float> sums, bool alone, Array<float>& scratch) {
  const int64_t rows = sums.size();
  const int lists = lists_of(step);
  const View<float> each = scratch.resize(*step.queue, rows * lists);
  fill(*step.queue, each, 0);
  std::vector<ColumnTarget>& targets = step.workspace->targets;
  targets.clear();
  for (int list = 0; list < lists; ++list) targets.push_back({each.part(list * rows, rows), {}});
  add_attention(step, {.rows = rows, .alone = alone}, targets);
  add_lists(*step.queue, each, sums);
}

}  // namespace longhaul
