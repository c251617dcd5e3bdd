// The verdict: the fastest and smallest methods whose answers are as good as the baseline's.

#include "report/verdict.h"

#include <gtest/gtest.h>

#include <cmath>

#include "report/charts.h"
#include "report/costs.h"
#include "report/report_fixture.h"
#include "report/text_formats.h"

namespace longhaul {
namespace {

using testing_support::answer;
using testing_support::has;

class Verdicts : public testing_support::ReportFixture {
 protected:
  /// Adds 20 samples with `right` correct answers. Cost decreases with `factor`.
  void add(const std::string& method, int right, double factor) {
    for (int i = 0; i < 20; ++i) {
      Record r = answer(method, std::to_string(i), i < right ? 1 : 0);
      r.first_token_seconds = 2 / factor;
      r.decode_tokens_per_second = 50 * factor;
      r.kv_bytes = static_cast<int64_t>((1 << 20) / factor);
      records_.push_back(r);
    }
  }
  std::vector<Record> records_;
};

TEST_F(Verdicts, NameTheFastestAndSmallestWithinTheInterval) {
  add("dense", 18, 1);  // Wilson interval: 70 to 97 %
  add("duo", 15, 2);
  add("ntk", 19, 0.5);
  add("h2o", 13, 8);  // 65 %: below the interval
  const std::vector<Verdict> all = verdicts(results_of({records_}), 4096);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_TRUE(has(all[0].measure,
                  {"4K tokens: dense scores 90 % (95 % interval 70 to 97, 20 answers)", "2.0 s"}));
  ASSERT_EQ(all[0].picks.size(), 4u);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(all[0].picks[static_cast<size_t>(i)].method, "duo");
  EXPECT_EQ(all[0].picks[0].text, "1.0 s, 2.0\xC3\x97 as fast as dense; score 75 %");
  EXPECT_EQ(all[0].picks[2].text, "512.0 KiB, 2.0\xC3\x97 smaller than dense; score 75 %");
  EXPECT_EQ(all[0].picks[3].method, "2 of 3 methods");
  EXPECT_EQ(all[0].picks[3].text, "duo, ntk");
}

TEST_F(Verdicts, SayWhereNothingBeatsTheMeasure) {
  add("dense", 20, 1);
  add("ntk", 20, 0.5);
  add("h2o", 2, 8);
  const std::vector<Verdict> all = verdicts(results_of({records_}), 4096);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].picks[0].method, "");
  EXPECT_EQ(all[0].picks[0].text, "none within the interval beats dense");
}

TEST_F(Verdicts, WithoutDenseTheBestIsTheMeasure) {
  add("duo", 20, 1);
  add("h2o", 19, 4);
  const std::vector<Verdict> all = verdicts(results_of({records_}), 4096);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_TRUE(has(all[0].measure, {"duo scores 100 %"}));
  EXPECT_EQ(all[0].picks[0].method, "h2o");
}

TEST_F(Verdicts, OneMethodHasNone) {
  add("dense", 20, 1);
  const Results& r = results_of({records_});
  EXPECT_TRUE(verdicts(r, 4096).empty());
  EXPECT_TRUE(verdicts(r, 8192).empty());
}

TEST_F(Verdicts, OpenTheMarkdownToo) {
  add("dense", 20, 1);
  add("duo", 20, 2);
  EXPECT_TRUE(has(markdown_report(results_of({records_})),
                  {"- Smallest: duo: 512.0 KiB, 2.0\xC3\x97 smaller than dense; score 100 %\n"}));
}

TEST_F(Verdicts, MeansOfTasksHaveTheIntervalOfASum) {
  for (int i = 0; i < 20; ++i) {
    records_.push_back(answer("dense", std::to_string(i), 1));
    records_.push_back(answer("dense", std::to_string(i), i % 2, 4096, "magic"));
  }
  const auto quality = quality_at(results_of({records_}), 0, 4096);
  ASSERT_TRUE(quality && quality->interval);
  EXPECT_EQ(quality->n, 40);
  EXPECT_DOUBLE_EQ(quality->mean, 0.75);
  // Wilson bounds: 0.8389 of 20/20, 0.2993 and 0.7007 of 10/20.
  EXPECT_NEAR(quality->interval->low, 0.75 - std::hypot(0.1611, 0.2007) / 2, 1e-3);
  EXPECT_NEAR(quality->interval->high, 0.75 + 0.2007 / 2, 1e-3);
}

TEST_F(Verdicts, CompressionJoinsTheSettingsOfAMethod) {
  add("dense", 20, 1);
  add("snapkv:capacity=512", 18, 2);
  add("snapkv:capacity=256", 12, 4);
  add("ntk", 20, 1);  // keeps all rows, so it gives no point
  const auto charts = cost_frontiers(results_of({records_}), 4096);
  ASSERT_EQ(charts.size(), 2u);
  EXPECT_EQ(charts[1].name, "score-against-compression-4096");
  const std::string file = charts[1].svg.file();
  EXPECT_TRUE(has(file, {"curve thin", "snapkv:capacity=512: score 90", ">dense</text>"}));
  EXPECT_EQ(file.find("ntk"), std::string::npos);
}

}  // namespace
}  // namespace longhaul
