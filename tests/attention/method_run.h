#pragma once
// Runs an attention method through LayerStep on random queries, keys and values of one prompt: pass
// by pass, then token by token, as the decoder does. Also has the definition to compare with.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "attention/method_spec.h"

namespace longhaul::testing_support {

/// The driver of a method in command-line notation.
inline std::unique_ptr<AttentionDriver> make(const std::string& text, const ModelShape& shape) {
  return MethodSpec::parse(text).make(shape);
}

inline ModelShape small_shape(int layers, int kv_heads, int group, int head_dim) {
  ModelShape shape;
  shape.layers = layers;
  shape.heads = kv_heads * group;
  shape.kv_heads.assign(static_cast<size_t>(layers), kv_heads);
  shape.head_dim = head_dim;
  shape.scale = 1.0f / std::sqrt(static_cast<float>(head_dim));
  shape.trained_context = 4096;
  shape.window.assign(static_cast<size_t>(layers), 0);
  for (int t = 0; t < head_dim / 2; ++t) {
    shape.rope.inverse_frequency.push_back(std::pow(1e4, -2.0 * t / head_dim));
  }
  return shape;
}

/// q [tokens, heads, head_dim], k and v [tokens, kv_heads, head_dim] of one layer, not rotated.
struct LayerInputs {
  LayerInputs(const ModelShape& shape, int layer, int64_t tokens) {
    std::mt19937 random(static_cast<unsigned>(71 + layer));
    std::normal_distribution<float> normal;
    const int dim = shape.head_dim;
    q.resize(static_cast<size_t>(tokens * shape.heads * dim));
    k.resize(static_cast<size_t>(tokens * shape.kv_heads[static_cast<size_t>(layer)] * dim));
    v.resize(k.size());
    for (auto* x : {&q, &k, &v}) {
      for (float& e : *x) e = normal(random);
    }
  }
  std::vector<float> q, k, v;
};

struct MethodRun {
  MethodRun(const ModelShape& model, AttentionDriver& attention, const KvType& type, int64_t tokens)
      : shape(model), method(attention), streams(first_stream(type)), store(streams.front()) {
    for (int layer = 0; layer < shape.layers; ++layer) {
      inputs.emplace_back(shape, layer, tokens);
      out.emplace_back(inputs.back().q.size(), NAN);
    }
  }

  /// Reads tokens [begin, begin + count) in one pass.
  void pass(int64_t begin, int64_t count, bool decoding) {
    run(begin, {.count = count, .phase = decoding ? Phase::kDecode : Phase::kPrompt}, store);
  }

  /// Runs one pass whose first row is token `begin` into `into`, on its own.
  /// tests/engine/passes_together_test.cc tests that several passes together give equal results.
  void run(int64_t begin, const Pass& pass, KvStore& into) {
    const int64_t count = pass.count;
    // Lists are longest when they are attended, since evictions come after that.
    if (!record.observer) record.observer = [this](const auto&, auto) { note_bytes(); };
    const auto rows_of = [&](std::vector<float>& x, int64_t width) {
      return View<float>(x.data() + begin * width, count * width);
    };
    for (int layer = 0; layer < shape.layers; ++layer) {
      const size_t l = static_cast<size_t>(layer);
      LayerStep step;
      step.layer = layer;
      step.kv_heads = shape.kv_heads[l];
      step.begin = begin;
      step.rows = static_cast<int>(count);
      step.q = rows_of(inputs[l].q, shape.heads * shape.head_dim);
      step.k = rows_of(inputs[l].k, step.kv_heads * shape.head_dim);
      step.v = rows_of(inputs[l].v, step.kv_heads * shape.head_dim);
      step.out = rows_of(out[l], shape.heads * shape.head_dim);
      if (!ids.empty()) {
        step.tokens = std::span<const int32_t>(ids).subspan(static_cast<size_t>(begin),
                                                            static_cast<size_t>(count));
      }
      step.shape = &shape;
      step.pass = pass;
      step.store = &into;
      step.streams = streams;
      step.compute = compute;
      step.workspace = &workspace;
      step.record = &record;
      step.together_begin = begin;
      step.together_rows = count;
      LayerStep all = step;
      method.begin_layer(all);
      method.attend(step);
    }
    note_bytes();
  }

  void note_bytes() {
    size_t bytes = method.index_bytes();
    for (const KvStore& stream : streams) bytes += stream.bytes();
    most_bytes = std::max(most_bytes, bytes);
  }

