#include "ops/matmul/experts.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "base/nth.h"
#include "ops/core/add.h"

namespace longhaul {
namespace {

const float* or_null(const std::vector<float>& bias) {
  return bias.empty() ? nullptr : bias.data();
}

double sigmoid(float x) { return 1 / (1 + std::exp(-double{x})); }

/// The number by which experts are chosen. It orders them as their scores do.
float choice_score(const float* logits, int32_t expert, const ExpertRule& rule, double top,
                   double sum) {
  if (rule.choice_bias == nullptr && rule.groups == 1) return logits[expert];
  const double score =
      rule.sigmoid ? sigmoid(logits[expert]) : std::exp(logits[expert] - top) / sum;
  const float bias = rule.choice_bias == nullptr ? 0 : rule.choice_bias[expert];
  return static_cast<float>(score) + bias;
}

/// Gives the experts of all but the best groups a score of minus infinity.
void drop_groups(const ExpertRule& rule, std::span<float> scores) {
  const auto size = scores.size() / static_cast<size_t>(rule.groups);
  std::vector<std::pair<float, int>> of_groups;
  for (int g = 0; g < rule.groups; ++g) {
    float best = -INFINITY, next = -INFINITY;
    for (const float score : scores.subspan(static_cast<size_t>(g) * size, size)) {
      next = std::max(next, std::min(best, score));
      best = std::max(best, score);
    }
    // Ascending order: the best group first, among equal ones the lower number.
    of_groups.emplace_back(-(rule.best_of_group || size == 1 ? best : best + next), g);
  }
  std::sort(of_groups.begin(), of_groups.end());
  for (size_t i = static_cast<size_t>(rule.groups_used); i < of_groups.size(); ++i) {
    const auto first = static_cast<size_t>(of_groups[i].second) * size;
    std::ranges::fill(scores.subspan(first, size), -INFINITY);
  }
}

/// Selects the experts of one row; `order` and `scores` are scratch memory.
void choose_of_row(const float* logits, int experts, int used, const ExpertRule& rule,
                   std::vector<int32_t>& order, std::vector<float>& scores, ExpertChoice* chosen) {
  order.resize(static_cast<size_t>(experts));
  scores.resize(static_cast<size_t>(experts));
  std::iota(order.begin(), order.end(), 0);
  const double top = *std::max_element(logits, logits + experts);
  double of_all = 0;
  for (const int32_t e : order) of_all += std::exp(logits[e] - top);
  for (const int32_t e : order) {
    scores[static_cast<size_t>(e)] = choice_score(logits, e, rule, top, of_all);
  }
  if (rule.groups > 1) drop_groups(rule, scores);
  std::partial_sort(order.begin(), order.begin() + used, order.end(), [&](int32_t a, int32_t b) {
    const float of_a = scores[static_cast<size_t>(a)], of_b = scores[static_cast<size_t>(b)];
    return of_a > of_b || (!(of_a < of_b) && a < b);
  });
  const auto weight = [&](int32_t e) {
    return rule.sigmoid ? sigmoid(logits[e]) : std::exp(logits[e] - top);
  };
  double sum = 0;
  const int counted = rule.among_chosen ? used : experts;
  for (int i = 0; i < counted; ++i) sum += weight(order[static_cast<size_t>(i)]);
  if (rule.sigmoid && !rule.among_chosen) sum = 1;
  std::sort(order.begin(), order.begin() + used);
  for (int i = 0; i < used; ++i) {
    const int32_t expert = order[static_cast<size_t>(i)];
    const float scale = rule.expert_scales == nullptr ? 1 : rule.expert_scales[expert];
    chosen[i] = {expert, static_cast<float>(weight(expert) / sum * rule.scale) * scale};
  }
}

}  // namespace

void choose_experts(const float* logits, int64_t rows, int experts, int used,
                    const ExpertRule& rule, ExpertChoice* chosen) {
  LH_ASSERT(used >= 1 && used <= experts && experts % rule.groups == 0);
  LH_ASSERT(used <= experts / rule.groups * rule.groups_used);
  parallel_ranges(rows, 32, [&](int64_t begin, int64_t end) {
    thread_local std::vector<int32_t> order;
    thread_local std::vector<float> scores;
    for (int64_t r = begin; r < end; ++r) {
      choose_of_row(logits + r * experts, experts, used, rule, order, scores, chosen + r * used);
    }
  });
}

void ExpertMix::run(const float* x, int64_t rows, std::span<const ExpertWeights> experts,
                    std::span<const ExpertChoice> chosen, const ExpertActivation& activation,
                    Compute compute, float* y, bool add, RowKind kind) {
  if (rows == 0) return;
  LH_ASSERT(!chosen.empty() && chosen.size() % static_cast<size_t>(rows) == 0);
  if (!add) std::fill_n(y, rows * experts.front().down.rows(), 0.0f);
  const bool shares = kind == RowKind::kDecode ? rows > 1 : rows > kMatvecMaxRows;
  if (shares || compute == Compute::kF32) {
    input_.set_row_kind(kind);
    return run_gathered(x, rows, experts, chosen, activation, compute, y);
  }
  const int64_t hidden = experts.front().down.rows();
  const size_t used = chosen.size() / static_cast<size_t>(rows);
  for (int64_t r = 0; r < rows; ++r) {
    run_row(x + r * hidden, experts, chosen.subspan(static_cast<size_t>(r) * used, used),
            activation, y + r * hidden);
  }
}

void ExpertMix::run_inner(const float* x, std::span<const ExpertWeights> experts,
                          std::span<const ExpertChoice> chosen,
                          const ExpertActivation& activation) {
  const int64_t ffn = experts.front().up.rows(), hidden = experts.front().down.rows();
  const int64_t used = std::ssize(chosen);
  const bool gated = activation.ungated == Ungated::kNone;
  inner_.resize(static_cast<size_t>(used * ffn));
  products_.resize(static_cast<size_t>(2 * used * ffn));
  jobs_.clear();
  for (int64_t i = 0; i < used; ++i) {
    const ExpertWeights& w = experts[static_cast<size_t>(nth(chosen, i).expert)];
    float* const to = gated ? products_.data() + 2 * i * ffn : inner_.data() + i * ffn;
    if (gated) jobs_.push_back({.weight = w.gate, .y = to, .bias = or_null(w.gate_bias)});
    jobs_.push_back({.weight = w.up, .y = gated ? to + ffn : to, .bias = or_null(w.up_bias)});
  }
  activations_.assign(x, 1, hidden);
  matvec(jobs_, activations_);
  if (!gated) return activate(activation.ungated, {}, inner_.data(), used * ffn);
  swiglu(products_.data(), products_.data() + ffn, used, ffn, 2 * ffn, inner_.data(),
         activation.gating);
}

/// Runs all of a row's experts together, in two reading passes independent of their number.
void ExpertMix::run_row(const float* x, std::span<const ExpertWeights> experts,
                        std::span<const ExpertChoice> chosen, const ExpertActivation& activation,
                        float* y) {
  const int64_t ffn = experts.front().up.rows(), hidden = experts.front().down.rows();
  const int64_t used = std::ssize(chosen);
  run_inner(x, experts, chosen, activation);
  results_.resize(static_cast<size_t>(used * hidden));
  for (int64_t first = 0; first < used; first += kMatvecMaxRows) {
    const int64_t count = std::min(used - first, kMatvecMaxRows);
    inner_rows_.assign(inner_.data() + first * ffn, count, ffn);
    jobs_.clear();
    for (int64_t i = 0; i < count; ++i) {
      const ExpertWeights& w =
          experts[static_cast<size_t>(chosen[static_cast<size_t>(first + i)].expert)];
      jobs_.push_back({.weight = w.down,
                       .y = results_.data() + (first + i) * hidden,
                       .bias = or_null(w.down_bias),
                       .only = i});
    }
    matvec(jobs_, inner_rows_);
  }
  for (int64_t i = 0; i < used; ++i) {
    add_scaled(y, results_.data() + i * hidden, hidden, chosen[static_cast<size_t>(i)].weight);
  }
}

void ExpertMix::run_gathered(const float* x, int64_t rows, std::span<const ExpertWeights> experts,
                             std::span<const ExpertChoice> chosen,
                             const ExpertActivation& activation, Compute compute, float* y) {
  const int64_t hidden = experts.front().down.rows(), used = std::ssize(chosen) / rows;
  // Sorts choices by expert, then by row.
  begins_.assign(experts.size() + 1, 0);
  for (const ExpertChoice& c : chosen) ++begins_[static_cast<size_t>(c.expert) + 1];
  std::partial_sum(begins_.begin(), begins_.end(), begins_.begin());
  order_.resize(chosen.size());
  std::vector<int64_t> at(begins_.begin(), begins_.end() - 1);
  for (size_t i = 0; i < chosen.size(); ++i) {
    order_[static_cast<size_t>(at[static_cast<size_t>(chosen[i].expert)]++)] =
        static_cast<int64_t>(i);
  }
  for (size_t e = 0; e < experts.size(); ++e) {
    const int64_t first = begins_[e], count = begins_[e + 1] - first;
    if (count == 0) continue;
    const ExpertWeights& w = experts[e];
    gathered_.resize(static_cast<size_t>(count * hidden));
    results_.resize(static_cast<size_t>(count * hidden));
    for (int64_t i = 0; i < count; ++i) {
      const int64_t row = order_[static_cast<size_t>(first + i)] / used;
      std::copy_n(x + row * hidden, hidden, gathered_.data() + i * hidden);
    }
    input_.assign(gathered_.data(), count, hidden);
    if (activation.ungated == Ungated::kNone) {
      linear_swiglu(input_,
                    {.gate = w.gate,
                     .up = w.up,
                     .gate_bias = or_null(w.gate_bias),
                     .up_bias = or_null(w.up_bias),
                     .gating = activation.gating},
                    inner_input_, compute);
    } else {
      const int64_t ffn = w.up.rows();
      inner_.resize(static_cast<size_t>(count * ffn));
      linear(input_, LinearJob{.weight = w.up, .y = inner_.data(), .bias = or_null(w.up_bias)},
             compute);
      activate(activation.ungated, {}, inner_.data(), count * ffn);
      inner_input_.set_row_kind(input_.row_kind());
      inner_input_.assign(inner_.data(), count, ffn);
    }
    linear(inner_input_,
           LinearJob{.weight = w.down, .y = results_.data(), .bias = or_null(w.down_bias)},
           compute);
    for (int64_t i = 0; i < count; ++i) {
      const auto choice = static_cast<size_t>(order_[static_cast<size_t>(first + i)]);
      add_scaled(y + static_cast<int64_t>(choice) / used * hidden, results_.data() + i * hidden,
                 hidden, chosen[choice].weight);
    }
  }
}

size_t ExpertMix::bytes_for(int64_t rows, int64_t used, int64_t hidden, int64_t ffn) {
  // In prefill all rows may go to one expert. In decode the results of all experts exist at the
  // same time.
  const int64_t decode = used * (3 * ffn + hidden), many = rows * (3 * hidden + 2 * ffn);
  return static_cast<size_t>(std::max(decode, many)) * sizeof(float) +
         static_cast<size_t>(rows * used) * (sizeof(ExpertChoice) + sizeof(int64_t));
}

}  // namespace longhaul
