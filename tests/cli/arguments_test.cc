// Classification of arguments.

#include <gtest/gtest.h>

#include "cli/program.h"

namespace longhaul {
namespace {

using testing_support::Outcome;
using testing_support::Program;
using testing_support::refused;

TEST(Arguments, OneMayHaveTheNameOfACommand) {
  Program program;
  const Outcome text = program.run({"tokenize", "run", "-m", "nano", "--json"});
  ASSERT_EQ(text.status, 0) << text.err;
  EXPECT_EQ(text.json()["count"], text.json()["ids"].size());
  EXPECT_TRUE(refused(program.run({"report", "pull"}), {"pull: is no folder"}));
}

TEST(Arguments, AValueMayLookLikeAFlagWithEquals) {
  for (const Program::Arguments& question :
       {Program::Arguments{"-p", "-n=3"}, {"--prompt", "-n=3"}, {"--prompt=-n=3"}, {"-p-n=3"}}) {
    Program::Arguments run{"run", "--json", "-n", "0"};
    run.insert(run.end(), question.begin(), question.end());
    const Outcome o = Program().run(run);
    EXPECT_EQ(o.status, 0) << question.front() << ": " << o.err;
  }
}

TEST(Arguments, AQuestionNeedsNoFlagAfterAModelThatHasOne) {
  const auto asked = [](const Program::Arguments& words) {
    Program::Arguments run{"run", "-m", "nano", "--json", "-n", "1"};
    run.insert(run.end(), words.begin(), words.end());
    return Program().run(run);
  };
  const Outcome flag = asked({"-p", "What is a tide?"}), word = asked({"What is a tide?"});
  ASSERT_EQ(word.status, 0) << word.err;
  EXPECT_EQ(word.json()["prompt_tokens"], flag.json()["prompt_tokens"]);
  EXPECT_EQ(asked({"What", "is", "a", "tide?"}).json()["prompt_tokens"],
            flag.json()["prompt_tokens"]);
  EXPECT_TRUE(refused(asked({"-p", "Why?", "What?"}), {"unexpected argument 'What?'"}));
}

TEST(Arguments, ContextsAreNeverShifted) {
  const Outcome o = Program().run({"run", "-p", "x", "-n", "0", "--no-context-shift"});
  EXPECT_EQ(o.status, 0) << o.err;
}

TEST(Arguments, HelpListsWhatIsUsedMostFirst) {
  const std::string help = Program().run({"--help"}).out;
  size_t before = help.find("\nSubcommands:");
  for (const char* command : {"run", "advise", "models", "pull", "methods"}) {
    const size_t at = help.find("\n  " + std::string(command) + " ");
    ASSERT_NE(at, std::string::npos) << command << ": " << help;
    EXPECT_LT(before, at) << command;
    before = at;
  }
}

}  // namespace
}  // namespace longhaul
