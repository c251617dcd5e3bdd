#pragma once
// Ltri-LLM's index, look-up and votes in double precision, based on the oracle of InfLLM's context.

#include <algorithm>
#include <memory>
#include <numeric>
#include <vector>

#include "attention/methods/infllm/infllm_oracle.h"
#include "attention/methods/ltri/span_division.h"

namespace longhaul::testing_support {

struct LtriRules {
  std::vector<int> heads;  ///< per layer; -1: none
  std::vector<double> weights;
  double theta = 0.8, phi = 0.1;
  float lambda = 3;
  int spans = 3, vectors = 6, last = 10;
  bool max = false, rows = false, persistent = true, vote = true, early = true, mean = false;
  SpanNeighbours ratio = SpanNeighbours::kRow;
};

/// Votes that the layers of a step pass on to each other.
struct Votes {
  std::vector<double> weight, latest;
};

/// Ltri-LLM's index and retrieval (arXiv:2412.04757, 3.2 to 3.5), based on the oracle of InfLLM's
/// context.
class LtriLayerOracle : public BlockOracle {
 public:
  LtriLayerOracle(const ModelShape& shape, int layer, const LayerInputs& in,
                  const OracleOptions& options, const LtriRules& rules, Votes& votes)
      : BlockOracle(shape, layer, in, options), r_(rules), layer_(layer), votes_(votes) {}
  bool decoding = false;

 private:
  using Vector = std::vector<double>;
  using Spans = std::vector<std::vector<Vector>>;  ///< [span][vector][width]

  int head() const { return r_.heads[static_cast<size_t>(layer_)]; }
  bool before_first_head() const {
    return std::all_of(r_.heads.begin(), r_.heads.begin() + layer_ + 1,
                       [](int h) { return h < 0; });
  }

  std::vector<int32_t> choose(int64_t begin, int64_t rows) override {
    if (layer_ == 0) votes_ = {};
    std::vector<int32_t> all(blocks.size());
    std::iota(all.begin(), all.end(), 0);
    const bool few = all.size() <= static_cast<size_t>(o_.topk);
    if (few || !decoding || !r_.persistent) known_ = blocks.size();
    if (few) return looked_up_ = all;
    if (decoding && r_.persistent) {  // adds the newest block if the look-up did not include it
      std::vector<int32_t> shown = looked_up_;
      if (blocks.size() > known_) shown.push_back(static_cast<int32_t>(blocks.size()) - 1);
      return shown;
    }
    return looked_up_ = look_up(begin, rows);
  }

  std::vector<int32_t> look_up(int64_t begin, int64_t rows) {
    votes_.weight.resize(blocks.size());
    if (head() < 0 && !(before_first_head() && r_.early)) {
      return votes_.latest.empty() ? std::vector<int32_t>() : best(votes_.weight, votes_.latest);
    }
    Vector score(blocks.size(), -INFINITY);
    for (const auto& query : query_spans(begin, rows)) {
      for (size_t b = 0; b < blocks.size(); ++b) {
        for (const auto& span : index_[b]) {
          double sim = r_.max ? -INFINITY : 0;
          for (const Vector& q : query) {
            for (const Vector& k : span) sim = r_.max ? std::max(sim, dot(q, k)) : sim + dot(q, k);
          }
          score[b] = std::max(score[b], sim);
        }
      }
    }
    const auto own = best(score, score);
    if (head() < 0) return own;
    for (const int32_t b : own) {
      votes_.weight[static_cast<size_t>(b)] += r_.weights[static_cast<size_t>(layer_)];
    }
    votes_.latest = score;
    return r_.vote ? best(votes_.weight, votes_.latest) : own;
  }

  std::vector<int32_t> best(const Vector& first, const Vector& second) const {
    std::vector<int32_t> order(first.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
      const size_t x = static_cast<size_t>(a), y = static_cast<size_t>(b);
      // The method's weights are sums in another precision.
      if (std::abs(first[x] - first[y]) > 1e-5) return first[x] > first[y];
      return second[x] > second[y];
    });
    order.resize(static_cast<size_t>(o_.topk));
    std::sort(order.begin(), order.end());
    return order;
  }

  /// The key of a token: of the retrieval head, or of all KV heads concatenated.
  Vector key_of(int64_t t) const {
    Vector all;
    for (int h = 0; h < shape_.heads; h += group_) {
      if (head() >= 0 && head() / group_ != h / group_) continue;
      all.insert(all.end(), key(t, h), key(t, h) + shape_.head_dim);
    }
    return all;
  }
  Vector query_of(int64_t i) const {
    if (head() >= 0) return query(i, head(), o_.angle);
    Vector all;
    for (int h = 0; h < shape_.heads; h += group_) {
      Vector sum(static_cast<size_t>(shape_.head_dim));
      for (int g = 0; g < group_; ++g) {
        const Vector q = query(i, h + g, o_.angle);
        for (size_t t = 0; t < sum.size(); ++t) sum[t] += q[t];
      }
      all.insert(all.end(), sum.begin(), sum.end());
    }
    return all;
  }

