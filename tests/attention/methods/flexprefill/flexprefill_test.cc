#include <gtest/gtest.h>

#include <map>
#include <set>

#include "attention/sparse_oracle.h"

namespace longhaul {
namespace {

using namespace testing_support;

struct FlexSettings {
  double gamma, tau;
  int64_t least;  // tokens
};

/// docs/methods/flexprefill.md by loops, for rows [begin, end) of one head: the key blocks of every
/// row block.
std::map<int64_t, std::set<int64_t>> blocks_by_definition(const ModelShape& shape,
                                                          const SparseOracle& oracle, int head,
                                                          int64_t begin, int64_t end,
                                                          const FlexSettings& s,
                                                          bool* query_aware) {
  const int64_t n = end, nb = (n + 127) / 128, last = std::min<int64_t>(128, end - begin);
  std::vector<double> vertical, slash;
  oracle.lines(head, end - last, end, vertical, slash);
  std::reverse(slash.begin(), slash.end());  // offset n - 1 first
  std::vector<double> vertical_bins(static_cast<size_t>(nb)), slash_bins(vertical_bins);
  const auto budget = [&](std::vector<double> x) {
    std::sort(x.rbegin(), x.rend());
    double sum = 0;
    int64_t c = 1;
    for (const double e : x) c += (sum += e) <= s.gamma;
    return std::max((s.least + 127) / 128, c / 128 + 1);
  };
  for (int64_t j = 0; j < n; ++j) {
    const size_t at = static_cast<size_t>(j);
    vertical[at] /= static_cast<double>(last);
    slash[at] /= static_cast<double>(last);
    vertical_bins[at / 128] += vertical[at];
    slash_bins[at / 128] += slash[at];
  }
  const auto mean_key = [&](int64_t b) {
    return oracle.mean(true, head, b * 128, std::min(n, b * 128 + 128));
  };
  std::vector<double> coarse;
  const auto query = oracle.mean(false, head, end - last, end);
  for (int64_t b = 0; b < nb; ++b) coarse.push_back(shape.scale * dot_of(query, mean_key(b)));
  coarse = softmax_by_definition(coarse);
  double js = 0;
  for (size_t b = 0; b < coarse.size(); ++b) {
    const double p = coarse[b], q = vertical_bins[b], m = (p + q) / 2;
    js += 0.5 * (p * std::log(p / m) + q * std::log(q / m));
  }
  *query_aware = std::sqrt(js) < s.tau;
  const int64_t least = (s.least + 127) / 128;
  const int64_t columns = *query_aware ? least : budget(vertical);
  const int64_t diagonals = *query_aware ? least : budget(slash);
  vertical_bins[0] = slash_bins.back() = INFINITY;
  std::map<int64_t, std::set<int64_t>> chosen;
  const int64_t first = begin / 128;
  for (int64_t r = first; r < nb; ++r) {
    for (const int64_t b : best_by_definition(vertical_bins, columns)) chosen[r].insert(b);
    for (const int64_t b : best_by_definition(slash_bins, diagonals)) {
      chosen[r].insert(r - (nb - 1 - b));
    }
  }
  if (!*query_aware) return chosen;
  std::vector<std::pair<double, std::pair<int64_t, int64_t>>> pairs;
  for (int64_t r = first; r < nb; ++r) {
    const auto mean =
        oracle.mean(false, head, std::max(begin, r * 128), std::min(n, r * 128 + 128));
    std::vector<double> row;
    for (int64_t b = 0; b <= r; ++b) row.push_back(shape.scale * dot_of(mean, mean_key(b)));
    row = softmax_by_definition(row);
    for (int64_t b = 0; b <= r; ++b) pairs.push_back({row[static_cast<size_t>(b)], {r, b}});
  }
  std::sort(pairs.rbegin(), pairs.rend());
  double sum = 0;
  for (const auto& [score, at] : pairs) {
    if ((sum += score) > s.gamma * static_cast<double>(nb - first)) break;
    chosen[at.first].insert(at.second);
  }
  return chosen;
}

/// `ends` are the ends of consecutive passes.
void expect_by_definition(const ModelShape& shape, const std::string& text, const FlexSettings& s,
                          int64_t prompt, int chunk, const std::vector<int64_t>& ends,
                          std::set<bool>* kinds = nullptr) {
  const auto method = make(text, shape);
  MethodRun run(shape, *method, DType::F32, prompt + 3);
  run.prompt(prompt, chunk);
  run.decode(3);
  const SparseOracle oracle(run, 0);
  std::vector<std::vector<std::map<int64_t, std::set<int64_t>>>> chosen;  // [pass][head]
  for (size_t p = 0; p < ends.size(); ++p) {
    chosen.emplace_back();
    for (int head = 0; head < shape.heads; ++head) {
      bool query_aware = false;
      chosen.back().push_back(blocks_by_definition(shape, oracle, head, p == 0 ? 0 : ends[p - 1],
                                                   ends[p], s, &query_aware));
      if (kinds != nullptr) kinds->insert(query_aware);
    }
  }
  oracle.expect(run, 0, [&](int head, int64_t i, int64_t j) {
    size_t p = 0;
    while (p < ends.size() && i >= ends[p]) ++p;
    if (p == ends.size() || ends[p] <= std::max<int64_t>(256, s.least)) return true;
    return chosen[p][static_cast<size_t>(head)].at(i / 128).count(j / 128) > 0;
  });
}

TEST(FlexPrefill, ColumnsAndDiagonalsHoldGamma) {
  for (const int group : {1, 2, 3, 8}) {
    const ModelShape shape = small_shape(1, 1, group, 32);
    expect_by_definition(shape, "flexprefill:dense_below=0,min_budget=128,gamma=0.4,tau=0",
                         {0.4, 0, 128}, 900, 1024, {900});
  }
}

TEST(FlexPrefill, QueryAwareHeadsTakePairsOfBlocks) {
  for (const int group : {1, 3}) {
    const ModelShape shape = small_shape(1, 2, group, 32);
    std::set<bool> kinds;
    expect_by_definition(shape, "flexprefill:dense_below=0,min_budget=128,gamma=0.3,tau=1",
                         {0.3, 1, 128}, 897, 1024, {897}, &kinds);
    EXPECT_EQ(kinds, std::set<bool>{true});
  }
}

TEST(FlexPrefill, EachPassChoosesFromItsOwnLastRowsAndShortContextsAreDense) {
  const ModelShape shape = small_shape(1, 1, 4, 32);
  expect_by_definition(shape, "flexprefill:dense_below=0,min_budget=300,gamma=0.3,tau=0.3",
                       {0.3, 0.3, 300}, 1000, 300, {256, 512, 768, 1000});
}

TEST(FlexPrefill, MoreGammaIsMoreWork) {
  const ModelShape shape = small_shape(1, 1, 2, 32);
  double before = 0;
  for (const char* gamma : {"0.05", "0.5", "0.9", "1"}) {
    const auto method =
        make(std::string("flexprefill:dense_below=0,min_budget=128,gamma=") + gamma, shape);
    MethodRun run(shape, *method, DType::F32, 1500);
    run.prompt(1500, 1500);
    const double share =
        static_cast<double>(run.record.pairs) / static_cast<double>(run.record.dense_pairs);
    EXPECT_GE(share, before) << gamma;
    before = share;
  }
  EXPECT_EQ(before, 1);
}

}  // namespace
}  // namespace longhaul
