// A session's handling of the passes that a method requests: repeated passes, streams, cancelling.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "base/byte_stream.h"
#include "base/error.h"
#include "engine/session.h"
#include "format/temp_folder.h"

namespace longhaul {
namespace {

/// A step of layer 0 as the method saw it.
struct Seen {
  int64_t begin;
  int rows;
  int stream;
  bool discard;
  std::vector<int64_t> lengths;  ///< lengths of the streams before the step
};

std::vector<Pass> planned;
std::vector<Seen> seen_passes;
PromptFacts asked_facts;
std::function<void()> on_pass;
int finished = 0, last_of_prompts = 0;
int most_together = 0;  ///< most passes computed together
bool failing = false;
int failing_layer = 0;

/// Dense attention over each of two streams with the passes that a test plans. Rows that stream 1
/// keeps also go to stream 0. No rows are evicted.
class Planned final : public Method {
 public:
  void declare(OptionList&) {}
  void fit(const ModelShape& shape) {
    whole = {.when = When::kOwn, .own_rule = true, .streams = 2};
    last_layer_ = shape.layers - 1;
  }
  ListPlan plan(int, int, int64_t) const override { return {}; }
  std::vector<Pass> passes(const PromptFacts& prompt) override {
    asked_facts = prompt;
    return planned;
  }
  void attend(LayerStep& step) override {
    if (step.layer == 0) {
      Seen now{step.begin, step.rows, step.pass.stream, step.pass.discard, {}};
      most_together = std::max(most_together, step.nth_pass + 1);
      for (const KvStore& stream : step.streams) {
        now.lengths.push_back(stream.length(0, 0) - (&stream == step.store ? step.rows : 0));
      }
      seen_passes.push_back(now);
      if (on_pass) on_pass();
    }
    if (failing && step.layer == failing_layer) user_error("the disk is full");
    if (step.pass.stream == 1 && !step.pass.discard) {
      step.streams[0].append(step.layer, step.rows, step.workspace->rotated_k.view(), step.v);
    }
    Method::attend(step);
  }
  void choose(const Eviction& due) override {
    const Pass& pass = due.pass;
    if (due.layer == last_layer_ && due.stream == 0) {
      ++finished;
      last_of_prompts += pass.last ? 1 : 0;
    }
    if (pass.last || pass.phase == Phase::kDecode) return;  // only for stream 0
    if (due.stream == 0) {
      const bool reads_on = pass.discard && pass.taken_back == 0;
      length_ = due.rows(0) - (reads_on ? pass.count : 0);
    } else {
      EXPECT_EQ(length_, due.rows(0));
    }
  }

 private:
  int last_layer_ = 0;
  int64_t length_ = 0;  ///< rows of stream 0
};

/// Dense attention over one stream whose rows can be taken back, with the passes of the test.
class Rewinding final : public Method {
 public:
  void declare(OptionList&) {}
  void fit(const ModelShape&) { whole.rewinds = true; }
  ListPlan plan(int, int, int64_t) const override { return {}; }
  std::vector<Pass> passes(const PromptFacts&) override { return planned; }
  void attend(LayerStep& step) override {
    if (step.layer == 0) {
      seen_passes.push_back({step.begin, step.rows, 0, false, {}});
      if (on_pass) on_pass();
    }
    Method::attend(step);
  }
};

const MethodInfo kMethods[] = {method_info<Planned>({.name = "planned"}),
                               method_info<Rewinding>({.name = "rewinding"})};

class Passes : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { engine_ = Engine::open(LONGHAUL_MODELS "/nano"); }
  static void TearDownTestSuite() { engine_.reset(); }
  void SetUp() override {
    seen_passes.clear();
    on_pass = nullptr;
    finished = last_of_prompts = most_together = 0;
    for (int i = 0; i < 60; ++i) tokens_.push_back(100 + 37 * i);
    // A chunk, the end read ahead, a chunk, the end in two parts, the end.
    planned = {{0, 20, 1},       {50, 10, 0, true}, {20, 30, 1},
               {50, 4, 0, true}, {54, 6, 0, true},  {50, 10, 0}};
  }

  /// Each pass is computed on its own unless `chunk` has room for several.
  static SessionOptions options(const char* method, int chunk = 1) {
    SessionOptions o;
    const bool own = std::string_view(method) != "dense";
    o.attention = own ? MethodSpec::parse(method, kMethods) : MethodSpec::parse(method);
    o.compute = Compute::kF32;
    o.chunk = chunk;
    o.kv_type = DType::F32;
    return o;
  }

