// Speed of matrix-vector products relative to a plain read of the same memory, since decoding reads
// every weight once. Arguments of the benchmarks: MB of weights (beyond or within the caches) and
// threads.

#include <benchmark/benchmark.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/parallel.h"
#include "ops/core/add.h"
#include "ops/core/rms_norm.h"
#include "ops/core/swiglu.h"
#include "ops/matmul/matvec.h"

namespace longhaul {
namespace {

constexpr size_t kMemory = size_t{1200} << 20;

/// Memory that all benchmarks share, in small pages like a mapped file. Its values are moderate in
/// whichever type they are read.
const std::byte* weights() {
  static const std::byte* const memory = [] {
    void* p = mmap(nullptr, kMemory, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    LH_ASSERT(p != MAP_FAILED);
    madvise(p, kMemory, MADV_NOHUGEPAGE);
    auto* bytes = static_cast<uint8_t*>(p);
    for (size_t i = 0; i < kMemory; ++i) bytes[i] = static_cast<uint8_t>(0x38 | (i * 7 % 8));
    return static_cast<const std::byte*>(p);
  }();
  return memory;
}

TensorView matrix(DType type, int64_t rows, int64_t cols, size_t at = 0) {
  TensorView view;
  view.type = type;
  view.rank = 2;
  view.shape = {rows, cols, 1, 1};
  LH_ASSERT(at + view.bytes() <= kMemory);
  view.data = weights() + at;
  return view;
}

void report(benchmark::State& state, size_t bytes) {
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(bytes));
}

void read_memory(benchmark::State& state) {
  const size_t bytes = static_cast<size_t>(state.range(0)) << 20;
  set_thread_count(static_cast<int>(state.range(1)));
  const std::byte* data = weights();
  const int64_t chunk = 256 << 10;
  for (auto _ : state) {
    parallel_for(static_cast<int64_t>(bytes) / chunk, [&](int64_t i, int) {
      uint64_t sums[32] = {};
      for (const std::byte *p = data + i * chunk, *end = p + chunk; p < end; p += sizeof(sums)) {
        uint64_t values[32];
        std::memcpy(values, p, sizeof(values));
        for (size_t line = 0; line < sizeof(values); line += 64)
          __builtin_prefetch(p + 3072 + line);
        for (int k = 0; k < 32; ++k) sums[k] += values[k];
      }
      benchmark::DoNotOptimize(sums);
    });
  }
  report(state, bytes);
}

void matvec_large(benchmark::State& state, DType type, int64_t x_rows) {
  const int64_t cols = 4096;
  set_thread_count(static_cast<int>(state.range(1)));
  const int64_t rows = (state.range(0) << 20) / static_cast<int64_t>(bytes_of(type, cols));
  const TensorView w = matrix(type, rows, cols);
  std::vector<float> x(static_cast<size_t>(x_rows * cols), 0.5f);
  std::vector<float> y(static_cast<size_t>(x_rows * rows));
  ActivationRows activations;
  for (auto _ : state) {
    activations.assign(x.data(), x_rows, cols);
    matvec(w, activations, y.data());
  }
  report(state, w.bytes());
}

/// One small matrix in cache: the overhead of a call with its parallel region.
void matvec_small(benchmark::State& state, DType type) {
  set_thread_count(static_cast<int>(state.range(2)));
  const TensorView w = matrix(type, state.range(0), state.range(1));
  std::vector<float> x(static_cast<size_t>(w.cols()), 0.5f), y(static_cast<size_t>(w.rows()));
  ActivationRows activations;
  for (auto _ : state) {
    activations.assign(x.data(), 1, w.cols());
    matvec(w, activations, y.data());
  }
  report(state, w.bytes());
}

/// One token of a 135M model without attention: 30 layers, hidden 576, 9 + 3 heads of 64,
/// feed-forward 1536, vocabulary 49152 (Q8_0).
void small_model_token(benchmark::State& state, DType type) {
  set_thread_count(static_cast<int>(state.range(0)));
  const int64_t hidden = 576, kv = 192, ffn = 1536, vocabulary = 49152;
  size_t at = 0;
  const auto next = [&](DType t, int64_t rows, int64_t cols) {
    const size_t begin = at;
    at += bytes_of(t, rows * cols);
    return begin;
  };
  struct Layer {
    TensorView q, k, v, o, gate, up, down;
  };
  const auto make = [&](DType t, int64_t rows, int64_t cols) {
    return matrix(t, rows, cols, next(t, rows, cols));
  };
  std::vector<Layer> layers(30);
  for (Layer& l : layers) {
    l = {make(type, hidden, hidden), make(type, kv, hidden),  make(type, kv, hidden),
         make(type, hidden, hidden), make(type, ffn, hidden), make(type, ffn, hidden),
         make(type, hidden, ffn)};
  }
  const TensorView output = make(DType::Q8_0, vocabulary, hidden);
  std::vector<float> x(hidden, 0.5f), h(hidden), norm(hidden, 1.0f), out(hidden),
      logits(vocabulary);
  std::vector<float> q(hidden), k(kv), v(kv), gate(ffn), up(ffn);
  ActivationRows rows;
  for (auto _ : state) {
    std::fill(x.begin(), x.end(), 0.5f);
    for (const Layer& l : layers) {
      rms_norm(x.data(), norm.data(), 1e-5f, 1, hidden, h.data());
      rows.assign(h.data(), 1, hidden);
      const MatvecJob attention[] = {{l.q, q.data()}, {l.k, k.data()}, {l.v, v.data()}};
      matvec(attention, rows);
      rows.assign(q.data(), 1, hidden);
      matvec(l.o, rows, out.data());
      add(x.data(), out.data(), 1, hidden);
      rms_norm(x.data(), norm.data(), 1e-5f, 1, hidden, h.data());
      rows.assign(h.data(), 1, hidden);
      const MatvecJob feed_forward[] = {{l.gate, gate.data()}, {l.up, up.data()}};
      matvec(feed_forward, rows);
      swiglu(gate.data(), up.data(), 1, ffn, ffn, gate.data());
      rows.assign(gate.data(), 1, ffn);
      matvec(l.down, rows, out.data());
      add(x.data(), out.data(), 1, hidden);
    }
    rms_norm(x.data(), norm.data(), 1e-5f, 1, hidden, h.data());
    rows.assign(h.data(), 1, hidden);
    matvec(output, rows, logits.data());
  }
  report(state, at);
}

/// A model's matrices; a token reads each once.
struct ModelShape {
  const char* name;
  DType type, head;
  int64_t layers, hidden, kv, ffn, vocabulary;
};

/// Only the products of one token of each of x_rows sequences. CPU time relative to one row is the
/// cost of a batch.
void token_products(benchmark::State& state, const ModelShape& shape) {
  const int64_t x_rows = state.range(0), hidden = shape.hidden, ffn = shape.ffn;
  set_thread_count(1);
  size_t at = 0;
  const auto make = [&](DType type, int64_t rows, int64_t cols) {
    const TensorView view = matrix(type, rows, cols, at);
    at += view.bytes();
    return view;
  };
  struct Layer {
    TensorView q, k, v, o, gate, up, down;
  };
  std::vector<Layer> layers(static_cast<size_t>(shape.layers));
  const DType type = shape.type;
  for (Layer& l : layers) {
    l = {make(type, hidden, hidden),   make(type, shape.kv, hidden), make(type, shape.kv, hidden),
         make(type, hidden, hidden),   make(type, ffn, hidden),      make(type, ffn, hidden),
         make(type, hidden, shape.ffn)};
  }
  const TensorView output = make(shape.head, shape.vocabulary, hidden);
  const auto floats = [&](int64_t n) {
    return std::vector<float>(static_cast<size_t>(x_rows * n));
  };
  std::vector<float> x = floats(hidden), inner = floats(ffn), q = floats(hidden), k = floats(ffn),
                     v = floats(ffn), logits = floats(shape.vocabulary);
  for (size_t i = 0; i < x.size(); ++i) x[i] = 0.1f * static_cast<float>(i % 17) - 0.7f;
  for (size_t i = 0; i < inner.size(); ++i) inner[i] = 0.1f * static_cast<float>(i % 19) - 0.8f;
  ActivationRows rows;
  for (auto _ : state) {
    for (const Layer& l : layers) {
      rows.assign(x.data(), x_rows, hidden);
      const MatvecJob attention[] = {{l.q, q.data()}, {l.k, k.data()}, {l.v, v.data()}};
      matvec(attention, rows);
      rows.assign(x.data(), x_rows, hidden);
      matvec(l.o, rows, q.data());
      rows.assign(x.data(), x_rows, hidden);
      const MatvecJob feed_forward[] = {{l.gate, k.data()}, {l.up, v.data()}};
      matvec(feed_forward, rows);
      rows.assign(inner.data(), x_rows, ffn);
      matvec(l.down, rows, q.data());
    }
    rows.assign(x.data(), x_rows, hidden);
    matvec(output, rows, logits.data());
  }
  report(state, at);
}

void swiglu_rows(benchmark::State& state) {
  const int64_t rows = state.range(0), n = 8192;
  set_thread_count(1);
  std::vector<float> gate(static_cast<size_t>(rows * n), 0.7f), up(gate), y(gate);
  for (auto _ : state) swiglu(gate.data(), up.data(), rows, n, n, y.data());
  report(state, 3 * gate.size() * sizeof(float));
}

void rms_norm_rows(benchmark::State& state) {
  const int64_t rows = state.range(0), n = 4096;
  set_thread_count(1);
  std::vector<float> x(static_cast<size_t>(rows * n), 0.7f), w(n, 1.0f), y(x);
  for (auto _ : state) rms_norm(x.data(), w.data(), 1e-5f, rows, n, y.data());
  report(state, 2 * x.size() * sizeof(float));
}

void register_all() {
  using benchmark::RegisterBenchmark;
  const auto sizes = [](benchmark::internal::Benchmark* b) {
    for (const int threads : {1, 2}) {
      for (const int mb : {1, 64, 1024}) b->Args({mb, threads});
    }
    b->ArgNames({"MB", "threads"})->UseRealTime();
  };
  sizes(RegisterBenchmark("read_memory", read_memory));
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto type = static_cast<DType>(i);
    const std::string name(name_of(type));
    for (const int m : {1, 4, 8}) {
      sizes(RegisterBenchmark(("matvec/" + name + "/x" + std::to_string(m)).c_str(),
                              [=](benchmark::State& s) { matvec_large(s, type, m); }));
    }
  }
  for (const int threads : {1, 2}) {
    for (const DType type : {DType::Q4_1, DType::Q8_0, DType::BF16}) {
      const std::string name(name_of(type));
      RegisterBenchmark(("matvec_small/" + name).c_str(),
                        [=](benchmark::State& s) { matvec_small(s, type); })
          ->Args({576, 576, threads})
          ->Args({1536, 576, threads})
          ->ArgNames({"N", "K", "threads"})
          ->UseRealTime();
      RegisterBenchmark(("small_model_token/" + name).c_str(),
                        [=](benchmark::State& s) { small_model_token(s, type); })
          ->Arg(threads)
          ->ArgName("threads")
          ->UseRealTime();
    }
  }
  static const ModelShape shapes[] = {
      {"nano_BF16", DType::BF16, DType::BF16, 12, 384, 192, 1024, 4096},
      {"smollm2_Q4_1", DType::Q4_1, DType::Q8_0, 30, 576, 192, 1536, 49152},
      {"1b_Q8_0", DType::Q8_0, DType::Q8_0, 4, 2048, 512, 8192, 32768},
      {"1b_Q4_K", DType::Q4_K, DType::Q6_K, 4, 2048, 512, 8192, 32768},
      {"1b_Q5_K", DType::Q5_K, DType::Q6_K, 4, 2048, 512, 8192, 32768},
      {"1b_Q6_K", DType::Q6_K, DType::Q6_K, 4, 2048, 512, 8192, 32768},
      {"1b_Q4_0", DType::Q4_0, DType::Q4_0, 4, 2048, 512, 8192, 32768},
  };
  for (const ModelShape& shape : shapes) {
    RegisterBenchmark(("token_products/" + std::string(shape.name)).c_str(),
                      [&](benchmark::State& s) { token_products(s, shape); })
        ->ArgName("rows")
        ->DenseRange(1, 8)
        ->Arg(16)
        ->Arg(64);
  }
  RegisterBenchmark("swiglu_rows", swiglu_rows)->Arg(1)->Arg(16);
  RegisterBenchmark("rms_norm_rows", rms_norm_rows)->Arg(1)->Arg(16);
}

}  // namespace
}  // namespace longhaul

int main(int argc, char** argv) {
  longhaul::register_all();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
