// run --save and --load, end to end, on models/nano.

#include <gtest/gtest.h>

#include "attention/registry.h"
#include "base/units.h"
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

TEST(SessionFiles, SavedSessionsAreNotReadAgain) {
  Program program;
  const auto file = program.folder().write("text.txt", long_text());
  const std::string session = program.folder().path() / "text.session";
  Outcome o = program.run({"run", "-f", file, "-n", "0", "--save", session, "--json"});
  ASSERT_EQ(o.status, 0) << o.err;
  const int64_t read = o.json()["prompt_tokens"];
  o = program.run({"run", "-f", file, "--load", session, "-p", kNumberQuestion, "--json"});
  ASSERT_EQ(o.status, 0) << o.err;
  EXPECT_TRUE(has(o.json()["text"].get<std::string>(), {"4827163"}));
  EXPECT_GT(o.json()["reused_tokens"].get<int64_t>(), read - 16);
  EXPECT_EQ(o.json()["loaded_tokens"], read);

  o = program.run({"run", "-f", file, "--load", session, "-p", "?", "--kv-type", "f32"});
  EXPECT_TRUE(refused(o, {"text.session"}));
  std::filesystem::resize_file(session, std::filesystem::file_size(session) - 100);
  o = program.run({"run", "-f", file, "--load", session, "-p", kNumberQuestion});
  EXPECT_TRUE(refused(o, {"text.session"}));
}

/// /proc has no room for files.
TEST(SessionFiles, ADiskThatCannotHoldTheFileIsNamedBeforeThePrefill) {
  Program program;
  const auto file = program.folder().write("text.txt", long_text());
  const Outcome o = program.run({"run", "-f", file, "-n", "0", "--save", "/proc/a.session"});
  EXPECT_TRUE(refused(o, {"--save", "a.session", "are needed for", "0 B are free there"}));
}

/// Includes methods that cannot rewind: the saved context stays for any question.
TEST(SessionFiles, ATextThatWasReadIsNotReadAgainWithAnyMethod) {
  Program program;
  const auto file = program.folder().write("text.txt", long_text(20));
  const std::string session = program.folder().path() / "text.session";
  for (const MethodInfo& method : attention_methods()) {
    if (method.name == "citrus") continue;  // reads nothing without a question; see below
    SCOPED_TRACE(method.name);
    const std::string name(method.name);
    Outcome o = program.run(
        {"run", "--attention", name, "-f", file, "-n", "0", "--save", session, "--json"});
    ASSERT_EQ(o.status, 0) << o.err;
    const int64_t read = o.json()["prompt_tokens"];
    EXPECT_GT(read, 300);
    o = program.run({"run", "--attention", name, "-f", file, "--load", session, "-p",
                     kNumberQuestion, "-n", "2", "--json"});
    ASSERT_EQ(o.status, 0) << o.err;
    EXPECT_EQ(o.json()["reused_tokens"], read);
    EXPECT_EQ(o.err, "");

    o = program.run({"run", "-i", "--attention", name, "-f", file, "--load", session, "-n", "2"},
                    std::string(kNumberQuestion) + "\n");
    ASSERT_EQ(o.status, 0) << o.err;
    const std::string count = with_commas(read);
    EXPECT_TRUE(has(o.err, {count + " tokens, all of them reused"}) ||
                has(o.err, {count + " reused"}))
        << "nor in a chat: " << o.err;
  }
}

TEST(SessionFiles, AFileServesTheQuestionThatItWasSavedWith) {
  Program program;
  const auto file = program.folder().write("text.txt", long_text(20));
  const std::string session = program.folder().path() / "text.session";
  for (const MethodInfo& method : attention_methods()) {
    SCOPED_TRACE(method.name);
    const Program::Arguments ask{"run", "--attention", std::string(method.name), "-f",
                                 file,  "-p",          kNumberQuestion,          "-n",
                                 "8",   "--json"};
    const auto with = [&](const char* flag) {
      Program::Arguments all = ask;
      all.insert(all.end(), {flag, session});
      return program.run(all);
    };
    const Outcome saved = with("--save");
    ASSERT_EQ(saved.status, 0) << saved.err;
    const Outcome loaded = with("--load");
    ASSERT_EQ(loaded.status, 0) << loaded.err;
    EXPECT_EQ(loaded.err, "");
    EXPECT_EQ(loaded.json()["read_tokens"], 0);
    EXPECT_EQ(loaded.json()["reused_tokens"], saved.json()["prompt_tokens"]);
    EXPECT_EQ(loaded.json()["text"], saved.json()["text"]);
  }
}

