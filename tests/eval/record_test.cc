// Writing and reading of a record's line, hostile lines, and files of killed runs.

#include "eval/record.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "eval/record_file.h"
#include "format/temp_folder.h"

namespace longhaul {
namespace {

using testing_support::error_of;
using testing_support::has;
using testing_support::TempFolder;

Record full_record() {
  Record r;
  r.task = "needle";
  r.opening = true;
  r.length = 4096;
  r.id = "7";
  r.group = "books";
  r.depth = 0.25;
  r.method = "snapkv:capacity=512";
  r.sample_hash = "fedcba9876543210";
  r.prompt_hash = "0123456789abcdef";
  r.prompt_tokens = 4011;
  r.cut_tokens = 2500;
  r.cut_to = 4096;
  r.reply = "eat a \"sandwich\"\n\tand </script> \xE2\x82\xAC";
  r.expected = {"eat a sandwich", "sit"};
  r.score = 0.625;
  r.reply_tokens = 12;
  r.first_token_seconds = 1.25;
  r.prefill_seconds = 1.125;
  r.decode_tokens_per_second = 40.5;
  r.kv_bytes = int64_t{3} << 30;
  r.pairs_share = 0.125;
  r.attention_seconds = 0.5;
  return r;
}

std::string line_with(const std::string& key, const nlohmann::json& value) {
  auto line = nlohmann::json::parse(to_json(full_record()));
  line[key] = value;
  return line.dump();
}

TEST(Record, ComesBackAsItWas) {
  const Record r = full_record();
  const std::string line = to_json(r);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  const Record back = record_from_json(line);
  EXPECT_EQ(to_json(back), line);
  EXPECT_EQ(back.task, r.task);
  EXPECT_EQ(back.opening, r.opening);
  EXPECT_EQ(back.length, r.length);
  EXPECT_EQ(back.id, r.id);
  EXPECT_EQ(back.group, r.group);
  EXPECT_EQ(back.depth, r.depth);
  EXPECT_EQ(back.method, r.method);
  EXPECT_EQ(back.sample_hash, r.sample_hash);
  EXPECT_EQ(back.prompt_hash, r.prompt_hash);
  EXPECT_EQ(back.prompt_tokens, r.prompt_tokens);
  EXPECT_EQ(back.cut_tokens, r.cut_tokens);
  EXPECT_EQ(back.cut_to, r.cut_to);
  EXPECT_EQ(back.reply, r.reply);
  EXPECT_EQ(back.expected, r.expected);
  EXPECT_EQ(back.score, r.score);
  EXPECT_EQ(back.metric, "score");
  EXPECT_EQ(back.reply_tokens, r.reply_tokens);
  EXPECT_EQ(back.first_token_seconds, r.first_token_seconds);
  EXPECT_EQ(back.prefill_seconds, r.prefill_seconds);
  EXPECT_EQ(back.decode_tokens_per_second, r.decode_tokens_per_second);
  EXPECT_EQ(back.kv_bytes, r.kv_bytes);
  EXPECT_EQ(back.pairs_share, r.pairs_share);
  EXPECT_EQ(back.attention_seconds, r.attention_seconds);
  EXPECT_EQ(back.error, "");
}

TEST(Record, ShortLinesTakeDefaults) {
  const Record r =
      record_from_json(R"({"task":"t","length":0,"id":"a","method":"dense","score":1,"new":[1]})");
  EXPECT_FALSE(r.depth.has_value());
  EXPECT_FALSE(r.opening);
  EXPECT_EQ(r.cut_tokens, 0);
  EXPECT_EQ(to_json(r).find("cut_"), std::string::npos) << "whole texts say nothing of it";
  EXPECT_EQ(r.metric, "score");
  EXPECT_EQ(r.pairs_share, 1);
}

TEST(Record, WhatIsNoNumberBecomesAnError) {
  Record r = full_record();
  r.metric = "nll";
  r.score = std::numeric_limits<double>::quiet_NaN();
  r.decode_tokens_per_second = std::numeric_limits<double>::infinity();
  const Record back = record_from_json(to_json(r));
  EXPECT_EQ(back.score, 0);
  EXPECT_EQ(back.decode_tokens_per_second, 0);
  EXPECT_TRUE(has(back.error, {"no finite number"}));
}

TEST(Record, BrokenUtf8IsReplaced) {
  Record r = full_record();
  r.reply = "half \xE2\x82";
  EXPECT_EQ(record_from_json(to_json(r)).reply, "half \xEF\xBF\xBD");
}

TEST(Record, HostileLinesNameTheKey) {
  const auto refused = [](const std::string& line) {
    return error_of([&] { record_from_json(line); });
  };
  EXPECT_TRUE(has(refused("{"), {"no JSON"}));
  EXPECT_TRUE(has(refused("[1]"), {"no JSON object"}));
  EXPECT_TRUE(has(refused("{}"), {"'task'", "missing"}));
  EXPECT_TRUE(has(refused(line_with("task", "")), {"'task'", "empty"}));
  EXPECT_TRUE(has(refused(line_with("task", 3)), {"'task'", "text", "3"}));
  EXPECT_TRUE(has(refused(line_with("opening", 1)), {"'opening'"}));
  EXPECT_TRUE(has(refused(line_with("length", -1)), {"'length'", "-1"}));
  EXPECT_TRUE(has(refused(line_with("length", 1.5)), {"'length'"}));
  EXPECT_TRUE(has(refused(line_with("kv_bytes", 18446744073709551615u)), {"'kv_bytes'"}));
  EXPECT_TRUE(has(refused(line_with("depth", 1.01)), {"'depth'", "1.01"}));
  EXPECT_TRUE(has(refused(line_with("depth", nullptr)), {"'depth'", "null"}));
  EXPECT_TRUE(has(refused(line_with("score", 1.5)), {"'score'", "1.5"}));
  EXPECT_TRUE(has(refused(line_with("score", nullptr)), {"'score'"}));
  EXPECT_TRUE(has(refused(line_with("metric", "a\nb")), {"'metric'", "score, nll"}));
  EXPECT_TRUE(has(refused(line_with("expected", "x")), {"'expected'", "array"}));
  EXPECT_TRUE(has(refused(line_with("expected", {1})), {"'expected'", "array"}));
  const std::string long_message = refused(line_with("score", std::string(1000, 'x')));
  EXPECT_TRUE(has(long_message, {"'score'", "..."}));
  EXPECT_LT(long_message.size(), 100);
  EXPECT_TRUE(has(refused(R"({"task":1e999})"), {"beyond"}));
  EXPECT_TRUE(has(refused(std::string(100000, '[')), {"nested"}));
}

TEST(Record, NllMayBeAboveOne) {
  auto line = nlohmann::json::parse(to_json(full_record()));
  line["metric"] = "nll";
  line["score"] = 7.5;
  line["position"] = 4096;
  const Record r = record_from_json(line.dump());
  EXPECT_EQ(r.score, 7.5);
  EXPECT_EQ(r.position, 4096);
  EXPECT_EQ(record_from_json(to_json(r)).position, 4096);
  line["position"] = -1;
  EXPECT_TRUE(has(error_of([&] { record_from_json(line.dump()); }), {"'position'", "-1"}));
}

class RecordFileTest : public ::testing::Test {
 protected:
  RecordFile read(const std::string& text) {
    return read_records(folder_.write("samples.jsonl", text));
  }
  static std::string line(const std::string& id) {
    Record r = full_record();
    r.id = id;
    return to_json(r) + "\n";
  }
  TempFolder folder_;
};

TEST_F(RecordFileTest, MissingAndEmptyFilesHoldNothing) {
  EXPECT_TRUE(read_records(folder_.path() / "none.jsonl").records.empty());
  EXPECT_TRUE(read("").records.empty());
  EXPECT_FALSE(read("").torn);
}

TEST_F(RecordFileTest, APackedOneIsNotTakenForNone) {
  folder_.write("samples.jsonl.gz", "packed");
  for (const bool empty_file_too : {false, true}) {
    if (empty_file_too) folder_.write("samples.jsonl", "");
    EXPECT_TRUE(has(error_of([&] { read_records(folder_.path() / "samples.jsonl"); }),
                    {"samples.jsonl.gz: is packed", "gunzip"}));
  }
  EXPECT_EQ(read(line("1")).records.size(), 1u);
}

TEST_F(RecordFileTest, TornLastLineIsLeftOut) {
  const std::string whole = line("1") + "\n" + line("2");
  const RecordFile file = read(whole + line("3").substr(0, 50));
  ASSERT_EQ(file.records.size(), 2);
  EXPECT_EQ(file.records[1].id, "2");
  EXPECT_TRUE(file.torn);
  EXPECT_EQ(file.whole_bytes, whole.size());
}

TEST_F(RecordFileTest, BadAndRepeatedLinesAreNamed) {
  EXPECT_TRUE(has(error_of([&] { read(line("1") + line_with("score", 2) + "\n"); }),
                  {"samples.jsonl line 2", "'score'"}));
  EXPECT_TRUE(
      has(error_of([&] { read(line("1") + line("2") + line("1")); }), {"line 3", "line 1"}));
}

}  // namespace
}  // namespace longhaul
