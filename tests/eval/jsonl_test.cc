// The user's own cases: the contents of a line, and refusals.

#include "eval/tasks/jsonl.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "eval/scorers.h"
#include "format/temp_folder.h"

namespace longhaul {
namespace {

std::string problem(const std::string& text) {
  try {
    parse_jsonl(text);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

const std::string kGood = R"({"id":"a","prompt":"What is 1+1?","answers":["2"]})";

TEST(Jsonl, ReadsEveryForm) {
  const auto samples = parse_jsonl(
      "\xEF\xBB\xBF" + kGood + "\r\n\n" +
      R"({"id":7,"context":"The sky is green.","question":"Colour?","answers":"green","match":"exact","max_tokens":5,"group":"colours","opening":"It is","stop":["."],"depth":0.5})" +
      "\n" +
      R"({"id":"m","messages":[{"role":"system","content":"S"},{"role":"user","content":"U"},{"role":"assistant","content":"A"},{"role":"user","content":"Q"}],"answers":["x","y"],"match":"contains_all"})");
  ASSERT_EQ(samples.size(), 3u);
  EXPECT_EQ(samples[0].question, "What is 1+1?");
  EXPECT_EQ(samples[0].context, "");
  EXPECT_EQ(samples[0].rule, "contains-any");
  EXPECT_EQ(samples[1].id, "7");
  EXPECT_EQ(samples[1].context, "The sky is green.");
  EXPECT_EQ(samples[1].answers, std::vector<std::string>{"green"});
  EXPECT_EQ(samples[1].rule, "exact");
  EXPECT_EQ(samples[1].max_tokens, 5);
  EXPECT_EQ(samples[1].group, "colours");
  EXPECT_EQ(samples[1].opening, "It is");
  EXPECT_EQ(samples[1].stop, std::vector<std::string>{"."});
  EXPECT_EQ(samples[1].depth, 0.5);
  EXPECT_EQ(samples[2].system, "S");
  ASSERT_EQ(samples[2].turns.size(), 2u);
  EXPECT_FALSE(samples[2].turns[0].assistant);
  EXPECT_TRUE(samples[2].turns[1].assistant);
  EXPECT_EQ(samples[2].question, "Q");
  EXPECT_EQ(samples[2].rule, "contains-all");
}

TEST(Jsonl, TheShortestCaseHasTextQuestionAndAnswer) {
  const auto samples = parse_jsonl(
      "\n"
      R"({"context":"The ferry leaves at 9:40.","question":"When?","answer":"9:40"})");
  ASSERT_EQ(samples.size(), 1u);
  EXPECT_EQ(samples[0].id, "2") << "the line's number";
  EXPECT_EQ(samples[0].answers, std::vector<std::string>{"9:40"});
}

TEST(Jsonl, EveryMatchIsARuleOfScoring) {
  const std::pair<std::string, std::string> matches[] = {{"contains", "contains-any"},
                                                         {"contains_all", "contains-all"},
                                                         {"exact", "exact"},
                                                         {"regex", "regex"},
                                                         {"f1", "f1"},
                                                         {"number", "number"},
                                                         {"rouge", "rouge-l"},
                                                         {"rouge1", "rouge-1"},
                                                         {"rouge2", "rouge-2"},
                                                         {"edit", "edit"}};
  for (const auto& [match, rule] : matches) {
    const auto samples =
        parse_jsonl(R"({"id":1,"prompt":"p","answers":["7 is it"],"match":")" + match + "\"}");
    ASSERT_EQ(samples.size(), 1u);
    EXPECT_EQ(samples[0].rule, rule);
    EXPECT_EQ(score_reply(samples[0], "7 is it"), 1) << match;
    EXPECT_EQ(score_reply(samples[0], ""), 0) << match;
  }
}

struct BadLine {
  std::string line, says;
};

class BadJsonl : public testing::TestWithParam<BadLine> {};

TEST_P(BadJsonl, IsRefusedByNumberAndKey) {
  const std::string told = problem(kGood + "\n\n" + GetParam().line + "\n");
  EXPECT_TRUE(told.starts_with("line 3: ")) << told;
  EXPECT_NE(told.find(GetParam().says), std::string::npos) << told;
}

const BadLine kBad[] = {
    {"{", "is no JSON"},
    {"[]", "is no JSON object"},
    {"7", "is no JSON object"},
    {"{\"id\":\"\xff\"}", "is no JSON"},
    {R"({"id":"b","prompt":"p","answers":["x"],"id":"c"})", "key 'id' is given twice"},
    {R"({"id":"b","messages":[{"role":"user","content":"c","role":"user"}],"answers":["x"]})",
     "key 'role' is given twice"},
    {R"({"id":1.5,"prompt":"p","answers":["x"]})", "key 'id' must be a text"},
    {R"({"id":"","prompt":"p","answers":["x"]})", "key 'id'"},
    {R"({"id":"a\u001fb","prompt":"p","answers":["x"]})", "control characters"},
    {R"({"id":"a","prompt":"p","answers":["x"]})", "id \"a\" is that of line 1"},
    {R"({"id":"b","group":"x\u0000y","prompt":"p","answers":["x"]})",
     "key 'group' must be without"},
    {R"({"id":"b","answers":["x"]})", "needs one of"},
    {R"({"id":"b","prompt":"p","question":"q","answers":["x"]})", "it has 2"},
    {R"({"id":"b","context":"c","answers":["x"]})", "key 'question' is missing"},
    {R"({"id":"b","prompt":"","answers":["x"]})", "question is empty"},
    {R"({"id":"b","prompt":"p"})", "needs 'answers', or 'answer'"},
    {R"({"id":"b","prompt":"p","answer":"x","answers":["x"]})", "needs 'answers', or 'answer'"},
    {R"({"id":"b","prompt":"p","answers":[]})", "holds no answer"},
    {R"({"id":"b","prompt":"p","answers":""})", "holds no answer"},
    {R"({"id":"b","prompt":"p","answers":[3]})", "key 'answers'"},
    {R"({"id":"b","prompt":"p","anwsers":["x"]})", "did you mean 'answers'"},
    {R"({"id":"b","prompt":"p","answers":["x"],"match":"fuzzy"})", "must be one of contains"},
    {R"({"id":"b","prompt":"p","answers":["("],"match":"regex"})", "answer"},
    {R"({"id":"b","prompt":"p","answers":["no"],"match":"number"})", "holds no number"},
    {R"({"id":"b","prompt":"p","answers":["x"],"max_tokens":0})", "key 'max_tokens'"},
    {R"({"id":"b","prompt":"p","answers":["x"],"max_tokens":1e99})", "key 'max_tokens'"},
    {R"({"id":"b","prompt":"p","answers":["x"],"max_tokens":18446744073709551615})",
     "key 'max_tokens'"},
    {R"({"id":"b","prompt":"p","answers":["x"],"depth":2})", "key 'depth'"},
    {R"({"id":"b","messages":[],"answers":["x"]})", "key 'messages'"},
    {R"({"id":"b","messages":[{"role":"user"}],"answers":["x"]})", "'role' and 'content'"},
    {R"({"id":"b","messages":[{"role":"robot","content":"c"}],"answers":["x"]})", "role"},
    {R"({"id":"b","messages":[{"role":"assistant","content":"c"}],"answers":["x"]})",
     "must end with the user's"},
    {R"({"id":"b","prompt":[[[[[[[[[1]]]]]]]]],"answers":["x"]})", "deeper than 8"},
};

INSTANTIATE_TEST_SUITE_P(Lines, BadJsonl, testing::ValuesIn(kBad));

TEST(Jsonl, TaskNamesTheFileAndItsContents) {
  testing_support::TempFolder folder;
  const auto file = folder.write("cases.jsonl", kGood + "\n");
  const PlannedTask task = jsonl_task(file);
  EXPECT_EQ(task.name, "jsonl:cases");
  EXPECT_FALSE(task.scales);
  EXPECT_EQ(task.contents.size(), 16u);
  EXPECT_EQ(task.make({}).size(), 1u);
  // Records are UTF-8: another name would not be found in them.
  EXPECT_EQ(jsonl_task(folder.write("b\xff.jsonl", kGood)).name, "jsonl:b\xef\xbf\xbd");
  const auto other = folder.write("other.jsonl", kGood + " \n");
  EXPECT_NE(jsonl_task(other).contents, task.contents);
}

TEST(Jsonl, BadFilesAreNamed) {
  testing_support::TempFolder folder;
  const auto says = [](const std::filesystem::path& file) {
    try {
      jsonl_task(file);
    } catch (const UserError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_NE(says(folder.path() / "none.jsonl").find("none.jsonl: cannot open: No such file"),
            std::string::npos);
  EXPECT_NE(says(folder.path()).find("is a folder"), std::string::npos);
  EXPECT_NE(says(folder.write("empty.jsonl", "\n")).find("holds no cases"), std::string::npos);
  EXPECT_NE(says(folder.write("bad.jsonl", "nonsense")).find("bad.jsonl line 1: "),
            std::string::npos);
}

}  // namespace
}  // namespace longhaul
