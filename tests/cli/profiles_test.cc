// --profiles: method settings from a folder other than the model's.

#include <gtest/gtest.h>

#include "cli/program.h"
#include "cli/texts.h"

namespace longhaul {
namespace {

using testing_support::has;
using testing_support::Outcome;
using testing_support::Program;

TEST(Profiles, OfAFolderStandInPlaceOfTheModels) {
  Program program;
  program.folder().write("streamingllm.json", R"({"options": {"recent": "0"}})");
  const auto run = [&](const std::string& method) {
    return program.run({"run", "-q", "-p", "Hello.", "-n", "1", "--attention", method, "--profiles",
                        program.folder().path()});
  };
  Outcome o = run("streamingllm");
  EXPECT_EQ(o.status, 2);
  EXPECT_TRUE(has(o.err, {"streamingllm.json", "recent"})) << o.err;
  o = run("duo");  // nano's own gates are not used
  EXPECT_EQ(o.status, 2);
  EXPECT_TRUE(has(o.err, {"duo", "needs gates"})) << o.err;
  EXPECT_EQ(run("dense").status, 0);
}

TEST(Profiles, ThatAreKnownAreListedAndRefusedElsewhere) {
  Program program;
  const auto list = program.run({"models", "--profiles", "--json"}).json();
  const auto llama = std::find_if(list.begin(), list.end(), [](const auto& known) {
    return known["name"] == "llama-3.1-8b-instruct";
  });
  ASSERT_NE(llama, list.end());
  EXPECT_EQ((*llama)["methods"].size(), 3u);
  const Outcome o = program.run({"run", "-p", "Hello.", "-n", "1", "--attention", "duo",
                                 "--profiles", "llama-3.1-8b-instruct"});
  EXPECT_EQ(o.status, 2);
  EXPECT_TRUE(has(o.err, {"--attention duo: gates=", "duo_gates.tsv", "has 8 columns"})) << o.err;
}

}  // namespace
}  // namespace longhaul
