#include "model/decoder.h"

#include <algorithm>

#include "model/delta_layer.h"
#include "model/device_decoder.h"
#include "model/host_decoder.h"
#include "model/latent_layer.h"
#include "model/layer_inputs.h"
#include "model/recurrent_layer.h"
#include "ops/attention/attention_memory.h"
#include "ops/core/all_reduce.h"
#include "ops/core/fill.h"

namespace longhaul {

Decoder::Decoder(const Model& model, Compute compute)
    : state_(std::make_unique<HostState>(model, compute)) {}
Decoder::Decoder(std::shared_ptr<const DeviceModel> model, Compute compute)
    : state_(std::make_unique<DeviceState>(std::move(model), compute)) {}
Decoder::~Decoder() = default;
Decoder::Decoder(Decoder&&) noexcept = default;

void Decoder::use(const Model& model) {
  LH_ASSERT(state_->queue.on_host() && model.config.layers == state_->model().config.layers);
  state_->used = &model;
}

void Decoder::use(std::shared_ptr<const DeviceModel> model) {
  auto& state = static_cast<DeviceState&>(*state_);
  LH_ASSERT(model->queue() == state.queue &&
            model->model().config.layers == state.model().config.layers);
  state.used = &model->model();
  state.weights = std::move(model);
}

void set_context_length(const Model& model, int64_t tokens, ModelShape& shape) {
  if (!model.config.rope.depends_on_length()) return;
  shape.rope = make_rope(model.config.rope, tokens);
}

int64_t SequenceRows::rows() const {
  int64_t rows = 0;
  for (const ForwardPass& pass : passes) rows += pass.rows();
  return rows;
}

const float* Decoder::forward(std::span<SequenceRows> batch, const ForwardOptions& how) {
  return state_->forward(batch, how);
}

void Decoder::logits(const float* hidden, int64_t rows, float* out) {
  state_->logits(hidden, rows, out);
}

void Decoder::begin_logits(const float* hidden, std::span<const WantedLogits> rows,
                           ChosenLogits& chosen) {
  state_->begin_logits(hidden, rows, chosen);
}

void Decoder::end_logits(std::span<const WantedLogits> rows, const ChosenLogits& chosen) {
  if (chosen.of_row == 0) return;
  end_best_logits(state_->queue, chosen.event);
  for (size_t r = 0; r < rows.size(); ++r) {
    if (rows[r].best.empty()) continue;
    std::copy_n(chosen.best.begin() + static_cast<ptrdiff_t>(r * chosen.of_row),
                rows[r].best.size(), rows[r].best.begin());
    *rows[r].sums = chosen.sums[r];
  }
}

void Decoder::State::logits(const float* hidden, int64_t count, float* out) {
  const View<float> y = head(hidden, count, out);
  if (queue.on_host()) return;
  queue.device().download(y.address(), out, static_cast<size_t>(y.size()) * sizeof(float));
}

void Decoder::State::begin_logits(const float* hidden, std::span<const WantedLogits> wanted,
                                  ChosenLogits& chosen) {
  const View<float> y = head(hidden, std::ssize(wanted), nullptr);
  const int64_t vocab = y.size() / std::ssize(wanted);
  const auto bytes = static_cast<size_t>(vocab) * sizeof(float);
  size_t& most = chosen.of_row = 0;
  chosen.event = 0;
  rules.clear();
  for (size_t r = 0; r < wanted.size(); ++r) {
    most = std::max(most, wanted[r].best.size());
    rules.push_back(wanted[r].rules);
    if (wanted[r].all == nullptr) continue;
    const View<float> row = y.part(static_cast<int64_t>(r) * vocab, vocab);
    if (queue.on_host()) {
      std::ranges::copy(host(row), wanted[r].all);
    } else {
      queue.device().download(row.address(), wanted[r].all, bytes);
    }
  }
  if (most == 0) return;
  chosen.best.resize(wanted.size() * most);
  chosen.sums.resize(wanted.size());
  chosen.event =
      begin_best_logits(queue, y, rules, static_cast<int>(most), chosen.best, chosen.sums);
}

const float* Decoder::State::forward(std::span<SequenceRows> batch, const ForwardOptions& how) {
  LH_ASSERT(!batch.empty() && (batch.size() == 1 || queue.ranks() == 1));
  in_batch = batch.size() > 1;
  inside = how.inside;
  rows = 0;
  for (const SequenceRows& each : batch) rows += each.rows();
  if (steps.size() < batch.size()) steps.resize(batch.size());
  while (workspaces.size() < batch.size()) {
    workspaces.push_back(std::make_unique<LayerStep::Workspace>());
    workspaces.back()->list_tables = workspaces.front()->list_tables;
  }
  all_tokens = tokens_of(batch);
  embed(all_tokens);
  for (int layer = 0; layer < model().config.layers; ++layer) {
    if (layer > 0 && how.go_on && !how.go_on(layer)) return nullptr;
    const bool last_rows = how.last_state && layer + 1 == model().config.layers;
    attention(layer, batch, last_rows && !model().config.parallel);
    feed_forward(layer);
    if (last_rows && model().config.parallel) keep_last_rows(batch, true);
  }
  return stream.view().address();
}

std::span<const int32_t> Decoder::State::tokens_of(std::span<const SequenceRows> batch) {
  if (batch.size() == 1 && batch.front().passes.size() == 1) {
    return batch.front().passes.front().tokens;
  }
  ids.clear();
  for (const SequenceRows& each : batch) {
    for (const ForwardPass& pass : each.passes) {
      ids.insert(ids.end(), pass.tokens.begin(), pass.tokens.end());
    }
  }
  return ids;
}

void Decoder::State::attention(int layer, std::span<SequenceRows> batch, bool last_rows) {
  const ModelConfig& c = model().config;
  const bool attends = c.has_attention(layer), mixes = attends || c.is_recurrent(layer);
  if (mixes) normalise(layer, RowNorm::kAttention);
  if (c.is_recurrent(layer)) recur(layer, batch);
  if (c.has_both(layer)) {
    add_mixed(layer, true);
    normalise_again();
  }
  if (attends) attend_all(layer, batch);
  if (last_rows) keep_last_rows(batch, mixes);
  yield();
  if (mixes) add_mixed(layer, !attends);
}

/// Adds the output of attention, or of a recurrent part, to the residual stream.
void Decoder::State::add_mixed(int layer, bool recurrent) {
  const ModelConfig& c = model().config;
  add_part(layer, RowNorm::kAttentionAfter,
           recurrent ? c.recurrent_out_scale : c.attention_out_scale,
           [&](const PartOutput& y) { project_back(layer, recurrent, y); });
}

void Decoder::State::attend_all(int layer, std::span<SequenceRows> batch) {
  const ModelConfig& c = model().config;
  const int kv_heads = nth(c.kv_heads, layer);
  project(layer, kv_heads);
  if (c.qk_norm != QkNorm::kNone) normalise_heads(layer, kv_heads);
  if (c.interleaved_rope) split_pairs(kv_heads);
  if (!c.kv_layer.empty()) lend_or_borrow(layer);
  yield();
  mixed.resize(queue, q.size());
  grow_queries(layer, batch);
  in_batch ? attend_batch(layer, kv_heads, batch) : attend(layer, kv_heads, batch.front(), 0, 0);
  if (c.output_gate) gate_output();
}

/// If later layers use the keys and values of this layer, stores them. If this layer uses those of
/// an earlier layer, sets k and v to them.
void Decoder::State::lend_or_borrow(int layer) {
  const ModelConfig& c = model().config;
  const bool borrows = c.shares_kv(layer);
  if (!borrows && !c.lends_kv(layer)) return;
  lent.resize(static_cast<size_t>(c.layers));
  LentRows& kept = nth(lent, nth(c.kv_layer, layer));
  Array<float>&from_k = borrows ? kept.k : k, &from_v = borrows ? kept.v : v;
  copy(queue, from_k.view(), (borrows ? k : kept.k).resize(queue, from_k.size()));
  copy(queue, from_v.view(), (borrows ? v : kept.v).resize(queue, from_v.size()));
}

/// Computes the recurrent part of a layer. Each sequence continues from its state.
void Decoder::State::recur(int layer, std::span<SequenceRows> batch) {
  project_recurrent(layer);
  yield();
  mixed.resize(queue, rows * model().config.recurrent_width());
  const int number = model().config.recurrent_before(layer);
  int64_t first = 0;
  recurrent_tasks.clear();
  for (SequenceRows& each : batch) {
    for (const ForwardPass& pass : each.passes) {
      if (!each.failed) {
        LH_ASSERT(each.recurrent != nullptr);
        const RecurrentState::Step step =
            each.recurrent->advance(number, pass.position, pass.rows(), pass.pass.discard);
        recurrent_tasks.push_back({first, pass.rows(), step.before, step.after});
      }
      first += pass.rows();
    }
  }
  mix_recurrent(layer, recurrent_tasks);
}

/// Sets the members of a LayerStep that are equal for all passes of a sequence in a layer.
void Decoder::State::set_common(int layer, int kv_heads, const SequenceRows& all, size_t slot,
                                LayerStep& step) {
  step.queue = &queue;
  step.layer = model().config.attention_before(layer);
  step.kv_heads = kv_heads;
  step.shape = all.shape;
  step.streams = all.streams;
  step.compute = compute == Compute::kF32 ? AttendCompute::kF32 : AttendCompute::kBest;
  step.workspace = workspaces[slot].get();
  step.record = all.record;
  if (inside != nullptr && inside->active) step.between_heads = &inside->yield;
  for (const ForwardPass& pass : all.passes) {
    if (pass.pass.discard) continue;
    if (step.together_rows == 0) step.together_begin = pass.position;
    step.together_rows += pass.rows();
  }
}

/// Computes the attention of one sequence. Its rows in the batch begin at `first`.
void Decoder::State::attend(int layer, int kv_heads, const SequenceRows& all, int64_t first,
                            size_t slot) {
  LayerStep step;
  set_common(layer, kv_heads, all, slot, step);
  const ForwardPass& front = all.passes.front();
  const auto tokens =
      all_tokens.subspan(static_cast<size_t>(first), static_cast<size_t>(all.rows()));
  LayerStep whole = step;
  set_pass(first, {tokens, front.position, front.pass}, whole);
  whole.passes = static_cast<int>(all.passes.size());
  all.method->begin_layer(whole);
  for (const ForwardPass& pass : all.passes) {
    LayerStep own = step;
    set_pass(first, pass, own);
    all.method->attend(own);
    first += pass.rows();
    ++step.nth_pass;
  }
}

/// Prepares the step of a sequence with one pass, whose rows begin at `first`, and appends its keys
/// and values.
void Decoder::State::begin_step(int layer, int kv_heads, SequenceRows& of, int64_t first,
                                size_t slot) {
  LayerStep& own = steps[slot];
  own = {};
  set_common(layer, kv_heads, of, slot, own);
  set_pass(first, of.passes.front(), own);
  if (of.method->begins_together()) {
    LayerStep whole = own;
    of.method->begin_layer(whole);
  }
  if (!queue.on_host()) {
    own.evictions = &evictions;
    const int64_t heads = model().config.heads;
    own.appends = &appended;
    own.rotated_q_room = rotated_q.view().part(first * heads * own.head_dim(), own.q.size());
    own.lse = lse.view().part(first * heads, own.rows * heads);
  }
  of.method->begin_append(own);
}

/// Calls work(sequence, slot) for all sequences with one pass that have not failed. If the call
/// throws, the sequence is marked as failed, and the work that the call has added to batches is
/// removed.
template <class Work>
void Decoder::State::for_each_step(std::span<SequenceRows> batch, Work&& work) {
  for (size_t i = 0; i < batch.size(); ++i) {
    if (batch[i].failed || batch[i].passes.size() > 1) continue;
    const size_t calls = gathered.size(), appends = appended.size(), due = evictions.size();
    try {
      work(batch[i], i);
    } catch (...) {
      gathered.shrink(calls);
      appended.shrink(appends);
      evictions.shrink(due);
      batch[i].failed = std::current_exception();
    }
  }
}

/// Computes the attention of all sequences in one call, after one call that appends their keys. A
/// sequence with several passes is computed separately, because each pass reads rows that the
/// previous pass has written.
void Decoder::State::attend_batch(int layer, int kv_heads, std::span<SequenceRows> batch) {
  if (!queue.on_host()) {
    rotated_q.resize(queue, q.size());
    lse.resize(queue, rows * model().config.heads);
  }
  const int attended = model().config.attention_before(layer);
  int64_t first = 0;
  for (size_t i = 0; i < batch.size(); first += batch[i].rows(), ++i) {
    SequenceRows& each = batch[i];
    if (i + 1 < batch.size()) batch[i + 1].streams.front().prefetch(attended);
    if (each.failed) continue;
    const size_t appends = appended.size();
    try {
      if (each.passes.size() > 1) {
        attend(layer, kv_heads, each, first, i);
      } else {
        begin_step(layer, kv_heads, each, first, i);
      }
    } catch (...) {
      appended.shrink(appends);
      each.failed = std::current_exception();
    }
  }
  try {
    appended.run(queue);
    for_each_step(batch, [&](SequenceRows& each, size_t i) {
      steps[i].batch = &gathered;
      each.method->begin_attend(steps[i]);
    });
    gathered.run();
  } catch (...) {
    appended.shrink(0);
    gathered.shrink(0);
    throw;
  }
  for_each_step(batch, [&](SequenceRows& each, size_t i) {
    steps[i].batch = nullptr;
    each.method->end_attend(steps[i]);
  });
  evictions.run(queue);
}

void Decoder::State::grow_queries(int layer, std::span<const SequenceRows> batch) {
  const QueryGrowth growth = model().config.query_growth(layer);
  if (growth.rate == 0) return;
  const int64_t from = model().config.still_growth.rate != 0 ? 1 : 0;
  const int64_t width = q.size() / rows;
  int64_t first = 0;
  for (const SequenceRows& each : batch) {
    for (const ForwardPass& pass : each.passes) {
      grow_queries(q.view().part(first * width, pass.rows() * width), pass.rows(),
                   pass.position + from, growth);
      first += pass.rows();
    }
  }
}

/// Sets the members of a LayerStep for one pass, or for all passes that are computed together. Its
/// rows in the batch begin at `first`.
void Decoder::State::set_pass(int64_t first, const ForwardPass& pass, LayerStep& step) {
  const ModelConfig& c = model().config;
  const int64_t head_dim = step.head_dim();
  const auto part = [&](Array<float>& of, int64_t heads) {
    return of.view().part(first * heads * head_dim, pass.rows() * heads * head_dim);
  };
  step.begin = pass.position;
  step.rows = static_cast<int>(pass.rows());
  step.q = part(q, c.heads);
  step.k = part(k, step.kv_heads);
  step.v = part(v, step.kv_heads);
  step.out = part(mixed, c.heads);
  step.tokens = pass.tokens;
  step.pass = pass.pass;
  step.store = &nth(step.streams, pass.pass.stream);
}

/// Removes all rows except the last row of each sequence from the residual stream. If `mixes` is
/// true, also removes them from the output of attention or of the recurrent part.
void Decoder::State::keep_last_rows(std::span<const SequenceRows> batch, bool mixes) {
  int64_t end = 0;
  for (size_t i = 0; i < batch.size(); ++i) {
    end += batch[i].rows();
    const auto to = static_cast<int64_t>(i);
    if (end - 1 == to) continue;
    for (const View<float> x : {stream.view(), mixes ? mixed.view() : View<float>()}) {
      if (x.empty()) continue;
      const int64_t width = x.size() / rows;
      copy(queue, x.part((end - 1) * width, width), x.part(to * width, width));
    }
    if (model().config.layer_input > 0) move_layer_input(model().config.layers - 1, end - 1, to);
  }
  rows = std::ssize(batch);
}

void Decoder::State::feed_forward(int layer) {
  const LayerWeights& w = nth(model().layers, layer);
  if (model().config.feed_of(layer) == FeedKind::kNone) return;
  yield();
  model().config.parallel ? normalise_again() : normalise(layer, RowNorm::kFfn);
  add_part(layer, RowNorm::kFfnAfter, model().config.ffn_out_scale, [&](const PartOutput& y) {
    const bool mixes = !w.experts.empty();
    if (mixes && model().config.experts_apart) return feed_apart(layer, y);
    if (mixes) mix_experts(layer, y);
    if (w.has_network()) feed(layer, {y.y, y.add || mixes});
  });
  if (model().config.layer_scales) end_layer(layer);
}

/// Adds `scale` times the output of a sublayer to the residual stream. If several devices share the
/// model, each device computes the term of its heads. The first device adds its term to the stream,
/// and an all-reduce adds the terms of the others.
template <class Part>
void Decoder::State::add_part(int layer, RowNorm after, float scale, Part&& part) {
  const int64_t written = rows * model().config.hidden;
  const bool as_it_is = norm_of(nth(model().layers, layer), after).empty();
  scale *= model().config.residual_scale;
  if (as_it_is && scale == 1) {
    part({stream.view(), queue.rank() == 0});
    return all_reduce(queue, stream.view().part(0, written));
  }
  part({sublayer.resize(queue, stream.size()), false});
  all_reduce(queue, sublayer.view().part(0, written));
  add_sublayer(layer, after, scale);
}

namespace {

int most_kv_heads(const ModelConfig& c) {
  return *std::max_element(c.kv_heads.begin(), c.kv_heads.end());
}

/// Returns the bytes per row of x A^T for all adapters of one input: the f32 result, and its form
/// as input of the next multiplication.
size_t adapter_row_bytes(const Model& model) {
  int64_t most = 0;
  for (const LayerAdapters& a : model.adapters) {
    most = std::max({most, a.q.rank() + a.k.rank() + a.v.rank(), a.output.rank(),
                     a.delta_in.rank() + a.delta_z.rank() + a.delta_b.rank() + a.delta_a.rank(),
                     a.recurrent_in.rank(), a.recurrent_output.rank(), a.gate.rank() + a.up.rank(),
                     a.down.rank()});
  }
  return static_cast<size_t>(most) * 2 * sizeof(float);
}

/// Returns whether State::sublayer is needed.
bool has_sublayer_apart(const ModelConfig& c) {
  return c.norms.ffn_after != nullptr || c.scales_sublayers();
}

}  // namespace

size_t Decoder::working_bytes(const Model& model, int64_t rows, Compute compute) {
  const ModelConfig& c = model.config;
  const auto n = [](int64_t count) { return static_cast<size_t>(count); };
  const int64_t q_width = int64_t{c.heads} * c.head_dim;
  const int64_t kv_width = int64_t{most_kv_heads(c)} * c.head_dim;
  const bool tiles = rows > kMatvecMaxRows && panel_kernels(compute) != nullptr;
  const size_t stream = n(c.hidden) * sizeof(float);
  // Queries and keys, each with a rotated copy, values, RoPE rotations, and softmax denominators.
  const size_t projections = n((c.output_gate ? 6 : 3) * q_width + 3 * kv_width +
                               model.shape.rope.rotary_dim() + c.heads) *
                             sizeof(float);
  const auto row = [&](int64_t cols) {
    return tiles ? linear_input_bytes(cols, compute) : n(cols) * sizeof(float);
  };
  const size_t recurrent = DeltaLayer::row_bytes(c.delta) + RecurrentLayer::row_bytes(c);
  const size_t input = row(std::max<int64_t>({c.hidden, q_width, c.recurrent_width()}));
  const size_t inner = row(c.widest_ffn()) * (tiles ? 1 : 2);
  const bool ungated = c.ungated != Ungated::kNone;
  const size_t product = (tiles ? 0 : stream) +
                         (ungated ? n(c.widest_ffn()) * sizeof(float) : 0);  // output of a sublayer
  const bool apart = has_sublayer_apart(c);
  const size_t mixed = c.experts == 0
                           ? 0
                           : n(c.hidden + c.experts) * n(rows) * sizeof(float) +
                                 ExpertMix::bytes_for(rows, c.experts_used, c.hidden, c.ffn);
  // Keys and values of two layers.
  const size_t lent = c.kv_layer.empty() ? 0 : n(4 * kv_width) * sizeof(float);
  const bool both = !c.recurrent.empty() && !c.attentive.empty();
  const bool extra = c.shared_gate || c.parallel || c.experts_apart || both;
  return n(rows) * (stream * ((apart ? 2 : 1) + (extra ? 1 : 0)) + product + projections +
                    recurrent + input + inner + lent + LayerInputs::row_bytes(c) +
                    LatentLayer::row_bytes(c) + adapter_row_bytes(model)) +
         mixed + n(c.vocab) * sizeof(float) + attention_scratch_bytes(c.head_dim) +
         (rows > kMatvecMaxRows
              ? linear_scratch_bytes(rows, std::max(c.widest_ffn(), c.hidden), compute)
              : 0);
}

}  // namespace longhaul
