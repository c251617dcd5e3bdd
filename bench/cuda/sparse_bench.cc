// Speed of the GPU work of sparse methods: best keys of tiles, votes, and attention over masked
// pages in prefill, and the search of best keys in decode.

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <vector>

#include "attention/methods/reattention/votes.gpu.h"
#include "ops/attention/attend.gpu.h"
#include "ops/maps/maps.gpu.h"

namespace longhaul::cuda {
namespace {

constexpr int kHeads = 32, kKvHeads = 8, kGroup = kHeads / kKvHeads, kDim = 128;

void ok(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "CUDA: %s\n", cudaGetErrorString(error));
  std::exit(1);
}

template <class T>
T* on_device(const std::vector<T>& numbers) {
  T* there;
  ok(cudaMalloc(&there, std::max<size_t>(16, numbers.size() * sizeof(T))));
  ok(cudaMemcpy(there, numbers.data(), numbers.size() * sizeof(T), cudaMemcpyHostToDevice));
  return there;
}

/// Median milliseconds of some runs.
double time_of(const std::function<void()>& run) {
  cudaEvent_t begin, end;
  ok(cudaEventCreate(&begin));
  ok(cudaEventCreate(&end));
  std::vector<float> times;
  for (int i = 0; i < 7; ++i) {
    ok(cudaEventRecord(begin));
    run();
    ok(cudaEventRecord(end));
    ok(cudaEventSynchronize(end));
    float ms;
    ok(cudaEventElapsedTime(&ms, begin, end));
    if (i >= 2) times.push_back(ms);
  }
  std::sort(times.begin(), times.end());
  return static_cast<double>(times[times.size() / 2]);
}

/// Pages of normally distributed bf16 values (one repeated 16 MiB pattern) in shuffled order. For
/// block types, bits that would give infinite scales are cleared.
struct Heads {
  explicit Heads(int64_t count, KvType kv_type = DType::BF16)
      : keys(count), type(kv_type), page(64 * (bytes_of(type.k, kDim) + bytes_of(type.v, kDim))) {
    const auto all = static_cast<size_t>(keys / 64) * kKvHeads;
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    std::vector<uint16_t> pattern(size_t{1} << 23);
    for (uint16_t& x : pattern) {
      const float value = normal(random);
      uint32_t bits;
      static_assert(sizeof bits == sizeof value);
      std::copy_n(reinterpret_cast<const char*>(&value), 4, reinterpret_cast<char*>(&bits));
      x = static_cast<uint16_t>(bits >> 16);
      if (type.k != DType::BF16) x &= 0xbfffu;  // below 2 as f16
    }
    ok(cudaMalloc(&memory, all * page));
    for (size_t at = 0; at < all * page; at += pattern.size() * 2) {
      ok(cudaMemcpy(memory + at, pattern.data(), std::min(pattern.size() * 2, all * page - at),
                    cudaMemcpyHostToDevice));
    }
    std::vector<size_t> order(all);
    for (size_t i = 0; i < all; ++i) order[i] = i;
    std::shuffle(order.begin(), order.end(), random);
    for (size_t i = 0; i < all; ++i) pages.push_back(memory + order[i] * page);
    listed = on_device(pages);
    range = {memory, all * page, page};
  }
  ~Heads() {
    cudaFree(memory);
    cudaFree(listed);
  }
  PagedRows of(int head) const {
    const auto first = static_cast<size_t>(head) * static_cast<size_t>(keys / 64);
    return {pages.data() + first, 64, kDim, type, Place{0}, listed + first};
  }

