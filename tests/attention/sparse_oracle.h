#pragma once
// Reference attention of a prompt in which every query head has its own mask. Queries and keys are
// rotated, and logits and probabilities are in double precision.

#include <functional>

#include "attention/eviction_oracle.h"

namespace longhaul::testing_support {

class SparseOracle {
 public:
  SparseOracle(const MethodRun& run, int layer)
      : shape_(run.shape), in_(run.inputs[static_cast<size_t>(layer)]), tokens_(run.done) {
    kv_heads_ = shape_.kv_heads[static_cast<size_t>(layer)];
    for (int head = 0; head < shape_.heads; ++head) {
      queries_.emplace_back();
      for (int64_t i = 0; i < tokens_; ++i) {
        queries_.back().push_back(rotated_row(shape_, in_.q, i, shape_.heads, head, i));
      }
    }
    for (int head = 0; head < kv_heads_; ++head) {
      keys_.emplace_back();
      for (int64_t j = 0; j < tokens_; ++j) {
        keys_.back().push_back(rotated_row(shape_, in_.k, j, kv_heads_, head, j));
      }
    }
  }

  const std::vector<double>& query(int head, int64_t i) const {
    return queries_[static_cast<size_t>(head)][static_cast<size_t>(i)];
  }
  const std::vector<double>& key(int head, int64_t j) const {
    return keys_[static_cast<size_t>(kv_head(head))][static_cast<size_t>(j)];
  }
  int kv_head(int head) const { return head / (shape_.heads / kv_heads_); }

  double dot(int head, int64_t i, int64_t j) const {
    const auto &q = query(head, i), &k = key(head, j);
    return std::inner_product(q.begin(), q.end(), k.begin(), 0.0);
  }

  /// Probabilities [i + 1] of a row under dense attention.
  std::vector<double> row(int head, int64_t i) const {
    std::vector<double> p;
    for (int64_t j = 0; j <= i; ++j) p.push_back(std::exp(shape_.scale * dot(head, i, j)));
    const double sum = std::accumulate(p.begin(), p.end(), 0.0);
    for (double& x : p) x /= sum;
    return p;
  }

  /// Sums of the probabilities of rows [begin, end) by key, and by distance.
  void lines(int head, int64_t begin, int64_t end, std::vector<double>& columns,
             std::vector<double>& diagonals) const {
    columns.assign(static_cast<size_t>(end), 0);
    diagonals.assign(static_cast<size_t>(end), 0);
    for (int64_t i = begin; i < end; ++i) {
      const auto p = row(head, i);
      for (int64_t j = 0; j <= i; ++j) {
        columns[static_cast<size_t>(j)] += p[static_cast<size_t>(j)];
        diagonals[static_cast<size_t>(i - j)] += p[static_cast<size_t>(j)];
      }
    }
  }

  /// Means of queries or keys [begin, end).
  std::vector<double> mean(bool of_keys, int head, int64_t begin, int64_t end) const {
    std::vector<double> sum(static_cast<size_t>(shape_.head_dim));
    for (int64_t i = begin; i < end; ++i) {
      const auto& x = of_keys ? key(head, i) : query(head, i);
      for (size_t t = 0; t < sum.size(); ++t) sum[t] += x[t] / static_cast<double>(end - begin);
    }
    return sum;
  }

  /// Output [tokens, heads, head_dim] of rows that see the keys j <= i with sees(head, i, j).
  std::vector<double> attention(const std::function<bool(int, int64_t, int64_t)>& sees) const {
    const int dim = shape_.head_dim;
    std::vector<double> out(static_cast<size_t>(tokens_ * shape_.heads * dim));
    for (int head = 0; head < shape_.heads; ++head) {
      for (int64_t i = 0; i < tokens_; ++i) {
        double* o = out.data() + (i * shape_.heads + head) * dim;
        double sum = 0;
        for (int64_t j = 0; j <= i; ++j) {
          if (!sees(head, i, j)) continue;
          const double weight = std::exp(shape_.scale * dot(head, i, j));
          const float* v = in_.v.data() + (j * kv_heads_ + kv_head(head)) * dim;
          sum += weight;
          for (int t = 0; t < dim; ++t) o[t] += weight * v[t];
        }
        for (int t = 0; t < dim; ++t) o[t] /= sum;
      }
    }
    return out;
  }

  void expect(const MethodRun& run, int layer,
              const std::function<bool(int, int64_t, int64_t)>& sees) const {
    EXPECT_LT(largest_difference(run.out[static_cast<size_t>(layer)], attention(sees)), 3e-5)
        << "layer " << layer << " heads " << shape_.heads << " tokens " << tokens_;
  }

 private:
  ModelShape shape_;
  const LayerInputs& in_;
  int64_t tokens_;
  int kv_heads_ = 0;
  std::vector<std::vector<std::vector<double>>> queries_, keys_;  // [head][token][head_dim]
};

inline double dot_of(const std::vector<double>& a, const std::vector<double>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

inline std::vector<double> softmax_by_definition(std::vector<double> x) {
  const double top = *std::max_element(x.begin(), x.end());
  double sum = 0;
  for (double& e : x) sum += e = std::exp(e - top);
  for (double& e : x) e /= sum;
  return x;
}

}  // namespace longhaul::testing_support
