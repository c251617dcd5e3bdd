// Gradients on a GPU compared with the host's: every operation, and those of nano's gates.
// LONGHAUL_MODELS in the environment is the path of models/ on a machine that did not build this.

#include <cmath>
#include <cstdlib>

#include "engine/engine.h"
#include "on_device.h"
#include "ops/attention/gate_mix.h"
#include "ops/core/fill.h"
#include "ops/grad/rms_norm_backward.h"
#include "ops/grad/swiglu_backward.h"
#include "ops/grad/transposed_weight.h"
#include "ops/matmul/linear.h"
#include "queued.h"
#include "training/gated_attention.h"
#include "weights_on_device.h"

namespace longhaul::cuda {
namespace {

template <class T>
View<T> view_of(std::vector<T>& numbers) {
  return View<T>(std::span<T>(numbers));
}
View<const float> view_of(const std::vector<float>& numbers) {
  return View<const float>(std::span<const float>(numbers));
}

/// Relative distance of `got` from `want`.
double apart(const std::vector<float>& got, const std::vector<float>& want) {
  EXPECT_EQ(got.size(), want.size());
  double difference = 0, size = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    difference += std::pow(double{got[i]} - double{want[i]}, 2);
    size += std::pow(double{want[i]}, 2);
  }
  return std::sqrt(difference / size);
}

std::vector<float> random_rows(int64_t count, uint32_t seed) {
  return random_floats(static_cast<size_t>(count), seed);
}

/// A text's attention: inputs, outputs and results of the host.
struct Text {
  explicit Text(const TextAttention& of)
      : shape(of),
        q(random_rows(of.tokens * of.query_width(), 1)),
        k(random_rows(of.tokens * of.key_width(), 2)),
        v(random_rows(of.tokens * of.key_width(), 3)),
        d_out(random_rows(of.tokens * of.query_width(), 4)),
        out(q.size()),
        lse(static_cast<size_t>(of.tokens * of.heads)) {
    TextAttend attend(host_queue(), AttendCompute::kF32);
    attend.store(shape, {trace().q, trace().k, trace().v});
    attend.attend(shape, trace().q, view_of(out), view_of(lse));
  }
  AttentionTrace trace() const {
    return {view_of(q), view_of(k), view_of(v), view_of(out), view_of(lse), view_of(d_out)};
  }

  TextAttention shape;
  std::vector<float> q, k, v, d_out, out, lse;
};

TextAttention shape_of(int64_t tokens, int heads, int kv_heads, int head_dim, int64_t sink,
                       int64_t window) {
  return {tokens, heads, kv_heads, head_dim, 1 / std::sqrt(static_cast<float>(head_dim)),
          sink,   window};
}

const TextAttention kShapes[] = {
    shape_of(1, 1, 1, 64, 0, 1),         shape_of(130, 4, 2, 64, 0, 130),
    shape_of(700, 8, 2, 128, 100, 64),   shape_of(1500, 6, 3, 64, 64, 256),
    shape_of(300, 2, 2, 80, 0, 17),      shape_of(1100, 4, 1, 128, 0, 1100),
    shape_of(2500, 32, 8, 128, 0, 2500), shape_of(640, 3, 3, 64, 3, 5)};

class GradientsOnTheGpu : public OnQueue {
 protected:
  AttentionTrace there_of(const Text& text) {
    return {there(text.q),   there(text.k),   there(text.v),
            there(text.out), there(text.lse), there(text.d_out)};
  }
};

TEST_F(GradientsOnTheGpu, ForwardOfATextIsTheHosts) {
  for (const TextAttention& shape : kShapes) {
    SCOPED_TRACE(shape.tokens);
    const Text text(shape);
    const View<float> out = empty_there<float>(std::ssize(text.out));
    const View<float> lse = empty_there<float>(std::ssize(text.lse));
    TextAttend attend(queue(), AttendCompute::kBest);
    const View<const float> q = there(text.q);
    attend.store(shape, {q, there(text.k), there(text.v)});
    attend.attend(shape, q, out, lse);
    EXPECT_LT(apart(here(out), text.out), 0.01);
    const std::vector<float> found = here(lse);
    for (size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], text.lse[i], 0.03) << i;
  }
}

TEST_F(GradientsOnTheGpu, OfAttentionAreTheHosts) {
  for (const TextAttention& shape : kShapes) {
    SCOPED_TRACE(shape.tokens);
    const Text text(shape);
    std::vector<float> dq(text.q.size(), 1), dk(text.k.size(), 2), dv(text.v.size(), 3);
    const View<float> q = there(dq), k = there(dk), v = there(dv);
    attention_backward(host_queue(), shape, text.trace(), view_of(dq), view_of(dk), view_of(dv));
    const AttentionTrace trace = there_of(text);
    EXPECT_EQ(waits_in([&] { attention_backward(queue(), shape, trace, q, k, v); }), 0);
    EXPECT_LT(apart(here(q), dq), 0.02);
    EXPECT_LT(apart(here(k), dk), 0.02);
    EXPECT_LT(apart(here(v), dv), 0.02);
  }
}

