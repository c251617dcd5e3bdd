#include "bench/machine_peak.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <set>
#include <tuple>

#include "base/buffer.h"
#include "base/parallel.h"
#include "base/system_info.h"
#include "bench/best_rate.h"

namespace longhaul {
namespace {

constexpr int kReadRuns = 5;
constexpr int64_t kChunkRows = 512;

GemmPeak measure_gemm(const GemmShape& shape, bool of_model) {
  return {shape, of_model, library_gemm_flops(shape, GemmType::kBf16),
          library_gemm_flops(shape, GemmType::kF32)};
}

/// The distinct matrix shapes of the model's first layer.
std::vector<GemmShape> shapes_of(const Model& model) {
  std::vector<GemmShape> shapes;
  std::set<std::tuple<int64_t, int64_t>> seen;
  const LayerWeights& layer = model.layers.front();
  for (const TensorView* w : {&layer.q, &layer.gate, &layer.down}) {
    if (seen.emplace(w->rows(), w->cols()).second) {
      shapes.push_back({kChunkRows, w->rows(), w->cols()});
    }
  }
  return shapes;
}

/// Sums 64-bit words so that every cache line is read; eight sums keep the loads independent.
uint64_t sum_words(const uint64_t* words, int64_t count) {
  uint64_t sums[8] = {};
  for (int64_t i = 0; i + 8 <= count; i += 8) {
    for (int j = 0; j < 8; ++j) sums[j] += words[i + j];
  }
  uint64_t total = 0;
  for (const uint64_t s : sums) total += s;
  return total;
}

double measure_reading(size_t bytes) {
  const int64_t words = static_cast<int64_t>(bytes / sizeof(uint64_t));
  constexpr int64_t kGrain = 1 << 12;  // words: stretches are whole pages
  Buffer<uint64_t> buffer(static_cast<size_t>(words));
  parallel_ranges(words, kGrain, [&](int64_t begin, int64_t end) {
    std::memset(buffer.data() + begin, 1, static_cast<size_t>(end - begin) * sizeof(uint64_t));
  });
  std::atomic<uint64_t> sink{0};
  return static_cast<double>(bytes) * best_rate(0, kReadRuns, [&] {
           parallel_ranges(words, kGrain, [&](int64_t begin, int64_t end) {
             sink += sum_words(buffer.data() + begin, end - begin);
           });
         });
}

}  // namespace

double MachinePeak::best_bf16() const {
  double best = 0;
  for (const GemmPeak& g : gemms) best = std::max(best, g.bf16);
  return best;
}

double MachinePeak::best_f32() const {
  double best = 0;
  for (const GemmPeak& g : gemms) best = std::max(best, g.f32);
  return best;
}

size_t read_test_bytes() {
  const long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
  const size_t wanted =
      std::max<size_t>(size_t{256} << 20, 4 * static_cast<size_t>(std::max(cache, 0L)));
  return std::min({wanted, size_t{1} << 30, available_memory_bytes() / 4});
}

MachinePeak measure_machine(const Model& model, size_t read_bytes) {
  MachinePeak peak;
  peak.gemms.push_back(measure_gemm({1024, 1024, 1024}, false));
  peak.gemms.push_back(measure_gemm({kChunkRows, 4096, 2048}, false));
  for (const GemmShape& shape : shapes_of(model)) peak.gemms.push_back(measure_gemm(shape, true));
  peak.read_bytes_per_second = measure_reading(read_bytes);
  return peak;
}

}  // namespace longhaul
