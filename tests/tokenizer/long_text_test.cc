// Texts of megabytes. They survive encoding and decoding, and time is not quadratic in their
// length. Limits are far above normal times on any machine.

#include <gtest/gtest.h>

#include <cstdio>
#include <random>

#include "base/clock.h"
#include "eval/data.h"
#include "tokenizer/load_tokenizer.h"
#include "tokenizer/test_paths.h"

namespace longhaul {
namespace {

TEST(LongText, WordsAndRunsTakeLinearTime) {
  std::mt19937 random(5);
  std::string letters, blanks;
  for (size_t i = 0; i < (size_t{1} << 20); ++i) {
    letters += static_cast<char>('a' + random() % 26);
    blanks += " \t\n\r"[random() % 4];
  }
  const Tokenizer tokenizer = load_tokenizer_folder(tokenizer_data() / "llama3");
  const std::string same(size_t{1} << 20, ' ');
  for (const std::string& text : {letters, blanks, same, std::string(size_t{1} << 20, '7')}) {
    const Stopwatch watch;
    const std::vector<int32_t> ids = tokenizer.encode(text, {.add_special = false});
    const double seconds = watch.seconds();
    EXPECT_EQ(tokenizer.decode(ids), text);
    EXPECT_LT(seconds, 60.0);  // quadratic time would be hours
    std::printf("%zu bytes, %zu tokens, %.2f s\n", text.size(), ids.size(), seconds);
  }
}

/// Four novels and the passages of Natural Questions. Nothing is repeated, so a cache of words
/// helps no more than with any long document.
std::string a_million_tokens_of_prose() {
  const std::filesystem::path data = std::filesystem::path(LONGHAUL_MODELS).parent_path() / "data";
  std::string text;
  for (const char* name :
       {"books/frankenstein.txt.gz", "books/the-moonstone.txt.gz",
        "books/the-war-of-the-worlds.txt.gz", "books/villette.txt.gz", "qa/nq_open.jsonl.gz"}) {
    text += read_packed_file(data / name);
  }
  return text;
}

TEST(LongText, ProseTakesLinearTime) {
  const Tokenizer tokenizer = load_tokenizer_folder(tokenizer_data() / "llama3");
  const std::string text = a_million_tokens_of_prose();
  const Stopwatch watch;
  const std::vector<int32_t> ids = tokenizer.encode(text);
  const double seconds = watch.seconds();
  std::printf("%zu tokens, %.2f million tokens/s\n", ids.size(),
              static_cast<double>(ids.size()) / seconds / 1e6);
  EXPECT_GT(ids.size(), 900'000u);
  EXPECT_TRUE(tokenizer.decode(ids) == text);
  EXPECT_LT(seconds, 60.0);
}

}  // namespace
}  // namespace longhaul
