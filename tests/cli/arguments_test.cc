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

}  // namespace
}  // namespace longhaul
