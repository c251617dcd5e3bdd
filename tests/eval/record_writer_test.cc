// Records on disk: locked, continued, refused, and after a write error.

#include "eval/record_writer.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "base/file_size_limit.h"
#include "eval/record_file.h"
#include "eval/run_settings.h"
#include "format/temp_folder.h"

namespace longhaul {
namespace {

using testing_support::error_if_any;
using testing_support::error_of;
using testing_support::FileSizeLimit;
using testing_support::has;
using testing_support::TempFolder;

Record record_of(const std::string& id, const std::string& method) {
  Record r;
  r.task = "t";
  r.id = id;
  r.method = method;
  return r;
}

void write(const TempFolder& folder, const std::vector<Record>& records) {
  std::string lines;
  for (const Record& record : records) lines += to_json(record) + "\n";
  folder.write("samples.jsonl", lines);
}

std::string text_of(const TempFolder& folder) {
  std::ifstream in(folder.path() / "samples.jsonl", std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(RecordWriter, SecondRunIntoTheSameFolderIsRefused) {
  TempFolder folder;
  const RecordWriter first(folder.path());
  EXPECT_TRUE(has(error_of([&] { RecordWriter second(folder.path()); }), {"another run"}));
}

TEST(RecordWriter, LeavesOutWhatIsThere) {
  TempFolder folder;
  const Record r = record_of("1", "dense");
  {
    RecordWriter writer(folder.path());
    writer.begin();
    writer.add({r});
    EXPECT_TRUE(writer.has(r));
    EXPECT_EQ(writer.found_prompt(r), nullptr) << "found: when the file was opened";
  }
  RecordWriter writer(folder.path());
  writer.begin();
  EXPECT_EQ(writer.found(), 1u);
  Record other = r;
  other.opening = true;
  writer.add({r, other});
  EXPECT_EQ(read_records(folder.path() / "samples.jsonl").records.size(), 2u);
}

TEST(RecordWriter, ChangesTheFileOnlyWhenItBegins) {
  const Record good = record_of("1", "dense");
  Record failed = record_of("2", "dense");
  failed.error = "out of memory";
  const std::string line = to_json(good) + "\n", torn = "{\"task\":\"t";
  for (const std::string& rest : {torn, to_json(failed) + "\n", to_json(failed) + "\n" + torn}) {
    const TempFolder folder;
    folder.write("samples.jsonl", line + rest);
    {
      RecordWriter writer(folder.path());
      EXPECT_EQ(writer.found(), 1u);
      EXPECT_EQ(writer.records().size(), 1u);
      EXPECT_FALSE(writer.has(failed));
      EXPECT_EQ(text_of(folder), line + rest);
      writer.begin();
      EXPECT_EQ(text_of(folder), line);
      EXPECT_TRUE(has(error_of([&] { RecordWriter second(folder.path()); }), {"another run"}));
      writer.add({record_of("3", "dense")});
    }
    EXPECT_EQ(text_of(folder), line + to_json(record_of("3", "dense")) + "\n");
    for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
      EXPECT_NE(entry.path().extension(), ".longhaul-part");
    }
  }
}

TEST(RecordWriter, WhatIsRefusedLeavesNoFile) {
  const TempFolder folder;
  folder.write("samples.jsonl.gz", "packed");
  EXPECT_NE(error_of([&] { RecordWriter writer(folder.path()); }), "");
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "samples.jsonl"));
}

TEST(RecordWriter, TellsThePromptOfWhatIsThere) {
  TempFolder folder;
  Record control;
  control.task = "t";
  control.id = "1";
  control.method = std::string(kMiddleCut);
  control.prompt_hash = "a part";
  control.prompt_tokens = 3;
  Record dense = control;
  dense.method = "dense";
  dense.sample_hash = "texts";
  dense.prompt_hash = "whole";
  dense.prompt_tokens = 9;
  Record other = control;
  other.id = "2";
  write(folder, {control, dense, other});
  const RecordWriter writer(folder.path());
  Record asked = dense;
  asked.method = "snapkv";
  const FoundPrompt* found = writer.found_prompt(asked);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->sample_hash, "texts");
  EXPECT_EQ(found->prompt_hash, "whole");
  EXPECT_EQ(found->prompt_tokens, 9);
  ASSERT_NE(writer.found_prompt(other), nullptr);
  EXPECT_EQ(writer.found_prompt(other)->prompt_hash, "") << "a control reads only a part";
  asked.opening = true;
  EXPECT_EQ(writer.found_prompt(asked), nullptr);
}

TEST(RecordWriter, AnswersToTwoPromptsOfASampleAreRefused) {
  Record first = record_of("7", "dense"), second = record_of("7", "snapkv");
  const auto refused = [&] {
    const TempFolder folder;
    write(folder, {record_of("6", "dense"), first, second});
    return error_if_any([&] { RecordWriter writer(folder.path()); });
  };
  first.prompt_hash = second.prompt_hash = "a";
  first.sample_hash = "x";
  EXPECT_EQ(refused(), "") << "an earlier version did not write the other hash";
  second.prompt_hash = "b";
  EXPECT_TRUE(has(refused(), {"samples.jsonl", "two different prompts", "'t'", "'7'"}));
  second.method = std::string(kMiddleCut);
  EXPECT_EQ(refused(), "") << "a control reads only a part";
  second.sample_hash = "y";
  EXPECT_TRUE(has(refused(), {"two different prompts"}));
  second.opening = true;
  EXPECT_EQ(refused(), "") << "asked in another way";
}

TEST(RecordWriter, HalfALineIsTakenBack) {
  const TempFolder folder;
  const Record first = record_of("1", "dense"), second = record_of("2", "dense"),
               third = record_of("3", "dense");
  RecordWriter writer(folder.path());
  writer.begin();
  writer.add({first});
  const std::string line = to_json(first) + "\n";
  const std::string error = [&] {
    const FileSizeLimit full(line.size() + 10);
    return error_of([&] { writer.add({second}); });
  }();
  EXPECT_TRUE(has(error, {"samples.jsonl: cannot be written"}));
  EXPECT_EQ(text_of(folder), line);
  writer.add({third});  // another thread, after space is available again
  EXPECT_EQ(text_of(folder), line + to_json(third) + "\n");
}

}  // namespace
}  // namespace longhaul
