// Speed of attention on a GPU for the shapes of real models, in products and bytes per second. With
// an argument, runs only shapes whose line begins with a text that contains it ("d256", "decode").

#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "ops/attention/attend.gpu.h"

namespace longhaul::cuda {
namespace {

void ok(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "CUDA: %s\n", cudaGetErrorString(error));
  std::exit(1);
}

constexpr int kLatent = 576;
constexpr size_t kBeyondCaches = size_t{256} << 20, kMostSets = 16;

struct Bench {
  const char* name;
  int heads, kv_heads, head_dim;
  int64_t rows, keys;  ///< the rows are the last of the keys
  bool triangle = false;
  bool sm90 = true;
  bool rotate = false;
  KvType type;
  float cap = 0;
};

/// Pages of small random values as bf16 or f16. Read as blocks, their bytes give finite scales.
std::vector<uint16_t> random_numbers(size_t count) {
  std::vector<uint16_t> numbers(count);
  uint32_t x = 1;
  for (uint16_t& n : numbers) {
    x = x * 1664525 + 1013904223;
    n = static_cast<uint16_t>((x >> 16 & 0x80ffu) | 0x3f00u);  // +-0.5 to 1
  }
  return numbers;
}

double visible_pairs_of(const std::vector<AttendTask>& tasks) {
  double pairs = 0;
  for (const AttendTask& t : tasks) {
    for (const KeySegment& s : t.segments) {
      for (int64_t r = 0; r < t.row_count; ++r) {
        const double before = static_cast<double>(
            std::clamp<int64_t>(t.row_position + r - s.position + 1, 0, s.count));
        pairs += t.head_count * (s.visible == Visibility::kWindow
                                     ? std::min(before, static_cast<double>(s.window))
                                     : before);
      }
    }
  }
  return pairs;
}

std::string name_of(const Bench& b) {
  char text[80];
  std::snprintf(text, sizeof text, "%-34s %2d/%d d%-3d rows %6ld keys %7ld %s", b.name, b.heads,
                b.kv_heads, b.head_dim, static_cast<long>(b.rows), static_cast<long>(b.keys),
                b.sm90 ? "sm90" : "mma ");
  return text;
}

void measure(const Bench& b, std::string_view only) {
  const std::string name = name_of(b);
  if (name.find(only) == std::string::npos) return;
  const bool latent = b.head_dim == kLatent;  // the last 512 numbers of a key are its value
  const size_t page =
      64 * (bytes_of(b.type.k, b.head_dim) + (latent ? 0 : bytes_of(b.type.v, b.head_dim)));
  const size_t per_head = static_cast<size_t>((b.keys + 63) / 64);
  const size_t of_set = per_head * static_cast<size_t>(b.kv_heads);
  // Decode rows read so little that caches would hold it. Several sets of keys are therefore read
  // in turn.
  const size_t sets =
      b.rows > 1 ? 1 : std::clamp<size_t>(kBeyondCaches / (of_set * page) + 1, 1, kMostSets);
  const size_t pages = sets * of_set;
  const size_t width = static_cast<size_t>(b.heads * b.head_dim);
  std::byte *kv, *pattern;
  float *q, *out, *lse, *table;
  const size_t some = size_t{1} << 24;
  ok(cudaMalloc(&kv, pages * page));
  ok(cudaMalloc(&pattern, some));
  ok(cudaMemcpy(pattern, random_numbers(some / 2).data(), some, cudaMemcpyHostToDevice));
  for (size_t at = 0; at < pages * page; at += some) {
    ok(cudaMemcpy(kv + at, pattern, std::min(some, pages * page - at), cudaMemcpyDeviceToDevice));
  }
  const size_t q_size = static_cast<size_t>(b.rows) * width;
  std::vector<float> numbers(q_size);
  std::mt19937 random(1);
  for (float& x : numbers) x = static_cast<float>(random() % 2001) / 1000.0f - 1.0f;
  ok(cudaMalloc(&q, q_size * 4));
  ok(cudaMalloc(&out, q_size * 4));
  ok(cudaMalloc(&lse, static_cast<size_t>(b.rows * b.heads) * 4));
  ok(cudaMemcpy(q, numbers.data(), q_size * 4, cudaMemcpyHostToDevice));
  const size_t half = static_cast<size_t>(b.head_dim / 2);
  ok(cudaMalloc(&table, static_cast<size_t>(b.keys) * half * 4));
  ok(cudaMemset(table, 0, static_cast<size_t>(b.keys) * half * 4));

  std::vector<size_t> order(pages);
  for (size_t i = 0; i < pages; ++i) order[i] = i;
  std::shuffle(order.begin(), order.end(), random);
  std::vector<std::vector<const std::byte*>> lists(sets * static_cast<size_t>(b.kv_heads));
  const std::byte** listed;  // as the KV store provides it
  ok(cudaMalloc(&listed, pages * sizeof *listed));
  std::vector<std::vector<KeySegment>> dense, sparse;
  for (size_t h = 0; h < lists.size(); ++h) {
    for (size_t p = 0; p < per_head; ++p) lists[h].push_back(kv + order[h * per_head + p] * page);
    const std::byte** const own = listed + h * per_head;
    ok(cudaMemcpy(own, lists[h].data(), per_head * sizeof *own, cudaMemcpyHostToDevice));
    KeySegment all;
    all.rows = {lists[h].data(), 64, b.head_dim, b.type, Place{0}, own, latent};
    all.count = b.keys;
    all.rotate = b.rotate;
    dense.push_back({all});
    KeySegment sink = all, near = all;
    sink.count = 8;
    near.begin = near.position = 8;
    near.count = b.keys - 8;
    near.visible = Visibility::kWindow;
    near.window = 512;
    sparse.push_back({sink, near});
  }
  std::vector<std::vector<AttendTask>> tasks(sets);
  const int group = b.heads / b.kv_heads;
  const int last = b.triangle ? 128 : 0, rows = static_cast<int>(b.rows);
  for (size_t h = 0; h < lists.size(); ++h) {
    auto& own = tasks[h / static_cast<size_t>(b.kv_heads)];
    const int head = static_cast<int>(h) % b.kv_heads * group;
    const auto& first = b.triangle ? sparse[h] : dense[h];
    own.push_back({head, group, 0, rows - last, b.keys - b.rows, first});
    if (last > 0) own.push_back({head, group, rows - last, last, b.keys - last, dense[h]});
  }
  const View<const float> form(q, static_cast<int64_t>(q_size), Place{0});
  const Rotations rotations{.first = 0,
                            .count = b.keys,
                            .rotary_dim = latent ? 64 : b.head_dim,
                            .place = Place{0},
                            .cosine = table,
                            .sine = table};
  AttendCall call;
  call.queries = {&form, 1};
  call.heads = b.heads;
  call.head_dim = b.head_dim;
  call.scale = 1.0f / std::sqrt(static_cast<float>(b.head_dim));
  call.cap = b.cap;
  call.rotations = &rotations;
  call.out = View<float>(out, static_cast<int64_t>(q_size), Place{0});
  call.lse = View<float>(lse, b.rows * b.heads, Place{0});
  Scratch scratch;
  scratch.allow_sm90 = b.sm90;
  if (b.type == KvType(DType::BF16)) scratch.pages = {kv, pages * page, page};
  cudaStream_t stream;
  ok(cudaStreamCreate(&stream));
  // Several short calls are timed together, which hides the host's time if it is shorter.
  const double pairs = visible_pairs_of(tasks[0]);
  const int calls = pairs * b.head_dim < 1e10 ? 20 : 4;
  cudaEvent_t begin, end;
  ok(cudaEventCreate(&begin));
  ok(cudaEventCreate(&end));
  std::vector<float> times;
  std::vector<double> host_times;
  for (int i = 0; i < 8; ++i) {
    ok(cudaEventRecord(begin, stream));
    const auto host_begin = std::chrono::steady_clock::now();
    for (int c = 0; c < calls; ++c) {
      attend(stream, call, tasks[static_cast<size_t>(c) % sets], scratch);
    }
    const std::chrono::duration<double> host = std::chrono::steady_clock::now() - host_begin;
    ok(cudaEventRecord(end, stream));
    ok(cudaStreamSynchronize(stream));
    float ms;
    ok(cudaEventElapsedTime(&ms, begin, end));
    if (i < 3) continue;
    times.push_back(ms / static_cast<float>(calls));
    host_times.push_back(host.count() / calls);
  }
  std::sort(host_times.begin(), host_times.end());
  std::sort(times.begin(), times.end());
  const double seconds = times[times.size() / 2] * 1e-3;
  std::printf(
      "%s: %9.1f us %6.1f TFLOP/s %5.2f TB/s of keys, host %.1f us\n", name.c_str(), seconds * 1e6,
      2.0 * pairs * (latent ? kLatent + 512 : 2 * b.head_dim) / seconds / 1e12,
      static_cast<double>(of_set * page) / seconds / 1e12, host_times[host_times.size() / 2] * 1e6);
  std::fflush(stdout);
  ok(cudaEventDestroy(begin));
  ok(cudaEventDestroy(end));
  for (void* p : {static_cast<void*>(kv), static_cast<void*>(pattern), static_cast<void*>(q),
                  static_cast<void*>(out), static_cast<void*>(lse), static_cast<void*>(table),
                  static_cast<void*>(listed)}) {
    ok(cudaFree(p));
  }
}

void run(std::string_view only) {
  const auto measure = [&](const Bench& b) { cuda::measure(b, only); };
  constexpr int64_t k = 1024;
  for (const bool sm90 : {true, false}) {
    measure({"causal", 32, 8, 128, 8 * k, 8 * k, false, sm90});
    measure({"causal", 32, 8, 128, 32 * k, 32 * k, false, sm90});
    measure({"rows at a depth", 32, 8, 128, 8 * k, 128 * k, false, sm90});
    measure({"causal", 9, 3, 64, 8 * k, 8 * k, false, sm90});
    measure({"causal", 32, 32, 96, 8 * k, 8 * k, false, sm90});
    measure({"causal", 16, 8, 256, 8 * k, 8 * k, false, sm90});
    measure({"causal", 16, 8, 256, 32 * k, 32 * k, false, sm90});
    measure({"causal, capped", 16, 8, 256, 8 * k, 8 * k, false, sm90, false, DType::BF16, 50});
    measure({"causal, capped", 32, 16, 128, 8 * k, 8 * k, false, sm90, false, DType::BF16, 50});
    measure({"triangle, 8,192 rows, 128 last", 32, 8, 128, 8 * k, 128 * k, true, sm90});
    measure({"triangle 8 + 512, 128 last", 32, 8, 128, 128 * k, 128 * k, true, sm90});
    measure({"128 last rows", 32, 8, 128, 128, 128 * k, false, sm90});
  }
  const KvType mixed{DType::Q8_0, DType::Q4_0};
  measure({"causal, Q8_0", 32, 8, 128, 8 * k, 8 * k, false, true, false, DType::Q8_0});
  measure({"causal, Q4_0", 32, 8, 128, 8 * k, 8 * k, false, true, false, DType::Q4_0});
  measure({"causal, rotated on read", 32, 8, 128, 8 * k, 8 * k, false, true, true});
  for (const int64_t keys : {2 * k, 8 * k, 32 * k, 128 * k, 1024 * k}) {
    measure({"decode", 32, 8, 128, 1, keys});
  }
  measure({"decode, 16 heads a KV head", 64, 4, 128, 1, 32 * k});
  measure({"decode, 4 rows", 32, 8, 128, 4, 32 * k});
  measure({"decode", 9, 3, 64, 1, 8 * k});
  measure({"decode", 16, 8, 256, 1, 8 * k});
  for (const int heads : {16, 32, 64, 128}) {
    measure({"decode, latent", heads, 1, kLatent, 1, 128 * k});
  }
  measure({"decode, latent, Q8_0", 32, 1, kLatent, 1, 128 * k, false, true, false, DType::Q8_0});
  measure({"decode, latent, rotated on read", 32, 1, kLatent, 1, 128 * k, false, true, true});
  measure({"causal, latent", 16, 1, kLatent, 8 * k, 8 * k});
  measure({"rows at a depth, latent", 16, 1, kLatent, 1 * k, 128 * k});
  measure({"decode", 8, 2, 512, 1, 128 * k});
  measure({"causal", 8, 2, 512, 8 * k, 8 * k});
  measure({"decode, rotated on read", 32, 8, 128, 1, 128 * k, false, true, true});
  for (const int64_t keys : {8 * k, 32 * k, 128 * k}) {
    measure({"decode, Q8_0", 32, 8, 128, 1, keys, false, true, false, DType::Q8_0});
    measure({"decode, Q4_0", 32, 8, 128, 1, keys, false, true, false, DType::Q4_0});
    measure({"decode, k=Q8_0,v=Q4_0", 32, 8, 128, 1, keys, false, true, false, mixed});
  }
  measure(
      {"decode, Q8_0, rotated on read", 32, 8, 128, 1, 128 * k, false, true, true, DType::Q8_0});
  measure(
      {"decode, Q4_0, rotated on read", 32, 8, 128, 1, 128 * k, false, true, true, DType::Q4_0});
  measure({"decode, Q8_0", 9, 3, 64, 1, 8 * k, false, true, false, DType::Q8_0});
}

}  // namespace
}  // namespace longhaul::cuda

int main(int argc, char** argv) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::printf("no GPU here: nothing was measured\n");
    return 0;
  }
  longhaul::cuda::run(argc > 1 ? argv[1] : "");
}
