// longhaul run with --json-schema and --grammar, on models/nano.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/program.h"
#include "cli/texts.h"

namespace longhaul {
namespace {

using testing_support::has;
using testing_support::kPassKeyQuestion;
using testing_support::Outcome;
using testing_support::Program;

TEST(Constraint, RepliesAreJsonOfTheSchema) {
  const char* schema =
      R"({"type": "object", "properties": {"key": {"type": "integer"}, "found": {"type": "boolean"},
          "day": {"enum": ["Monday", "Sunday"]}}, "required": ["key", "found", "day"]})";
  for (const char* seed : {"1", "2", "3"}) {
    const Outcome o = Program().run({"run", "-q", "-p", kPassKeyQuestion, "--temp", "1", "--seed",
                                     seed, "--json-schema", schema});
    EXPECT_EQ(o.status, 0) << o.err;
    const auto reply = nlohmann::json::parse(o.out);
    EXPECT_TRUE(reply["key"].is_number_integer()) << o.out;
    EXPECT_TRUE(reply["found"].is_boolean()) << o.out;
    EXPECT_TRUE(reply["day"] == "Monday" || reply["day"] == "Sunday") << o.out;
  }
}

TEST(Constraint, RepliesMatchTheGrammarOfAFile) {
  Program program;
  const auto file = program.folder().write("digits.gbnf", "root ::= \"<\" [0-9]{5} \">\"");
  const Outcome o = program.run({"run", "-q", "-p", kPassKeyQuestion, "--grammar", file});
  EXPECT_EQ(o.status, 0) << o.err;
  ASSERT_EQ(o.out.size(), 8u) << o.out;
  EXPECT_EQ(o.out[0], '<');
  EXPECT_EQ(o.out.find_first_not_of("0123456789", 1), 6u) << o.out;
}

TEST(Constraint, RefusesBeforeTheModelIsOpened) {
  const auto refused = [](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"run", "-m", "nowhere.gguf", "-p", "x"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome o = Program().run(arguments);
    EXPECT_EQ(o.status, 2);
    return o.err;
  };
  EXPECT_TRUE(has(refused({"--json-schema", R"({"not": {}})"}),
                  {"--json-schema: JSON schema: unsupported keyword not"}));
  EXPECT_TRUE(has(refused({"--grammar", "root ::= root \"x\" | \"y\""}), {"left recursion"}));
  EXPECT_TRUE(has(refused({"--grammar", "nowhere.gbnf"}), {"--grammar: nowhere.gbnf"}));
  EXPECT_TRUE(has(refused({"--grammar", "root ::= \"x\"", "--json-schema", "{}"}),
                  {"--grammar: does not go with --json-schema"}));
}

}  // namespace
}  // namespace longhaul
