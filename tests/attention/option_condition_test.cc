#include "attention/option_condition.h"

#include <gtest/gtest.h>

#include <map>

namespace longhaul {
namespace {

const std::map<std::string_view, std::string_view> kValues = {
    {"mode", "easykv"}, {"gates", "g.tsv"}, {"heads", ""}, {"threshold", "auto"},
    {"lambda", "1/2"},  {"theta", "0.9"},   {"topk", "4"}, {"k", "4"}};

/// "" where the option acts.
std::string why_idle(std::string_view condition, std::string_view key = "") {
  OptionInfo option{key, OptionKind::kText, "", "", 0, 0, "", ""};
  option.only_with = condition;
  return unmet(option,
               [](std::string_view named) -> std::optional<std::string_view> {
                 const auto found = kValues.find(named);
                 return found == kValues.end() ? std::nullopt : std::optional(found->second);
               })
      .value_or("");
}

TEST(OptionCondition, HoldsByValue) {
  for (const char* met :
       {"", "mode=easykv", "mode=official|easykv", "mode!=official", "mode!=official|fixed",
        "gates", "no heads", "no threshold", "one theta", "heads="}) {
    EXPECT_EQ(why_idle(met), "") << met;
  }
}

TEST(OptionCondition, SaysWhatStandsInTheWay) {
  EXPECT_EQ(why_idle("mode=official"), "with mode=easykv");
  EXPECT_EQ(why_idle("mode=easy|easykv2"), "with mode=easykv");
  EXPECT_EQ(why_idle("mode!=official|easykv"), "with mode=easykv");
  EXPECT_EQ(why_idle("no gates"), "with gates=g.tsv");
  EXPECT_EQ(why_idle("one lambda"), "with lambda=1/2");
  EXPECT_EQ(why_idle("heads"), "without heads");
  EXPECT_EQ(why_idle("threshold"), "without threshold");
  EXPECT_EQ(why_idle("heads=1.2"), "without heads=1.2");
}

TEST(OptionCondition, AndBindsMoreThanOr) {
  EXPECT_EQ(why_idle("heads and gates or mode=easykv"), "");
  EXPECT_EQ(why_idle("mode=easykv or heads and gates"), "");
  EXPECT_EQ(why_idle("gates and heads or no gates"), "with gates=g.tsv");
  EXPECT_EQ(why_idle("gates and heads"), "without heads");
  EXPECT_EQ(why_idle("mode=official or no gates"), "with mode=easykv and gates=g.tsv");
  EXPECT_EQ(why_idle("mode=official or mode=fixed"), "with mode=easykv");
  EXPECT_EQ(why_idle("topk!=4 or k!=4"), "with topk=4 and k=4");
}

TEST(OptionCondition, AnOptionIsNoReasonAgainstItself) {
  EXPECT_EQ(why_idle("gates=search or one lambda", "gates"), "with lambda=1/2");
}

TEST(OptionCondition, WhatIsNotKnownStandsInNobodysWay) {
  EXPECT_EQ(why_idle("stride=3"), "");
  EXPECT_EQ(why_idle("mode=official or stride=3"), "");
  EXPECT_EQ(why_idle("mode=official and stride=3"), "with mode=easykv");
}

}  // namespace
}  // namespace longhaul
