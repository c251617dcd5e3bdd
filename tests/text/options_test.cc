#include "text/options.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace longhaul {
namespace {

struct Sizes {
  enum class Mode : uint8_t { kBoth, kOne };
  int64_t rows = 7;
  std::optional<double> share;
  bool all = false;
  Mode mode = Mode::kBoth;
  std::string part;
  std::string_view name = "first";
  void declare(OptionList& o) {
    o.integer(rows, "rows", 1, 1000, "tokens", "rows that stay");
    o.real(share, "share", 0, 1, "", "auto: what is left")
        .only([this] { return mode == Mode::kOne; }, "mode=one", "mode");
    o.flag(all, "all", "every one");
    o.choice(mode, "mode", {"both", "one"}, "which");
    o.choice(name, "name", {"first", "second"}, "who");
    o.part_options(part, "part", "name", "what that one takes");
    o.needs([this] { return rows > 1 || all; }, "rows above 1 or all");
  }
};

class Options : public ::testing::Test {
 protected:
  Options() { sizes.declare(list); }

  std::string refusal(std::string_view key, std::string_view value) const {
    try {
      return "taken as " + list.find(key)->canonical("--of thing", value);
    } catch (const UserError& error) {
      return error.what();
    }
  }

  Sizes sizes;
  OptionList list;
};

TEST_F(Options, DefaultsAreTheMembersOwn) {
  EXPECT_EQ(list.find("rows")->fallback, "7");
  EXPECT_EQ(list.find("share")->fallback, "auto");
  EXPECT_EQ(list.find("all")->fallback, "false");
  EXPECT_EQ(list.find("mode")->fallback, "both");
  EXPECT_EQ(list.find("name")->fallback, "first");
  EXPECT_EQ(list.find("part")->part_key, "name");
  EXPECT_EQ(list.find("column"), nullptr);
}

TEST_F(Options, ValuesGetOneForm) {
  EXPECT_EQ(refusal("rows", "0012"), "taken as 12");
  EXPECT_EQ(refusal("share", "0.50"), "taken as 0.5");
  EXPECT_EQ(refusal("share", "auto"), "taken as auto");
  EXPECT_EQ(refusal("all", "yes"), "taken as true");
}

TEST_F(Options, RefusalsNameOptionValueAndRange) {
  EXPECT_EQ(refusal("rows", "0"), "--of thing: rows=0: must be from 1 to 1,000 tokens");
  EXPECT_EQ(refusal("rows", "auto"), "--of thing: rows=auto: must be a whole number");
  EXPECT_EQ(refusal("share", "2"), "--of thing: share=2: must be auto or from 0 to 1");
  EXPECT_EQ(refusal("all", "maybe"), "--of thing: all=maybe: must be true or false");
  EXPECT_EQ(refusal("mode", "two"), "--of thing: mode=two: must be both or one");
}

TEST_F(Options, SetFillsMembersAndLeavesDefaults) {
  sizes.rows = 100;  // replaced by the default at the time when the list was made
  list.set({{"share", "0.25"}, {"mode", "one"}, {"name", "second"}, {"all", "true"}});
  EXPECT_EQ(sizes.rows, 7);
  EXPECT_EQ(sizes.share, 0.25);
  EXPECT_TRUE(sizes.all);
  EXPECT_EQ(sizes.mode, Sizes::Mode::kOne);
  EXPECT_EQ(sizes.name, "second");
}

TEST_F(Options, AnOptionWithoutEffectSaysWhy) {
  const OptionValues both{{"mode", "both"}}, one{{"mode", "one"}};
  list.set(both);
  EXPECT_EQ(list.find("share")->idle(both), "with mode=both");
  EXPECT_EQ(list.find("rows")->idle(both), std::nullopt);
  list.set(one);
  EXPECT_EQ(list.find("share")->idle(one), std::nullopt);
  EXPECT_TRUE(list.find("share")->decided_by({"mode", "rows"}));
  EXPECT_FALSE(list.find("share")->decided_by({"rows"}));
}

TEST_F(Options, WhatIsNeededIsAskedOfTheMembers) {
  EXPECT_EQ(list.needed(), "rows above 1 or all");
  list.set({{"rows", "1"}});
  EXPECT_FALSE(list.has_what_it_needs());
  list.set({{"rows", "1"}, {"all", "true"}});
  EXPECT_TRUE(list.has_what_it_needs());
}

}  // namespace
}  // namespace longhaul