  inline static std::shared_ptr<const Engine> engine_;
  std::vector<int32_t> tokens_;
};

TEST_F(Passes, RepeatedOnesLeaveNothingBehind) {
  Session dense(engine_, options("dense", 60)), session(engine_, options("planned"));
  ASSERT_TRUE(dense.prefill(tokens_));
  PrefillHooks hooks;
  hooks.instruction = 10;
  std::vector<int64_t> progress, logit_rows;
  hooks.progress = [&](int64_t done, int64_t total) {
    EXPECT_EQ(total, 60);
    progress.push_back(done);
  };
  hooks.all_logits = [&](int64_t first, int64_t rows, const float*) {
    for (int64_t r = 0; r < rows; ++r) logit_rows.push_back(first + r);
  };
  ASSERT_TRUE(session.prefill(tokens_, hooks));
  EXPECT_EQ(asked_facts.instruction, 10);
  const size_t layers = 12;  // each layer reports; the passes end at 20, 50 and 60
  ASSERT_EQ(progress.size(), 3 * layers);
  EXPECT_TRUE(std::ranges::is_sorted(progress));
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(progress[(i + 1) * layers - 1], (std::vector<int64_t>{20, 50, 60})[i]);
  }
  ASSERT_EQ(logit_rows.size(), 60u);
  for (int64_t i = 0; i < 60; ++i) EXPECT_EQ(logit_rows[static_cast<size_t>(i)], i);
  EXPECT_EQ(std::vector<int32_t>(session.tokens().begin(), session.tokens().end()), tokens_);
  EXPECT_EQ(session.store().longest(), 60);
  EXPECT_EQ(session.report().live_rows, dense.report().live_rows);
  for (size_t i = 0; i < 4096; ++i) ASSERT_NEAR(session.logits()[i], dense.logits()[i], 2e-3);
  EXPECT_EQ(finished, 6);
  EXPECT_EQ(last_of_prompts, 1);
}

TEST_F(Passes, ReadTheStreamsThatTheyName) {
  const std::vector<int64_t> first{0, 20, 20, 50, 54, 50}, second{0, 20, 20, 50, 50, 50};
  for (const int chunk : {1, 40, 200}) {
    seen_passes.clear();
    Session session(engine_, options("planned", chunk));
    ASSERT_TRUE(session.prefill(tokens_));
    ASSERT_EQ(seen_passes.size(), 6u);
    for (size_t i = 0; i < seen_passes.size(); ++i) {
      EXPECT_EQ(seen_passes[i].begin, planned[i].begin);
      EXPECT_EQ(seen_passes[i].rows, planned[i].count);
      EXPECT_EQ(seen_passes[i].stream, planned[i].stream);
      EXPECT_EQ(seen_passes[i].discard, planned[i].discard);
      EXPECT_EQ(seen_passes[i].lengths, (std::vector<int64_t>{first[i], second[i]})) << i;
    }
  }
}

/// Computing passes together changes neither their results nor their reports.
TEST_F(Passes, ThoseThatAreComputedTogetherLeaveWhatEachLeavesAlone) {
  struct Case {
    int chunk, together;
    size_t groups;  ///< with kept rows
  };
  std::vector<std::vector<float>> logits, next;  // logits of all rows; logits of the last row
  for (const auto [chunk, most, groups] : {Case{1, 1, 3}, Case{40, 3, 3}, Case{200, 6, 1}}) {
    finished = most_together = 0;
    Session session(engine_, options("planned", chunk));
    PrefillHooks hooks;
    std::vector<int64_t> rows_told, told;
    std::vector<float>& all = logits.emplace_back();
    hooks.all_logits = [&](int64_t first, int64_t rows, const float* values) {
      for (int64_t r = 0; r < rows; ++r) rows_told.push_back(first + r);
      all.insert(all.end(), values, values + rows * 4096);
    };
    hooks.progress = [&](int64_t done, int64_t) { told.push_back(done); };
    ASSERT_TRUE(session.prefill(tokens_, hooks));
    EXPECT_EQ(most_together, most);
    EXPECT_EQ(finished, 6);
    EXPECT_EQ(told.size(), groups * 12);
    EXPECT_EQ(told.back(), 60);
    EXPECT_TRUE(std::ranges::is_sorted(told));
    ASSERT_EQ(rows_told.size(), 60u);
    for (int64_t i = 0; i < 60; ++i) EXPECT_EQ(rows_told[static_cast<size_t>(i)], i);
    EXPECT_EQ(session.store().longest(), 60);
    EXPECT_EQ(std::vector<int32_t>(session.tokens().begin(), session.tokens().end()), tokens_);
    Session last(engine_, options("planned", chunk));  // requests the logits of the last row only
    ASSERT_TRUE(last.prefill(tokens_));
    next.emplace_back(last.logits().begin(), last.logits().end());
  }
  for (const size_t i : {1, 2}) {
    ASSERT_EQ(logits[i].size(), logits[0].size());
    for (size_t k = 0; k < logits[0].size(); ++k) ASSERT_NEAR(logits[i][k], logits[0][k], 2e-3);
    for (size_t k = 0; k < next[0].size(); ++k) ASSERT_NEAR(next[i][k], next[0][k], 2e-3);
  }
}

