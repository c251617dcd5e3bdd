// Attention of one token over stored keys and values by type: time per key and value, and bytes
// read per second. Keys lie in memory (36 lists of 32,768 rows, nano's shape, and larger heads with
// more queries) or in the second-level cache (2 lists of 1,024). Times are CPU time of one thread,
// which other processes disturb less than wall time.

#include <benchmark/benchmark.h>

#include <random>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "kv/kv_store.h"
#include "ops/core/isa/isa.h"

namespace longhaul {
namespace {

struct Shape {
  const char* name;
  int lists, group, head_dim, rows;
};

std::vector<float> random_numbers(size_t count) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> x(count);
  for (float& each : x) each = normal(random);
  return x;
}

void attend_one(benchmark::State& state, Isa isa, const Shape& s, const KvType& type) {
  set_thread_count(1);
  set_isa(isa);
  constexpr int kAtOnce = 1024;
  KvStore store(KvLayout{{s.lists}, s.head_dim, type});
  const std::vector<float> x =
      random_numbers(static_cast<size_t>(kAtOnce) * static_cast<size_t>(s.lists * s.head_dim));
  for (int row = 0; row < s.rows; row += kAtOnce) {
    store.append(0, kAtOnce, std::span<const float>(x), std::span<const float>(x));
  }
  const auto q = random_numbers(static_cast<size_t>(s.lists * s.group * s.head_dim));
  std::vector<float> out(q.size());
  std::vector<KeySegment> keys(static_cast<size_t>(s.lists));
  std::vector<AttendTask> tasks;
  for (int list = 0; list < s.lists; ++list) {
    KeySegment& segment = keys[static_cast<size_t>(list)];
    segment.rows = store.rows(0, list);
    segment.count = s.rows;
    tasks.push_back({list * s.group, s.group, 0, 1, s.rows - 1, {&segment, 1}});
  }
  const View<const float> forms[] = {std::span<const float>(q)};
  AttendCall call;
  call.queries = forms;
  call.heads = s.lists * s.group;
  call.head_dim = s.head_dim;
  call.scale = 0.125f;
  call.out = std::span<float>(out);
  for (auto _ : state) attend(call, tasks);
  const auto pairs = state.iterations() * s.lists * s.rows;
  state.SetBytesProcessed(pairs * static_cast<int64_t>(store.layout().row_bytes()));
  state.SetItemsProcessed(pairs);
}

void register_all() {
  static constexpr Shape kShapes[] = {{"memory", 36, 2, 64, 32768},
                                      {"cache", 2, 2, 64, 1024},
                                      {"four_queries", 8, 4, 128, 16384},
                                      {"eight_queries", 4, 8, 128, 16384}};
  const KvType types[] = {DType::BF16, DType::Q8_0, {DType::Q8_0, DType::Q4_0}, DType::Q4_0};
  for (const Isa isa : {Isa::kAvx2, Isa::kAvx512, best_isa()}) {
    if (isa > best_isa()) continue;
    for (const Shape& shape : kShapes) {
      for (const KvType& type : types) {
        const std::string name = std::string(name_of(isa)) + "/" + shape.name + "/" + flag_of(type);
        benchmark::RegisterBenchmark(name.c_str(),
                                     [=](benchmark::State& s) { attend_one(s, isa, shape, type); });
      }
    }
  }
}

}  // namespace
}  // namespace longhaul

int main(int argc, char** argv) {
  longhaul::register_all();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
