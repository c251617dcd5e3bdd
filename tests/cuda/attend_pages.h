#pragma once
// Values and pages of keys and values in device memory, a copy of what the kernels' products read,
// and rotations.

#include <cuda_runtime.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <utility>
#include <vector>

#include "base/float_types.h"
#include "ops/attention/attend.gpu.h"
#include "ops/attention/stored_key.h"

namespace longhaul::cuda {

inline void ok(cudaError_t error) {
  if (error != cudaSuccess) {
    std::fprintf(stderr, "CUDA: %s\n", cudaGetErrorString(error));
    std::abort();
  }
}

/// Device memory with a copy of host values.
template <class T>
class OnDevice {
 public:
  explicit OnDevice(const std::vector<T>& from) : size_(from.size()) {
    ok(cudaMalloc(&data_, std::max<size_t>(16, size_ * sizeof(T))));
    ok(cudaMemcpy(data_, from.data(), size_ * sizeof(T), cudaMemcpyHostToDevice));
  }
  OnDevice(OnDevice&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(other.size_) {}
  ~OnDevice() { cudaFree(data_); }
  T* data() const { return static_cast<T*>(data_); }
  View<T> view() const { return {data(), static_cast<int64_t>(size_), Place{0}}; }
  std::vector<T> back() const {
    std::vector<T> to(size_);
    ok(cudaMemcpy(to.data(), data_, size_ * sizeof(T), cudaMemcpyDeviceToHost));
    return to;
  }

 private:
  void* data_ = nullptr;
  size_t size_;
};

inline float rounded(float x) { return bf16_to_f32(f32_to_bf16(x)); }

/// Writes a row, and stores the row's values as read back in `x`.
inline void encode(DType type, bool key, std::vector<float>& x, std::byte* at) {
  write_row(type, key, x.data(), std::ssize(x), at);
  read_row(type, key, at, std::ssize(x), x.data());
}

/// Rows of latent attention: the value is the key without its first 64 elements.
inline constexpr int kLatentTestDim = 576, kLatentRope = 64;

/// Pages of several heads in one range of device memory, in shuffled order. Bytes without a written
/// row are NaN in every type.
struct Pages {
  Pages(KvType page_type, int dim, int heads, int64_t count, std::mt19937& random)
      : type(page_type), head_dim(dim), rows(count) {
    // Each page is at a multiple of a power of two, as in the KV store.
    const bool latent = dim == kLatentTestDim;
    const size_t key = bytes_of(type.k, dim), value = latent ? 0 : bytes_of(type.v, dim);
    const size_t page = std::bit_ceil(64 * (key + value));
    const size_t per_head = static_cast<size_t>((count + 63) / 64);
    const size_t all = per_head * static_cast<size_t>(heads);
    bytes.assign(all * page, std::byte{0xff});
    std::vector<size_t> order(all);
    for (size_t i = 0; i < all; ++i) order[i] = i;
    std::shuffle(order.begin(), order.end(), random);
    std::normal_distribution<float> normal;
    k.resize(static_cast<size_t>(heads));
    v.resize(k.size());
    for (size_t h = 0; h < k.size(); ++h) {
      for (size_t r = 0; r < static_cast<size_t>(count); ++r) {
        std::byte* const in = bytes.data() + order[h * per_head + r / 64] * page;
        for (auto* to : {&k[h], &v[h]}) {
          std::vector<float> x(static_cast<size_t>(dim));
          for (float& e : x) e = normal(random);
          const bool is_key = to == &k[h];
          if (latent && !is_key) {
            x = k[h].back();
            std::fill_n(x.begin(), kLatentRope, 0.0f);
            to->push_back(x);
            continue;
          }
          encode(is_key ? type.k : type.v, is_key, x,
                 is_key ? in + r % 64 * key : in + 64 * key + r % 64 * value);
          to->push_back(x);
        }
      }
    }
    ok(cudaMalloc(&memory, bytes.size() + page));
    auto* const device = reinterpret_cast<std::byte*>(
        (reinterpret_cast<uintptr_t>(memory) + page - 1) / page * page);
    ok(cudaMemcpy(device, bytes.data(), bytes.size(), cudaMemcpyHostToDevice));
    lists.resize(k.size());
    for (size_t h = 0; h < k.size(); ++h) {
      for (size_t p = 0; p < per_head; ++p) {
        lists[h].push_back(device + order[h * per_head + p] * page);
      }
    }
    range = {device, bytes.size(), page};
  }
  ~Pages() { cudaFree(memory); }
  PagedRows head(size_t h) const {
    return {lists[h].data(), 64, head_dim, type, Place{0}, nullptr, head_dim == kLatentTestDim};
  }

  KvType type;
  int head_dim;
  int64_t rows;
  void* memory = nullptr;
  std::vector<std::byte> bytes;
  std::vector<std::vector<const std::byte*>> lists;
  std::vector<std::vector<std::vector<float>>> k, v;
  PageRange range;
};

/// Cosines and sines of positions first_position, ...
struct Tables {
  /// `factor` is RopeTable::attention_factor.
  Tables(int rotary_dim, int64_t first_position, int64_t n, float factor)
      : half(rotary_dim / 2), first(first_position) {
    for (int64_t i = 0; i < n; ++i) {
      for (int t = 0; t < half; ++t) {
        const double angle = static_cast<double>(first + i) * std::pow(1e4, -1.0 * t / half);
        cosine.push_back(static_cast<float>(std::cos(angle)) * factor);
        sine.push_back(static_cast<float>(std::sin(angle)) * factor);
      }
    }
  }
  int half;
  int64_t first;
  std::vector<float> cosine, sine;
};

}  // namespace longhaul::cuda
