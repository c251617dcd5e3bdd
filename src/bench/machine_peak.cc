#include "bench/machine_peak.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <set>
#include <tuple>

#include "base/buffer.h"
#include "base/float_types.h"
#include "base/parallel.h"
#include "base/system_info.h"
#include "bench/best_rate.h"
#include "bench/read_memory.h"
#include "ops/matmul/linear.h"

namespace longhaul {
namespace {

constexpr int kReadRuns = 5;
constexpr int kEngineRuns = 3;

/// FLOP/s of linear() with bf16 weights, including the packing of its input.
double engine_gemm_flops(const GemmShape& s, Compute compute, double seconds) {
  Buffer<float> x(static_cast<size_t>(s.m * s.k)), y(static_cast<size_t>(s.m * s.n));
  Buffer<bf16_t> w(static_cast<size_t>(s.n * s.k));
  std::fill(x.data(), x.data() + x.size(), 0.5f);
  std::fill(w.data(), w.data() + w.size(), f32_to_bf16(0.25f));
  TensorView weight;
  weight.data = reinterpret_cast<const std::byte*>(w.data());
  weight.type = DType::BF16;
  weight.rank = 2;
  weight.shape = {s.n, s.k, 1, 1};
  const double runs = best_rate(seconds, kEngineRuns, [&] {
    LinearInput input;
    input.assign(x.data(), s.m, s.k);
    linear(input, LinearJob{weight, y.data()}, compute);
  });
  return runs * 2 * static_cast<double>(s.m) * static_cast<double>(s.n) * static_cast<double>(s.k);
}

GemmPeak measure_gemm(const GemmShape& shape, Compute compute, double seconds, bool of_model) {
  return {shape, of_model, library_gemm_flops(shape, GemmType::kBf16, seconds),
          library_gemm_flops(shape, GemmType::kF32, seconds),
          engine_gemm_flops(shape, compute, seconds)};
}

double measure_reading(size_t bytes) {
  const int64_t words = static_cast<int64_t>(bytes / sizeof(uint64_t));
  constexpr int64_t kGrain = 1 << 12;  // words: ranges are whole pages
  Buffer<uint64_t> buffer(static_cast<size_t>(words));
  parallel_ranges(words, kGrain, [&](int64_t begin, int64_t end) {
    std::memset(buffer.data() + begin, 1, static_cast<size_t>(end - begin) * sizeof(uint64_t));
  });
  std::atomic<uint64_t> sink{0};
  const auto sum = kReadMemory_for(current_isa()).sum;
  return static_cast<double>(bytes) * best_rate(0, kReadRuns, [&] {
           parallel_ranges(words, kGrain, [&](int64_t begin, int64_t end) {
             sink += sum(buffer.data() + begin, end - begin);
           });
         });
}

}  // namespace

std::vector<GemmShape> shapes_of(const Model& model, int64_t rows) {
  std::vector<GemmShape> shapes;
  std::set<std::tuple<int64_t, int64_t>> seen;
  const LayerWeights& layer = model.layers.front();
  const bool mixture = !layer.experts.empty();
  const TensorView& gate = mixture ? layer.experts.front().gate : layer.gate;
  const TensorView& down = mixture ? layer.experts.front().down : layer.down;
  for (const TensorView* w : {&layer.q, &gate, &down}) {
    if (seen.emplace(w->rows(), w->cols()).second) {
      shapes.push_back({rows, w->rows(), w->cols()});
    }
  }
  return shapes;
}

double MachinePeak::best(bool rounded) const {
  double best = 0;
  for (const GemmPeak& g : gemms) {
    best = std::max({best, g.f32, rounded ? g.bf16 : 0.0, g.engine});
  }
  return best;
}

size_t read_test_bytes() {
  const long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
  const size_t wanted =
      std::max<size_t>(size_t{256} << 20, 4 * static_cast<size_t>(std::max(cache, 0L)));
  return std::min({wanted, size_t{1} << 30, available_memory_bytes() / 4});
}

MachinePeak measure_machine(const Model& model, Compute compute, size_t read_bytes,
                            const ProductLoad& load) {
  MachinePeak peak;
  const auto measure = [&](const GemmShape& shape, bool of_model) {
    peak.gemms.push_back(measure_gemm(shape, compute, load.seconds, of_model));
  };
  measure({load.rows, load.rows, load.rows}, false);
  measure({load.rows, load.large, load.large}, false);
  for (const GemmShape& shape : shapes_of(model, load.rows)) measure(shape, true);
  peak.memory_bytes_per_second = measure_reading(read_bytes);
  return peak;
}

}  // namespace longhaul
