// longhaul heads: its results on nano, and methods finding what it saves.

#include <gtest/gtest.h>

#include "cli/bare_nano.h"

namespace longhaul {
namespace {

using testing_support::bare_nano;
using testing_support::has;
using testing_support::Outcome;
using testing_support::Program;

TEST(Heads, AreFoundAndSavedWhereMethodsFindThem) {
  Program program;
  const std::string model = bare_nano(program).string();
  const Program::Arguments find{"heads", "-m", model, "--lengths", "512,1024", "-n", "3", "--save"};
  const Outcome o = program.run(find);
  ASSERT_EQ(o.status, 0) << o.err;
  EXPECT_TRUE(has(o.out, {"head  score\n", "of 72 query heads", "of 6 facts were found",
                          "--attention ltri:heads="}));
  EXPECT_TRUE(has(o.err, {"written: ", "ltri.json", "duo.json"}));
  std::ifstream file(std::filesystem::path(model) / "ltri.json");
  EXPECT_EQ(nlohmann::json::parse(file)["only_with"]["decode"], "form=longhaul");
  // The printed line equals the contents of the file.
  const size_t line = o.out.find("ltri:heads=");
  const std::string method = o.out.substr(line, o.out.find('\n', line) - line);

  const std::string question = "Where is the harbour?";
  const Outcome ltri =
      program.run({"run", "-m", model, "-p", question, "-n", "1", "--json", "--attention", "ltri"});
  EXPECT_EQ(ltri.status, 0) << ltri.err;
  const Outcome named =
      program.run({"run", "-m", model, "-p", question, "-n", "1", "--json", "--attention", method});
  EXPECT_EQ(ltri.json()["attention"], named.json()["attention"]);
  // duo is refused without gates, so it found them.
  const Outcome duo =
      program.run({"run", "-m", model, "-p", question, "-n", "1", "--attention", "duo"});
  EXPECT_EQ(duo.status, 0) << duo.err;
  EXPECT_TRUE(refused(program.run(find), {"--save: ", "ltri.json is there already"}));
}

TEST(Heads, TellMachinesEveryScore) {
  Program program;
  const Outcome o = program.run({"heads", "--lengths", "512", "-n", "2", "--json"});
  ASSERT_EQ(o.status, 0) << o.err;
  const auto json = o.json();
  EXPECT_EQ(json["asked"], 2);
  ASSERT_EQ(json["scores"].size(), 12u);
  EXPECT_EQ(json["scores"][0].size(), 6u);
  EXPECT_GE(json["retrieval_heads"].size(), 5u);
  EXPECT_GE(json["retrieval_heads"][0]["score"], json["retrieval_heads"][1]["score"]);
}

TEST(Heads, AModelThatFindsNothingHasNone) {
  Program program;
  const std::string model = LONGHAUL_TEST_DATA "/tiny_models/mistral";
  const Outcome o = program.run({"heads", "-m", model, "--lengths", "256", "-n", "1", "--raw"});
  EXPECT_TRUE(refused(o, {"no head scores 0.1 or more", "0 of 1 facts"}));
}

}  // namespace
}  // namespace longhaul
