// A whole model: a GGUF file, or a Hugging Face folder, for which the first two bytes split the
// input into config.json and model.safetensors. Tests configuration, rotary tables and weights by
// role.

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/error.h"
#include "format/checkpoint.h"
#include "input_file.h"
#include "model/model.h"
#include "touch_checkpoint.h"

namespace {

using namespace longhaul;

void require(bool holds) {
  if (!holds) std::abort();
}

/// Checks the sizes of a recurrent part that its operations rely on.
void check_recurrent(const ModelConfig& c, const LayerWeights& w) {
  const auto is = [](const std::vector<float>& numbers, int64_t size) {
    require(static_cast<int64_t>(numbers.size()) == size);
  };
  require(c.layer_state() > 0 && c.recurrent_width() > 0);
  if (!c.ssm.empty()) {
    is(w.convolution, c.ssm.kernel * c.ssm.channels());
    for (const auto* each : {&w.dt_bias, &w.rate, &w.skip}) is(*each, c.ssm.heads);
    is(w.convolution_bias, c.ssm.convolution_bias ? c.ssm.channels() : 0);
    is(w.recurrent_norm, c.ssm.norm == SsmNorm::kNone ? 0 : c.ssm.inner());
    require(w.recurrent_in.rows() == c.ssm.projected() && c.ssm.head_dim % 16 == 0);
  } else if (!c.convolution.empty()) {
    is(w.convolution, int64_t{c.convolution.kernel} * c.convolution.width);
    require(w.recurrent_in.rows() == 3 * int64_t{c.convolution.width});
  } else {
    is(w.convolution, c.delta.kernel * c.delta.channels());
  }
}

void check_layer(const ModelConfig& c, int layer, const LayerWeights& w) {
  const auto hidden = static_cast<size_t>(c.hidden);
  const bool attends = c.has_attention(layer), mixes = attends || c.is_recurrent(layer);
  const FeedKind feed = c.feed_of(layer);
  const int experts = feed == FeedKind::kExperts ? c.experts : 0;
  require(static_cast<int>(w.experts.size()) == experts);
  require(w.attention_norm.size() == (mixes && c.norms.attention != nullptr ? hidden : 0));
  require(w.ffn_norm.size() == (feed != FeedKind::kNone && c.norms.ffn != nullptr ? hidden : 0));
  if (c.is_recurrent(layer)) check_recurrent(c, w);
  const int64_t queries = int64_t{c.heads} * c.dim_of(layer) * (c.output_gate ? 2 : 1);
  if (attends && !c.latent.used()) require(w.q.rows() == queries);
}

/// Reads every view and copy, and checks the sizes that the decoder relies on.
void use(const Model& m) {
  std::vector<TensorView> views;
  const auto add = [&](const TensorView& view) {
    if (view.data != nullptr) views.push_back(view);
  };
  add(m.embedding), add(m.head);
  for (int l = 0; l < m.config.layers; ++l) {
    const LayerWeights& w = m.layers.at(static_cast<size_t>(l));
    for (const TensorView& t : {w.q, w.k, w.v, w.output, w.gate, w.up, w.down, w.router, w.delta_in,
                                w.recurrent_in, w.recurrent_output}) {
      add(t);
    }
    for (const ExpertWeights& e : w.experts) add(e.gate), add(e.up), add(e.down);
    check_layer(m.config, l, w);
  }
  require(static_cast<int>(m.shape.kv_heads.size()) == m.config.attention_layers());
  require(static_cast<int>(m.shape.window.size()) == m.config.attention_layers());
  if (m.config.trained_context < 0) std::abort();
  for (const int64_t window : m.shape.window) {
    if (window < 0) std::abort();
  }
  volatile unsigned seen = fuzzing::touch(views);
  (void)seen;
  for (const int64_t length : {int64_t{1}, int64_t{100'000}, int64_t{1} << 30}) {
    if (m.config.shape(length).rope.inverse_frequency.empty()) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto path = fuzzing::write_gguf_or_folder(data, size, "config.json", "model.safetensors");
  if (path.empty()) return 0;
  try {
    const Checkpoint checkpoint = open_checkpoint(path);
    use(load_model(checkpoint));
  } catch (const UserError& error) {
    if (std::strchr(error.what(), '\n') != nullptr) std::abort();
  }
  return 0;
}