/// citrus has read a text with a question and continues after its end.
TEST(SessionFiles, ATextReadByAQuestionIsGoneOnWith) {
  Program program;
  const std::string question = "Tell me of the quiet harbor";
  const auto file = program.folder().write("text.txt", long_text());
  const auto with_question = program.folder().write("longer.txt", long_text() + "\n\n" + question);
  const std::string session = program.folder().path() / "text.session";
  const Program::Arguments run{"run", "--attention", "citrus:k=128,chunk=128", "--raw", "--json"};
  const auto with = [&](Program::Arguments more) {
    more.insert(more.begin(), run.begin(), run.end());
    return program.run(more);
  };
  Outcome o = with({"-f", file, "-p", question, "-n", "0", "--save", session});
  ASSERT_EQ(o.status, 0) << o.err;
  const int64_t read = o.json()["prompt_tokens"];
  o = with({"-f", with_question, "-p", "And now", "--load", session, "-n", "2"});
  ASSERT_EQ(o.status, 0) << o.err;
  EXPECT_GT(read, 900);
  EXPECT_EQ(o.json()["reused_tokens"], read);
  EXPECT_EQ(o.err, "");
}

/// The message says what to do instead, and that works.
TEST(SessionFiles, ASessionThatIsOfNoUseIsToldOf) {
  Program program;
  const auto file = program.folder().write("text.txt", long_text(24));
  const std::string session = program.folder().path() / "text.session";
  for (const std::string method :
       {"streamingllm:recent=120", "infllm:n_local=100", "h2o:budget=100", "citrus:chunk=128,k=128",
        "snapkv:capacity=100", "pyramidkv:capacity=100", "tova:capacity=100"}) {
    SCOPED_TRACE(method);
    const auto with = [&](Program::Arguments more) {
      more.insert(more.begin(), {"run", "-q", "--attention", method, "-f", file});
      return program.run(more);
    };
    ASSERT_EQ(with({"-p", "Where?", "-n", "2", "--save", session}).err, "");
    Outcome o = with({"-p", "When?", "-n", "2", "--load", session});
    EXPECT_EQ(o.status, 0);
    EXPECT_TRUE(has(o.err, {"warning: --load " + session + ": " + method, "prefilled again; "}));
    const std::string advice = o.err.substr(o.err.find("prefilled again; "));
    if (advice.find("saved without a question") != std::string::npos) {
      ASSERT_EQ(with({"-n", "0", "--save", session}).err, "");
    } else {
      EXPECT_TRUE(has(advice, {"save with the question (-p)", "--attention dense"}));
      ASSERT_EQ(with({"-p", "When?", "-n", "2", "--save", session}).err, "");
    }
    o = with({"-p", "When?", "-n", "2", "--load", session, "--json"});
    EXPECT_EQ(o.err, "");
    EXPECT_GT(o.json()["reused_tokens"].get<int64_t>(), 360);
  }
}

TEST(SessionFiles, ASessionOfAnotherTextIsWarnedAbout) {
  Program program;
  const auto file = program.folder().write("text.txt", long_text());
  const auto other = program.folder().write("other.txt", "Of cabbages and kings. " + long_text());
  const std::string session = program.folder().path() / "text.session";
  ASSERT_EQ(program.run({"run", "-f", file, "-n", "0", "--save", session}).status, 0);
  const Program::Arguments load{"run", "-q", "--load", session};
  const auto with = [&](Program::Arguments more, const std::string& input = "") {
    more.insert(more.begin(), load.begin(), load.end());
    return program.run(more, input);
  };
  const std::string warning = "warning: --load " + session;
  Outcome o = with({"-f", other, "-p", kNumberQuestion});
  EXPECT_EQ(o.status, 0);
  EXPECT_TRUE(has(o.out, {"4827163"})) << "it answers all the same";
  EXPECT_TRUE(has(o.err, {warning, "only the first ", "another text"}));
  EXPECT_EQ(with({"-f", file, "-p", kNumberQuestion}).err, "");
  EXPECT_EQ(with({"-f", file, "-f", other, "-p", kNumberQuestion, "-n", "4"}).err, "");

  o = with({"-i", "-f", other, "-n", "4"}, "What?\nAnd now?\n");
  EXPECT_EQ(o.err.find(warning), 0u);
  EXPECT_EQ(o.err.find(warning, 1), std::string::npos) << "once is enough: " << o.err;
  EXPECT_EQ(with({"-i", "-f", file, "-n", "4"}, "What?\nAnd now?\n").err, "");
}

TEST(SessionFiles, ATextWithoutItsQuestionIsWarnedAboutWhereTheQuestionDecides) {
  Program program;
  const auto file = program.folder().write("text.txt", long_text().substr(0, 2000));
  const std::string session = program.folder().path() / "text.session";
  const auto save = [&](const std::string& method, Program::Arguments more) {
    more.insert(more.begin(), {"run", "-q", "-f", file, "-n", "0", "--attention", method});
    return program.run(more);
  };
  for (const char* method : {"snapkv", "pyramidkv", "fastgen", "tova", "h2o:mode=oneshot"}) {
    SCOPED_TRACE(method);
    const Outcome o = save(method, {"--save", session});
    EXPECT_EQ(o.status, 0);
    EXPECT_TRUE(has(o.err, {"warning: --save " + session, method, "(-p)", "--attention dense"}));
    EXPECT_EQ(o.err.find('\n') + 1, o.err.size()) << "one line: " << o.err;
    EXPECT_EQ(save(method, {"--save", session, "-p", "What?"}).err, "");
    EXPECT_EQ(save(method, {}).err, "") << "nothing is kept for later";
  }
  for (const char* method : {"dense", "streamingllm", "h2o", "infllm"}) {
    EXPECT_EQ(save(method, {"--save", session}).err, "") << method;
  }
  EXPECT_TRUE(refused(save("citrus", {"--save", session}), {"citrus", "instruction"}));
}

