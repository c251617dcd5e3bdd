// Files from others, through the whole program: pipes in place of files, and names with terminal
// escapes.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "cli/program.h"
#include "cli/terminal.h"
#include "format/gguf_builder.h"
#include "report/run_maker.h"

namespace longhaul {
namespace {

namespace fs = std::filesystem;
using testing_support::GgufBuilder;
using testing_support::has;
using testing_support::Program;
using testing_support::refused;
using testing_support::RunMaker;
using testing_support::small_run;
using testing_support::Terminal;

/// A model's folder without the file `name`.
fs::path without(const fs::path& folder, const std::string& name) {
  const fs::path model = folder / ("m_" + name);
  fs::create_directories((model / name).parent_path());
  fs::copy(fs::path(LONGHAUL_TEST_DATA) / "tiny_models/llama_linear", model);
  fs::remove(model / name);
  if (name == "model.safetensors.index.json") fs::remove(model / "model.safetensors");
  return model;
}

/// A model's folder in which `name` is a pipe without a writer.
fs::path with_pipe(const fs::path& folder, const std::string& name) {
  fs::path model = without(folder, name);
  if (mkfifo((model / name).c_str(), 0600) != 0) throw std::runtime_error("no pipe");
  return model;
}

void make_huge(const fs::path& file) {
  std::ofstream(file) << "{}";
  fs::resize_file(file, uintmax_t{3} << 30);  // sparse file
}

/// Limits memory, so that reading such a file as a whole fails.
void limit_memory() {
  const rlimit limit = {rlim_t{1} << 30, rlim_t{1} << 30};
  setrlimit(RLIMIT_DATA, &limit);
}

TEST(UntrustedFiles, APipeInAModelsFolderIsRefusedWithoutWaiting) {
  Program program;
  program.before_exec([] { alarm(30); });  // waiting for a writer is killed: status 142
  for (const std::string name :
       {"config.json", "model.safetensors", "model.safetensors.index.json", "tokenizer.json",
        "tokenizer_config.json", "generation_config.json", "special_tokens_map.json",
        "chat_template.jinja"}) {
    const fs::path model = with_pipe(program.folder().path(), name);
    EXPECT_TRUE(refused(program.run({"run", "-m", model, "-p", "a", "-n", "1"}),
                        {name + ": not a regular file"}))
        << name;
  }
}

/// A program whose home has a hub's cache with one repository; `made` makes its refs/main.
void with_hub_cache(Program& program, const std::function<void(const fs::path&)>& made,
                    const std::string& name = "models--a--b") {
  const fs::path home = program.folder().path() / "home";
  const fs::path main = home / ".cache/huggingface/hub" / name / "refs/main";
  fs::create_directories(main.parent_path());
  made(main);
  program.set_environment("HOME", home);
  program.set_environment("XDG_CACHE_HOME", home / "cache");
  program.before_exec([] {
    alarm(30);
    limit_memory();
  });
}

TEST(UntrustedFiles, APipeInTheHubsCacheIsNotRead) {
  const std::vector<std::function<void(const fs::path&)>> made = {
      [](const fs::path& main) { mkfifo(main.c_str(), 0600); },
      [](const fs::path& main) { fs::create_symlink("/dev/zero", main); },
      make_huge,
  };
  for (const auto& make : made) {
    Program program;
    with_hub_cache(program, make);
    EXPECT_EQ(program.run({"models"}).status, 0);
    EXPECT_TRUE(refused(program.run({"run", "-m", "some-name", "-p", "x"}), {"some-name"}));
  }
}

TEST(UntrustedFiles, NamesInTheHubsCacheAreNoCommandsToATerminal) {
  Program program;
  const std::string bad = "x\n\x1b[2Jy\xe2\x80\xaez";
  with_hub_cache(program, [&](const fs::path& main) {
    std::ofstream(main) << "c\n";
    const fs::path snapshot = main.parent_path().parent_path() / "snapshots/c";
    fs::create_directories(snapshot);
    fs::copy_file(LONGHAUL_TEST_DATA "/tiny_models/gguf/qwen2.gguf", snapshot / (bad + ".gguf"));
  });
  const std::string out = program.run({"models"}).out;
  EXPECT_TRUE(has(out, {"x\\x0a\\x1b[2Jy\\xe2\\x80\\xaez"}));
  EXPECT_EQ(out.find('\x1b'), std::string::npos);
  const std::string json = program.run({"models", "--json"}).out;
  EXPECT_TRUE(has(json, {"x\\n\\u001b[2Jy\\u202ez"}));
  EXPECT_EQ(json.find("\u202e"), std::string::npos);
}

TEST(UntrustedFiles, ATemplateHoldsNoMoreThanItMay) {
  Program program;
  const auto run = [&](const std::string& source, const std::string& limit) {
    return program.run({"run", "-p", "b", "-n", "1", "--json", "--memory-limit", limit,
                        "--chat-template", program.folder().write("t.jinja", source)});
  };
  const std::string runs =
      "{% set ns = namespace(l=[]) %}{% set y = ('a' ~ messages[0].content) * 520000 %}";
  EXPECT_TRUE(refused(run(runs + "{% for i in range(140) %}{% set ns.l = ns.l + [y ~ (i % 10)] %}"
                                 "{% endfor %}x",
                          "200M"),
                      {"t.jinja", "bytes of values"}));
  const std::string some =
      "{% set ns = namespace(l=[]) %}{% set y = ('a' ~ messages[0].content) * 200000 %}"
      "{% for i in range(2) %}{% set ns.l = ns.l + [y ~ (i % 10)] %}{% endfor %}x";
  EXPECT_EQ(run(some, "300M").status, 0);
  EXPECT_TRUE(refused(run(some, "64M"), {"--memory-limit"}));
}

TEST(UntrustedFiles, EveryTextFileOfAModelHasALimit) {
  Program program;
  program.before_exec(limit_memory);
  for (const std::string name :
       {"config.json", "model.safetensors.index.json", "tokenizer.json", "tokenizer_config.json",
        "generation_config.json", "special_tokens_map.json", "chat_template.jinja",
        "chat_template.json", "additional_chat_templates/tool_use.jinja", "model.json",
        "duo.json"}) {
    const fs::path model = without(program.folder().path(), name);
    make_huge(model / name);
    Program::Arguments call = {"run", "-m", model, "-p", "a", "-n", "1"};
    if (name == "duo.json") call.insert(call.end(), {"--attention", "duo"});
    EXPECT_TRUE(refused(program.run(call), {name + ": "})) << name;
  }
}

TEST(UntrustedFiles, AModelHasFewAdapters) {
  Program program;
  program.before_exec(limit_memory);
  const fs::path model = program.folder().path() / "many";
  fs::create_directory(model);
  for (const auto& [count, expected] :
       {std::pair{65, "'adapters' lists 65; at most 64"}, {1000000, "it is read up to 1.0 MiB"}}) {
    std::ofstream file(model / "model.json");
    file << R"({"base": "nano", "adapters": [{"file": "a.gguf"})";
    for (int i = 1; i < count; ++i) file << R"(,{"file": "a.gguf"})";
    file << "]}";
    file.close();
    EXPECT_TRUE(refused(program.run({"run", "-m", model, "-p", "a", "-n", "1"}), {expected}));
  }
}

TEST(UntrustedFiles, EveryTextFileBesideAModelHasALimit) {
  Program program;
  program.before_exec(limit_memory);
  const fs::path folder = program.folder().path(), file = folder / "huge";
  const fs::path model = fs::path(LONGHAUL_TEST_DATA) / "tiny_models/llama_linear";
  make_huge(file);
  fs::create_directory(folder / "peft");
  fs::create_symlink(file, folder / "peft/adapter_config.json");
  for (const Program::Arguments& more :
       {Program::Arguments{"--lora", folder / "peft"}, Program::Arguments{"--chat-template", file},
        Program::Arguments{"--attention", "duo:gates=" + file.string()},
        Program::Arguments{"--attention", "minference:patterns=" + file.string()},
        Program::Arguments{"--attention", "xattention:thresholds=" + file.string()}}) {
    Program::Arguments call = {"run", "-m", model, "--raw", "-p", "a", "-n", "1"};
    if (more[0] == "--chat-template") std::erase(call, "--raw");
    call.insert(call.end(), more.begin(), more.end());
    const char* name = more[0] == "--lora" ? "adapter_config.json: " : "huge: ";
    EXPECT_TRUE(refused(program.run(call), {name})) << more[0] << ' ' << more[1];
  }
}

/// Writes to a pipe during its lifetime.
class EndlessWriter {
 public:
  explicit EndlessWriter(const fs::path& pipe)
      : file_(open(pipe.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC)) {}
  ~EndlessWriter() {
    done_ = true;
    thread_.join();
    close(file_);
  }
  EndlessWriter(const EndlessWriter&) = delete;
  EndlessWriter& operator=(const EndlessWriter&) = delete;

