// Behaviour on terminals: line editing, the progress bar, the Ctrl-C key.

#include "cli/terminal.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "cli/program.h"

namespace longhaul {
namespace {

using testing_support::has;
using testing_support::kPassKeyQuestion;
using testing_support::Outcome;
using testing_support::Program;
using testing_support::TempFolder;
using testing_support::Terminal;

constexpr const char* kEnter = "\r";
constexpr const char* kBackspace = "\x7f";
constexpr const char* kControlA = "\x01";  // to the beginning of the line
constexpr const char* kControlC = "\x03";
constexpr const char* kControlD = "\x04";
constexpr const char* kUp = "\x1b[A";

/// A chat without replies. Its turns report only their numbers of tokens.
const std::vector<std::string> kSilentChat = {"run", "-i", "-n", "0"};

/// Returns "of 25 tokens prefilled" for a first turn of `line`.
std::string tokens_report(const std::string& line) {
  const std::string report = Program().run(kSilentChat, line + "\n").err;
  const size_t at = report.find("of ");
  return report.substr(at, report.find(',', at) - at);
}

TEST(Terminal, AnswersAndEndsAtControlD) {
  Terminal chat({"run", "-i"});
  ASSERT_TRUE(chat.wait_for("A chat with nano.")) << chat.seen();
  ASSERT_TRUE(chat.wait_for("/clear forgets the conversation")) << chat.seen();
  ASSERT_TRUE(chat.wait_for_prompt("> ")) << chat.seen();
  chat.type(std::string(kPassKeyQuestion) + kEnter);
  ASSERT_TRUE(chat.wait_for("The pass key is 58213.")) << chat.seen();
  ASSERT_TRUE(chat.wait_for_prompt("> ")) << chat.seen();
  chat.type(kControlD);
  EXPECT_EQ(chat.finish(), 0) << chat.seen();
}

std::string text_beyond_nano() {
  std::string text;
  for (int i = 0; i < 9000; ++i) text += "grass ";
  return text;
}

TEST(Terminal, ATextBeyondTheTrainedLengthIsOfferedTheAdvisedMethod) {
  const TempFolder folder;
  const std::string file = folder.write("long.txt", text_beyond_nano());
  Terminal run({"run", "-m", "nano", "-f", file, "-p", "Who?", "-n", "1"});
  ASSERT_TRUE(run.wait_for("are more than the 8,192 that this model was trained for"))
      << run.seen();
  ASSERT_TRUE(run.wait_for("--attention reattention (about ")) << run.seen();
  ASSERT_TRUE(run.wait_for(")? n: dense (about ")) << run.seen();
  ASSERT_TRUE(run.wait_for_prompt("[Y/n] ")) << run.seen();
  run.type(kControlD);
  EXPECT_EQ(run.finish(), 2) << run.seen();
  EXPECT_TRUE(has(run.seen(), {"error: cancelled"}));
}

TEST(Terminal, ControlCAtTheOfferEndsTheProgramInOrder) {
  const TempFolder folder;
  const std::string file = folder.write("long.txt", text_beyond_nano());
  Terminal run({"run", "-m", "nano", "-f", file, "-p", "Who?", "-n", "1"});
  ASSERT_TRUE(run.wait_for_prompt("[Y/n] ")) << run.seen();
  run.type(kControlC);
  EXPECT_TRUE(run.wait_for("\x1b[?2004l")) << "marks around pastes are off again: " << run.seen();
  EXPECT_EQ(run.finish(), 130) << run.seen();
}

/// nano's weights in a folder whose settings state another trained length.
TEST(Terminal, AModelThatWasTrainedForTheLengthIsNamed) {
  Program program;
  const std::filesystem::path nano = std::filesystem::path(LONGHAUL_MODELS) / "nano";
  const std::filesystem::path models = program.folder().path() / "models";
  std::filesystem::create_directories(models);
  std::filesystem::copy(nano, models / "far", std::filesystem::copy_options::recursive);
  std::ifstream in(nano / "config.json");
  nlohmann::json config = nlohmann::json::parse(in);
  config["max_position_embeddings"] = 65536;
  std::ofstream(models / "far" / "config.json") << config;
  program.set_environment("LONGHAUL_SYSTEM_MODELS", models.string());
  const std::string file = program.folder().write("long.txt", text_beyond_nano());
  const Outcome o = program.run({"run", "-m", "nano", "-f", file, "-p", "Who?", "-n", "1"});
  EXPECT_TRUE(has(o.err, {"warning: ", "8,192 that this model was trained for",
                          "and -m far was trained for 65,536"}));
}

TEST(Terminal, LinesAreEditedAndRecalled) {
  const std::string want = tokens_report("Where is the old harbour?");
  ASSERT_TRUE(has(want, {" tokens prefilled"}));
  ASSERT_NE(want, tokens_report("is the old harbourxyz?"));
  Terminal chat(kSilentChat);
  ASSERT_TRUE(chat.wait_for_prompt("> ")) << chat.seen();
  chat.type(std::string("is the old harbourxyz") + kBackspace + kBackspace + kBackspace + "?" +
            kControlA + "Where " + kEnter);
  ASSERT_TRUE(chat.wait_for(want)) << want << ": " << chat.seen();
  ASSERT_TRUE(chat.wait_for_prompt("> ")) << chat.seen();
  chat.type(std::string("/clear") + kEnter);
  ASSERT_TRUE(chat.wait_for_prompt("> ")) << chat.seen();
  chat.type(std::string(kUp) + kUp + kEnter);
  ASSERT_TRUE(chat.wait_for(want)) << "the line before /clear: " << chat.seen();
  ASSERT_TRUE(chat.wait_for_prompt("> ")) << chat.seen();
  chat.type(std::string("quit") + kControlA + "/" + kEnter);
  EXPECT_EQ(chat.finish(), 0) << chat.seen();
}

TEST(Terminal, PastedLinesAreOneMessage) {
  const std::string want = tokens_report("\"\"\"Where is it?\n\nThe old harbour, I mean.\"\"\"");
  ASSERT_NE(want, tokens_report("Where is it?"));
  const std::string lines = "Where is it?\r\rThe old harbour, I mean.";
  {
    SCOPED_TRACE("marked by the terminal");
    Terminal chat(kSilentChat);
    ASSERT_TRUE(chat.wait_for("\x1b[?2004h")) << chat.seen();
    ASSERT_TRUE(chat.wait_for_prompt("> ")) << chat.seen();
    chat.type("\x1b[200~" + lines + "\r\x1b[201~");
    ASSERT_TRUE(chat.wait_for("[pasted 1: 3 lines]")) << chat.seen();
    chat.type(kEnter);
    ASSERT_TRUE(chat.wait_for(want)) << want << ": " << chat.seen();
    EXPECT_EQ(chat.seen().find(" read", chat.seen().find(want) + want.size()), std::string::npos);
  }
  {
    SCOPED_TRACE("not marked: lines that come at once");
    Terminal chat(kSilentChat);
    ASSERT_TRUE(chat.wait_for_prompt("> ")) << chat.seen();
    chat.type(lines + kEnter);
    ASSERT_TRUE(chat.wait_for(want)) << want << ": " << chat.seen();
  }
}

TEST(Terminal, APasteOfOneLineIsTypedText) {
  const std::string want = tokens_report("Where is the old harbour?");
  Terminal chat(kSilentChat);
  ASSERT_TRUE(chat.wait_for_prompt("> ")) << chat.seen();
  chat.type(std::string("Where is \x1b[200~the old harb\x1b[201~our?") + kEnter);
  ASSERT_TRUE(chat.wait_for(want)) << want << ": " << chat.seen();
}

TEST(Terminal, LettersBeyondAsciiArriveAndAreDeletedWhole) {
  const std::string line = "Viele Grüße aus 東京";
  const std::string want = tokens_report(line);
  ASSERT_NE(want, tokens_report("Viele Gre aus "));
  for (const char* locale : {"C.UTF-8", "C", "no_SUCH.locale"}) {
    SCOPED_TRACE(locale);
    Terminal chat(kSilentChat, {{"LC_ALL", locale}});
    ASSERT_TRUE(chat.wait_for_prompt("> ")) << chat.seen();
    chat.type(line + kEnter);
    ASSERT_TRUE(chat.wait_for(want)) << want << ": " << chat.seen();
    ASSERT_TRUE(chat.wait_for_prompt("> ")) << chat.seen();
    chat.type(std::string("/quiß") + kBackspace + "t" + kEnter);
    EXPECT_EQ(chat.finish(), 0) << chat.seen();
  }
}

TEST(Terminal, BytesThatAreNoTextAreReplacedAndTheNextLetterStays) {
  const std::string want = tokens_report("a\uFFFDb\uFFFDc\uFFFD\uFFFDd");
  Terminal chat(kSilentChat);
  ASSERT_TRUE(chat.wait_for_prompt("> ")) << chat.seen();
  chat.type(std::string("a\xff"
                        "b\xc3"
                        "c\xed\xa0\x80\xf5"
                        "d") +
            kEnter);
  ASSERT_TRUE(chat.wait_for(want)) << want << ": " << chat.seen();
}

/// Some 24,000 tokens, which take seconds on any machine with the flags below.
std::string many_sentences() {
  std::string text;
  for (int i = 0; i < 1200; ++i) {
    text += "The rain had not stopped since the morning, and the road lay under water. ";
  }
  return text;
}

TEST(Terminal, LongReadingShowsABarAndTheKeyStopsIt) {
  Program files;
  const std::string file = files.folder().write("text.txt", many_sentences());
  Terminal program({"run", "-f", file, "-p", "What?", "--isa", "generic", "--compute", "f32",
                    "--chunk", "64", "--threads", "1", "--attention", "dense"});
  ASSERT_TRUE(program.wait_for("\rprefill [")) << program.seen();
  ASSERT_TRUE(program.wait_for(" tokens/s, ")) << program.seen();
  ASSERT_TRUE(program.wait_for(" left")) << program.seen();
  program.type(kControlC);
  EXPECT_TRUE(program.wait_for("\r\x1b[K")) << "the bar is taken away: " << program.seen();
  EXPECT_TRUE(program.wait_for("cancelled after")) << program.seen();
  EXPECT_EQ(program.finish(), 130);
}

TEST(Terminal, AMethodThatFinishesItsChunkSaysSoAtControlC) {
  Program files;
  const std::string file = files.folder().write("text.txt", many_sentences());
  Terminal program({"run", "-f", file, "-p", "What?", "--isa", "generic", "--compute", "f32",
                    "--chunk", "256", "--threads", "1", "--attention", "infllm"});
  ASSERT_TRUE(program.wait_for("\rprefill [")) << program.seen();
  program.type(kControlC);
  EXPECT_TRUE(program.wait_for("stopping after this chunk; Ctrl-C again ends at once"))
      << program.seen();
  EXPECT_TRUE(program.wait_for("cancelled after")) << program.seen();
  EXPECT_EQ(program.finish(), 130);
}

TEST(Terminal, AChatSaysThatTheRestIsPrefilledLater) {
  Program files;
  const std::string file = files.folder().write("text.txt", many_sentences());
  Terminal chat({"run", "-i", "-f", file, "--isa", "generic", "--compute", "f32", "--chunk", "64",
                 "--threads", "1", "--attention", "dense"});
  ASSERT_TRUE(chat.wait_for("\rprefill [")) << chat.seen();
  chat.type(kControlC);
  EXPECT_TRUE(chat.wait_for("the next question prefills the rest first")) << chat.seen();
  ASSERT_TRUE(chat.wait_for_prompt("> ")) << chat.seen();
  chat.type(kControlD);
  EXPECT_EQ(chat.finish(), 0) << chat.seen();
}

TEST(Terminal, APerplexityThatWasStoppedSaysSo) {
  Program files;
  const std::string file = files.folder().write("text.txt", many_sentences());
  Terminal program({"perplexity", file, "--ctx", "128", "--isa", "generic", "--compute", "f32",
                    "--threads", "1"});
  ASSERT_TRUE(program.wait_for(" so far")) << program.seen();  // one window has been scored
  program.type(kControlC);
  EXPECT_TRUE(program.wait_for("stopped")) << program.seen();
  EXPECT_TRUE(program.wait_for(" windows, which the figures cover")) << program.seen();
  EXPECT_EQ(program.finish(), 130);
}

TEST(Terminal, QuietAndJsonShowNoBar) {
  Program files;
  const std::string file = files.folder().write("text.txt", many_sentences().substr(0, 4'000));
  for (const char* flag : {"--quiet", "--json"}) {  // a bar would appear after a second or two
    Terminal program({"run", "-f", file, "-p", "What?", "-n", "0", flag, "--isa", "generic",
                      "--compute", "f32", "--chunk", "16", "--threads", "1"});
    EXPECT_EQ(program.finish(), 0) << program.seen();
    EXPECT_EQ(program.seen().find("prefill ["), std::string::npos) << program.seen();
  }
}

TEST(Terminal, AnEvaluationShowsABarWithTheRunningScore) {
  Terminal program({"eval", "passkey", "--lengths", "300", "--samples", "3", "--opening", "on"});
  // Followed by the remaining time if slow.
  ASSERT_TRUE(program.wait_for("\r1 / 3 answers")) << program.seen();
  ASSERT_TRUE(program.wait_for(": dense 100 %\x1b[K")) << program.seen();
  ASSERT_TRUE(program.wait_for("\r3 / 3 answers")) << program.seen();
  ASSERT_TRUE(program.wait_for(": dense ")) << program.seen();
  EXPECT_TRUE(program.wait_for("\r\x1b[K")) << "the bar is taken away: " << program.seen();
  EXPECT_TRUE(program.wait_for("3 answers in ")) << program.seen();
  EXPECT_EQ(program.finish(), 0) << program.seen();
}

TEST(Terminal, ControlCAtTheEmptyPromptEndsTheChat) {
  Terminal chat(kSilentChat);
  ASSERT_TRUE(chat.wait_for_prompt("> ")) << chat.seen();
  chat.type(kControlC);
  EXPECT_EQ(chat.finish(), 130) << chat.seen();
}

TEST(Terminal, ControlCTakesBackAHalfTypedLine) {
  const std::string line = "Where is the old harbour?";
  const std::string want = tokens_report(line);
  Terminal chat(kSilentChat);
  ASSERT_TRUE(chat.wait_for_prompt("> ")) << chat.seen();
  for (int i = 0; i < 2; ++i) {
    chat.type("a line that is not finished, with Grü");
    ASSERT_TRUE(chat.wait_for("Grü")) << chat.seen();
    chat.type(kControlC);
    ASSERT_TRUE(chat.wait_for_prompt("> ")) << chat.seen();
  }
  chat.type(line + kEnter);
  ASSERT_TRUE(chat.wait_for(want)) << want << ": " << chat.seen();
  ASSERT_TRUE(chat.wait_for_prompt("> ")) << chat.seen();
  chat.type(kControlC);
  EXPECT_EQ(chat.finish(), 130) << chat.seen();
}

/// nano with a changed first reply token: an escape sequence that renames a window.
std::filesystem::path model_that_speaks_in_escapes(const std::filesystem::path& folder) {
  const std::filesystem::path nano = std::filesystem::path(LONGHAUL_MODELS) / "nano";
  std::filesystem::copy(nano, folder / "m", std::filesystem::copy_options::recursive);
  std::ifstream in(nano / "tokenizer.json");
  nlohmann::json tokenizer = nlohmann::json::parse(in);
  for (const char* said : {"The", "\u0120The"}) {
    const auto id = tokenizer["model"]["vocab"].find(said);
    if (id == tokenizer["model"]["vocab"].end()) continue;
    tokenizer["added_tokens"].push_back({{"id", *id},
                                         {"content", "\x1b]0;x\x07\u009b31m<" + id->dump() + ">"},
                                         {"special", false}});
  }
  std::ofstream(folder / "m" / "tokenizer.json") << tokenizer;
  return folder / "m";
}

TEST(Terminal, WhatAModelSaysIsNoCommandToIt) {
  Program piped;
  const std::string model = model_that_speaks_in_escapes(piped.folder().path());
  const std::vector<std::string> run = {"run", "-m", model, "-p", kPassKeyQuestion, "-n", "4"};
  Terminal program(run);
  EXPECT_EQ(program.finish(), 0);
  EXPECT_TRUE(has(program.seen(), {"\uFFFD]0;x\uFFFD\uFFFD31m<"})) << program.seen();
  for (const char* sequence : {"\x1b]", "\x07", "\u009b"}) {
    EXPECT_EQ(program.seen().find(sequence), std::string::npos) << program.seen();
  }
  EXPECT_TRUE(has(piped.run(run).out, {"\x1b]0;x\x07\u009b31m<"})) << "into a pipe as it is";
}

TEST(Terminal, NamesAndArgumentsAreNoCommandsToIt) {
  Terminal refused({"inspect", "no\x1b]0;x\x07\u009bsuch"});
  EXPECT_EQ(refused.finish(), 2);
  EXPECT_EQ(refused.seen().find('\x1b'), std::string::npos) << refused.seen();
  EXPECT_EQ(refused.seen().find("\u009b"), std::string::npos) << refused.seen();
  Terminal pieces({"tokenize", "a\x1b]0;x\x07\u009bb", "--json"});
  EXPECT_EQ(pieces.finish(), 0);
  EXPECT_EQ(pieces.seen().find("\u009b"), std::string::npos) << pieces.seen();
}

}  // namespace
}  // namespace longhaul
