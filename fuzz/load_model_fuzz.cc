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

/// Reads every view and copy, and checks the sizes that the decoder relies on.
void use(const Model& m) {
  std::vector<TensorView> views = {m.embedding, m.head};
  for (int l = 0; l < m.config.layers; ++l) {
    const LayerWeights& w = m.layers.at(static_cast<size_t>(l));
    for (const TensorView& t : {w.q, w.k, w.v, w.output, w.gate, w.up, w.down, w.router}) {
      if (t.data != nullptr) views.push_back(t);
    }
    if (static_cast<int>(w.experts.size()) != m.config.experts) std::abort();
    for (const ExpertWeights& e : w.experts) {
      for (const TensorView& t : {e.gate, e.up, e.down}) views.push_back(t);
    }
    const auto hidden = static_cast<size_t>(m.config.hidden);
    const bool before = m.config.norms.attention != nullptr;
    if (w.attention_norm.size() != (before ? hidden : 0)) std::abort();
    if (w.ffn_norm.size() != (m.config.norms.ffn != nullptr ? hidden : 0)) std::abort();
    if (w.q.rows() != int64_t{m.config.heads} * m.config.head_dim) std::abort();
  }
  if (static_cast<int>(m.shape.kv_heads.size()) != m.config.layers) std::abort();
  if (static_cast<int>(m.shape.window.size()) != m.config.layers) std::abort();
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
