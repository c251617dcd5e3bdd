// Shards of one evaluation become one run, or are refused with the reason.

#include "report/merge_shards.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/error_of.h"
#include "report/run_maker.h"

namespace longhaul {
namespace {

using testing_support::answer;
using testing_support::error_of;
using testing_support::RunMaker;

class MergeShards : public ::testing::Test {
 protected:
  static nlohmann::json info(const std::string& shard) {
    nlohmann::json info = RunMaker::standard_info();
    info["lengths"] = {4096};
    info["samples"] = 4;
    info["build"] = "abc";
    info["conditions"] = {{"seed", 7}, {"model", "0123"}};
    if (!shard.empty()) info["conditions"]["shard"] = shard;
    return info;
  }
  /// Two samples for each of two methods.
  static std::vector<Record> records(int first, int step) {
    std::vector<Record> all;
    for (const int id : {first, first + step}) {
      for (const char* method : {"snapkv:capacity=64", "dense"}) {
        all.push_back(answer(method, std::to_string(id), 1));
      }
    }
    return all;
  }
  RunFolder shard(const std::string& name, int first, const nlohmann::json& run) {
    return read_run(maker_.make(name, records(first, 2), run));
  }
  std::string refusal(std::vector<RunFolder> runs) {
    return error_of([&] { merge_shards(std::move(runs)); });
  }

  RunMaker maker_;
};

TEST_F(MergeShards, AreOneRunInAFixedOrder) {
  const RunFolder a = shard("a", 0, info("1/2")), b = shard("b", 1, info("2/2"));
  const RunFolder merged = merge_shards({b, a}), again = merge_shards({a, b});
  std::vector<std::string> order;
  for (const Record& r : merged.records) order.push_back(r.id + " " + r.method);
  EXPECT_EQ(order, (std::vector<std::string>{
                       "0 snapkv:capacity=64", "0 dense", "1 snapkv:capacity=64", "1 dense",
                       "2 snapkv:capacity=64", "2 dense", "3 snapkv:capacity=64", "3 dense"}));
  ASSERT_EQ(again.records.size(), merged.records.size());
  for (size_t i = 0; i < again.records.size(); ++i) {
    EXPECT_EQ(to_json(again.records[i]), to_json(merged.records[i]));
  }
  EXPECT_FALSE(is_shard(merged));
  EXPECT_EQ(merged.info["commands"].size(), 2u);
}

TEST_F(MergeShards, AreReadAgainFromTheirFolder) {
  const RunFolder merged = merge_shards({shard("a", 0, info("1/2")), shard("b", 1, info("2/2"))});
  const auto folder = maker_.folder().path() / "whole";
  write_run_folder(merged, folder);
  EXPECT_EQ(read_run(folder).records.size(), 8u);
  EXPECT_NE(error_of([&] { write_run_folder(merged, folder); }).find("holds a run already"),
            std::string::npos);
}

TEST_F(MergeShards, MustBeThereOnce) {
  const RunFolder a = shard("a", 0, info("1/2")), b = shard("b", 1, info("2/2"));
  EXPECT_EQ(refusal({a}), "shard 2/2 is missing beside a (1 of 2 are given)");
  EXPECT_EQ(refusal({a, b, shard("c", 1, info("2/2"))}), "c: shard 2/2 is also in b");
  EXPECT_NE(refusal({a, shard("d", 0, info(""))}).find("d: is no shard"), std::string::npos);
  EXPECT_NE(refusal({a, shard("e", 0, info("5/4"))}).find("e: run.json: shard"), std::string::npos);
  EXPECT_NE(refusal({a, shard("f", 0, info("2/2"))}).find("f: needle, sample 0"),
            std::string::npos);
}

TEST_F(MergeShards, MustHaveTheSameSettings) {
  const RunFolder a = shard("a", 0, info("1/2"));
  nlohmann::json other = info("2/2");
  other["conditions"]["seed"] = 9;
  EXPECT_EQ(refusal({a, shard("seed", 1, other)}), "seed: seed is 9, and 7 in a");
  other = info("2/2");
  other["build"] = "def";
  EXPECT_EQ(refusal({a, shard("build", 1, other)}),
            "build: was made by build 'def', and a by build 'abc'");
  other = info("2/2");
  other["unfinished"] = nlohmann::json::object();
  EXPECT_EQ(refusal({a, shard("open", 1, other)}),
            "open: shard 2/2 is not finished; its command continues it");
  other = info("2/2");
  other["tasks"][0]["rule"] = "another";
  EXPECT_EQ(refusal({a, shard("rule", 1, other)}),
            "rule: task \"needle\" has another rule than in a");
}

}  // namespace
}  // namespace longhaul