/// A session file of a prefill that was stopped, as after Ctrl-C. The prefill takes minutes, and
/// the program is stopped later if it has not finished a chunk.
std::string stopped_session(Program& program, const std::string& file) {
  const std::string session = program.folder().path() / "part.session";
  const Program::Arguments run{"run",    "-f",      file,    "-n",        "0",
                               "--save", session,   "--isa", "generic",   "--compute",
                               "f32",    "--chunk", "64",    "--threads", "1"};
  for (int seconds = 2; seconds < 100; seconds *= 2) {
    const auto begin = std::chrono::steady_clock::now();
    const Outcome o = program.run_and_interrupt(run, [&] {
      return std::chrono::steady_clock::now() - begin > std::chrono::seconds(seconds);
    });
    if (o.err.find("written: ") == std::string::npos) continue;
    EXPECT_EQ(o.status, 130) << o.err;
    EXPECT_TRUE(has(o.err, {"part.session", " tokens of ", "; this goes on:\n  ", "run -f ",
                            "-n 0 --save ", " --load "}));
    return session;
  }
  return "";
}

TEST(SessionFiles, AFileOfAStoppedPrefillSaysSoWhenItIsAsked) {
  Program program;
  std::string text;
  for (int i = 0; i < 40; ++i) text += long_text();
  const std::string file = program.folder().write("long text.txt", text);
  const std::string session = stopped_session(program, file);
  const auto named = [&](const Outcome& o) {
    EXPECT_EQ(o.status, 0) << o.err;
    return has(o.err, {"warning: --load ", "part.session: holds only the first ",
                       " tokens of its text", "long text.txt' to prefill the rest"});
  };
  EXPECT_TRUE(named(program.run({"run", "-q", "--load", session, "-p", "What?", "-n", "1"})));
  EXPECT_TRUE(named(program.run({"run", "-i", "-q", "--load", session, "-n", "1"}, "What?\n")));
  const std::string again = program.folder().path() / "again.part.session";
  Outcome o = program.run({"run", "--load", session, "-n", "0", "--save", again});
  EXPECT_TRUE(named(o));
  EXPECT_TRUE(has(o.err, {"of the text's"}));
  EXPECT_TRUE(named(program.run({"run", "-q", "--load", again, "-p", "What?", "-n", "1"})));
  const auto questions = program.folder().write("q.txt", "What?\n");
  EXPECT_TRUE(named(
      program.run({"run", "-q", "--load", session, "--questions", questions.string(), "-n", "1"})));
}

TEST(SessionFiles, AFileOfAnotherModelNamesIt) {
  Program program;
  const auto file = program.folder().write("text.txt", "A short text.");
  const std::string session = program.folder().path() / "s.session";
  ASSERT_EQ(program.run({"run", "-f", file, "-n", "0", "--save", session}).status, 0);
  const Outcome o = program.run({"run", "-m", LONGHAUL_TEST_DATA "/tiny_models/gguf/qwen2.gguf",
                                 "--raw", "--load", session, "-p", "What?"});
  EXPECT_TRUE(refused(o, {"s.session", "was saved with -m nano", "qwen2.gguf"}));
}

TEST(SessionFiles, SourcesAreNamedAsWithTheTextsThemselves) {
  Program program;
  const std::string page =
      program.folder().write("page.html", "<html><body><p>First.</p><p>" + long_text() + "</p>");
  const std::string other = program.folder().write("other.txt", "Of cabbages and kings.\n");
  const std::string session = program.folder().path() / "s.session";
  ASSERT_EQ(program.run({"run", "-f", other, "-f", page, "-n", "0", "--save", session}).status, 0);
  const auto first = [&](const Program::Arguments& texts) {
    Program::Arguments run{"run", "--json", "--sources=1", "-p", kNumberQuestion};
    run.insert(run.end(), texts.begin(), texts.end());
    nlohmann::json source = program.run(run).json()["sources"][0];
    source.erase("depth");  // a session file has no newlines at the end of a text
    return source;
  };
  const auto direct = first({"-f", other, "-f", page}), loaded = first({"--load", session});
  EXPECT_EQ(direct["text"], page);
  EXPECT_EQ(direct["paragraph"], 2);
  EXPECT_EQ(loaded, direct);
}

}  // namespace
}  // namespace longhaul