  int64_t keys;
  KvType type;
  size_t page;  ///< bytes
  std::byte* memory = nullptr;
  std::vector<const std::byte*> pages;
  const std::byte** listed = nullptr;
  PageRange range;
};

float* random_queries(int64_t rows) {
  std::mt19937 random(2);
  std::normal_distribution<float> normal;
  std::vector<float> q(static_cast<size_t>(rows * kHeads * kDim));
  for (float& x : q) x = normal(random);
  return on_device(q);
}

void best_keys(const Heads& heads, int64_t rows, int64_t begin, bool engine) {
  constexpr int kBest = 4;
  const int64_t count = (heads.keys - begin) / kTopTile * kTopTile;
  float* const q = random_queries(rows);
  int32_t* const best = on_device(std::vector<int32_t>(static_cast<size_t>(rows * kHeads * kBest)));
  TopKeysCall call;
  call.queries = View<const float>(q, rows * kHeads * kDim, Place{0});
  call.heads = kHeads;
  call.head_dim = kDim;
  call.k = kBest;
  call.rule = TopRule::kTile;
  call.keys = View<int32_t>(best, rows * kHeads * kBest, Place{0});
  std::vector<TopKeysTask> tasks;
  for (int h = 0; h < kKvHeads; ++h) {
    for (int64_t r = 0; r < rows; r += 512) {
      tasks.push_back({h * kGroup, kGroup, static_cast<int>(r),
                       static_cast<int>(std::min<int64_t>(512, rows - r)), heads.of(h), begin,
                       count});
    }
  }
  ScoreScratch scratch;
  const double ms =
      time_of([&] { top_keys(nullptr, call, tasks, engine ? heads.range : PageRange{}, scratch); });
  const double products = 2.0 * static_cast<double>(rows * count) * kHeads * kDim;
  std::printf(
      "best keys of tiles, %5ld rows, %6ld keys from row %2ld, %s: %8.3f ms %6.1f TFLOP/s\n",
      static_cast<long>(rows), static_cast<long>(count), static_cast<long>(begin),
      engine ? "wgmma" : "mma  ", ms, products / ms / 1e9);
  std::fflush(stdout);
  ok(cudaFree(q));
  ok(cudaFree(best));
}

/// The search of one decoded token. All heads of a KV head read its keys once.
void search_of_decode_rows(int64_t keys, KvType type) {
  constexpr int kBest = 4;
  const Heads heads(keys, type);
  float* const q = random_queries(1);
  int32_t* const best = on_device(std::vector<int32_t>(kHeads * kBest));
  TopKeysCall call;
  call.queries = View<const float>(q, kHeads * kDim, Place{0});
  call.heads = kHeads;
  call.head_dim = kDim;
  call.k = kBest;
  call.keys = View<int32_t>(best, kHeads * kBest, Place{0});
  std::vector<TopKeysTask> tasks;
  for (int h = 0; h < kKvHeads; ++h) {
    tasks.push_back({h * kGroup, kGroup, 0, 1, heads.of(h), 32, keys - 32});
  }
  ScoreScratch scratch;
  const double ms = time_of([&] { top_keys(nullptr, call, tasks, {}, scratch); });
  const double bytes = static_cast<double>(bytes_of(type.k, kDim)) * static_cast<double>(keys);
  std::printf("search of few rows behind %ld keys, %s: %.3f ms %.0f GB/s\n",
              static_cast<long>(keys), name_of(type).c_str(), ms, bytes * kKvHeads / ms / 1e6);
  std::fflush(stdout);
  ok(cudaFree(q));
  ok(cudaFree(best));
}

/// Votes of 512 rows each, with random and mostly different numbers.
void votes(int chunks, int64_t numbers) {
  constexpr int64_t kCast = 512 * kHeads * 4, kMost = 127;
  std::mt19937 random(3);
  std::vector<VoteTask> tasks;
  std::vector<ExpandTask> spans;
  for (int c = 0; c < chunks; ++c) {
    std::vector<int32_t> cast(kCast);
    for (int32_t& x : cast) x = static_cast<int32_t>(random() % static_cast<uint32_t>(numbers));
    const auto zeros = [](int64_t n) {
      return on_device(std::vector<uint32_t>(static_cast<size_t>(n)));
    };
    VoteTask task{};
    task.votes = on_device(cast);
    task.cast = kCast;
    task.numbers = numbers;
    task.k = kMost;
    task.counters = zeros(numbers);
    task.marks = zeros(numbers / 32 + 1);
    task.voted = zeros(1);
    task.found = reinterpret_cast<int32_t*>(zeros(kCast));
    task.rows = reinterpret_cast<int32_t*>(zeros(kMost));
    task.count = reinterpret_cast<int32_t*>(zeros(1));
    tasks.push_back(task);
    spans.push_back({task.rows, task.count, kMost, 32, numbers, 32,
                     reinterpret_cast<int32_t*>(zeros(kMost * 32)),
                     reinterpret_cast<int32_t*>(zeros(1))});
  }
  ScoreScratch scratch;
  const double ms = time_of([&] { most_voted(nullptr, tasks, scratch); });
  const double more = time_of([&] { expand_spans(nullptr, spans, scratch); });
  std::printf("votes of %2d chunks of 512 rows on %ld keys: %.3f ms, their spans %.3f ms\n", chunks,
              static_cast<long>(numbers), ms, more);
  std::fflush(stdout);
}

/// Rows that see about `percent` of the keys before them, chosen key by key or page by page.
void masked(const Heads& heads, int64_t rows, int percent, bool by_page) {
  const int64_t before = heads.keys - rows, pages = heads.keys / 64;
  std::mt19937 random(4);
  std::vector<int32_t> index;
  std::vector<uint64_t> masks;
  // Number of keys that a tile sees.
  std::vector<int64_t> seen_before(static_cast<size_t>(pages + 1));
  for (int32_t p = 0; p < pages; ++p) {
    uint64_t mask = 0;
    const bool page = random() % 100 < static_cast<uint32_t>(percent);
    for (int n = 0; n < 64; ++n) {
      const bool key = by_page ? page : random() % 100 < static_cast<uint32_t>(percent);
      mask |= uint64_t{key} << n;
    }
    seen_before[static_cast<size_t>(p) + 1] =
        seen_before[static_cast<size_t>(p)] + __builtin_popcountll(mask);
    if (mask == 0) continue;
    index.push_back(p);
    masks.insert(masks.end(), {mask, mask});
  }
  std::vector<int32_t> counts;
  std::vector<KeySegment> segments;
  std::vector<AttendTask> tasks;
  const int32_t* const index_there = on_device(index);
  const uint64_t* const masks_there = on_device(masks);
  double pairs = 0;
  for (int64_t r = 0; r < rows; r += 128) {
    const int64_t last = (before + r + 127) / 64;
    counts.push_back(64 * static_cast<int32_t>(std::upper_bound(index.begin(), index.end(), last) -
                                               index.begin()));
    pairs += 128.0 * kHeads * static_cast<double>(seen_before[static_cast<size_t>(last)]);
  }
  const int32_t* const counts_there = on_device(counts);
  segments.reserve(counts.size() * kHeads);
  for (int h = 0; h < kHeads; ++h) {
    for (int64_t r = 0; r < rows; r += 128) {
      KeySegment s;
      s.rows = heads.of(h / kGroup);
      s.index = {index_there, std::ssize(index), Place{0}};
      s.count = 64 * std::ssize(index);
      s.whole_pages = s.indexed_positions = true;
      s.masks.rows = {masks_there, std::ssize(masks), Place{0}};
      s.device_count = {counts_there + r / 128, 1, Place{0}};
      segments.push_back(s);
      tasks.push_back({h, 1, static_cast<int>(r), 128, before + r, {&segments.back(), 1}});
    }
  }
  float* const q = random_queries(rows);
  float* const out = random_queries(rows);
  const View<const float> form(q, rows * kHeads * kDim, Place{0});
  AttendCall call;
  call.queries = {&form, 1};
  call.heads = kHeads;
  call.head_dim = kDim;
  call.scale = 1.0f / std::sqrt(static_cast<float>(kDim));
  call.out = View<float>(out, rows * kHeads * kDim, Place{0});
  Scratch scratch;
  scratch.pages = heads.range;
  const double ms = time_of([&] { attend(nullptr, call, tasks, scratch); });
  std::printf("masked pages, %ld rows of %ld keys, %3d %% of the %s: %8.3f ms %6.1f TFLOP/s\n",
              static_cast<long>(rows), static_cast<long>(heads.keys), percent,
              by_page ? "pages" : "keys ", ms, 4 * pairs * kDim / ms / 1e9);
  std::fflush(stdout);
  ok(cudaFree(q));
  ok(cudaFree(out));
}

void run() {
  for (const int64_t keys : {131072, 524288}) {
    for (const DType type : {DType::BF16, DType::Q8_0, DType::Q4_0})
      search_of_decode_rows(keys, type);
  }
  const Heads heads(131072);
  best_keys(heads, 512, 0, true);
  best_keys(heads, 512, 32, true);
  best_keys(heads, 512, 8, true);
  best_keys(heads, 8192, 32, true);
  best_keys(heads, 512, 32, false);
  votes(1, 126848);
  votes(16, 126848);
  masked(heads, 8192, 100, true);
  masked(heads, 8192, 95, false);
  masked(heads, 8192, 50, false);
  masked(heads, 8192, 10, true);
}

}  // namespace
}  // namespace longhaul::cuda

int main() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::printf("no GPU here: nothing was measured\n");
    return 0;
  }
  longhaul::cuda::run();
}
