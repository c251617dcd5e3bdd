#pragma once
// InfLLM step by step as in docs/methods/infllm.md, in double precision with plain loops: lists of
// tokens that age, blocks with their representatives, one softmax over all visible keys.

#include <algorithm>
#include <cmath>
#include <vector>

#include "attention/method_run.h"

namespace longhaul::testing_support {

struct OracleOptions {
  int64_t init = 8, local = 40, block = 16, topk = 2, repr = 2;
  bool best_repr = false;
  int64_t angle = 39;
};

class BlockOracle {
 public:
  BlockOracle(const ModelShape& shape, int layer, const LayerInputs& inputs, OracleOptions options)
      : shape_(shape),
        in_(inputs),
        o_(options),
        kv_heads_(shape.kv_heads[static_cast<size_t>(layer)]),
        group_(shape.heads / kv_heads_),
        out(inputs.q.size()) {}
  virtual ~BlockOracle() = default;

  void step(int64_t begin, int64_t rows) {
    for (int64_t t = begin; t < begin + rows; ++t) remainder_.push_back(t);
    score_.resize(static_cast<size_t>(begin + rows),
                  std::vector<double>(static_cast<size_t>(shape_.heads)));
    near_.resize(static_cast<size_t>(begin + rows),
                 std::vector<double>(static_cast<size_t>(begin + rows)));
    chosen = choose(begin, rows);
    for (int64_t i = begin; i < begin + rows; ++i) {
      for (int h = 0; h < shape_.heads; ++h) row(i, h);
    }
    age();
  }

  struct Block {
    int64_t first = 0;
    std::vector<std::vector<std::vector<double>>> repr;  ///< [heads][vectors][head_dim]
  };
  std::vector<Block> blocks;
  int64_t init = 0;
  std::vector<int32_t> chosen;  ///< blocks chosen by the last step
  size_t remainder() const { return remainder_.size(); }

 protected:
  const float* key(int64_t t, int h) const {
    return in_.k.data() + (t * kv_heads_ + h / group_) * shape_.head_dim;
  }
  /// Query of row i, rotated by `angle` positions.
  std::vector<double> query(int64_t i, int h, int64_t angle) const {
    const int half = shape_.head_dim / 2;
    const float* q = in_.q.data() + (i * shape_.heads + h) * shape_.head_dim;
    std::vector<double> y(static_cast<size_t>(2 * half));
    for (int t = 0; t < half; ++t) {
      const double a =
          static_cast<double>(angle) * shape_.rope.inverse_frequency[static_cast<size_t>(t)];
      y[static_cast<size_t>(t)] = q[t] * std::cos(a) - q[t + half] * std::sin(a);
      y[static_cast<size_t>(t + half)] = q[t + half] * std::cos(a) + q[t] * std::sin(a);
    }
    return y;
  }
  template <class X>
  static double dot(const std::vector<double>& q, const X& k) {
    double sum = 0;
    for (size_t t = 0; t < q.size(); ++t) sum += q[t] * k[t];
    return sum;
  }

  virtual std::vector<int32_t> choose(int64_t begin, int64_t rows) {
    std::vector<std::pair<double, int32_t>> order;
    for (size_t b = 0; b < blocks.size(); ++b) {
      double score = 0;
      for (int h = 0; h < shape_.heads; ++h) {
        std::vector<double> mean(static_cast<size_t>(shape_.head_dim));
        for (int64_t i = begin; i < begin + rows; ++i) {
          const auto q = query(i, h, o_.angle);
          for (size_t t = 0; t < q.size(); ++t) mean[t] += q[t] / static_cast<double>(rows);
        }
        double best = -INFINITY;
        for (const auto& r : blocks[b].repr[static_cast<size_t>(h)]) {
          best = std::max(best, dot(mean, r));
        }
        score += best;
      }
      order.emplace_back(-score, static_cast<int32_t>(b));
    }
    std::sort(order.begin(), order.end());
    order.resize(std::min(order.size(), static_cast<size_t>(o_.topk)));
    std::vector<int32_t> ids;
    for (const auto& [score, b] : order) ids.push_back(b);
    std::sort(ids.begin(), ids.end());
    return ids;
  }

