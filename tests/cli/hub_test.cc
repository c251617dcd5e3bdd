// longhaul pull from a server that simulates the hub (hub_server.py): ranges, redirects, faults.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "cli/program.h"

namespace longhaul {
namespace {

namespace fs = std::filesystem;
using testing_support::has;
using testing_support::Outcome;
using testing_support::Program;
using testing_support::refused;
using testing_support::TempFolder;

const std::string kModel = LONGHAUL_TEST_DATA "/tiny_models/gguf/qwen2.gguf";

/// The server with one model. It ends with the test.
class Hub : public testing::Test {
 protected:
  Hub() {
    fs::copy_file(kModel, files_.path() / "tiny-Q8_0.gguf");
    files_.write("README.md", "a model");
    int ends[2];
    if (pipe(ends) != 0) throw std::runtime_error("no pipe");
    child_ = fork();
    if (child_ == 0) {
      dup2(ends[1], STDOUT_FILENO);
      close(ends[0]);
      const std::string script = LONGHAUL_TEST_DATA "/../cli/hub_server.py";
      execlp("python3", "python3", script.c_str(), files_.path().c_str(), nullptr);
      _exit(127);
    }
    close(ends[1]);
    FILE* out = fdopen(ends[0], "r");
    int port = 0;
    if (std::fscanf(out, "%d", &port) != 1) ADD_FAILURE() << "no server";
    std::fclose(out);
    url_ = "http://127.0.0.1:" + std::to_string(port);
    set_up(program_);
  }
  ~Hub() override {
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
  }

  void set_up(Program& program) const {
    program.set_environment("HF_ENDPOINT", url_);
    program.set_environment("HF_TOKEN", "");
    program.set_environment("no_proxy", "127.0.0.1,localhost");
    program.set_environment("XDG_CACHE_HOME", program_.folder().path() / "cache");
  }
  fs::path cache() const { return program_.folder().path() / "cache" / "longhaul"; }
  std::string log() const {
    std::ifstream in(files_.path() / ".log");
    return {std::istreambuf_iterator<char>(in), {}};
  }
  /// Names of models and of partial files.
  std::vector<std::string> left() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(cache())) {
      if (entry.path().filename() != ".pulled") names.push_back(entry.path().filename());
    }
    return names;
  }

  Program program_;
  TempFolder files_;
  std::string url_;

 private:
  pid_t child_ = 0;
};

