#include "model/decoder.h"

#include <algorithm>

#include "model/device_decoder.h"
#include "model/host_decoder.h"
#include "ops/attention/attention_memory.h"
#include "ops/core/add_up.h"
#include "ops/core/fill.h"

namespace longhaul {

Decoder::Decoder(const Model& model, Compute compute)
    : state_(std::make_unique<HostState>(model, compute)) {}
Decoder::Decoder(std::shared_ptr<const DeviceModel> model, Compute compute)
    : state_(std::make_unique<DeviceState>(std::move(model), compute)) {}
Decoder::~Decoder() = default;
Decoder::Decoder(Decoder&&) noexcept = default;

void set_context_length(const Model& model, int64_t tokens, ModelShape& shape) {
  if (!model.config.rope.depends_on_length()) return;
  shape.rope = make_rope(model.config.rope, tokens);
}

int64_t SequenceRows::rows() const {
  int64_t rows = 0;
  for (const ForwardPass& pass : passes) rows += pass.rows();
  return rows;
}

const float* Decoder::forward(const SequenceRows& all, const ForwardOptions& how) {
  return state_->forward(all, how);
}

void Decoder::logits(const float* hidden, int64_t rows, float* out) {
  state_->logits(hidden, rows, out);
}

const float* Decoder::State::forward(const SequenceRows& all, const ForwardOptions& how) {
  rows = all.rows();
  all_tokens = tokens_of(all);
  embed(all_tokens);
  for (int layer = 0; layer < model.config.layers; ++layer) {
    if (layer > 0 && how.go_on && !how.go_on(layer)) return nullptr;
    attention(layer, all, how.last_state && layer + 1 == model.config.layers);
    feed_forward(layer);
  }
  return stream.view().address();
}

std::span<const int32_t> Decoder::State::tokens_of(const SequenceRows& all) {
  if (all.passes.size() == 1) return all.passes.front().tokens;
  ids.clear();
  for (const ForwardPass& pass : all.passes) {
    ids.insert(ids.end(), pass.tokens.begin(), pass.tokens.end());
  }
  return ids;
}

void Decoder::State::attention(int layer, const SequenceRows& all, bool last_row) {
  const ModelConfig& c = model.config;
  const int kv_heads = nth(c.kv_heads, layer);
  normalise(layer, RowNorm::kAttention);
  project(layer, kv_heads);
  if (c.qk_norm != QkNorm::kNone) normalise_heads(layer, kv_heads);
  if (c.interleaved_rope) split_pairs(kv_heads);
  attend(layer, kv_heads, all);
  if (last_row) keep_last_row();
  add_part(layer, RowNorm::kAttentionAfter, [&](const PartOutput& y) { project_back(layer, y); });
}

void Decoder::State::attend(int layer, int kv_heads, const SequenceRows& all) {
  LayerStep step;
  step.queue = &queue;
  step.layer = layer;
  step.kv_heads = kv_heads;
  step.shape = all.shape;
  step.streams = all.streams;
  step.compute = compute == Compute::kF32 ? AttendCompute::kF32 : AttendCompute::kBest;
  step.workspace = &workspace;
  step.record = all.record;
  mixed.resize(queue, q.size());
  for (const ForwardPass& pass : all.passes) {
    if (pass.pass.discard) continue;
    if (step.together_rows == 0) step.together_begin = pass.position;
    step.together_rows += pass.rows();
  }
  if (model.config.temperature_scale != 0) grow_queries(all);
  const ForwardPass& front = all.passes.front();
  LayerStep whole = step_of(0, {all_tokens, front.position, front.pass}, step);
  whole.passes = static_cast<int>(all.passes.size());
  all.method->begin_layer(whole);
  int64_t first = 0;
  for (const ForwardPass& pass : all.passes) {
    LayerStep own = step_of(first, pass, step);
    all.method->attend(own);
    first += pass.rows();
    ++step.nth_pass;
  }
}

void Decoder::State::grow_queries(const SequenceRows& all) {
  const int64_t width = q.size() / rows;
  int64_t first = 0;
  for (const ForwardPass& pass : all.passes) {
    grow_queries(q.view().part(first * width, pass.rows() * width), pass.rows(), pass.position);
    first += pass.rows();
  }
}

/// The step of a pass, or of all of those that are computed together, whose rows begin at `first`.
LayerStep Decoder::State::step_of(int64_t first, const ForwardPass& pass, LayerStep step) {
  const ModelConfig& c = model.config;
  const auto part = [&](Array<float>& of, int64_t heads) {
    return of.view().part(first * heads * c.head_dim, pass.rows() * heads * c.head_dim);
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
  return step;
}

/// Of the residual stream and of what attention wrote: later steps take it for the only one.
void Decoder::State::keep_last_row() {
  for (const View<float> x : {stream.view(), mixed.view()}) {
    const int64_t width = x.size() / rows;
    if (rows > 1) copy(queue, x.part((rows - 1) * width, width), x.part(0, width));
  }
  rows = 1;
}

void Decoder::State::feed_forward(int layer) {
  normalise(layer, RowNorm::kFfn);
  add_part(layer, RowNorm::kFfnAfter, [&](const PartOutput& y) {
    model.config.experts > 0 ? mix_experts(layer, y) : feed(layer, y);
  });
}

/// What a part of a layer writes joins the residual stream. Of devices that have its heads between
/// them each writes a term: the first one's joins the stream, and with the others' it is the stream
/// of all.
template <class Part>
void Decoder::State::add_part(int layer, RowNorm after, Part&& part) {
  const int64_t written = rows * model.config.hidden;
  const bool as_it_is = norm_of(nth(model.layers, layer), after).empty();
  if (as_it_is && model.config.residual_scale == 1) {
    part({stream.view(), queue.member() == 0});
    return add_up(queue, stream.view().part(0, written));
  }
  part({sublayer.resize(queue, stream.size()), false});
  add_up(queue, sublayer.view().part(0, written));
  add_sublayer(layer, after);
}

namespace {

int most_kv_heads(const ModelConfig& c) {
  return *std::max_element(c.kv_heads.begin(), c.kv_heads.end());
}

/// Bytes of a row of x A^T of the adapters of one input, as it is made and as it is multiplied.
size_t adapter_row_bytes(const Model& model) {
  int64_t most = 0;
  for (const LayerAdapters& a : model.adapters) {
    most = std::max({most, a.q.rank() + a.k.rank() + a.v.rank(), a.output.rank(),
                     a.gate.rank() + a.up.rank(), a.down.rank()});
  }
  return static_cast<size_t>(most) * 2 * sizeof(float);
}

/// Whether State::sublayer is needed.
bool has_sublayer_apart(const ModelConfig& c) {
  return c.norms.ffn_after != nullptr || c.residual_scale != 1;
}

}  // namespace

size_t Decoder::working_bytes(const Model& model, int64_t rows, Compute compute) {
  const ModelConfig& c = model.config;
  const auto n = [](int64_t count) { return static_cast<size_t>(count); };
  const int64_t q_width = int64_t{c.heads} * c.head_dim;
  const int64_t kv_width = int64_t{most_kv_heads(c)} * c.head_dim;
  const bool tiles = rows > kMatvecMaxRows && panel_kernels(compute) != nullptr;
  const size_t stream = n(c.hidden) * sizeof(float);
  // Queries and keys have a rotated copy each; then the angles, and the sums of the softmax.
  const size_t projections =
      n(3 * q_width + 3 * kv_width + model.shape.rope.rotary_dim() + c.heads) * sizeof(float);
  const auto row = [&](int64_t cols) {
    return tiles ? linear_input_bytes(cols, compute) : n(cols) * sizeof(float);
  };
  const size_t input = row(std::max<int64_t>(c.hidden, q_width));
  const size_t inner = row(c.ffn) * (tiles ? 1 : 2);
  const size_t product = tiles ? 0 : stream;  // that is added to the stream
  const bool apart = has_sublayer_apart(c);
  const size_t mixed = c.experts == 0
                           ? 0
                           : n(c.hidden + c.experts) * n(rows) * sizeof(float) +
                                 ExpertMix::bytes_for(rows, c.experts_used, c.hidden, c.ffn);
  return n(rows) * (stream * (apart ? 2 : 1) + product + projections + input + inner +
                    adapter_row_bytes(model)) +
         mixed + n(c.vocab) * sizeof(float) + attention_scratch_bytes(c.head_dim) +
         (rows > kMatvecMaxRows ? linear_scratch_bytes(rows, std::max(c.ffn, c.hidden), compute)
                                : 0);
}

}  // namespace longhaul
