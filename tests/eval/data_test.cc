// The search for data files, and damaged files.

#include "eval/data.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <fstream>

#include "eval/data_json.h"
#include "format/temp_folder.h"

namespace longhaul {
namespace {

using testing_support::error_of;
using testing_support::has;
using testing_support::TempFolder;

std::string random_text(size_t bytes) {
  std::string text;
  uint32_t state = 1;
  while (text.size() < bytes) text += static_cast<char>('a' + (state = state * 1664525 + 1) % 26);
  return text;
}

std::filesystem::path write_packed(const TempFolder& folder, const std::string& name,
                                   const std::string& text) {
  const std::filesystem::path path = folder.path() / name;
  gzFile file = gzopen(path.c_str(), "wb1");
  gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
  gzclose(file);
  return path;
}

std::string bytes_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(EvalData, PackedAndPlainFilesReadAlike) {
  const TempFolder folder;
  const std::string text = random_text(300'000);
  write_packed(folder, "a.txt.gz", text);
  folder.write("b.txt", text);
  const EvalData data(folder.path());
  EXPECT_EQ(data.text("a.txt"), text);
  EXPECT_EQ(data.text("b.txt"), text);
  EXPECT_EQ(&data.text("a.txt"), &data.text("a.txt")) << "read once";
}

TEST(EvalData, OwnFilesGoBeforePackedOnes) {
  const TempFolder folder;
  std::filesystem::create_directory(folder.path() / "words");
  folder.write("words/verbs.txt", "run\n");
  const EvalData data(folder.path());
  EXPECT_EQ(data.text("words/verbs.txt"), "run\n");
  EXPECT_GT(data.text("words/nouns.txt").size(), 50'000u);
}

TEST(EvalData, MissingFilesAndFoldersAreNamed) {
  const EvalData data;
  EXPECT_FALSE(data.has("leval/quality.jsonl"));
  EXPECT_TRUE(has(error_of([&] { data.text("leval/quality.jsonl"); }),
                  {"leval/quality.jsonl", "--data DIR"}));
  EXPECT_TRUE(has(error_of([] { EvalData("/no/such/folder"); }), {"--data /no/such/folder"}));
}

TEST(EvalData, NamesStayInTheFolder) {
  const TempFolder folder;
  std::filesystem::create_directory(folder.path() / "inner");
  folder.write("secret.txt", "x");
  const EvalData data(folder.path() / "inner");
  EXPECT_FALSE(data.has("../secret.txt"));
  EXPECT_FALSE(data.has((folder.path() / "secret.txt").string()));
  EXPECT_FALSE(data.has(""));
}

TEST(EvalData, DamagedFilesAreRefused) {
  const TempFolder folder;
  const std::string whole = bytes_of(write_packed(folder, "whole.gz", random_text(300'000)));
  std::string flipped = whole;
  flipped[whole.size() / 2] = static_cast<char>(flipped[whole.size() / 2] ^ 0x55);
  std::string wrong_sum = whole;
  wrong_sum[whole.size() - 6] = static_cast<char>(wrong_sum[whole.size() - 6] ^ 1);
  for (const std::string& bytes :
       {whole.substr(0, whole.size() / 2), whole.substr(0, whole.size() - 4), flipped, wrong_sum}) {
    const auto path = folder.write("bad.gz", bytes);
    EXPECT_TRUE(has(error_of([&] { read_packed_file(path); }), {"bad.gz: damaged"}));
  }
  EXPECT_TRUE(has(error_of([&] { read_packed_file(folder.path()); }), {"is a folder"}));
}

TEST(EvalData, HugeJsonIsNotParsed) {
  const TempFolder folder;
  write_packed(folder, "big.json.gz", "[" + std::string(size_t{65} << 20, ' ') + "]");
  const EvalData data(folder.path());
  EXPECT_TRUE(has(error_of([&] { data_json(data, "big.json"); }), {"big.json", "too large"}));
}

}  // namespace
}  // namespace longhaul
