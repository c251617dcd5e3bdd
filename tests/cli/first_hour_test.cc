// The first hour of new users: no model, wrong names, folders that cannot be written.

#include <gtest/gtest.h>

#include <filesystem>

#include "cli/bare_nano.h"
#include "cli/program.h"
#include "cli/texts.h"

namespace longhaul {
namespace {

using testing_support::has;
using testing_support::long_text;
using testing_support::Outcome;
using testing_support::Program;
using testing_support::refused;

namespace fs = std::filesystem;

/// A user without models other than those of the source tree.
class FirstHour : public ::testing::Test {
 protected:
  FirstHour() {
    program_.set_environment("LONGHAUL_MODEL", "");
    program_.set_environment("HOME", program_.folder().path().string());
    program_.set_environment("XDG_CACHE_HOME", (program_.folder().path() / "cache").string());
    program_.set_environment("HF_HOME", (program_.folder().path() / "hub").string());
  }
  Program program_;
};

TEST_F(FirstHour, PlainRunDoesNotAnswerWithTheTestModel) {
  EXPECT_TRUE(refused(program_.run({"run", "-p", "What is a tide?"}),
                      {"no model that answers", "longhaul pull smollm2-32k", "-m nano"}));
  EXPECT_TRUE(refused(program_.run({"serve"}), {"no model that answers", "-m nano"}));
  EXPECT_EQ(program_.run({"run", "-m", "nano", "-p", "What is a tide?", "-n", "1"}).status, 0);
  EXPECT_EQ(program_.run({"tokenize", "tide"}).status, 0) << "other commands take nano";
}

TEST_F(FirstHour, PlainRunTakesTheModelThatIsThere) {
  const fs::path cache = program_.folder().path() / "cache" / "longhaul";
  fs::create_directories(cache);
  fs::copy_file(LONGHAUL_TEST_DATA "/tiny_models/gguf/qwen2.gguf", cache / "qwen2.gguf");
  const Outcome o = program_.run({"run", "--raw", "-p", "x", "-n", "1"});
  EXPECT_EQ(o.status, 0) << o.err;
  EXPECT_TRUE(has(o.err, {"qwen2"}));
  program_.set_environment("LONGHAUL_MODEL", "nano");
  EXPECT_TRUE(has(program_.run({"run", "-p", "x", "-n", "1"}).err, {"nano"}));
}

TEST_F(FirstHour, ModelsForAllUsersAreFound) {
  const fs::path system = program_.folder().path() / "system";
  fs::create_directories(system);
  fs::copy_file(LONGHAUL_TEST_DATA "/tiny_models/gguf/qwen2.gguf", system / "shared.gguf");
  program_.set_environment("LONGHAUL_SYSTEM_MODELS", system.string());
  EXPECT_TRUE(has(program_.run({"models"}).out, {"shared"}));
  EXPECT_EQ(program_.run({"run", "-m", "shared", "--raw", "-p", "x", "-n", "1"}).status, 0);
}

TEST_F(FirstHour, ATaskIsFoundByAPartOfItsName) {
  EXPECT_TRUE(refused(program_.run({"eval", "niah", "-m", "nano"}),
                      {"task 'niah' is not known; did you mean ruler/niah_single_1, "}));
  EXPECT_TRUE(refused(program_.run({"eval", "magic", "-m", "nano", "--attention", "strea"}),
                      {"unknown method 'strea'", "did you mean 'streamingllm'?"}));
}

TEST_F(FirstHour, AReplyOfOneTokenHasNoDecodeSpeed) {
  const Outcome o = program_.run({"run", "-m", "nano", "-p", "What is a tide?", "-n", "1"});
  EXPECT_TRUE(has(o.err, {"1 token, max tokens"})) << o.err;
}

TEST_F(FirstHour, AChatNamesModelAndText) {
  const std::string file = program_.folder().write("text.txt", long_text());
  const Outcome o =
      program_.run({"run", "-m", "nano", "-i", "-f", file, "-n", "2"}, "What is it?\nquit\n");
  EXPECT_TRUE(has(o.err, {"model       nano", "text.txt, "})) << o.err;
}

TEST_F(FirstHour, AMethodWithoutAProfileNamesTheCommandThatMakesOne) {
  const std::string bare = testing_support::bare_nano(program_).string();
  const auto report = [&](const std::string& model, const std::string& attention) {
    return program_
        .run({"run", "-m", model, "-p", "What is a tide?", "-n", "1", "--attention", attention})
        .err;
  };
  EXPECT_TRUE(has(report(bare, "ltri"),
                  {"'longhaul calibrate ltri --save' makes one", "'longhaul heads --save'"}));
  EXPECT_TRUE(has(report(bare, "trianglemix"), {"'longhaul calibrate trianglemix --save'"}));
  EXPECT_FALSE(has(report("nano", "ltri"), {"without a profile"}));
  EXPECT_FALSE(has(report(bare, "ltri:heads=5.0:1"), {"without a profile"}));
  EXPECT_FALSE(has(report(bare, "infllm"), {"without a profile"}));
}

TEST_F(FirstHour, NamesLikeThoseOfTheCatalogueAreSuggested) {
  EXPECT_TRUE(
      refused(program_.run({"run", "llama3.2", "hi"}), {"llama3.2", "llama3.2-1b, llama3.2-3b"}));
  EXPECT_TRUE(
      refused(program_.run({"run", "-m", "llama3.2", "-p", "hi"}), {"llama3.2-1b, llama3.2-3b"}));
  EXPECT_TRUE(refused(program_.run({"pull", "Llama-3.2"}), {"llama3.2-1b, llama3.2-3b"}));
  EXPECT_TRUE(refused(program_.run({"pull", "qwen3:4b"}), {"; 'longhaul pull' has qwen3-4b"}));
}

TEST_F(FirstHour, ThreadsBeyondTheMachineAreCappedWithANote) {
  const Outcome o = program_.run({"run", "-m", "nano", "-t", "1000", "-p", "x", "-n", "1"});
  EXPECT_EQ(o.status, 0);
  EXPECT_TRUE(has(o.err, {"warning: -t 1000: this machine has ", " threads are used"}));
}

TEST_F(FirstHour, AFolderThatCannotBeUsedIsNamed) {
  program_.set_environment("TMPDIR", "/no/such/folder");
  EXPECT_TRUE(
      refused(program_.run({"eval", "passkey", "-m", "nano", "--lengths", "512", "--samples", "1"}),
              {"TMPDIR /no/such/folder"}));
  program_.set_environment("XDG_CACHE_HOME", "/proc/no");
  EXPECT_TRUE(refused(program_.run({"pull", "smollm2"}), {"/proc/no/longhaul", "XDG_CACHE_HOME"}));
}

TEST_F(FirstHour, SavingSaysWhatWasWritten) {
  const std::string text = program_.folder().write("text.txt", long_text());
  const std::string saved = program_.folder().path() / "saved";
  const Outcome o = program_.run({"run", "-m", "nano", "-f", text, "--save", saved, "-n", "0"});
  EXPECT_EQ(o.status, 0) << o.err;
  EXPECT_TRUE(has(o.err, {"written: ", "saved, ", " MiB, ", " tokens"}));
}

TEST_F(FirstHour, APromptThatIsCancelledIsSavedAsFarAsItWasRead) {
  const std::string text = program_.folder().write("text.txt", long_text(2500));
  const fs::path saved = program_.folder().path() / "saved";
  const Program::Arguments arguments = {"run",     "-m",  "nano", "-f",          text,
                                        "--chunk", "128", "-p",   "What is it?", "--save",
                                        saved,     "-n",  "1"};
  // The model is mapped before anything is read; a second later some passes are done.
  const auto begun = std::chrono::steady_clock::now();
  const Outcome o = program_.run_and_interrupt(arguments, [&] {
    return std::chrono::steady_clock::now() - begun > std::chrono::seconds(3);
  });
  EXPECT_EQ(o.status, 130) << o.err;
  EXPECT_TRUE(has(o.err, {"written: ", "--load"}));
  EXPECT_TRUE(fs::exists(saved));
}

}  // namespace
}  // namespace longhaul
