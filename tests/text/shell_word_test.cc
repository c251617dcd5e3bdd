#include "text/shell_word.h"

#include <gtest/gtest.h>

namespace longhaul {
namespace {

TEST(ShellWord, IsWhatAShellReadsBack) {
  EXPECT_EQ(shell_word("--lengths"), "--lengths");
  EXPECT_EQ(shell_word("tova:sink=4,stride=1"), "tova:sink=4,stride=1");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("my text.txt"), "'my text.txt'");
  EXPECT_EQ(shell_word("it's"), R"('it'\''s')");
  EXPECT_EQ(shell_word("a#{b}~"), "'a#{b}~'");
}

}  // namespace
}  // namespace longhaul