TEST_F(GradientsOnTheGpu, OfRegionsAreTheHosts) {
  for (const TextAttention& shape : kShapes) {
    if (shape.window < shape.tokens) continue;
    SCOPED_TRACE(shape.tokens);
    const Text text(shape);
    const ProbedRegions regions{6, 30, 50};
    const RegionSums want = attention_regions(host_queue(), shape, text.trace(), regions);
    const RegionSums got = attention_regions(queue(), shape, there_of(text), regions);
    const auto expect_near = [](const PairSums& found, const PairSums& expected) {
      EXPECT_NEAR(found.sum, expected.sum, 0.01 * expected.magnitude);
      EXPECT_NEAR(found.magnitude, expected.magnitude, 0.01 * expected.magnitude);
    };
    expect_near(got.streaming, want.streaming);
    expect_near(got.last, want.last);
    expect_near(got.middle, want.middle);
  }
}

TEST_F(GradientsOnTheGpu, OfNormsAndActivationsAreTheHosts) {
  for (const auto& [rows, n] : {std::pair<int64_t, int64_t>{1, 1}, {3, 33}, {70, 576}, {5, 4096}}) {
    const auto x = random_rows(rows * n, 1), dy = random_rows(rows * n, 2),
               weight = random_rows(n, 3);
    for (const bool add : {false, true}) {
      std::vector<float> dx = dy;
      const View<float> found = there(dy);  // in place, or with add
      rms_norm_backward(host_queue(), view_of(x), view_of(weight), 1e-5f, view_of(dy), rows, n,
                        view_of(dx), add);
      rms_norm_backward(queue(), there(x), there(weight), 1e-5f, add ? there(dy) : found, rows, n,
                        found, add);
      expect_close(here(found), dx, 1e-5, 1e-5);
    }
    std::vector<float> gate = x, up = random_rows(rows * n, 4);
    const View<float> d_gate = there(gate), d_up = there(up);
    swiglu_backward(host_queue(), view_of(gate), view_of(up), view_of(dy), view_of(gate),
                    view_of(up));
    swiglu_backward(queue(), d_gate, d_up, there(dy), d_gate, d_up);
    expect_close(here(d_gate), gate, 1e-5, 1e-5);
    expect_close(here(d_up), up, 1e-5, 1e-5);
  }
}

TEST_F(GradientsOnTheGpu, OfGatesAreTheHosts) {
  for (const GatedRows& shape :
       {GatedRows{1, 1, 1, 4}, GatedRows{333, 6, 3, 64}, GatedRows{50, 8, 2, 33}}) {
    const auto full = random_rows(shape.size(), 1), near = random_rows(shape.size(), 2),
               d = random_rows(shape.size(), 3), gates = random_rows(shape.kv_heads, 4);
    std::vector<float> mixed(full.size()), scaled = mixed;
    std::vector<float> sums(static_cast<size_t>(shape.kv_heads), 5);
    const View<float> mixed_there = there(mixed), scaled_there = there(mixed),
                      sums_there = there(sums);
    mix_gated(host_queue(), shape, view_of(gates), view_of(full), view_of(near), view_of(mixed));
    mix_gated(queue(), shape, there(gates), there(full), there(near), mixed_there);
    expect_close(here(mixed_there), mixed, 1e-6, 1e-6);
    scale_heads(host_queue(), shape, view_of(gates), view_of(d), view_of(scaled));
    scale_heads(queue(), shape, there(gates), there(d), scaled_there);
    expect_close(here(scaled_there), scaled, 1e-6, 1e-6);
    add_gate_gradient(host_queue(), shape, view_of(d), view_of(full), view_of(near), view_of(sums));
    add_gate_gradient(queue(), shape, there(d), there(full), there(near), sums_there);
    expect_close(here(sums_there), sums, 1e-4, 1e-2);
  }
}

