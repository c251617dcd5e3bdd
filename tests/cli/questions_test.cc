// longhaul run --questions, end to end, on models/nano.

#include <gtest/gtest.h>

#include <algorithm>

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

std::string text_file(Program& program) {
  return program.folder().write("text.txt", long_text()).string();
}

std::vector<nlohmann::json> lines_of(const std::string& out) {
  std::vector<nlohmann::json> all;
  for (size_t begin = 0; begin < out.size();) {
    const size_t end = out.find('\n', begin);
    all.push_back(nlohmann::json::parse(out.substr(begin, end - begin)));
    begin = end + 1;
  }
  return all;
}

TEST(Questions, AreAnsweredInTheirOrderAfterOneReading) {
  Program program;
  const std::string question(kNumberQuestion);
  std::string questions;
  for (int i = 0; i < 10; ++i) {
    questions += i % 3 == 1 ? "What is quiet?\r\n\n" : question + "\n";
  }
  const auto file = program.folder().write("questions.txt", questions).string();
  const Outcome o = program.run({"run", "-f", text_file(program), "--questions", file});
  EXPECT_EQ(o.status, 0) << o.err;
  EXPECT_TRUE(has(o.err, {"text: ", "prefilled in", "10 replies", "tokens/s"}));
  size_t at = 0;
  for (int i = 0; i < 10; ++i) {
    at = o.out.find(i % 3 == 1 ? "> What is quiet?" : "> " + question, at);
    ASSERT_NE(at, std::string::npos) << i;
    at += 1;
  }
  EXPECT_TRUE(has(o.out, {"4827163"}));
}

TEST(Questions, AsJsonAreOneObjectALineWithSources) {
  Program program;
  const Outcome o = program.run(
      {"run", "-f", text_file(program), "--questions", "-", "--json", "--sources", "-n", "40"},
      std::string(kNumberQuestion) + "\n" + std::string(kNumberQuestion));
  ASSERT_EQ(o.status, 0) << o.err;
  const auto lines = lines_of(o.out);
  ASSERT_EQ(lines.size(), 2u);
  for (const auto& line : lines) {
    EXPECT_EQ(line["question"], kNumberQuestion);
    EXPECT_TRUE(has(line["text"], {"4827163"}));
    ASSERT_FALSE(line["sources"].empty());
    EXPECT_TRUE(has(line["sources"][0]["quote"], {"4827163"}));
  }
}

TEST(Questions, ThatCannotBeAskedAreReportedByLineAndTheOthersAnswered) {
  Program program;
  const auto file =
      program.folder()
          .write("q.txt", "What is quiet?\nbroken \xff here\n" + std::string(9000, 'x') + "\n" +
                              std::string(kNumberQuestion) + "\n")
          .string();
  const Outcome o = program.run({"run", "-f", text_file(program), "--questions", file, "--ctx",
                                 "2048", "-n", "40", "--json"});
  EXPECT_EQ(o.status, 1);
  EXPECT_TRUE(has(o.err, {"q.txt, line 2", "not UTF-8", "q.txt, line 3", "--ctx"}));
  EXPECT_EQ(std::ranges::count(o.err, '\n'), 2);
  const auto lines = lines_of(o.out);
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_TRUE(lines[0].contains("text"));
  EXPECT_TRUE(lines[1].contains("error"));
  EXPECT_TRUE(lines[2].contains("error"));
  EXPECT_TRUE(has(lines[3]["text"], {"4827163"}));
}

TEST(Questions, ReadTheTextAgainWhereTheMethodDependsOnThem) {
  for (const std::string method : {"citrus", "fastgen", "tova"}) {
    Program program;
    const auto file = program.folder().write("q.txt", std::string(kNumberQuestion) + "\n");
    const Outcome o = program.run(
        {"run", "-f", text_file(program), "--questions", file, "-n", "16", "--attention", method});
    EXPECT_EQ(o.status, 0) << method << o.err;
    EXPECT_TRUE(has(o.err, {method, "prefilled for each question"})) << method;
  }
}

TEST(Questions, OfAMethodThatChoosesAtTheEndContinueADenseReading) {
  Program program;
  const auto file = program.folder().write("q.txt", std::string(kNumberQuestion) + "\n");
  const Outcome o = program.run({"run", "-f", text_file(program), "--questions", file, "-n", "40",
                                 "--attention", "snapkv:capacity=1000"});
  EXPECT_EQ(o.status, 0) << o.err;
  EXPECT_TRUE(has(o.err, {"text: "}));
  EXPECT_TRUE(has(o.out, {"4827163"}));
}

TEST(Questions, ContinueASessionFile) {
  Program program;
  // The tokens of blanks at the end of a text depend on what follows them.
  const std::string text = program.folder().write("text.txt", long_text() + "The end.\n");
  const std::string session = program.folder().path() / "text.session";
  ASSERT_EQ(program.run({"run", "-f", text, "-n", "0", "--save", session}).status, 0);
  const auto file =
      program.folder().write("q.txt", std::string(kNumberQuestion) + "\nWhat is quiet?\n").string();
  const auto ask = [&](Program::Arguments texts) {
    texts.insert(texts.begin(), {"run", "--questions", file, "-n", "40"});
    return program.run(texts);
  };
  const Outcome direct = ask({"-f", text});
  EXPECT_TRUE(has(direct.out, {"4827163"}));
  for (const Program::Arguments& texts :
       {Program::Arguments{"--load", session}, Program::Arguments{"--load", session, "-f", text}}) {
    const Outcome o = ask(texts);
    EXPECT_EQ(o.status, 0) << o.err;
    EXPECT_EQ(o.out, direct.out);
    EXPECT_TRUE(has(o.err, {"session file: ", "tokens reused", "2 replies"}));
    EXPECT_EQ(o.err.find("prefilled in"), std::string::npos) << o.err;
  }
}

TEST(Questions, AreRefusedWithOtherFlags) {
  Program program;
  const std::string text = text_file(program);
  const auto file = program.folder().write("q.txt", "What?\n").string();
  const auto empty = program.folder().write("empty.txt", "\n  \n").string();
  const struct {
    std::string questions;
    std::vector<std::string> more;
    std::string part;
  } cases[] = {
      {file, {"-i"}, "-i"},
      {file, {"--save", "x.session"}, "--save"},
      {file, {"--load", "x.session", "--raw"}, "--raw and --load"},
      {file, {"--load", "x.session", "--attention", "snapkv"}, "--load and snapkv"},
      {file, {"-p", "Why?"}, "-p"},
      {file, {"-n", "0"}, "-n 0"},
      {"-", {"-f", "-"}, "standard input"},
      {empty, {}, "no question"},
      {program.folder().path() / "missing.txt", {}, "no such file"},
  };
  for (const auto& c : cases) {
    Program::Arguments run{"run", "-f", text, "--questions", c.questions};
    run.insert(run.end(), c.more.begin(), c.more.end());
    EXPECT_TRUE(refused(program.run(run), {"--questions", c.part})) << c.part;
  }
  EXPECT_TRUE(refused(program.run({"run", "--questions", file}), {"--questions", "-f"}));
}

}  // namespace
}  // namespace longhaul
