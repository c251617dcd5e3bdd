// longhaul run --sources on models/nano: the passage that contains the answer comes first.

#include <gtest/gtest.h>

#include "cli/program.h"
#include "cli/texts.h"

namespace longhaul {
namespace {

using testing_support::has;
using testing_support::kNumberQuestion;
using testing_support::long_text;
using testing_support::Outcome;
using testing_support::Program;
using testing_support::refused;

constexpr const char* kNeedle = "quiet-harbor is: 4827163.";

TEST(Sources, TheFirstIsWhereTheAnswerStands) {
  Program program;
  const std::string other = program.folder().write("other.txt", long_text().substr(0, 900));
  const std::string file = program.folder().write("text.txt", long_text());
  const auto json =
      program.run({"run", "--json", "-f", other, "-f", file, "-p", kNumberQuestion, "--sources=2"})
          .json();
  ASSERT_LE(json["sources"].size(), 2u);
  const auto& first = json["sources"][0];
  EXPECT_EQ(first["text"], file);
  const std::string quote = first["quote"];
  EXPECT_TRUE(has(quote, {kNeedle}));
  EXPECT_EQ(long_text().substr(first["begin"], quote.size()), quote) << "offsets are the text's";
  EXPECT_EQ(first["line"], 1);
  EXPECT_NEAR(first["depth"].get<double>(), 0.5, 0.02);
  EXPECT_FALSE(first.contains("page"));
  ASSERT_EQ(json["sentences"].size(), 1u);
  const std::string text = json["text"];
  EXPECT_EQ(json["sentences"][0]["end"], text.size());
  EXPECT_EQ(json["sentences"][0]["sources"][0]["quote"], first["quote"]);
}

TEST(Sources, OfEveryMethod) {
  // Methods from the second row on move their keys: row i of a list is not token i of the text.
  Program program;
  const std::string file = program.folder().write("text.txt", long_text());
  int right = 0;
  for (const char* method :
       {"trianglemix", "snapkv:capacity=512", "duo", "h2o:budget=800",  //
        "reattention:local=256,clip=8,chunk=128", "citrus", "streamingllm:recent=2000",
        "infllm:block=64,n_init=64,n_local=256,topk=8,repr_mode=max,repr_topk=16",
        "ltri:block=64,n_init=64,n_local=256,topk=8"}) {
    const Outcome o = program.run(
        {"run", "--json", "-f", file, "-p", kNumberQuestion, "--sources", "--attention", method});
    const auto json = o.json();
    ASSERT_FALSE(json["sources"].empty()) << method;
    if (json["text"].get<std::string>().find("4827163") == std::string::npos) continue;
    ++right;
    EXPECT_TRUE(has(json["sources"][0]["quote"].get<std::string>(), {kNeedle})) << method;
    EXPECT_TRUE(json["rests_on_a_passage"]) << method << " " << json["sources"][0]["share"];
  }
  EXPECT_GE(right, 7);
}

TEST(Sources, AMethodThatSeesNoTextShowsNone) {
  Program program;
  const std::string file = program.folder().write("text.txt", long_text());
  const Outcome o = program.run({"run", "-q", "-f", file, "-p", kNumberQuestion, "-n", "3",
                                 "--sources", "--attention", "streamingllm:sink=0,recent=4"});
  EXPECT_TRUE(has(o.out, {"sources", "none: the reply did not attend to the texts"}));
}

TEST(Sources, AreShownInChats) {
  Program program;
  const std::string file = program.folder().write("text.txt", long_text());
  const std::string question = std::string(kNumberQuestion) + "\n";
  const Outcome o = program.run({"run", "-i", "--sources=1", "-f", file}, question);
  EXPECT_EQ(o.status, 0);
  EXPECT_TRUE(has(o.out, {"source 1 ", "text.txt", kNeedle}));
  const Outcome later = program.run({"run", "-i", "-f", file},
                                    question + "/sources\n" + question + "/sources\n" + question);
  const size_t first = later.out.find("source 1 ");
  ASSERT_NE(first, std::string::npos) << later.out;
  EXPECT_EQ(later.out.find("source 1 ", first + 1), std::string::npos) << later.out;
  EXPECT_TRUE(
      has(later.err, {"sources are shown from the next reply on", "sources are no longer shown"}));
  EXPECT_TRUE(has(program.run({"run", "-i", "-n", "1"}, "/sources\n").err,
                  {"no sources: the chat has no texts"}));
}

TEST(Sources, AReplyThatRestsOnNoPassageIsMarked) {
  Program program;
  const std::string file = program.folder().write("text.txt", long_text());
  const auto run = [&](const std::string& question) {
    return program.run({"run", "--json", "-f", file, "-p", question, "--sources"}).json();
  };
  EXPECT_TRUE(run(kNumberQuestion)["rests_on_a_passage"]);
  EXPECT_FALSE(run("What is the name of the captain's daughter?")["rests_on_a_passage"]);
  const Outcome o = program.run(
      {"run", "-q", "-f", file, "-p", "What is the name of the captain's daughter?", "--sources"});
  EXPECT_TRUE(has(o.out, {"The reply does not rest on a particular passage; check it."}));
}

TEST(Sources, PagesAreNamedAndTheReplyIsUnchanged) {
  Program program;
  const std::string file = program.folder().write(
      "pages.txt", "[page 1]\n" + long_text().substr(0, 2000) + "\n\n[page 12]\n" + long_text());
  const Outcome o = program.run({"run", "-f", file, "-p", kNumberQuestion, "--sources"});
  EXPECT_TRUE(has(o.out, {"source 1 ", "pages.txt, page 12, line 5, at ", kNeedle}));
  EXPECT_EQ(o.err.find("source 1 "), std::string::npos) << "a saved reply keeps its sources";
  EXPECT_TRUE(o.out.starts_with(program.run({"run", "-f", file, "-p", kNumberQuestion}).out));
}

/// nano quotes the sentence that a new page begins.
TEST(Sources, MarksOfPagesAreNotQuoted) {
  Program program;
  std::string text = long_text();
  const size_t needle = text.find(kNeedle);
  const size_t sentence = text.rfind(". ", needle) + 2;
  text.replace(text.find(' ', sentence), 1, "\n[page 2]\n");
  const std::string file = program.folder().write("pages.txt", "[page 1]\n" + text);
  const Outcome o = program.run({"run", "-f", file, "-p", kNumberQuestion, "--sources=40"});
  EXPECT_TRUE(has(o.out, {"source 1 ", kNeedle}));
  EXPECT_EQ(o.out.find("[page"), std::string::npos) << o.out;
}

TEST(Sources, AWordInPlaceOfTheNumberIsExplained) {
  EXPECT_TRUE(refused(Program().run({"run", "-p", "x", "--sources", "5"}), {"write --sources=5"}));
  EXPECT_TRUE(refused(Program().run({"run", "-p", "x", "--sources=many"}),
                      {"--sources='many': give a number, as in --sources=3"}));
  EXPECT_TRUE(refused(Program().run({"run", "-p", "x", "--json=much"}),
                      {"--json='much': the flag takes no value"}));
}

TEST(Sources, ABadNumberIsRefused) {
  EXPECT_TRUE(refused(Program().run({"run", "-p", "x", "--sources=1001"}), {"--sources=1001"}));
  EXPECT_TRUE(refused(Program().run({"run", "-p", "x", "--sources=-1"}), {"--sources"}));
}

}  // namespace
}  // namespace longhaul
