// Scores against what the reference scorers said (tools/make_score_goldens.py), and the rules that
// have no reference package against values worked out by hand.

#include "eval/scorers.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"

namespace longhaul {
namespace {

Sample sample_of(Match match, std::vector<std::string> answers, std::string rule = "") {
  Sample sample;
  sample.match = match;
  sample.answers = std::move(answers);
  sample.rule = std::move(rule);
  return sample;
}

double by_rule(std::string rule, std::vector<std::string> answers, std::string_view reply) {
  return score_reply(sample_of(Match::kTaskRule, std::move(answers), std::move(rule)), reply);
}

Sample golden_sample(const nlohmann::json& golden) {
  static const std::map<std::string, Match> kMatches = {
      {"match:all", Match::kContainsAll},      {"match:any", Match::kContainsAny},
      {"match:rouge1", Match::kRouge1},        {"match:rougeL", Match::kRougeL},
      {"match:integer", Match::kFirstInteger}, {"match:edit", Match::kEdit}};
  Sample sample;
  sample.answers = golden.at("answers").get<std::vector<std::string>>();
  sample.choices = golden.value("choices", std::vector<std::string>());
  sample.question = golden.value("question", "");
  const std::string rule = golden.at("rule");
  const auto match = kMatches.find(rule);
  sample.match = match == kMatches.end() ? Match::kTaskRule : match->second;
  sample.rule = rule;
  return sample;
}

TEST(Scorers, AgreeWithTheReferenceScorers) {
  std::ifstream file(LONGHAUL_TEST_DATA "/eval/scores.json");
  const nlohmann::json goldens = nlohmann::json::parse(file);
  ASSERT_GE(goldens.size(), 500u);
  std::set<std::string> rules;
  for (const nlohmann::json& golden : goldens) {
    const std::string reply = golden.at("reply");
    EXPECT_NEAR(score_reply(golden_sample(golden), reply), golden.at("score").get<double>(), 1e-9)
        << golden.dump();
    rules.insert(golden.at("rule").get<std::string>());
  }
  EXPECT_GE(rules.size(), 21u);
}

TEST(Scorers, ExactIsTrimmed) {
  EXPECT_EQ(score_reply(sample_of(Match::kExact, {"no", "yes"}), " yes\n"), 1);
  EXPECT_EQ(score_reply(sample_of(Match::kExact, {"yes"}), "yes."), 0);
}

TEST(Scorers, LastNumberIsANumber) {
  const Sample sample = sample_of(Match::kNumber, {"1234"});
  EXPECT_EQ(score_reply(sample, "She earned 5 and then $1,234.00 a day."), 1);
  EXPECT_EQ(score_reply(sample, "#### 1234"), 1);
  EXPECT_EQ(score_reply(sample, "1234 or 5"), 0);
  EXPECT_EQ(score_reply(sample, "none"), 0);
  EXPECT_EQ(score_reply(sample_of(Match::kNumber, {"-3"}), "so x = -3."), 1);
  EXPECT_EQ(score_reply(sample_of(Match::kNumber, {"3"}), "so x = -3."), 0);
  EXPECT_EQ(score_reply(sample_of(Match::kNumber, {"20"}), "10-20"), 1);
}

TEST(Scorers, PatternsAreSearchedFor) {
  const Sample sample = sample_of(Match::kRegex, {"^Zürich\\b", "(?i)bern"});
  EXPECT_EQ(score_reply(sample, "in BERN"), 1);
  EXPECT_EQ(score_reply(sample, "Zürich."), 1);
  EXPECT_EQ(score_reply(sample, "in Zürich"), 0);
  EXPECT_EQ(score_reply(sample, "\xff bern"), 1) << "a broken reply is still searched";
  EXPECT_THROW(score_reply(sample_of(Match::kRegex, {"("}), "x"), UserError);
}

TEST(Scorers, FirstLineRulesSeeOneLine) {
  EXPECT_EQ(by_rule("first-line+f1", {"paris"}, "\n\nParis\nLondon"), 1);
  EXPECT_LT(by_rule("f1", {"paris"}, "\n\nParis\nLondon"), 1);
}

TEST(Scorers, NeedleWords) {
  EXPECT_DOUBLE_EQ(by_rule("needle-words", {"eat a sandwich and sit"}, "Sit and eat."), 0.75);
  EXPECT_EQ(by_rule("needle-words", {"eat"}, ""), 0);
}

TEST(Scorers, LettersAndTruth) {
  EXPECT_EQ(by_rule("lone-letter", {"C"}, "Answer: C"), 1);
  EXPECT_EQ(by_rule("lone-letter", {"C"}, "(C) because of A"), 1);
  EXPECT_EQ(by_rule("lone-letter", {"C"}, "Because"), 0);
  EXPECT_EQ(by_rule("true-false", {"True"}, "That is true, not false"), 1);
  EXPECT_EQ(by_rule("true-false", {"False"}, "It is false."), 1);
  EXPECT_EQ(by_rule("true-false", {"False"}, "maybe"), 0);
}

TEST(Scorers, EveryRuleTakesAnyReply) {
  const std::string broken = "\xff\xfe (A) \xe4\xb8";
  for (const ScoreRule& rule : score_rules()) {
    for (const std::string& reply : {std::string(), broken, std::string("\0x", 2)}) {
      const double score = by_rule(std::string(rule.name), {"7"}, reply);
      EXPECT_GE(score, 0) << rule.name;
      EXPECT_LE(score, 1) << rule.name;
      EXPECT_GE(by_rule("first-line+" + std::string(rule.name), {}, reply), 0) << rule.name;
    }
  }
}

TEST(Scorers, RefuseWhatCannotBeScored) {
  EXPECT_THROW(check_scorable(sample_of(Match::kExact, {})), UserError);
  EXPECT_THROW(check_scorable(sample_of(Match::kRegex, {"a", "("})), UserError);
  EXPECT_THROW(check_scorable(sample_of(Match::kNumber, {"many"})), UserError);
  EXPECT_THROW(check_scorable(sample_of(Match::kFirstInteger, {"1 2"})), UserError);
  EXPECT_THROW(check_scorable(sample_of(Match::kTaskRule, {"a"}, "nonsense")), UserError);
  EXPECT_NO_THROW(check_scorable(sample_of(Match::kTaskRule, {"a"}, "first-line+classes")));
}

TEST(Scorers, ComparisonsOfHugeTextsAreRefused) {
  std::string many;
  for (int i = 0; i < 20000; ++i) many += fmt::format("w{} ", i);
  EXPECT_THROW(rouge_l(many, many), UserError);
}

}  // namespace
}  // namespace longhaul
