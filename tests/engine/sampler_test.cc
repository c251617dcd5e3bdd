#include "engine/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <set>

#include "base/error.h"

namespace longhaul {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

SamplerOptions sampling(float temperature, int top_k, float top_p, float min_p) {
  SamplerOptions options;
  options.temperature = temperature;
  options.top_k = top_k;
  options.top_p = top_p;
  options.min_p = min_p;
  options.seed = 7;
  return options;
}

std::vector<float> random_logits(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, 3);
  std::vector<float> logits(count);
  for (float& x : logits) x = normal(random);
  return logits;
}

/// The chain by definition, without shortcuts: probability per token.
std::map<int32_t, double> reference(const std::vector<float>& logits, const SamplerOptions& o) {
  std::vector<int32_t> order(logits.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int32_t>(i);
  const auto at = [&](int32_t id) { return static_cast<double>(logits[static_cast<size_t>(id)]); };
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return at(a) > at(b); });
  if (o.top_k > 0) order.resize(std::min(order.size(), static_cast<size_t>(o.top_k)));
  double total = 0, mass = 0;
  for (const int32_t id : order) total += std::exp(at(id));
  std::vector<int32_t> kept;
  for (const int32_t id : order) {
    kept.push_back(id);
    mass += std::exp(at(id)) / total;
    if (mass >= static_cast<double>(o.top_p)) break;
  }
  std::erase_if(kept, [&](int32_t id) {
    return std::exp(at(id) - at(order[0])) < static_cast<double>(o.min_p);
  });
  std::map<int32_t, double> shares;
  double sum = 0;
  for (const int32_t id : kept) {
    sum += shares[id] = std::exp(at(id) / static_cast<double>(o.temperature));
  }
  for (auto& [id, share] : shares) share /= sum;
  return shares;
}

/// Draws many samples and compares their frequencies with the definition's probabilities.
void expect_distribution(const std::vector<float>& logits, const SamplerOptions& options) {
  const auto expected = reference(logits, options);
  constexpr int kDraws = 20000;
  Sampler sampler(options);
  std::map<int32_t, int> counts;
  for (int i = 0; i < kDraws; ++i) ++counts[sampler.sample(logits, {})];
  for (const auto& [id, count] : counts) {
    EXPECT_TRUE(expected.contains(id)) << "token " << id << " should have been cut";
  }
  for (const auto& [id, share] : expected) {
    const double sigma = std::sqrt(share * (1 - share) / kDraws);
    EXPECT_NEAR(static_cast<double>(counts[id]) / kDraws, share, 5 * sigma + 1e-4)
        << "token " << id;
  }
}

TEST(Sampler, GreedyTakesTheLargestAndOfEqualsTheFirst) {
  Sampler sampler(SamplerOptions{});
  EXPECT_EQ(sampler.sample(std::vector<float>{1, 5, 2}, {}), 1);
  EXPECT_EQ(sampler.sample(std::vector<float>{1, 5, 5, 5}, {}), 1);
  const auto logits = random_logits(4096, 1);
  EXPECT_EQ(sampler.sample(logits, {}),
            std::max_element(logits.begin(), logits.end()) - logits.begin());
}

TEST(Sampler, DistributionFollowsTheDefinition) {
  const auto logits = random_logits(200, 2);
  expect_distribution(logits, sampling(1.0f, 0, 1.0f, 0.0f));
  expect_distribution(logits, sampling(0.7f, 12, 1.0f, 0.0f));
  expect_distribution(logits, sampling(1.3f, 0, 0.8f, 0.0f));
  expect_distribution(logits, sampling(1.0f, 0, 1.0f, 0.1f));
  expect_distribution(logits, sampling(0.8f, 40, 0.95f, 0.05f));
}

TEST(Sampler, TopPReachesBeyondTheFirstSortedStretch) {
  const std::vector<float> flat(1000, 0.5f);  // a share of 0.9 needs 900 of them
  Sampler sampler(sampling(1.0f, 0, 0.9f, 0.0f));
  std::set<int32_t> seen;
  for (int i = 0; i < 20000; ++i) seen.insert(sampler.sample(flat, {}));
  EXPECT_GE(*seen.rbegin(), 890);
  EXPECT_LT(*seen.rbegin(), 901);
}

TEST(Sampler, LowTemperatureIsGreedy) {
  const auto logits = random_logits(500, 3);
  Sampler greedy(SamplerOptions{});
  Sampler cold(sampling(1e-3f, 40, 0.95f, 0.05f));
  for (int i = 0; i < 50; ++i) EXPECT_EQ(cold.sample(logits, {}), greedy.sample(logits, {}));
}

