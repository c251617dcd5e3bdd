#pragma once
// A KV store and plain vectors with equal contents.

#include "kv/plain_store.h"

namespace longhaul::testing_support {

/// A store and its plain model. Every change is made to both.
struct Pair {
  explicit Pair(const KvLayout& layout) : store(layout) { reset(); }
  Pair(KvStore s, std::vector<std::vector<PlainHead>> p)
      : store(std::move(s)), plain(std::move(p)) {}

  void reset() {
    plain.clear();
    for (const int heads : store.layout().heads) plain.emplace_back(static_cast<size_t>(heads));
  }
  PlainHead& at(int layer, int head) {
    return plain[static_cast<size_t>(layer)][static_cast<size_t>(head)];
  }
  int heads(int layer) const { return store.layout().heads[static_cast<size_t>(layer)]; }

  void append_layer(int layer, int64_t rows, std::mt19937& random) {
    const int dim = store.layout().head_dim;
    const std::vector<float> k = random_row(static_cast<int>(rows) * heads(layer) * dim, random);
    const std::vector<float> v = random_row(static_cast<int>(rows) * heads(layer) * dim, random);
    store.append(layer, rows, view_of(k), view_of(v));
    for (int64_t i = 0; i < rows * heads(layer); ++i) {
      add(at(layer, static_cast<int>(i % heads(layer))), k.data() + i * dim, v.data() + i * dim);
    }
  }
  void append_head(int layer, int head, int64_t rows, int64_t stride, std::mt19937& random) {
    const std::vector<float> k = random_row(static_cast<int>(rows * stride), random);
    const std::vector<float> v = random_row(static_cast<int>(rows * stride), random);
    store.append(layer, head, rows, view_of(k), view_of(v), stride);
    for (int64_t i = 0; i < rows; ++i) {
      add(at(layer, head), k.data() + i * stride, v.data() + i * stride);
    }
  }
  void keep(int layer, int head, const std::vector<int32_t>& rows) {
    store.keep(layer, head, rows);
    at(layer, head).keep(rows);
  }
  void drop(int layer, int head, int64_t begin, int64_t end) {
    store.drop(layer, head, begin, end);
    at(layer, head).drop(begin, end);
  }
  void mark(int layer, int head, std::mt19937& random) {
    const std::span<float> marks = host(store.column(layer, head, "mark"));
    for (size_t i = 0; i < marks.size(); ++i) {
      marks[i] = at(layer, head).rows[i].mark = static_cast<float>(random() % 1000);
    }
  }
  void check(const Queue& queue = {}) {
    EXPECT_EQ(store.bytes(), store.count_bytes());
    for (int layer = 0; layer < store.layout().layers(); ++layer) {
      for (int head = 0; head < heads(layer); ++head) {
        expect_same(store, layer, head, at(layer, head), queue);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }

  KvStore store;
  std::vector<std::vector<PlainHead>> plain;

 private:
  void add(PlainHead& to, const float* k, const float* v) const {
    const int dim = store.layout().head_dim;
    to.append(as_stored(store.layout().type.k, true, {k, k + dim}),
              as_stored(store.layout().type.v, false, {v, v + dim}));
  }
};

inline std::vector<int32_t> random_subset(int64_t length, unsigned percent, std::mt19937& random) {
  std::vector<int32_t> rows;
  for (int64_t i = 0; i < length; ++i) {
    if (random() % 100 < percent) rows.push_back(static_cast<int32_t>(i));
  }
  return rows;
}

}  // namespace longhaul::testing_support
