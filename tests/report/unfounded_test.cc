#include "report/unfounded.h"

#include <gtest/gtest.h>

#include "report/report_fixture.h"

namespace longhaul {
namespace {

using testing_support::answer;
using testing_support::ReportFixture;

class Unfounded : public ReportFixture {
 protected:
  static Record reply(const std::string& id, double score, double share,
                      const std::string& method = "dense") {
    Record r = answer(method, id, score);
    r.source_share = share;
    return r;
  }
};

TEST_F(Unfounded, TheLimitSeparatesRightFromWrongBest) {
  const auto replies = unfounded_replies(
      results_of({{reply("0", 1, 0.8), reply("1", 1, 0.6), reply("2", 1, 0.2), reply("3", 0, 0.1),
                   reply("4", 0, 0.3), reply("5", 0, 0.36), reply("6", 1, 0.44)}}));
  ASSERT_EQ(replies.size(), 1u);
  EXPECT_EQ(replies[0].right, 4);
  EXPECT_EQ(replies[0].wrong, 3);
  EXPECT_NEAR(replies[0].least_share, 0.40, 1e-9);
  EXPECT_EQ(replies[0].found, 3);
  EXPECT_EQ(replies[0].false_alarms, 1);
  EXPECT_DOUBLE_EQ(replies[0].precision(), 0.75);
  EXPECT_DOUBLE_EQ(replies[0].recall(), 1);
  EXPECT_EQ(
      separation_text(replies[0]),
      "a first passage with less than 40 % of the attention finds 3 of 3 wrong replies; 75 % of "
      "such warnings are true");
}

TEST_F(Unfounded, NothingIsFoundWhereNothingIsWrongOrSharesAreUnknown) {
  const auto all_right = unfounded_replies(results_of({{reply("0", 1, 0.3), reply("1", 1, 0.6)}}));
  ASSERT_EQ(all_right.size(), 1u);
  EXPECT_EQ(all_right[0].least_share, 0);
  EXPECT_EQ(all_right[0].recall(), 0);
  EXPECT_EQ(separation_text(all_right[0]),
            "all 2 replies are right, so no share of the first passage separates them");
  EXPECT_TRUE(unfounded_replies(results_of({{answer("dense", "0", 1)}})).empty());
  EXPECT_TRUE(unfounded_replies(results_of({{reply("0", 1, 0.3, "control:no-context")}})).empty());
}

}  // namespace
}  // namespace longhaul
