#pragma once
// The behaviour of a KV store with plain vectors for one head, and rows of values for it.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "base/float_types.h"
#include "kv/kv_store.h"
#include "ops/attention/stored_key.h"
#include "ops/view_of.h"

namespace longhaul::testing_support {

/// Types for every test of stores: equal types for keys and values, and different ones.
inline constexpr KvType kKvTypes[] = {DType::F32,
                                      DType::F16,
                                      DType::BF16,
                                      DType::Q8_0,
                                      DType::Q4_0,
                                      {DType::Q8_0, DType::Q4_0},
                                      {DType::Q4_0, DType::F32}};

struct PlainRow {
  std::vector<float> k, v;
  int64_t token = 0;
  float mark = 0;  ///< a column
};

struct PlainHead {
  std::vector<PlainRow> rows;
  int64_t appended = 0;

  void append(std::vector<float> k, std::vector<float> v) {
    rows.push_back({std::move(k), std::move(v), appended++});
  }
  void keep(std::span<const int32_t> list) {
    std::vector<PlainRow> kept;
    for (const int32_t i : list) kept.push_back(rows[static_cast<size_t>(i)]);
    rows = std::move(kept);
  }
  void drop(int64_t begin, int64_t end) { rows.erase(rows.begin() + begin, rows.begin() + end); }
  void truncate(int64_t length) {
    if (length >= static_cast<int64_t>(rows.size())) return;
    appended = rows[static_cast<size_t>(length)].token;
    rows.resize(static_cast<size_t>(length));
  }
};

/// The values of a row after storage as `type`.
inline std::vector<float> as_stored(DType type, bool key, std::vector<float> x) {
  const int64_t n = static_cast<int64_t>(x.size());
  for (float& e : x) {
    if (type == DType::BF16) e = bf16_to_f32(f32_to_bf16(e));
    if (type == DType::F16) e = f16_to_f32(f32_to_f16(e));
  }
  if (is_block_type(type)) {
    std::vector<std::byte> row(bytes_of(type, n));
    write_row(type, key, x.data(), n, row.data());
    read_row(type, key, row.data(), n, x.data());
  }
  return x;
}

inline std::vector<float> random_row(int head_dim, std::mt19937& random) {
  std::normal_distribution<float> normal;
  std::vector<float> x(static_cast<size_t>(head_dim));
  for (float& e : x) e = normal(random);
  return x;
}

/// `queue` is that of the store.
inline void expect_same(KvStore& store, int layer, int head, const PlainHead& want,
                        Queue queue = {}) {
  ASSERT_EQ(store.length(layer, head), static_cast<int64_t>(want.rows.size()));
  const size_t dim = static_cast<size_t>(store.layout().head_dim);
  std::vector<float> k(dim), v(dim);
  HostStage on(queue);
  const View<const float> column = store.column(layer, head, "mark");
  const std::span<const float> marks = host(on(column));
  const RowTokens tokens = on_host(on, store.tokens(layer, head));
  ASSERT_EQ(marks.size(), want.rows.size());
  for (size_t i = 0; i < want.rows.size(); ++i) {
    const int64_t row = static_cast<int64_t>(i);
    store.read(layer, head, row, k.data(), v.data());
    ASSERT_EQ(k, want.rows[i].k) << "key of row " << row << " of head " << head;
    ASSERT_EQ(v, want.rows[i].v) << "value of row " << row << " of head " << head;
    ASSERT_EQ(token_of(tokens, row), want.rows[i].token) << "row " << row;
    ASSERT_EQ(marks[i], want.rows[i].mark) << "row " << row;
    ASSERT_EQ(store.token_of(layer, head, row), want.rows[i].token) << "row " << row;
  }
}

}  // namespace longhaul::testing_support
