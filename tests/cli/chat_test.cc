// longhaul run -i, end to end, on models/nano.

#include <gtest/gtest.h>

#include "attention/method_spec.h"
#include "cli/program.h"
#include "cli/texts.h"
#include "engine/engine.h"

namespace longhaul {
namespace {

using testing_support::has;
using testing_support::kNumberQuestion;
using testing_support::kPassKeyQuestion;
using testing_support::long_text;
using testing_support::Outcome;
using testing_support::Program;
using testing_support::read_before_cancelled;

TEST(Chat, ReadsOnlyWhatIsNew) {
  Program program;
  const auto file = program.folder().write("text.txt", long_text());
  const std::string lines = std::string(kNumberQuestion) + "\n\n" + kPassKeyQuestion + "\n/quit\n";
  const Outcome o = program.run({"run", "-i", "-f", file}, lines);
  EXPECT_EQ(o.status, 0);
  EXPECT_TRUE(has(o.out, {"4827163", "The pass key is 58213."}));
  // The text was read before the first question: "[22 of 1,312 tokens prefilled, ...".
  for (size_t at = o.err.find('['); at != std::string::npos; at = o.err.find('[', at + 1)) {
    if (o.err.compare(at, 5, "[nano") == 0) continue;  // the line that describes the model
    EXPECT_LT(std::stoi(o.err.substr(at + 1)), 100) << o.err;
  }
  EXPECT_TRUE(has(o.err, {" tokens prefilled, first token "}));
}

TEST(Chat, LinesMayEndAsOnWindows) {
  const auto replies = [](const char* lines) {
    return Program().run({"run", "-i", "-n", "8"}, lines).out;
  };
  EXPECT_EQ(replies("Hello\r\n/quit\r\n"), replies("Hello\n/quit\n"));
}

TEST(Chat, GoesOnAfterAnErrorAndClears) {
  Program program;
  const std::string lines = long_text() + "\n" + kPassKeyQuestion + "\n/clear\nHello\n";
  const Outcome o = program.run({"run", "-i", "--ctx", "500", "-n", "40"}, lines);
  EXPECT_EQ(o.status, 0);
  EXPECT_TRUE(has(o.err, {"error: --ctx 500"}));
  EXPECT_TRUE(has(o.out, {"The pass key is 58213."}));
}

TEST(Chat, AWordWithASlashIsACommand) {
  const Outcome o = Program().run({"run", "-i", "-n", "0"},
                                  "/foo\n /help \nWhat is /foo?\n/foo or /bar?\n/quit\nHello\n");
  EXPECT_EQ(o.status, 0);
  EXPECT_TRUE(has(o.err, {"unknown command /foo; /help lists them\n", "/clear forgets"}));
  const size_t first = o.err.find(" tokens prefilled"), last = o.err.rfind(" tokens prefilled");
  ASSERT_LT(first, last) << "two questions: " << o.err;
  EXPECT_EQ(o.err.find(" tokens prefilled", first + 1), last) << o.err;
}

TEST(Chat, ExitAndQuitEndIt) {
  for (const char* word : {"exit", "quit", " exit "}) {
    const Outcome o = Program().run({"run", "-i", "-n", "0"}, std::string(word) + "\nHello\n");
    EXPECT_EQ(o.status, 0);
    EXPECT_EQ(o.err.find(" tokens read"), std::string::npos) << o.err;
  }
}

TEST(Chat, CommandsOfOtherChatsAreNoQuestions) {
  const Outcome o = Program().run({"run", "-i", "-n", "0"},
                                  "/set parameter num_ctx 4096\n/show info\n/read my file.txt\n");
  EXPECT_TRUE(has(o.err, {"/set: flags", "/show: 'longhaul inspect", "/read: -f FILE"}));
  EXPECT_EQ(o.err.find(" tokens prefilled"), std::string::npos) << o.err;
}

TEST(Chat, TellsWhatReadingTheTextsCostAndThenEachTurn) {
  Program program;
  const auto file = program.folder().write("text.txt", long_text().substr(0, 2000));
  Program::Arguments chat{"run", "-i", "-f", file, "-n", "2"};
  const std::string lines = "What?\nAnd now?\n";
  const std::string told = program.run(chat, lines).err;
  EXPECT_TRUE(has(told, {" prefilled in ", " tokens/s)", "memory", " at most", "kernels"}));
  EXPECT_EQ(told.find("kernels"), told.rfind("kernels")) << "once: " << told;
  EXPECT_LT(told.find("kernels"), told.find('['));
  EXPECT_LT(told.find('['), told.rfind('[')) << "two turns: " << told;
  chat.emplace_back("-q");
  EXPECT_EQ(program.run(chat, lines).err, "");
}

TEST(Chat, TheFirstQuestionOnTheCommandLineTellsWhatTheTextsCost) {
  Program program;
  const auto file = program.folder().write("text.txt", long_text().substr(0, 2000));
  const Outcome o = program.run({"run", "-i", "-f", file, "-p", "What?", "-n", "2"}, "And now?\n");
  EXPECT_TRUE(has(o.err, {" prefilled in ", "first token", "reply", "kernels", "["}));
  EXPECT_LT(o.err.find("kernels"), o.err.find('['));
}

TEST(Chat, NothingIsToldOfAReplyThatDoesNotCome) {
  const Outcome o = Program().run({"run", "-i", "-n", "0"}, "Hello\n");
  EXPECT_EQ(o.status, 0);
  EXPECT_TRUE(has(o.err, {" tokens prefilled, KV "}));
  EXPECT_EQ(o.err.find("first token"), std::string::npos) << o.err;
  EXPECT_EQ(o.err.find("tokens/s"), std::string::npos) << o.err;
}

TEST(Chat, ATurnThatIsDrawnNamesItsSeed) {
  const Outcome o =
      Program().run({"run", "-i", "-n", "2", "--temp", "1", "--seed", "417"}, "Hello\n");
  EXPECT_TRUE(has(o.err, {" tokens/s, seed 417, KV "}));
}

/// Methods for which the question influences eviction read the text after the question. Otherwise
/// the text is read ahead, and the first turn reads only the question and reports it in one line
/// ("[22 of 460 tokens prefilled"). A turn that reads the text reports it in full.
TEST(Chat, ReadsAheadUnlessTheQuestionDecidesWhatStays) {
  Program program;
  const auto file = program.folder().write("text.txt", long_text().substr(0, 2000));
  const auto nano = Engine::open(LONGHAUL_MODELS "/nano");
  std::vector<std::string> methods{"tova:mode=easykv", "h2o:mode=oneshot"};
  for (const MethodInfo& method : attention_methods()) methods.emplace_back(method.name);
  int waiting = 0;
  for (const std::string& method : methods) {
    SCOPED_TRACE(method);
    const auto attention = MethodSpec::parse(method).make(nano->model().shape);
    const bool wait = !serves_any_question(attention->prompt_choice());
    waiting += wait ? 1 : 0;
    // These score keys after the whole text is read, but not by the question.
    EXPECT_FALSE(wait && (method == "keydiff" || method == "expectedattention"));
    const Outcome o = program.run({"run", "-i", "-f", file, "-n", "0", "--attention", method},
                                  "What is under water?\n");
    ASSERT_EQ(o.status, 0) << o.err;
    EXPECT_TRUE(has(o.err, {" prefilled in ", "kernels"}));
    EXPECT_EQ(o.err.find("error"), std::string::npos) << o.err;
    const size_t line = o.err.find('[');
    EXPECT_EQ(line == std::string::npos, wait) << o.err;
    if (line != std::string::npos) {
      EXPECT_LT(std::stoi(o.err.substr(line + 1)), 100) << o.err;
    }
  }
  EXPECT_GT(waiting, 2);
  EXPECT_LT(waiting, std::ssize(methods));
}

TEST(Chat, ControlCStopsReadingTheTextsAndTellsHowFarItCame) {
  Program program;
  std::string text;
  for (int i = 0; i < 60; ++i) text += long_text();
  const auto file = program.folder().write("text.txt", text);
  // The warning about the length comes right before reading begins.
  const auto reading = [&] { return !program.errors_so_far().empty(); };
  const Outcome o = program.run_and_interrupt({"run", "-i", "-f", file, "--chunk", "64"}, reading);
  EXPECT_EQ(o.status, 0) << "the chat goes on, and its input is at its end";
  const auto [read, all] = read_before_cancelled(o.err);
  EXPECT_GE(read, 0) << o.err;
  EXPECT_LT(read, all);
}

}  // namespace
}  // namespace longhaul