bool same_file(const fs::path& a, const fs::path& b) {
  const auto read = [](const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  return read(a) == read(b);
}

TEST_F(Hub, PullsCheckedAndByName) {
  const Outcome o = program_.run({"pull", "hf:some/model", "--json"});
  ASSERT_EQ(o.status, 0) << o.err;
  EXPECT_TRUE(has(o.err, {"some/model", "tiny-Q8_0.gguf", "apache-2.0", "KiB", "free in"}));
  EXPECT_EQ(o.json()["name"], "tiny-Q8_0");
  EXPECT_EQ(o.json()["fetched"], true);
  EXPECT_TRUE(same_file(cache() / "tiny-Q8_0.gguf", kModel));
  EXPECT_EQ(program_.run({"tokenize", "-m", "tiny-Q8_0", "a", "--json"}).status, 0);
  // The model is found without a server, also by its repository.
  program_.set_environment("HF_ENDPOINT", "http://127.0.0.1:9");
  EXPECT_EQ(program_.run({"pull", "hf:some/model:q8_0", "--json"}).json()["fetched"], false);
  for (const char* flag : {"-hf", "--hf-repo"}) {
    const Outcome run =
        program_.run({"run", flag, "some/model", "--raw", "-p", "a", "-n", "1", "--json"});
    EXPECT_EQ(run.status, 0) << run.err;
  }
  const Outcome words = program_.run({"run", "hf:some/model", "a", "--raw", "-n", "1", "--json"});
  EXPECT_EQ(words.status, 0) << words.err;
  EXPECT_TRUE(has(program_.run({"run", "-hf", "some/model", "a", "--raw"}).err, {"by -hf"}));
  EXPECT_EQ(program_.run({"inspect", "hf:some/model", "--brief"}).status, 0);
}

TEST_F(Hub, ModelsForAllUsersCanBeReadByThem) {
  const fs::path system = program_.folder().path() / "shared" / "models";
  program_.set_environment("LONGHAUL_SYSTEM_MODELS", system.string());
  const mode_t before = umask(077);
  const Outcome o = program_.run({"pull", "hf:some/model", "--system"});
  umask(before);
  ASSERT_EQ(o.status, 0) << o.err;
  using fs::perms;
  for (const fs::path& folder : {system.parent_path(), system}) {
    EXPECT_EQ(fs::status(folder).permissions() & perms::others_exec, perms::others_exec) << folder;
  }
  const perms file = fs::status(system / "tiny-Q8_0.gguf").permissions();
  EXPECT_EQ(file & perms::others_read, perms::others_read);
}

TEST_F(Hub, ACommandFetchesWhatItNeeds) {
  const Outcome o =
      program_.run({"run", "-hf", "some/model", "--raw", "-p", "a", "-n", "1", "--json"});
  EXPECT_EQ(o.status, 0) << o.err;
  EXPECT_TRUE(fs::exists(cache() / "tiny-Q8_0.gguf"));
}

TEST_F(Hub, ABrokenConnectionIsTakenUpAgain) {
  const Outcome o = program_.run({"pull", "hf:some/breaks", "--json"});
  ASSERT_EQ(o.status, 0) << o.err;
  EXPECT_TRUE(has(o.err, {"trying again"}));
  EXPECT_TRUE(has(log(), {"bytes=40000-", "bytes=80000-"}));
  EXPECT_TRUE(same_file(cache() / "tiny-Q8_0.gguf", kModel));
  EXPECT_EQ(left(), std::vector<std::string>{"tiny-Q8_0.gguf"});
}

TEST_F(Hub, APartIsGoneOnWith) {
  fs::create_directories(cache());
  fs::copy_file(kModel, cache() / ".tiny-Q8_0.gguf.part");
  fs::resize_file(cache() / ".tiny-Q8_0.gguf.part", 50'000);
  const Outcome o = program_.run({"pull", "hf:some/model"});
  ASSERT_EQ(o.status, 0) << o.err;
  EXPECT_TRUE(has(o.err, {"were fetched before"}));
  EXPECT_TRUE(has(log(), {"bytes=50000-"}));
  EXPECT_TRUE(same_file(cache() / "tiny-Q8_0.gguf", kModel));
}

TEST_F(Hub, APartFromElsewhereDoesNotPass) {
  fs::create_directories(cache());
  std::ofstream(cache() / ".tiny-Q8_0.gguf.part") << std::string(50'000, 'x');
  EXPECT_TRUE(has(program_.run({"pull", "hf:some/model"}).err, {"SHA-256", "nothing is kept"}));
  EXPECT_TRUE(left().empty());
  EXPECT_EQ(program_.run({"pull", "hf:some/model"}).status, 0);
}

TEST_F(Hub, WithoutRangesAllOfItComesAgain) {
  fs::create_directories(cache());
  fs::copy_file(kModel, cache() / ".tiny-Q8_0.gguf.part");
  fs::resize_file(cache() / ".tiny-Q8_0.gguf.part", 50'000);
  const Outcome o = program_.run({"pull", "hf:some/rangeless"});
  ASSERT_EQ(o.status, 0) << o.err;
  EXPECT_TRUE(same_file(cache() / "tiny-Q8_0.gguf", kModel));
}

TEST_F(Hub, AWrongHashLeavesNothing) {
  const Outcome o = program_.run({"pull", "hf:some/wrong"});
  EXPECT_EQ(o.status, 2);
  EXPECT_TRUE(has(o.err, {"error: ", "SHA-256", "expected"}));
  EXPECT_TRUE(left().empty());
}

TEST_F(Hub, TheTokenGoesToTheHubAlone) {
  EXPECT_TRUE(refused(program_.run({"pull", "hf:some/gated"}), {"some/gated", "401", "HF_TOKEN"}));
  program_.set_environment("HF_TOKEN", "right");
  EXPECT_EQ(program_.run({"pull", "hf:some/gated"}).status, 0);
  EXPECT_EQ(program_.run({"pull", "hf:some/moved", "--as", "moved"}).status, 0);
  EXPECT_TRUE(has(log(), {"127.0.0.1", "Bearer right", "localhost"}));
  std::istringstream lines(log());
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("localhost")) continue;
    EXPECT_TRUE(has(line, {"/plain/", "None None"}));
  }
  EXPECT_TRUE(same_file(cache() / "moved.gguf", kModel));
}

TEST_F(Hub, WhatIsNotThere) {
  EXPECT_TRUE(refused(program_.run({"pull", "hf:some/absent"}), {"some/absent", "404"}));
  EXPECT_TRUE(
      refused(program_.run({"pull", "hf:some/model:Q5_K_M"}), {"'Q5_K_M'", "tiny-Q8_0.gguf"}));
  EXPECT_TRUE(refused(program_.run({"pull", url_ + "/plain/none.gguf"}), {"404"}));
  EXPECT_TRUE(refused(program_.run({"pull", "no-such-model"}), {"'no-such-model'", "qwen3-4b"}));
  program_.set_environment("HF_ENDPOINT", "http://127.0.0.1:9");
  EXPECT_TRUE(refused(program_.run({"pull", "hf:some/model"}), {"some/model", "127.0.0.1:9"}));
}

TEST_F(Hub, APlainUrlIsPulledUnderAName) {
  const std::string url = url_ + "/plain/tiny-Q8_0.gguf";
  const Outcome o = program_.run({"pull", url, "--as", "mine", "--json"});
  ASSERT_EQ(o.status, 0) << o.err;
  EXPECT_TRUE(has(o.err, {"no checksum is published"}));
  EXPECT_TRUE(same_file(cache() / "mine.gguf", kModel));
  EXPECT_TRUE(refused(program_.run({"pull", url, "--as", "../mine"}), {"--as"}));
}

TEST_F(Hub, AUrlOfNoModelLeavesNothing) {
  files_.write("page.gguf", "<html>not here</html>");
  const Outcome o = program_.run({"pull", url_ + "/plain/page.gguf"});
  EXPECT_EQ(o.status, 2);
  EXPECT_TRUE(has(o.err, {"page.gguf", "not a GGUF file"}));
  EXPECT_TRUE(left().empty());
}

TEST_F(Hub, WhatAHubSaysIsNoCommandToATerminal) {
  const Outcome o = program_.run({"pull", "hf:some/lines"});
  ASSERT_EQ(o.status, 0) << o.err;
  EXPECT_TRUE(has(o.err, {"licence: MIT\\x0aerror: \\x1b[31mcall \\xe2\\x80\\xae555"}));
  EXPECT_EQ(o.err.find('\x1b'), std::string::npos);  // no progress line: it is no terminal
  EXPECT_EQ(o.err.find('\r'), std::string::npos);
  EXPECT_TRUE(refused(program_.run({"pull", "hf:some/model", "--as", "a\nb"}), {"--as"}));
}

TEST_F(Hub, SizesThatOverflowAreTooLarge) {
  const Outcome o = program_.run({"pull", "hf:some/huge"});
  EXPECT_EQ(o.status, 2);
  EXPECT_TRUE(has(o.err, {"are free", "TiB are needed"}));
}

TEST_F(Hub, PullsAtTheSameTimeDoNotDisturbEachOther) {
  std::vector<Program> programs(3);
  std::vector<Outcome> outcomes(3);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < 3; ++i) {
    set_up(programs[i]);
    threads.emplace_back([&, i] { outcomes[i] = programs[i].run({"pull", "hf:some/slow"}); });
  }
  for (std::thread& thread : threads) thread.join();
  int good = 0;
  for (const Outcome& o : outcomes) {
    good += o.status == 0 ? 1 : 0;
    if (o.status != 0) {
      EXPECT_TRUE(has(o.err, {"another process is fetching it"}));
    }
  }
  EXPECT_GE(good, 1);
  EXPECT_TRUE(same_file(cache() / "tiny-Q8_0.gguf", kModel));
}

TEST_F(Hub, ANameThatIsTakenIsNotWrittenOver) {
  fs::create_directories(cache());
  fs::copy_file(kModel, cache() / "tiny-Q8_0.gguf");
  EXPECT_TRUE(refused(program_.run({"pull", "hf:some/model"}), {"tiny-Q8_0.gguf", "--as"}));
}

TEST_F(Hub, OntoAFullDiskSaysSo) {
  program_.limit_files(30'000);
  const Outcome o = program_.run({"pull", "hf:some/model"});
  EXPECT_EQ(o.status, 2);
  EXPECT_TRUE(has(o.err, {"error: ", "cannot be written"}));
  EXPECT_FALSE(fs::exists(cache() / "tiny-Q8_0.gguf"));
}

TEST(Catalogue, HasModelsThatCanBePulledByName) {
  Program program;
  const Outcome o = program.run({"models", "--all", "--json"});
  ASSERT_EQ(o.status, 0) << o.err;
  int listed = 0;
  for (const auto& model : o.json()) {
    if (!model.contains("repository")) continue;
    ++listed;
    EXPECT_TRUE(has(model["file"].get<std::string>(), {".gguf"}));
    EXPECT_GE(model["context"].get<int>(), 8192);
  }
  EXPECT_GE(listed, 12);
  EXPECT_TRUE(has(program.run({"models", "--all"}).out, {"qwen3-4b", "apache-2.0", "262,144"}));
  EXPECT_TRUE(refused(program.run({"run", "-m", "qwen3-4b", "-p", "x"}),
                      {"'qwen3-4b'", "longhaul pull qwen3-4b"}));
}

}  // namespace
}  // namespace longhaul