 private:
  void fill() const {
    const std::string words(4096, 'x');
    while (!done_) {
      if (write(file_, words.data(), words.size()) > 0) continue;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));  // the pipe is full
    }
  }

  const int file_;
  std::atomic<bool> done_ = false;
  std::thread thread_{[this] { fill(); }};
};

TEST(UntrustedFiles, ATextWithoutEndFromAPipeIsRefused) {
  Program program;
  const fs::path pipe = program.folder().path() / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const EndlessWriter writer(pipe);
  program.before_exec([] { alarm(60); });
  EXPECT_TRUE(refused(program.run({"run", "-f", pipe, "-p", "x", "--ctx", "100"}),
                      {"pipe: more than", "--ctx 100"}));
}

TEST(UntrustedFiles, TextsTogetherHaveTheLimitOfOne) {
  Program program;
  const std::string text = program.folder().write("text", std::string(700'000, 'x'));
  EXPECT_TRUE(refused(program.run({"run", "-f", text, "-f", text, "-p", "x", "--ctx", "100"}),
                      {"text: more than 440.4 KiB", "with the texts before it", "--ctx 100"}));
}

/// Escape sequences that would rename a window, as one byte and as two.
constexpr const char* kEscapes = "a\x1b]0;x\x07\u009b31mb";

void expect_no_command(Terminal& program) {
  EXPECT_EQ(program.finish(), 0) << program.seen();
  EXPECT_TRUE(has(program.seen(), {"31mb"})) << "it is shown at all: " << program.seen();
  for (const char* sequence : {"\x1b", "\x07", "\u009b"}) {
    EXPECT_EQ(program.seen().find(sequence), std::string::npos) << program.seen();
  }
}

TEST(UntrustedFiles, WhatAModelsFileSaysIsNoCommandToATerminal) {
  Program files;
  GgufBuilder builder;
  builder.text("general.architecture", "llama")
      .text("general.name", kEscapes)
      .text(kEscapes, kEscapes)
      .tensor(kEscapes, {32}, 0, 128);
  const std::string file = files.folder().write("m.gguf", builder.build());
  Terminal inspect({"inspect", file});
  expect_no_command(inspect);
}

TEST(UntrustedFiles, WhatARecordSaysIsNoCommandToATerminal) {
  const RunMaker maker;
  auto info = RunMaker::standard_info();
  info["model"]["name"] = kEscapes;
  info["tasks"][0]["summary"] = kEscapes;
  const std::string run = maker.make("run", small_run(), info);
  Terminal report({"report", run});
  expect_no_command(report);
}

}  // namespace
}  // namespace longhaul