TEST(Sampler, SeedDecides) {
  const auto logits = random_logits(300, 4);
  auto options = sampling(1.0f, 0, 1.0f, 0.0f);
  const auto draws = [&](uint64_t seed) {
    options.seed = seed;
    Sampler sampler(options);
    std::vector<int32_t> tokens;
    for (int i = 0; i < 40; ++i) tokens.push_back(sampler.sample(logits, {}));
    return tokens;
  };
  EXPECT_EQ(draws(1), draws(1));
  EXPECT_NE(draws(1), draws(2));
}

TEST(Sampler, RepeatPenaltyActsOnTheLastTokensOnly) {
  SamplerOptions options;
  options.repeat_penalty = 2;
  options.repeat_last = 2;
  Sampler sampler(options);
  const std::vector<float> logits = {4, 3, -1};
  EXPECT_EQ(sampler.sample(logits, std::vector<int32_t>{0}), 1);        // 4 / 2 < 3
  EXPECT_EQ(sampler.sample(logits, std::vector<int32_t>{0, 0}), 1);     // once, not twice
  EXPECT_EQ(sampler.sample(logits, std::vector<int32_t>{0, 2, 2}), 0);  // too long ago
  EXPECT_EQ(sampler.sample(std::vector<float>{-1, -1.5f}, std::vector<int32_t>{0}), 1);  // -1 * 2
  EXPECT_EQ(sampler.sample(logits, std::vector<int32_t>{-5, 99}), 0);  // ids without a token
}

TEST(Sampler, NaNAndInfinityDoNoHarm) {
  Sampler greedy(SamplerOptions{});
  EXPECT_EQ(greedy.sample(std::vector<float>{kNaN, 1, kNaN, 3}, {}), 3);
  EXPECT_EQ(greedy.sample(std::vector<float>{1, kInfinity, 2}, {}), 1);
  Sampler random(sampling(1.0f, 40, 0.95f, 0.05f));
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(random.sample(std::vector<float>{kNaN, 1, -kInfinity, 30}, {}), 3);
    EXPECT_EQ(random.sample(std::vector<float>{1, kInfinity, 2}, {}), 1);
  }
  EXPECT_THROW(greedy.sample(std::vector<float>{kNaN, -kInfinity}, {}), UserError);
}

/// Logits are compared in blocks, and most blocks are skipped.
TEST(Sampler, LargeVocabulariesGiveTheTokenOfAPlainSearch) {
  std::mt19937 random(11);
  for (int round = 0; round < 40; ++round) {
    const size_t vocab = 700 + random() % 3000;
    std::vector<float> logits = random_logits(vocab, static_cast<uint32_t>(round));
    for (int i = 0; i < 30; ++i) logits[random() % vocab] = i % 3 == 0 ? kNaN : -kInfinity;
    for (int i = 0; i < 3; ++i) logits[random() % vocab] = round % 4 == 0 ? kInfinity : 9.5f;
    std::vector<int32_t> history;
    for (int i = 0; i < 80; ++i) history.push_back(static_cast<int32_t>(random() % vocab));
    history.push_back(-1);
    history.push_back(static_cast<int32_t>(vocab));
    std::vector<uint64_t> mask((vocab + 63) / 64);
    for (uint64_t& word : mask) word = random() | uint64_t{random()} << 32;
    SamplerOptions options;
    options.repeat_penalty = round % 2 == 0 ? 1.0f : round % 3 == 0 ? 0.5f : 1.7f;
    const std::set<int32_t> recent(history.end() - options.repeat_last, history.end());
    int32_t want = -1;
    float best = -kInfinity;
    for (size_t i = 0; i < vocab; ++i) {
      float logit = logits[i];
      if (options.repeat_penalty != 1 && recent.contains(static_cast<int32_t>(i))) {
        logit = logit > 0 ? logit / options.repeat_penalty : logit * options.repeat_penalty;
      }
      logit = std::min(logit, std::numeric_limits<float>::max());
      if (round % 5 != 0 && (mask[i / 64] >> (i % 64) & 1) == 0) continue;
      if (logit > best) best = logit, want = static_cast<int32_t>(i);
    }
    const std::span<const uint64_t> allowed = round % 5 == 0 ? std::span<const uint64_t>() : mask;
    EXPECT_EQ(Sampler(options).sample(logits, history, allowed), want) << "round " << round;
    options.temperature = 1;
    options.top_k = 1;  // draws from the best one
    EXPECT_EQ(Sampler(options).sample(logits, history, allowed), want) << "round " << round;
  }
}

}  // namespace
}  // namespace longhaul