  virtual void index(Block& block) {
    for (int h = 0; h < shape_.heads; ++h) {
      std::vector<int64_t> order;
      for (int64_t t = 0; t < o_.block; ++t) order.push_back(block.first + t);
      std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
        return score_[static_cast<size_t>(a)][static_cast<size_t>(h)] >
               score_[static_cast<size_t>(b)][static_cast<size_t>(h)];
      });
      auto& repr = block.repr.emplace_back();
      std::vector<double> mean(static_cast<size_t>(shape_.head_dim));
      for (int64_t i = 0; i < o_.repr; ++i) {
        const float* k = key(order[static_cast<size_t>(i)], h);
        for (size_t t = 0; t < mean.size(); ++t) mean[t] += k[t] / static_cast<double>(o_.repr);
        if (o_.best_repr) repr.emplace_back(k, k + shape_.head_dim);
      }
      if (!o_.best_repr) repr.push_back(mean);
    }
  }

  const ModelShape& shape_;
  const LayerInputs& in_;
  OracleOptions o_;
  int kv_heads_, group_;
  std::vector<std::vector<double>> score_;  ///< [token][head]
  /// [row][token]: probability within windows, summed over heads.
  std::vector<std::vector<double>> near_;

 private:
  void row(int64_t i, int h) {
    struct Seen {
      int64_t token;
      double weight;
      bool near;
    };
    std::vector<Seen> seen;
    const auto far = query(i, h, o_.angle);
    const auto see_far = [&](int64_t t) {
      seen.push_back({t, std::exp(dot(far, key(t, h)) * shape_.scale), false});
    };
    for (int64_t t = 0; t < init; ++t) see_far(t);
    for (const int32_t b : chosen) {
      for (int64_t t = 0; t < o_.block; ++t) see_far(blocks[static_cast<size_t>(b)].first + t);
    }
    for (int64_t t = std::max<int64_t>(0, i - o_.local + 1); t <= i; ++t) {
      const double weight = std::exp(dot(query(i, h, i - t), key(t, h)) * shape_.scale);
      seen.push_back({t, weight, true});
    }
    for (const int64_t t : remainder_) {
      if (i - t >= o_.local) see_far(t);
    }
    double sum = 0;
    for (const Seen& s : seen) sum += s.weight;
    double* o = out.data() + (i * shape_.heads + h) * shape_.head_dim;
    for (const Seen& s : seen) {
      const double p = s.weight / sum;
      const float* v = in_.v.data() + (s.token * kv_heads_ + h / group_) * shape_.head_dim;
      for (int t = 0; t < shape_.head_dim; ++t) o[t] += p * v[t];
      if (s.near) near_[static_cast<size_t>(i)][static_cast<size_t>(s.token)] += p;
      if (s.near && s.token >= remainder_.front()) {
        score_[static_cast<size_t>(s.token)][static_cast<size_t>(h)] += p;
      }
    }
  }

  void age() {
    const auto length = [&] { return static_cast<int64_t>(remainder_.size()); };
    const auto drop = [&](int64_t count) {
      remainder_.erase(remainder_.begin(), remainder_.begin() + count);
    };
    if (init < o_.init && length() > o_.local) {
      const int64_t moved = std::min(o_.init - init, length() - o_.local);
      init += moved;
      drop(moved);
    }
    while (length() - o_.block >= o_.local) {
      Block block;
      block.first = remainder_.front();
      index(block);
      blocks.push_back(block);
      drop(o_.block);
    }
  }

  std::vector<int64_t> remainder_;

 public:
  std::vector<double> out;  ///< as q
};

}  // namespace longhaul::testing_support