TEST_F(Passes, OtherStreamsEndWithThePromptAndBeginAsCopies) {
  const testing_support::TempFolder folder;
  Session session(engine_, options("planned"));
  ASSERT_TRUE(session.prefill(tokens_));
  seen_passes.clear();
  session.decode(5);
  EXPECT_EQ(seen_passes.front().lengths, (std::vector<int64_t>{60}));
  session.save(folder.path() / "s");
  Session loaded(engine_, options("planned"));
  loaded.load(folder.path() / "s");
  for (Session* each : {&session, &loaded}) {
    seen_passes.clear();
    ASSERT_TRUE(each->prefill(tokens_));
    EXPECT_EQ(seen_passes.front().begin, 61);
    EXPECT_EQ(seen_passes.front().lengths, (std::vector<int64_t>{61, 61}));
    EXPECT_EQ(each->store().longest(), 121);
  }
  EXPECT_TRUE(
      std::equal(session.logits().begin(), session.logits().end(), loaded.logits().begin()));
}

TEST_F(Passes, AreNotCancelledBetweenWhatIsDiscardedAndWhatIsKept) {
  struct Expected {
    size_t ran;  ///< passes
    size_t read;
    bool finished;
  };
  // The result if the user cancels during the pass of that number.
  const std::vector<Expected> all{{1, 20, false}, {3, 50, false}, {3, 50, false},
                                  {6, 60, true},  {6, 60, true},  {6, 60, true}};
  for (const int chunk : {1, 40}) {  // each pass on its own; discarded passes with kept ones
    for (size_t pass = 0; pass < planned.size(); ++pass) {
      SCOPED_TRACE(pass);
      const Expected& expected = all[pass];
      seen_passes.clear();
      Session session(engine_, options("planned", chunk));
      CancelFlag cancel;
      on_pass = [&] {
        if (seen_passes.size() == pass + 1) cancel.request();
      };
      PrefillHooks hooks;
      hooks.cancel = &cancel;
      EXPECT_EQ(session.prefill(tokens_, hooks), expected.finished);
      EXPECT_EQ(seen_passes.size(), expected.ran);
      EXPECT_EQ(session.tokens().size(), expected.read);
      EXPECT_EQ(session.store().longest(), static_cast<int64_t>(expected.read));
      seen_passes.clear();
      session.decode(5);
      EXPECT_EQ(seen_passes.front().lengths.size(), 1u) << "other streams are gone";
    }
  }
}

/// Several passes that are aborted half-way are taken back together, and no earlier rows are.
TEST_F(Passes, ThoseThatAreComputedTogetherAreGivenUpTogether) {
  planned = {{0, 20}, {20, 20}, {40, 20}};
  SessionOptions several = options("rewinding", 100);
  Session session(engine_, several), fresh(engine_, several);
  ASSERT_TRUE(session.prefill(tokens_));
  ASSERT_TRUE(fresh.prefill(tokens_));
  CancelFlag cancel;
  on_pass = [&] {
    if (seen_passes.back().begin == 100) cancel.request();  // the last pass of the second prompt
  };
  PrefillHooks hooks;
  hooks.cancel = &cancel;
  EXPECT_FALSE(session.prefill(tokens_, hooks));
  EXPECT_EQ(session.tokens().size(), 60u);
  EXPECT_EQ(session.store().longest(), 60);
  on_pass = nullptr;
  ASSERT_TRUE(session.prefill(tokens_));
  ASSERT_TRUE(fresh.prefill(tokens_));
  EXPECT_TRUE(std::equal(session.logits().begin(), session.logits().end(), fresh.logits().begin()));
}

TEST_F(Passes, OneThatThrowsLeavesNoContext) {
  Session fresh(engine_, options("planned")), session(engine_, options("planned"));
  ASSERT_TRUE(fresh.prefill(tokens_));
  seen_passes.clear();
  failing_layer = 3;  // layers 0 to 2 then hold the pass's rows
  on_pass = [] { failing = seen_passes.size() == 3; };
  EXPECT_THROW(session.prefill(tokens_), UserError);
  EXPECT_TRUE(session.tokens().empty());
  EXPECT_EQ(session.store().longest(), 0);
  failing = false;
  on_pass = nullptr;
  ASSERT_TRUE(session.prefill(tokens_));
  EXPECT_TRUE(std::equal(session.logits().begin(), session.logits().end(), fresh.logits().begin()));
  failing = true;
  EXPECT_THROW(session.decode(5), UserError);
  EXPECT_TRUE(session.tokens().empty());
  failing = false;
}

}  // namespace
}  // namespace longhaul
