#include "attention/methods/expectedattention/expected_attention.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ops/isa_fixture.h"
#include "ops/paged_head.h"
#include "ops/view_of.h"

namespace longhaul {
namespace {

using testing_support::PagedHead;
using testing_support::view_of;

using Vector = std::vector<double>;
using Matrix = std::vector<Vector>;

RopeTable table_of(int rotary_dim) {
  RopeTable table;
  for (int t = 0; t < rotary_dim / 2; ++t) {
    table.inverse_frequency.push_back(std::pow(1e4, -2.0 * t / rotary_dim));
  }
  table.attention_factor = 1.25f;
  return table;
}

/// Queries [rows, heads, dim] that vary little around large means, with correlated elements.
std::vector<float> queries_of(int rows, int heads, int dim, float mean, std::mt19937& random) {
  std::normal_distribution<float> normal;
  std::vector<float> q;
  for (int r = 0; r < rows; ++r) {
    for (int h = 0; h < heads; ++h) {
      const float common = normal(random);
      for (int t = 0; t < dim; ++t) {
        const float own = normal(random);
        q.push_back(mean * static_cast<float>((h + t) % 3 - 1) + 0.5f * common + 0.3f * own);
      }
    }
  }
  return q;
}

struct Moments {
  Vector mean;
  Matrix covariance;
};

/// Computes the mean first, then the products of the deviations.
Moments plain_moments(const std::vector<float>& q, int rows, int heads, int dim, int head) {
  const auto at = [&](int r, int t) {
    return double{q[static_cast<size_t>((r * heads + head) * dim + t)]};
  };
  const auto n = static_cast<size_t>(dim);
  Moments m{Vector(n), Matrix(n, Vector(n))};
  for (int r = 0; r < rows; ++r) {
    for (int t = 0; t < dim; ++t) m.mean[static_cast<size_t>(t)] += at(r, t) / rows;
  }
  for (int r = 0; r < rows; ++r) {
    for (size_t i = 0; i < n; ++i) {
      for (size_t j = 0; j < n; ++j) {
        m.covariance[i][j] += (at(r, static_cast<int>(i)) - m.mean[i]) *
                              (at(r, static_cast<int>(j)) - m.mean[j]) / rows;
      }
    }
  }
  return m;
}

/// The average rotation as a matrix, position by position.
Matrix plain_rotation(const RopeTable& rope, int64_t first, int64_t positions, int dim) {
  const auto n = static_cast<size_t>(dim), half = rope.inverse_frequency.size();
  Matrix r(n, Vector(n));
  for (size_t t = 2 * half; t < n; ++t) r[t][t] = 1;
  for (int64_t p = first; p < first + positions; ++p) {
    for (size_t t = 0; t < half; ++t) {
      const double angle = static_cast<double>(p) * rope.inverse_frequency[t];
      const double weight = double{rope.attention_factor} / static_cast<double>(positions);
      r[t][t] += std::cos(angle) * weight;
      r[t + half][t + half] += std::cos(angle) * weight;
      r[t][t + half] -= std::sin(angle) * weight;
      r[t + half][t] += std::sin(angle) * weight;
    }
  }
  return r;
}

Vector times(const Matrix& m, const Vector& x, bool transposed = false) {
  Vector y(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    for (size_t j = 0; j < x.size(); ++j) y[i] += (transposed ? m[j][i] : m[i][j]) * x[j];
  }
  return y;
}

double product(const Vector& a, const Vector& b) {
  double sum = 0;
  for (size_t t = 0; t < a.size(); ++t) sum += a[t] * b[t];
  return sum;
}

/// One head's probabilities of keys [first, first + count).
Vector plain_softmax(const Moments& m, const Matrix& rotation, bool covariance, double scale,
                     const PagedHead& list, size_t first, size_t count) {
  Vector p;
  double sum = 0, top = -INFINITY;
  const Vector mean = times(rotation, m.mean);
  for (size_t j = 0; j < count; ++j) {
    const Vector key(list.k[first + j].begin(), list.k[first + j].end());
    double logit = scale * product(mean, key);
    if (covariance) {
      const Vector back = times(rotation, key, true);  // k^T R C R^T k
      logit += scale * scale / 2 * product(back, times(m.covariance, back));
    }
    p.push_back(logit);
    top = std::max(top, logit);
  }
  for (double& x : p) sum += x = std::exp(x - top);
  for (double& x : p) x /= sum;
  return p;
}

struct ExpectedInputs {
  KvType type;
  int dim, rotary;
  int heads_before, heads;  ///< heads of the layer before the list, and heads of the list
  int64_t keys, first_row;
  bool covariance, values;
};

/// The queries of a case, and its scores by definition.
struct ExpectedSetting {
  explicit ExpectedSetting(const ExpectedInputs& of)
      : c(of), random(8), list(c.type, c.dim, c.first_row + c.keys + 3, random) {
    rope = table_of(c.rotary);
    q = queries_of(kRows, c.heads_before + c.heads, c.dim, 1, random);
    coming.rope = &rope;
    coming.first = 170;
    coming.positions = 60;
    coming.scale = 1 / std::sqrt(static_cast<float>(c.dim));
    coming.epsilon = 1e-3;
    coming.values = c.values;
    const Matrix rotation = plain_rotation(rope, coming.first, coming.positions, c.dim);
    const int heads = c.heads_before + c.heads;
    want.resize(static_cast<size_t>(c.keys));
    for (int h = 0; h < c.heads; ++h) {
      const auto p = plain_softmax(plain_moments(q, kRows, heads, c.dim, c.heads_before + h),
                                   rotation, c.covariance, double{coming.scale}, list,
                                   static_cast<size_t>(c.first_row), want.size());
      for (size_t j = 0; j < want.size(); ++j) want[j] += p[j] / c.heads;
    }
    for (size_t j = 0; c.values && j < want.size(); ++j) {
      const auto& v = list.v[static_cast<size_t>(c.first_row) + j];
      const Vector value(v.begin(), v.end());
      want[j] = (want[j] + coming.epsilon) * std::sqrt(product(value, value));
    }
  }

