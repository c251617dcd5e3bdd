// How arguments are told apart.

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

}  // namespace
}  // namespace longhaul
