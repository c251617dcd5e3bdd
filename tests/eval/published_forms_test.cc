// Prompts exactly as published (spec: methods 15): the needle's three dialects, and bare prompts
// that end with the reply's first words.

#include <gtest/gtest.h>

#include "eval/benchmarks_run.h"
#include "eval/nano.h"
#include "eval/sample_queue.h"
#include "eval/scorers.h"

namespace longhaul {
namespace {

using testing_support::nano;

Sample sample_of(std::string_view task) {
  return eval_task(task).make(testing_support::request_of(2048, 2)).at(1);
}

PromptComposer bare_composer() { return {nano()->tokenizer(), std::nullopt}; }

/// The prompt for a model without a chat template.
std::string bare(const Sample& sample, bool opening) {
  return nano()->tokenizer().decode(bare_composer().compose(sample, opening).tokens, false);
}

constexpr std::string_view kSandwich =
    "he best thing to do in San Francisco is eat a sandwich and sit in Dolores Park on a sunny "
    "day.";

TEST(PublishedForms, Gkamradt) {
  const Sample s = sample_of("needle");
  // Its authors end neither message with a full stop. CItruS, which adopted the messages, does.
  EXPECT_EQ(s.system,
            "You are a helpful AI bot that answers questions for a user. Keep your response short "
            "and direct");
  EXPECT_EQ(s.question,
            "What is the best thing to do in San Francisco? Don't give information outside the "
            "document or repeat your findings");
  EXPECT_EQ(s.separator, "\n");
  EXPECT_NE(s.context.find("\nT" + std::string(kSandwich) + "\n"), std::string::npos);
  EXPECT_EQ(s.opening, "The best thing to do in San Francisco is");
}

TEST(PublishedForms, DuoAttention) {
  const Sample s = sample_of("needle-duo");
  EXPECT_TRUE(s.context.starts_with("This is a very long story book: <book> "));
  EXPECT_TRUE(s.context.ends_with(" </book>."));
  EXPECT_NE(s.context.find("\n\nRemember, t" + std::string(kSandwich) + "\n\n"), std::string::npos);
  const std::string end =
      " </book>.\n\nQuestion: Based on the content of the book, what is the best thing to do in "
      "San "
      "Francisco?";
  EXPECT_TRUE(bare(s, false).ends_with(end)) << bare(s, false);
  EXPECT_TRUE(
      bare(s, true).ends_with(end + "\n\nAnswer: The best thing to do in San Francisco is"));
  EXPECT_EQ(s.max_tokens, 51);
}

TEST(PublishedForms, NeedleBench) {
  const Sample s = sample_of("needle-bench");
  EXPECT_TRUE(s.context.starts_with(
      "You are an intelligent AI assistant skilled in answering user questions.\nPlease keep your "
      "answers concise and clear. Do not talk about irrelevant topics or repeat your answers.\nThe "
      "document given to you by the user is "));
  EXPECT_EQ(s.separator, "\n\n");
  EXPECT_TRUE(s.question.starts_with("Now, the question is: What "));
  EXPECT_TRUE(s.question.ends_with(
      "? Before answering, please consider what in the document is most relevant to this "
      "question."));
}

TEST(PublishedForms, BarePromptsHoldTheirCueOnceAndAreAskedOneWay) {
  const PromptComposer composer = bare_composer();
  for (const std::string_view task : {"key-value-uuid", "multidoc/nq", "multidoc/xquad",
                                      "multihop/hotpotqa", "infinitebench/kv_retrieval"}) {
    const Sample s = sample_of(task);
    EXPECT_EQ(bare(s, true), bare(s, false)) << task;
    EXPECT_EQ(openings_of(s, Openings::kBoth, composer), (std::vector<bool>{false})) << task;
    EXPECT_EQ(openings_of(s, Openings::kBoth, testing_support::nano_composer()).size(), 2) << task;
  }
  EXPECT_EQ(openings_of(sample_of("passkey"), Openings::kBoth, composer).size(), 2);
  EXPECT_TRUE(bare(sample_of("key-value-uuid"), true).ends_with("\"\nCorresponding value:"));
  EXPECT_TRUE(bare(sample_of("multidoc/nq"), true).ends_with("\nAnswer:"));
}

TEST(PublishedForms, BarePromptsEndWithTheReplysFirstWords) {
  const std::pair<std::string_view, std::string> ends[] = {
      {"passkey", "\nWhat is the pass key? The pass key is"},
      {"infinitebench/passkey", "\n\nWhat is the pass key?\n\nThe pass key is"},
      {"infinitebench/number_string",
       "\n\nWhat is the sequence of digits?\n\nThe sequence of digits is"},
      {"ruler/qa_2", "? Answer:"},
      {"ruler/cwe",
       "\nQuestion: What are the 10 most common words in the above list? Answer: The top 10 words "
       "that appear most often in the list are:"},
  };
  for (const auto& [task, end] : ends) {
    EXPECT_TRUE(bare(sample_of(task), true).ends_with(end)) << task;
  }
  const std::string single = bare(sample_of("ruler/niah_single_1"), true);
  EXPECT_NE(single.find(" mentioned in the provided text? The special magic number for "),
            std::string::npos);
}

TEST(PublishedForms, BabiLongOpensWithTheAnswersOfItsExamples) {
  const auto question_of = [](const Sample& s) {
    return s.question.substr(s.question.rfind("Question: ") + 10);
  };
  const Sample where = sample_of("babilong/qa1");
  const std::string person = question_of(where).substr(9);  // skips "Where is "
  EXPECT_EQ(where.opening + "?",
            "The most recent location of " + person.substr(0, person.size() - 1) + " is?");
  const Sample thing = sample_of("babilong/qa2");
  const std::string what = question_of(thing).substr(13);  // skips "Where is the "
  EXPECT_EQ(thing.opening, "The " + what.substr(0, what.size() - 1) + " is in the");
  const Sample before = sample_of("babilong/qa3");
  const std::string item = question_of(before).substr(10);  // skips "Where was "
  const size_t at = item.find(" before ");
  EXPECT_EQ(before.opening, "Before " + item.substr(at + 8, item.size() - at - 9) + " " +
                                item.substr(0, at) + " was in the");
  for (const std::string_view task : {"babilong/qa4", "babilong/qa6", "babilong/qa20"}) {
    EXPECT_EQ(sample_of(task).opening, "Answer:") << task;
  }
  EXPECT_TRUE(bare(where, true).ends_with("?\n" + where.opening));
}

TEST(PublishedForms, ArticlesAreNoWordsOfTheNeedle) {
  Sample s = sample_of("needle");
  EXPECT_EQ(score_reply(s, "Eat sandwich and sit in Dolores Park on sunny day"), 1);
  s.answers = {"a the an walk"};
  EXPECT_EQ(score_reply(s, "walk"), 1);
}

}  // namespace
}  // namespace longhaul
