#pragma once
// KV heads of tests: equal pages in host and device memory, in shuffled order. Bytes without a
// written row are NaN in every type. Values are exact in bf16, so that products in bf16 and f32 are
// equal.

#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>

#include "base/device_queue.h"
#include "base/float_types.h"
#include "cuda/on_device.h"
#include "ops/attention/attend.gpu.h"
#include "ops/attention/attention.h"

namespace longhaul::cuda {

/// Writes element t of a row, with value `x`. Keys in Q4_0 are Hadamard-rotated: the stored values
/// are the transform of x's. Values are integers times the scale, 1 / sqrt(32) in f16, and 1 /
/// sqrt(32): multiples of 1 / 32 up to a relative error of 1.1e-4.
inline void encode_exactly(DType type, bool key, float x, int t, std::byte* row) {
  const float plain = bf16_to_f32(f32_to_bf16(x));
  const uint16_t bf16 = f32_to_bf16(x), f16 = f32_to_f16(plain);
  if (type == DType::F32) std::memcpy(row + 4 * t, &plain, 4);
  if (type == DType::BF16) std::memcpy(row + 2 * t, &bf16, 2);
  if (type == DType::F16) std::memcpy(row + 2 * t, &f16, 2);
  if (type == DType::Q8_0) {
    const uint16_t scale = f32_to_f16(1.0f / 32);
    const auto q = static_cast<int8_t>(std::lround(std::clamp(x * 32, -127.0f, 127.0f)));
    std::memcpy(row + t / 32 * 34, &scale, 2);
    std::memcpy(row + t / 32 * 34 + 2 + t % 32, &q, 1);
  }
  if (type == DType::Q4_0) {
    const uint16_t scale = f32_to_f16(key ? 0.176776695f : 0.25f);
    const auto level = static_cast<uint8_t>(8 + std::lround(std::clamp(4 * x, -8.0f, 7.0f)));
    std::byte* const block = row + t / 32 * 18;
    std::memcpy(block, &scale, 2);
    std::byte& both = block[2 + t % 16];
    both = t % 32 < 16 ? std::byte{level} : both | std::byte(level << 4);
  }
}

class PagedHeads {
 public:
  static constexpr int kRows = 64;  // rows per page

  /// `alike`: all rows are equal. `queue`: the pages are in a slab of its memory, like those of the
  /// KV store.
  PagedHeads(KvType type, int dim, int heads, int64_t count, uint32_t seed, bool alike = false,
             DeviceQueue* queue = nullptr)
      : type_(type),
        dim_(dim),
        page_(queue == nullptr
                  ? kRows * (bytes_of(type.k, dim) + bytes_of(type.v, dim))
                  : std::bit_ceil(kRows * (bytes_of(type.k, dim) + bytes_of(type.v, dim)))) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    const size_t key = bytes_of(type.k, dim), value = bytes_of(type.v, dim), page = page_;
    const auto per_head = static_cast<size_t>((count + kRows - 1) / kRows);
    std::vector<size_t> order(per_head * static_cast<size_t>(heads));
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::shuffle(order.begin(), order.end(), random);
    bytes_.assign(order.size() * page, std::byte{0xff});
    for (size_t h = 0; h < static_cast<size_t>(heads); ++h) {
      for (size_t r = 0; r < static_cast<size_t>(count); ++r) {
        std::byte* const in = bytes_.data() + order[h * per_head + r / kRows] * page;
        std::byte* const k = in + r % kRows * key;
        std::byte* const v = in + kRows * key + r % kRows * value;
        if (alike) random.seed(seed), normal.reset();
        for (int t = 0; t < dim; ++t) encode_exactly(type.k, true, normal(random), t, k);
        for (int t = 0; t < dim; ++t) encode_exactly(type.v, false, normal(random), t, v);
      }
    }
    if (queue == nullptr) {
      device_ = std::make_unique<OnDevice<std::byte>>(bytes_);
      base_ = device_->data();
    } else {
      EXPECT_LE(bytes_.size(), DeviceQueue::kSlabBytes);
      base_ = static_cast<std::byte*>(queue->allocate_slab());
      slab_ = {base_, [queue](std::byte* slab) { queue->release_slab(slab); }};
      queue->upload(bytes_.data(), base_, bytes_.size());
    }
    for (size_t h = 0; h < static_cast<size_t>(heads); ++h) {
      auto& here = pages_.emplace_back();
      std::vector<const std::byte*> there;
      for (size_t p = 0; p < per_head; ++p) {
        here.push_back(bytes_.data() + order[h * per_head + p] * page);
        there.push_back(base_ + order[h * per_head + p] * page);
      }
      listed_.push_back(std::make_unique<OnDevice<const std::byte*>>(there));
    }
  }

  PagedRows on_host(size_t head) const {
    PagedRows rows;
    rows.pages = pages_[head].data();
    rows.page_rows = kRows;
    rows.head_dim = dim_;
    rows.type = type_;
    return rows;
  }
  PagedRows on_device(size_t head) const {
    PagedRows rows = on_host(head);
    rows.place = Place{0};
    rows.listed = listed_[head]->data();
    return rows;
  }
  /// The range that Hopper's copy engine can read.
  PageRange range() const { return {base_, bytes_.size(), page_}; }

 private:
  KvType type_;
  int dim_;
  size_t page_;
  std::vector<std::byte> bytes_;
  std::unique_ptr<OnDevice<std::byte>> device_;  ///< null: `base_` is `slab_`
  std::shared_ptr<std::byte> slab_;
  std::byte* base_ = nullptr;
  std::vector<std::vector<const std::byte*>> pages_;
  std::vector<std::unique_ptr<OnDevice<const std::byte*>>> listed_;
};

inline std::vector<float> exact_floats(size_t count, uint32_t seed) {
  std::vector<float> values = random_floats(count, seed);
  for (float& x : values) x = bf16_to_f32(f32_to_bf16(x));
  return values;
}

inline View<float> view_of(std::vector<float>& x) { return std::span<float>(x); }
template <class T>
View<T> view_of(const OnDevice<T>& x, size_t count) {
  return {x.data(), static_cast<int64_t>(count), Place{0}};
}

}  // namespace longhaul::cuda
