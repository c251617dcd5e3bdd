// The radix tree of snapshots, and the places where prompts are cut.

#include "serve/cache/snapshot_tree.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "base/clock.h"
#include "serve/cache/cut_points.h"
#include "serve/cache/prefix_cache.h"
#include "serve/scheduler/mock_engine.h"

namespace longhaul::serve {
namespace {

using Tokens = std::vector<int32_t>;

/// A snapshot of a mock sequence with these tokens.
std::shared_ptr<Snapshot> snapshot_of(MockEngine& engine, const Tokens& tokens,
                                      const std::string& scope = "key") {
  auto snapshot = std::make_shared<Snapshot>();
  snapshot->sequence = engine.begin(MethodSpec::parse("dense"), "");
  const auto prefill = engine.prefill(*snapshot->sequence, tokens, {}, PrefillLane::kLong);
  while (prefill->step([] {}) == Advance::kMore) {
  }
  snapshot->legs = {{std::ssize(tokens), false}};
  snapshot->key = {scope, "dense", 0};
  snapshot->seconds = 1;
  return snapshot;
}

bool evict_one(PrefixCache& cache, double now) {
  Snapshot* const victim = cache.next_victim(now);
  if (victim != nullptr) cache.evict(*victim);
  return victim != nullptr;
}

CacheQuery query_of(std::span<const int32_t> prompt, const std::string& scope = "key") {
  return {.scope = scope,
          .method = "dense",
          .rule = {.group = ResumeGroup::kDense, .is_dense = true},
          .prompt = prompt};
}

Tokens counted(int32_t first, int count) {
  Tokens tokens(static_cast<size_t>(count));
  std::iota(tokens.begin(), tokens.end(), first);
  return tokens;
}

Tokens joined(Tokens a, const Tokens& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST(SnapshotTree, SplitsWherePromptsPart) {
  SnapshotTree tree;
  MockEngine engine({});
  const Tokens head = counted(100, 50);
  const Tokens left = joined(head, counted(1000, 20)), right = joined(head, counted(2000, 30));
  for (const Tokens* tokens : {&left, &right}) {
    tree.make(*tokens)->snapshot = snapshot_of(engine, *tokens);
  }
  const auto path = tree.walk(joined(head, {2000, 2001, 7}));
  EXPECT_EQ(path.common, 52);
  ASSERT_EQ(path.nodes.size(), 1U) << "the node where the two part";
  EXPECT_EQ(path.nodes[0]->depth, 50);
  EXPECT_EQ(path.below->depth, 80);
  EXPECT_EQ(SnapshotTree::below(*path.nodes[0], 10).size(), 2U);
  TreeNode* node = tree.make(left);
  tree.remove(node);
  EXPECT_EQ(tree.walk(left).common, 50) << "the other one remains, in one edge";
  EXPECT_TRUE(tree.walk(left).nodes.empty());
  tree.remove(tree.make(right));
  EXPECT_TRUE(tree.empty());
}

TEST(SnapshotTree, AgreesWithAListOfSequences) {
  std::mt19937 random(7);
  MockEngine engine({});
  SnapshotTree tree;
  std::vector<Tokens> all;
  const auto draw = [&](int most) {
    return static_cast<int>(random() % static_cast<unsigned>(most));
  };
  for (int round = 0; round < 600; ++round) {
    Tokens tokens;
    if (!all.empty() && draw(4) > 0) {
      const Tokens& from = all[static_cast<size_t>(draw(static_cast<int>(all.size())))];
      tokens.assign(from.begin(), from.begin() + draw(static_cast<int>(from.size()) + 1));
    }
    for (int more = draw(20); more >= 0; --more) tokens.push_back(draw(3));
    int64_t common = 0;
    for (const Tokens& each : all) {
      const auto same = std::mismatch(each.begin(), each.end(), tokens.begin(), tokens.end());
      common = std::max<int64_t>(common, same.first - each.begin());
    }
    ASSERT_EQ(tree.walk(tokens).common, common);
    if (draw(3) == 0 && !all.empty()) {
      const size_t gone = static_cast<size_t>(draw(static_cast<int>(all.size())));
      tree.remove(tree.make(all[gone]));
      all.erase(all.begin() + static_cast<ptrdiff_t>(gone));
    } else if (std::ranges::find(all, tokens) == all.end()) {
      tree.make(tokens)->snapshot = snapshot_of(engine, tokens);
      all.push_back(tokens);
    }
  }
}

TEST(CutPoints, FollowTheRule) {
  const int64_t marks[] = {700, 100, 990, 5000};
  CutFacts facts{.prompt = 1000, .instruction = 50, .checkpoints = marks, .grid = 256};
  ResumeRule rule{.group = ResumeGroup::kDense, .is_dense = true};
  EXPECT_EQ(cut_points(rule, facts), (std::vector<int64_t>{100, 700, 950}));
  rule = {.group = ResumeGroup::kDense, .last = 32};
  EXPECT_EQ(cut_points(rule, facts), (std::vector<int64_t>{100, 700, 950, 968}));
  rule = {.group = ResumeGroup::kGrid, .unit = 64};
  EXPECT_EQ(cut_points(rule, facts), (std::vector<int64_t>{64, 256, 512, 640, 768, 896, 960}));
  rule = {.group = ResumeGroup::kTurn};
  EXPECT_TRUE(cut_points(rule, facts).empty());
}

TEST(PrefixCache, KeysShareNothing) {
  MockEngine engine({});
  PrefixCache cache(false);
  const Tokens prompt = counted(0, 100);
  ASSERT_NE(cache.insert(snapshot_of(engine, prompt, "one")), nullptr);
  EXPECT_EQ(cache.find(query_of(prompt, "one")).tokens, 100);
  EXPECT_EQ(cache.find(query_of(prompt, "two")).tokens, 0);
}

TEST(PrefixCache, EvictsWhatSavesLeastForItsBytes) {
  MockEngine engine({});
  PrefixCache cache(false);
  const Tokens costly = counted(0, 100), cheap = counted(1000, 100), kept = counted(2000, 100),
               leased = counted(3000, 100);
  for (const auto& [tokens, seconds] :
       {std::pair{&costly, 9.0}, {&cheap, 1.0}, {&kept, 0.1}, {&leased, 0.1}}) {
    auto snapshot = snapshot_of(engine, *tokens);
    snapshot->seconds = seconds;
    if (tokens == &kept) snapshot->kept_until = 10;
    cache.insert(snapshot);
  }
  cache.lease(*cache.find(query_of(leased)).snapshot);
  EXPECT_TRUE(evict_one(cache, 5));
  EXPECT_EQ(cache.find(query_of(cheap)).tokens, 0);
  EXPECT_TRUE(evict_one(cache, 5));
  EXPECT_EQ(cache.find(query_of(costly)).tokens, 0);
  EXPECT_TRUE(evict_one(cache, 5)) << "a pin of a request is soft";
  EXPECT_FALSE(evict_one(cache, 5)) << "a lease is not";
  EXPECT_EQ(cache.find(query_of(leased)).tokens, 100);
}

/// A lookup compares every token of a prompt of 100,000, whatever else the tree has.
TEST(PrefixCache, FindsAmongTenThousandSnapshots) {
  MockEngine engine({});
  PrefixCache cache(false);
  std::mt19937 random(11);
  const Tokens text = counted(0, 100'000);
  for (int i = 0; i < 10'000; ++i) {
    const auto length = static_cast<ptrdiff_t>(16 + random() % 200);
    Tokens tokens(text.begin(), text.begin() + length);
    tokens.push_back(static_cast<int32_t>(200'000 + i));
    cache.insert(snapshot_of(engine, tokens));
  }
  cache.insert(snapshot_of(engine, text));
  ASSERT_GT(cache.count(), 9'990U);
  constexpr int kRounds = 100;
  const Stopwatch watch;
  for (int i = 0; i < kRounds; ++i) {
    Tokens prompt = joined(text, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16});
    ASSERT_EQ(cache.find(query_of(prompt)).tokens, 100'000);
  }
  const double seconds = watch.seconds() / kRounds;
  RecordProperty("lookup_us", static_cast<int>(seconds * 1e6));
  EXPECT_LT(seconds, 0.1);  // many times the usual time: the machine may be busy
}

}  // namespace
}  // namespace longhaul::serve
