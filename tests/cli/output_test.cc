// Printed output that is not delivered must be reported as an error, since it would go unnoticed.

#include <gtest/gtest.h>

#include "cli/program.h"

namespace longhaul {
namespace {

using testing_support::has;
using testing_support::kPassKeyQuestion;
using testing_support::Program;
using testing_support::refused;

TEST(Output, OntoAFullDiskIsAnError) {
  Program program;
  program.set_output("/dev/full");
  for (const Program::Arguments& arguments : {Program::Arguments{"--version"},
                                              {"--help"},
                                              {"methods"},
                                              {"methods", "--json"},
                                              {"inspect", "nano"},
                                              {"run", "-q", "-p", kPassKeyQuestion}}) {
    EXPECT_TRUE(refused(program.run(arguments), {"standard output: not all of it"}))
        << arguments.front();
  }
  // The reason is known if all output was written at once at the end.
  EXPECT_TRUE(refused(program.run({"tokenize", "Hello", "--count"}), {"No space left on device"}));
}

TEST(Output, ToAClosedStreamIsAnErrorAndEndsInNoOtherFile) {
  Program program;
  const std::string session = program.folder().path() / "s";
  program.set_output("");
  EXPECT_TRUE(refused(program.run({"tokenize", "Hello", "--count"}),
                      {"standard output", "Bad file descriptor"}));
  EXPECT_TRUE(refused(program.run({"run", "-q", "-p", kPassKeyQuestion, "--save", session}),
                      {"standard output"}));
  Program again;
  const auto o = again.run({"run", "-q", "-p", kPassKeyQuestion, "--load", session});
  EXPECT_EQ(o.status, 0) << o.err;
  EXPECT_EQ(o.out, "The pass key is 58213.\n");
}

TEST(Output, AFileThatMayNotGrowIsAnErrorAndLeavesNoPart) {
  Program program;
  program.limit_files(100 << 10);
  const std::filesystem::path session = program.folder().path() / "s";
  const auto o = program.run({"run", "-n", "0", "-p", kPassKeyQuestion, "--save", session});
  EXPECT_TRUE(has(o.err, {"error: " + session.string(), "File too large"})) << o.status;
  EXPECT_EQ(o.status, 2);
  EXPECT_FALSE(std::filesystem::exists(session));
  for (const auto& entry : std::filesystem::directory_iterator(program.folder().path())) {
    EXPECT_NE(entry.path().extension(), ".longhaul-part");
  }
}

TEST(Output, NothingPrintedIsNothingLost) {
  Program program;
  program.set_output("");
  const auto o = program.run({"run", "-q", "-n", "0", "-p", "Hello"});
  EXPECT_EQ(o.status, 0) << o.err;
}

}  // namespace
}  // namespace longhaul
