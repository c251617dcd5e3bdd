#pragma once
// Logits of a prompt's rows without rounded products, for comparisons of whole models.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "engine/session.h"

namespace longhaul::testing_support {

inline SessionOptions exact_options(int chunk = 0) {
  SessionOptions options;
  options.compute = Compute::kF32;
  options.kv_type = DType::F32;
  options.chunk = chunk;
  return options;
}

/// Tokens [first, first + range) in an order that repeats no phrase soon.
inline std::vector<int32_t> scattered_tokens(int32_t count, int32_t seed = 3, int32_t range = 256,
                                             int32_t first = 0) {
  std::vector<int32_t> ids;
  for (int32_t i = 0; i < count; ++i) ids.push_back((41 * i * i + 7 * i + seed) % range + first);
  return ids;
}

/// Logits of the rows `positions` of a prompt.
inline std::vector<std::vector<float>> logits_at(const std::shared_ptr<const Engine>& engine,
                                                 const SessionOptions& options,
                                                 const std::vector<int32_t>& ids,
                                                 const std::vector<int64_t>& positions) {
  Session session(engine, options);
  const size_t vocab = static_cast<size_t>(engine->model().config.vocab);
  std::vector<std::vector<float>> rows(positions.size());
  PrefillHooks hooks;
  hooks.all_logits = [&](int64_t first, int64_t count, const float* values) {
    for (size_t p = 0; p < positions.size(); ++p) {
      if (positions[p] < first || positions[p] >= first + count) continue;
      const float* row = values + static_cast<size_t>(positions[p] - first) * vocab;
      rows[p].assign(row, row + vocab);
    }
  };
  EXPECT_TRUE(session.prefill(ids, hooks));
  return rows;
}

inline double furthest(const std::vector<float>& a, const std::vector<float>& b) {
  EXPECT_EQ(a.size(), b.size());
  double most = 0;
  for (size_t i = 0; i < a.size(); ++i) most = std::max(most, double{std::abs(a[i] - b[i])});
  return most;
}

}  // namespace longhaul::testing_support