  /// Reads a prompt in passes of at most `chunk` rows after the previous tokens. The last
  /// `instruction` of its tokens are the instruction. Returns after `most` passes that keep their
  /// rows.
  void prompt(int64_t tokens, int chunk, int64_t instruction = 1, size_t most = SIZE_MAX) {
    const int64_t begin = done;
    const std::vector<Pass> passes = method.prepare({begin, tokens, instruction, chunk, evidence});
    while (static_cast<int>(streams.size()) < method.streams()) streams.push_back(store.fork());
    for (const Pass& pass : passes) {
      if (most == 0) break;
      run(begin + pass.begin, pass, streams[static_cast<size_t>(pass.stream)]);
      method.finish(streams, pass);
      if (pass.discard) continue;
      done += pass.count;
      --most;
    }
    streams.erase(streams.begin() + 1, streams.end());
    if (most > 0) {
      EXPECT_EQ(done, begin + tokens);
    }
  }

  void decode(int64_t tokens) {
    for (int64_t i = 0; i < tokens; ++i, ++done) {
      pass(done, 1, true);
      method.finish(streams, {.count = 1, .phase = Phase::kDecode});
    }
  }

  /// The context's stream. Reserves memory for others, since `store` refers to the first.
  std::vector<KvStore> first_stream(const KvType& type) const {
    std::vector<KvStore> all;
    all.reserve(4);
    all.emplace_back(method.layout(shape, type));
    return all;
  }

  ModelShape shape;
  AttentionDriver& method;
  std::vector<KvStore> streams;
  KvStore& store;  ///< the session's context: the first stream
  AttendCompute compute = AttendCompute::kF32;
  LayerStep::Workspace workspace;
  AttentionRecord record;
  std::vector<int32_t> ids;             ///< token ids; empty: unknown
  std::vector<int64_t> evidence;        ///< PromptFacts::evidence of the prompts
  std::vector<LayerInputs> inputs;      ///< per layer
  std::vector<std::vector<float>> out;  ///< per layer, as q
  int64_t done = 0;
  size_t most_bytes = 0;  ///< most bytes that all streams and the index held
};

/// The definition of causal attention with rotary positions, in double precision, of one layer.
/// `sees(row, key)` decides among the keys not after the row.
template <class Sees>
std::vector<double> attention_by_definition(const ModelShape& shape, int layer,
                                            const LayerInputs& in, int64_t tokens, Sees&& sees) {
  const int dim = shape.head_dim, half = dim / 2;
  const int kv_heads = shape.kv_heads[static_cast<size_t>(layer)];
  const int group = shape.heads / kv_heads;
  const auto rotated = [&](const std::vector<float>& x, int64_t token, int heads, int head) {
    const float* raw = x.data() + (token * heads + head) * dim;
    std::vector<double> y(static_cast<size_t>(dim));
    for (int t = 0; t < half; ++t) {
      const double angle =
          static_cast<double>(token) * shape.rope.inverse_frequency[static_cast<size_t>(t)];
      y[static_cast<size_t>(t)] = raw[t] * std::cos(angle) - raw[t + half] * std::sin(angle);
      y[static_cast<size_t>(t + half)] = raw[t + half] * std::cos(angle) + raw[t] * std::sin(angle);
    }
    return y;
  };
  std::vector<double> out(static_cast<size_t>(tokens * shape.heads * dim));
  for (int head = 0; head < shape.heads; ++head) {
    std::vector<std::vector<double>> keys;
    for (int64_t j = 0; j < tokens; ++j) keys.push_back(rotated(in.k, j, kv_heads, head / group));
    for (int64_t i = 0; i < tokens; ++i) {
      const std::vector<double> query = rotated(in.q, i, shape.heads, head);
      double* o = out.data() + (i * shape.heads + head) * dim;
      double sum = 0;
      for (int64_t j = 0; j <= i; ++j) {
        if (!sees(i, j)) continue;
        double dot = 0;
        for (int t = 0; t < dim; ++t) {
          dot +=
              query[static_cast<size_t>(t)] * keys[static_cast<size_t>(j)][static_cast<size_t>(t)];
        }
        const double weight = std::exp(dot * shape.scale);
        sum += weight;
        const float* v = in.v.data() + (j * kv_heads + head / group) * dim;
        for (int t = 0; t < dim; ++t) o[t] += weight * v[t];
      }
      for (int t = 0; t < dim; ++t) o[t] /= sum;
    }
  }
  return out;
}

/// Largest difference over the first `tokens` tokens of a layer. NaN counts as infinite.
inline double largest_difference(const std::vector<float>& got, const std::vector<double>& want) {
  double largest = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    const double difference = std::abs(got[i] - want[i]);
    largest = std::isnan(difference) ? INFINITY : std::max(largest, difference);
  }
  return largest;
}

}  // namespace longhaul::testing_support
