// Texts on which jsonschema, xgrammar and llguidance agree (tools/compare_grammars.py).

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "grammar_texts.h"

namespace longhaul::grammar {
namespace {

TEST(GrammarOracles, Agree) {
  std::ifstream file(LONGHAUL_TEST_DATA "/grammar/oracle.jsonl");
  int count = 0;
  for (std::string line; std::getline(file, line);) {
    const auto given = nlohmann::json::parse(line);
    const Grammar grammar =
        Grammar::compile(given["text"].get<std::string>(), GrammarKind::kJsonSchema);
    for (const bool accepted : {true, false}) {
      for (const auto& text : given[accepted ? "accepted" : "refused"]) {
        EXPECT_EQ(accepts(grammar, text.get<std::string>()), accepted) << given["text"] << text;
        ++count;
      }
    }
  }
  EXPECT_GT(count, 200);
}

}  // namespace
}  // namespace longhaul::grammar
