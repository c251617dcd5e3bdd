#pragma once
// Keys and values of one KV head in pages, and the keys that a row sees, one at a time.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "base/float_types.h"
#include "ops/attention/attention.h"
#include "ops/attention/stored_key.h"

namespace longhaul::testing_support {

inline constexpr int kPageRows = 32;

/// Keys and values of one KV head in pages, and their f32 values after storage.
struct PagedHead {
  PagedHead(KvType kv_type, int dim, int64_t rows, std::mt19937& random)
      : PagedHead(kv_type, dim, random_rows(dim, rows, random)) {}

  /// `numbers`: key, value, key, value, ...
  PagedHead(KvType kv_type, int dim, const std::vector<std::vector<float>>& numbers)
      : head_dim(dim), type(kv_type) {
    for (size_t r = 0; r < numbers.size() / 2; ++r) {
      if (r % kPageRows == 0) storage.emplace_back(view().page_bytes());
      for (const bool value : {false, true}) {
        std::vector<float> x = numbers[2 * r + (value ? 1 : 0)];
        encode(value ? type.v : type.k, !value, x, at(r, value));
        (value ? v : k).push_back(x);
      }
    }
    for (const auto& page : storage) pages.push_back(page.data());
  }

  static std::vector<std::vector<float>> random_rows(int dim, int64_t rows, std::mt19937& random) {
    std::normal_distribution<float> normal;
    std::vector<std::vector<float>> numbers(static_cast<size_t>(2 * rows));
    for (std::vector<float>& x : numbers) {
      x.resize(static_cast<size_t>(dim));
      for (float& e : x) e = normal(random);
    }
    return numbers;
  }

  std::byte* at(size_t row, bool value) {
    const size_t in_page = row % kPageRows;
    std::byte* const page = storage[row / kPageRows].data();
    if (!value) return page + in_page * view().key_bytes();
    return page + kPageRows * view().key_bytes() + in_page * view().value_bytes();
  }

  static void encode(DType type, bool key, std::vector<float>& x, std::byte* at) {
    if (type == DType::Q4_0) {
      const auto count = static_cast<int64_t>(x.size());
      write_row(type, key, x.data(), count, at);
      read_row(type, key, at, count, x.data());
    }
    for (size_t t = 0; t < x.size(); ++t) {
      const uint16_t bf16 = f32_to_bf16(x[t]), f16 = f32_to_f16(x[t]);
      if (type == DType::F32) std::memcpy(at + 4 * t, &x[t], 4);
      if (type == DType::BF16) std::memcpy(at + 2 * t, &bf16, 2), x[t] = bf16_to_f32(bf16);
      if (type == DType::F16) std::memcpy(at + 2 * t, &f16, 2), x[t] = f16_to_f32(f16);
      if (type == DType::Q8_0) {
        const uint16_t scale = f32_to_f16(0.02f);
        const int8_t q = static_cast<int8_t>(std::lround(std::clamp(x[t] / 0.02f, -127.f, 127.f)));
        std::memcpy(at + t / 32 * 34, &scale, 2);
        std::memcpy(at + t / 32 * 34 + 2 + t % 32, &q, 1);
        x[t] = static_cast<float>(q) * f16_to_f32(scale);
      }
    }
  }

  PagedRows view() const { return {pages.data(), kPageRows, head_dim, type}; }

  int head_dim;
  KvType type;
  std::vector<std::vector<std::byte>> storage;
  std::vector<const std::byte*> pages;
  std::vector<std::vector<float>> k, v;
};

inline std::vector<double> rotated(const std::vector<float>& x, const RopeTable& table,
                                   double position) {
  const size_t half = table.inverse_frequency.size();
  std::vector<double> y(x.begin(), x.end());
  for (size_t t = 0; t < half; ++t) {
    const double angle = position * table.inverse_frequency[t];
    y[t] = x[t] * std::cos(angle) - x[t + half] * std::sin(angle);
    y[t + half] = x[t + half] * std::cos(angle) + x[t] * std::sin(angle);
  }
  return y;
}

struct SeenKey {
  size_t column;  ///< counted over the task's concatenated segments
  int64_t row;    ///< row of the head
  double logit;   ///< scale * q . k, capped
};

/// The keys that query head `head` of row `row` sees, in double precision.
inline std::vector<SeenKey> seen_keys(const AttendCall& call, const AttendTask& task,
                                      const PagedHead& kv, const RopeTable& table, int row,
                                      int head) {
  const int64_t at = task.row_position + row - task.row_begin;
  std::vector<SeenKey> seen;
  size_t first = 0;
  for (const KeySegment& s : task.segments) {
    const float* q = host(call.queries[static_cast<size_t>(s.query)]).data() +
                     (static_cast<int64_t>(row) * call.heads + head) * call.head_dim;
    for (int64_t i = 0; i < s.count; ++i) {
      const int64_t stored = s.index.empty() ? s.begin + i : s.index.address()[i];
      const int64_t p = s.position + (s.indexed_positions ? stored : i);
      bool sees = true;
      if (s.visible == Visibility::kCausal) sees = p <= at;
      if (s.visible == Visibility::kWindow) sees = p <= at && at - p < s.window;
      if (s.visible == Visibility::kChunk) sees = p <= at && p / s.window == at / s.window;
      if (s.visible == Visibility::kBeyond) sees = at - p >= s.window;
      if (!sees) continue;
      const auto& raw = kv.k[static_cast<size_t>(stored)];
      const auto key = s.rotate ? rotated(raw, table, static_cast<double>(p))
                                : std::vector<double>(raw.begin(), raw.end());
      double dot = 0;
      for (int t = 0; t < call.head_dim; ++t) dot += q[t] * key[static_cast<size_t>(t)];
      double logit = dot * call.scale;
      if (call.cap > 0) logit = call.cap * std::tanh(logit / call.cap);
      seen.push_back({first + static_cast<size_t>(i), stored, logit});
    }
    first += static_cast<size_t>(s.count);
  }
  return seen;
}

}  // namespace longhaul::testing_support
