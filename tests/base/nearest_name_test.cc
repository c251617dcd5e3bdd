#include "base/nearest_name.h"

#include <gtest/gtest.h>

#include <string>

namespace longhaul {
namespace {

constexpr std::string_view kNames[] = {"dense", "streamingllm", "snapkv", "duo"};

TEST(NearestName, FindsSlipsOfTheFingers) {
  EXPECT_EQ(nearest_name("dens", kNames), "dense");
  EXPECT_EQ(nearest_name("dnese", kNames), "dense");  // a swap is one typing error
  EXPECT_EQ(nearest_name("xnese", kNames), "");       // two of five letters
  EXPECT_EQ(nearest_name("streaming_llm", kNames), "streamingllm");
  EXPECT_EQ(nearest_name("snapkw", kNames), "snapkv");
  EXPECT_EQ(nearest_name("dua", kNames), "duo");
  EXPECT_EQ(nearest_name("duo", kNames), "duo");
}

TEST(NearestName, FindsWhatBeginsSo) {
  EXPECT_EQ(nearest_name("str", kNames), "streamingllm");
  EXPECT_EQ(nearest_name("snap", kNames), "snapkv");
  EXPECT_EQ(nearest_name("s", kNames), "") << "several do";
  constexpr std::string_view kTwo[] = {"triangle-a", "triangle-b"};
  EXPECT_EQ(nearest_name("tri", kTwo), "");
}

TEST(NearestName, CaseDoesNotCount) {
  EXPECT_EQ(nearest_name("SnapKV", kNames), "snapkv");
  EXPECT_EQ(nearest_name("DNESE", kNames), "dense");
}

TEST(NearestName, SaysNothingRatherThanNonsense) {
  EXPECT_EQ(nearest_name("transformer", kNames), "");
  EXPECT_EQ(nearest_name("", kNames), "");
  EXPECT_EQ(nearest_name(std::string(100000, 'd'), kNames), "");
  EXPECT_EQ(nearest_name("dense", {}), "");
}

TEST(NearestName, HintGoesBehindAnError) {
  EXPECT_EQ(nearest_name_hint("dens", kNames), "; did you mean 'dense'?");
  EXPECT_EQ(nearest_name_hint("dens", std::vector<std::string>{"duo", "dense"}),
            "; did you mean 'dense'?");
  EXPECT_EQ(nearest_name_hint("transformer", kNames), "");
}

}  // namespace
}  // namespace longhaul