  /// Tokens of each span of a tile [n, n]: those with the most votes, or all.
  std::vector<std::vector<int>> span_tokens(const std::vector<float>& tile, int n,
                                            const Vector& votes, bool all = false) const {
    const BlockMap map{tile.data(), n, n};
    std::vector<std::vector<int>> result;
    const float theta = map_quantile(map, r_.theta);
    for (const BlockSpan& span :
         divide_into_spans(map, {theta, static_cast<float>(r_.phi), r_.spans})) {
      std::vector<int> tokens(static_cast<size_t>(span.length()));
      std::iota(tokens.begin(), tokens.end(), span.begin);
      std::stable_sort(tokens.begin(), tokens.end(), [&](int a, int b) {
        return votes[static_cast<size_t>(a)] > votes[static_cast<size_t>(b)];
      });
      const int most = (r_.vectors + r_.spans - 1) / r_.spans;
      const int count =
          index_count(span.length(), span_ratio(map, span, r_.ratio), r_.lambda, most);
      if (!all) tokens.resize(static_cast<size_t>(count));
      result.push_back(tokens);
    }
    return result;
  }

  Spans query_spans(int64_t begin, int64_t rows) const {
    if (r_.rows || rows == 1) return {{query_of(begin + rows - 1)}};
    Spans spans;
    for (int64_t first = begin; first < begin + rows; first += o_.block) {
      const int n = static_cast<int>(std::min(o_.block, begin + rows - first));
      std::vector<float> tile(static_cast<size_t>(n * n));
      Vector votes(static_cast<size_t>(n));
      for (int i = 0; i < n; ++i) {
        for (int h = 0; h < shape_.heads; ++h) {
          const int64_t row = first + i;
          Vector weights;
          for (int64_t t = std::max<int64_t>(0, row - o_.local + 1); t <= row; ++t) {
            weights.push_back(std::exp(dot(query(row, h, row - t), key(t, h)) * shape_.scale));
          }
          const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
          for (int j = 0; j <= i; ++j) {
            const double p = weights[weights.size() - 1 - static_cast<size_t>(i - j)] / sum;
            tile[static_cast<size_t>(i * n + j)] += static_cast<float>(p);
            votes[static_cast<size_t>(j)] += p;
          }
        }
      }
      for (const auto& tokens : span_tokens(tile, n, votes)) {
        auto& span = spans.emplace_back();
        for (const int t : tokens) span.push_back(query_of(first + t));
      }
    }
    return spans;
  }

  void index(Block& block) override {
    const int n = static_cast<int>(o_.block);
    std::vector<float> tile(static_cast<size_t>(n * n));
    Vector votes(static_cast<size_t>(n));
    for (int i = 0; i < n; ++i) {
      const size_t token = static_cast<size_t>(block.first + i);
      for (const double p : score_[token]) votes[static_cast<size_t>(i)] += p;
      for (int j = 0; j <= i; ++j) {
        tile[static_cast<size_t>(i * n + j)] =
            static_cast<float>(near_[token][static_cast<size_t>(block.first + j)]);
      }
    }
    auto& spans = index_.emplace_back();
    for (const auto& tokens : span_tokens(tile, n, votes, r_.mean)) {
      auto& span = spans.emplace_back();
      for (const int t : tokens) span.push_back(key_of(block.first + t));
      if (!r_.mean) continue;
      Vector mean(span[0].size());
      for (const Vector& key : span) {
        for (size_t i = 0; i < mean.size(); ++i) {
          mean[i] += key[i] / static_cast<double>(span.size());
        }
      }
      span = {mean};
    }
  }

  const LtriRules& r_;
  int layer_;
  Votes& votes_;
  std::vector<Spans> index_;
  std::vector<int32_t> looked_up_;
  size_t known_ = 0;
};

/// The steps of `run`: prompts in chunks of `rows`, with their last `last` tokens in one step.
struct LtriSteps {
  LtriSteps(const MethodRun& run, const LtriRules& r, const OracleOptions& options = {})
      : rules(r) {
    for (int layer = 0; layer < run.shape.layers; ++layer) {
      layers.push_back(std::make_unique<LtriLayerOracle>(
          run.shape, layer, run.inputs[static_cast<size_t>(layer)], options, rules, votes));
    }
  }
  void step(int64_t rows, bool decoding) {
    for (auto& layer : layers) {
      layer->decoding = decoding;
      layer->step(done, rows);
    }
    done += rows;
  }
  void prompt(int64_t tokens, int64_t rows = 24) {
    const int64_t end = done + tokens, last = std::max(done, end - rules.last);
    while (done < last) step(std::min(rows, last - done), false);
    while (done < end) step(std::min(rows, end - done), false);
  }
  void decode(int64_t tokens) {
    for (int64_t i = 0; i < tokens; ++i) step(1, true);
  }
  void expect_equal(const MethodRun& run) const {
    ASSERT_EQ(run.done, done);
    for (size_t l = 0; l < layers.size(); ++l) {
      std::vector<double> want = layers[l]->out;
      want.resize(static_cast<size_t>(done * run.shape.heads * run.shape.head_dim));
      EXPECT_LT(largest_difference(run.out[l], want), 5e-5) << "layer " << l;
    }
  }
  LtriRules rules;
  Votes votes;
  std::vector<std::unique_ptr<LtriLayerOracle>> layers;
  int64_t done = 0;
};

}  // namespace longhaul::testing_support