  std::vector<float> scores() {
    const int heads = c.heads_before + c.heads;
    QueryMoments moments{heads, c.dim, c.covariance};
    int64_t from = 0;
    for (const int rows : {1, 0, 63, 64, 22}) {  // in passes
      const int64_t numbers = rows * moments.width();
      add_query_moments(host_queue(), view_of(q).part(from, numbers), moments);
      from += numbers;
    }
    EXPECT_EQ(moments.rows, kRows);
    coming.moments = &moments;
    std::vector<float> scores(want.size(), NAN);
    expected_attention(host_queue(), coming, list.view(), c.first_row, c.heads_before, c.heads,
                       view_of(scores));
    return scores;
  }

  static constexpr int kRows = 150;
  ExpectedInputs c;
  std::mt19937 random;
  PagedHead list;
  RopeTable rope;
  std::vector<float> q;
  ExpectedQueries coming;
  Vector want;
};

TEST(ExpectedAttention, EqualsTheDefinition) {
  for (const ExpectedInputs& c :
       {ExpectedInputs{DType::F32, 32, 32, 0, 1, 300, 0, true, true},
        ExpectedInputs{DType::BF16, 64, 64, 3, 3, 257, 4, true, true},
        ExpectedInputs{DType::F16, 24, 16, 2, 2, 130, 1, true, false},
        ExpectedInputs{DType::Q8_0, 96, 96, 0, 2, 128, 60, true, true},
        ExpectedInputs{{DType::Q8_0, DType::Q4_0}, 96, 96, 0, 2, 128, 60, true, true},
        ExpectedInputs{DType::BF16, 64, 64, 1, 2, 65, 0, false, true},
        ExpectedInputs{DType::F32, 80, 20, 0, 3, 64, 2, false, false},
        ExpectedInputs{DType::F32, 32, 32, 1, 1, 1, 7, true, true},
        ExpectedInputs{DType::F32, 32, 32, 1, 1, 0, 0, true, true}}) {
    SCOPED_TRACE(testing::Message() << name_of(c.type) << " dim " << c.dim << " heads " << c.heads
                                    << " keys " << c.keys << " from " << c.first_row);
    ExpectedSetting s(c);
    at_every_isa([&] {
      const std::vector<float> got = s.scores();
      for (size_t j = 0; j < got.size(); ++j) {
        ASSERT_NEAR(got[j], s.want[j], 2e-5 * s.want[j] + 1e-30) << "key " << j;
      }
    });
  }
}

TEST(QueryMoments, ACovarianceSmallBesideTheMeanIsKept) {
  at_every_isa([] {
    constexpr int kRows = 500, kHeads = 2, kDim = 24;
    std::mt19937 random(9);
    const auto q = queries_of(kRows, kHeads, kDim, 300, random);
    QueryMoments moments{kHeads, kDim};
    add_query_moments(host_queue(), view_of(q).part(0, 100 * kHeads * kDim), moments);
    add_query_moments(host_queue(), view_of(q).from(100 * kHeads * kDim), moments);
    const auto origin = host(moments.origin.view());
    const auto sums = host(moments.sums.view()), products = host(moments.products.view());
    for (int head = 0; head < kHeads; ++head) {
      const Moments want = plain_moments(q, kRows, kHeads, kDim, head);
      for (size_t i = 0; i < kDim; ++i) {
        const size_t at = static_cast<size_t>(head) * kDim + i;
        const double mean = sums[at] / kRows;
        EXPECT_NEAR(mean + origin[at], want.mean[i], 1e-6 * 300);
        for (size_t j = 0; j < kDim; ++j) {
          const double other = sums[static_cast<size_t>(head) * kDim + j] / kRows;
          EXPECT_NEAR(products[at * kDim + j] / kRows - mean * other, want.covariance[i][j], 1e-5);
        }
      }
    }
  });
}

TEST(ExpectedAttention, DoesNotDependOnThreads) {
  const RestoreIsaAndThreads restore;
  std::mt19937 random(10);
  const PagedHead list(DType::BF16, 64, 3000, random);
  const auto q = queries_of(300, 4, 64, 1, random);
  const RopeTable rope = table_of(64);
  std::vector<std::vector<float>> results;
  for (const int threads : {1, 2}) {
    set_thread_count(threads);
    QueryMoments moments{4, 64};
    add_query_moments(host_queue(), view_of(q), moments);
    ExpectedQueries coming{&moments, &rope, 3000, 512, 0.125f};
    results.emplace_back(3000);
    expected_attention(host_queue(), coming, list.view(), 0, 0, 4, view_of(results.back()));
  }
  EXPECT_EQ(results[0], results[1]);
}

}  // namespace
}  // namespace longhaul