TEST_F(GradientsOnTheGpu, PassThroughWeightsOfEveryType) {
  DeviceOps& ops = queue().device().ops();
  for (const DType type : device_types()) {
    SCOPED_TRACE(name_of(type));
    const HostMatrix weight(type, 72, 512);
    const auto matrix = ops.matrix(std::span(&weight.view, 1));
    TransposedWeight turned;
    for (const int64_t rows : {1, 8, 9, 300}) {
      const auto dy = random_rows(rows * 72, 7);
      std::vector<float> dx = random_rows(rows * 512, 8);
      const View<float> found = there(dx);
      LinearInput input;
      input.assign(dy.data(), rows, 72);
      linear(
          input,
          {.weight = turned.assign(weight.view, nullptr, DType::F32), .y = dx.data(), .add = true},
          Compute::kF32);
      const auto taken = ops.input();
      ops.take(there(dy), rows, 72, *taken);
      ops.linear_back(*taken, *matrix, true, found);
      EXPECT_LT(apart(here(found), dx), 0.01) << rows;
    }
  }
}

struct GateGradients {
  std::vector<float> states, plain, gates, embeddings;
};

/// Gradients of the last rows' normalised states with gates and without, and of their sum with
/// gates, weighted by `d`. `d` is empty if no gradient is needed.
GateGradients gradients_of(FrozenDecoder& decoder, AttendCompute compute,
                           std::span<const int32_t> tokens, const Gates& gates, bool of_model,
                           const std::vector<float>& d) {
  constexpr int64_t kRows = 40;
  const int64_t count = std::ssize(tokens);
  GateGradients result;
  FullAttention full(decoder, compute, of_model);
  const View<const float> plain = decoder.forward(tokens, full, false);
  const int64_t hidden = plain.size() / count, first = (count - kRows) * hidden;
  result.plain.resize(static_cast<size_t>(kRows * hidden));
  decoder.final_norm(plain.from(first), kRows, result.plain.data());
  GatedAttention gated(decoder, compute, gates, {16, 64}, of_model ? &full : nullptr);
  const View<const float> states = decoder.forward(tokens, gated, true).from(first);
  result.states.resize(result.plain.size());
  decoder.final_norm(states, kRows, result.states.data());
  if (d.empty()) return result;
  Array<float> stream;
  fill(decoder.queue(), stream.resize(decoder.queue(), count * hidden), 0);
  decoder.final_norm_backward(states, d.data(), kRows, stream.view().from(first));
  decoder.backward(gated, stream.view());
  for (const auto& layer : gated.gradient()) {
    result.gates.insert(result.gates.end(), layer.begin(), layer.end());
  }
  result.embeddings.resize(static_cast<size_t>(stream.size()));
  copy(decoder.queue(), stream.view(), view_of(result.embeddings));
  return result;
}

/// Operands are bf16, and a model of 12 layers accumulates the rounding errors. The host's own bf16
/// products differ from f32 by 0.009 (states), 0.013 (gates) and 0.014 (embeddings). Both backward
/// passes start from the host's gradient, the difference that training reduces. On the GPU it would
/// be a small difference of two rounded values.
TEST_F(GradientsOnTheGpu, OfNanosGatesAreTheHosts) {
  const char* const models = std::getenv("LONGHAUL_MODELS");
  const auto engine =
      Engine::open(std::string(models == nullptr ? LONGHAUL_MODELS : models) + "/nano");
  std::mt19937 random(5);
  std::vector<int32_t> tokens;
  for (int i = 0; i < 700; ++i) tokens.push_back(static_cast<int32_t>(random() % 400));
  Gates gates;
  for (const int heads : engine->model().shape.kv_heads) {
    gates.emplace_back();
    for (int h = 0; h < heads; ++h) gates.back().push_back(static_cast<float>(random() % 100) / 99);
  }
  for (const bool of_model : {false, true}) {
    FrozenDecoder host(engine->model(), Compute::kF32), gpu(engine->on_device(queue()));
    const auto run = [&](FrozenDecoder& decoder, AttendCompute compute,
                         const std::vector<float>& d) {
      return gradients_of(decoder, compute, tokens, gates, of_model, d);
    };
    const GateGradients read = run(host, AttendCompute::kF32, {});
    std::vector<float> d = read.states;
    for (size_t i = 0; i < d.size(); ++i) d[i] -= read.plain[i];
    const GateGradients want = run(host, AttendCompute::kF32, d);
    const GateGradients got = run(gpu, AttendCompute::kBest, d);
    const double of_states = apart(got.states, want.states);
    const double of_gates = apart(got.gates, want.gates);
    const double of_embeddings = apart(got.embeddings, want.embeddings);
    std::printf("nano, full attention of the %s: states %.4f apart, gates %.4f, embeddings %.4f\n",
                of_model ? "model" : "stream", of_states, of_gates, of_embeddings);
    EXPECT_LT(of_states, 0.03);
    EXPECT_LT(of_gates, 0.05);
    EXPECT_LT(of_embeddings, 0.06);
  }
}

}  // namespace
}  // namespace longhaul::cuda
