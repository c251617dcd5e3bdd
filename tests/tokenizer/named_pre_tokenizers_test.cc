#include <gtest/gtest.h>

#include "tokenizer/pre_tokenizer.h"

namespace longhaul {
namespace {

using Pieces = std::vector<std::string_view>;

/// Pieces that Python's regex module finds with tiktoken's pattern of o200k_base.
TEST(NamedPreTokenizers, GptOssCutsAsTiktoken) {
  const PreTokenizer cut = make_pre_tokenizer(named_pre_tokenizer("gpt-4o", "test"));
  EXPECT_EQ(cut.split("HelloWorld it's IT'S don'T 12345 x//\n\n  y  "),
            (Pieces{"Hello", "World", " it's", " IT'S", " don'T", " ", "123", "45", " x", "//\n\n",
                    " ", " y", "  "}));
  EXPECT_EQ(cut.split("école Ünïcode ßtraße ΑΒΓδ 你好,世界!"),
            (Pieces{"école", " Ünïcode", " ßtraße", " ΑΒΓδ", " 你好", ",世界", "!"}));
  EXPECT_EQ(cut.split("aB2c  \t\r\n///...\n 3.14"),
            (Pieces{"a", "B", "2", "c", "  \t\r\n", "///...\n", " ", "3", ".", "14"}));
}

/// Pieces that Python's regex module finds with the patterns of the models' tokenizer.json.
TEST(NamedPreTokenizers, KExaoneAndHunyuanCutAsTheirTokenizers) {
  const std::string text = "HelloWorld it's 12345 x//\n\n  y  ",
                    mixed = "cafe\u0301s 你好,世界! 3.14";
  const PreTokenizer exaone = make_pre_tokenizer(named_pre_tokenizer("exaone-moe", "test"));
  EXPECT_EQ(exaone.split(text), (Pieces{"HelloWorld it", "'s", " ", "1", "2", "3", "4", "5", " x",
                                        "//\n", "\n", " ", " y", "  "}));
  EXPECT_EQ(exaone.split(mixed),
            (Pieces{"cafe\u0301s 你好", ",世界", "!", " ", "3", ".", "1", "4"}));
  const PreTokenizer hunyuan = make_pre_tokenizer(named_pre_tokenizer("hunyuan-dense", "test"));
  EXPECT_EQ(hunyuan.split(text),
            (Pieces{"HelloWorld", " it", "'s", " ", "123", "45", " x", "//\n\n", " ", " y", "  "}));
  EXPECT_EQ(hunyuan.split(mixed),
            (Pieces{"cafe\u0301s", " ", "你好", ",", "世界", "!", " ", "3", ".", "14"}));
}

/// Qwen3.5's pattern keeps combining marks with their letters, Qwen2's does not.
TEST(NamedPreTokenizers, Qwen35KeepsMarksWithLetters) {
  const PreTokenizer cut = make_pre_tokenizer(named_pre_tokenizer("qwen35", "test"));
  const PreTokenizer before = make_pre_tokenizer(named_pre_tokenizer("qwen2", "test"));
  EXPECT_EQ(cut.split("cafe\u0301s 12 x"), (Pieces{"cafe\u0301s", " ", "1", "2", " x"}));
  EXPECT_EQ(before.split("cafe\u0301s"), (Pieces{"cafe", "\u0301s"}));
}

}  // namespace
}  // namespace longhaul
