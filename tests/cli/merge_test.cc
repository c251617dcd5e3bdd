// longhaul merge, end to end.

#include <gtest/gtest.h>

#include "cli/program.h"

namespace longhaul {
namespace {

using testing_support::has;
using testing_support::Outcome;
using testing_support::Program;
using testing_support::refused;

const std::string kBase = LONGHAUL_TEST_DATA "/tiny_models/gguf/llama_linear.gguf";
const std::string kFactors = LONGHAUL_TEST_DATA "/adapters/gguf/llama_linear.gguf";

const std::string kFolder = LONGHAUL_TEST_DATA "/tiny_models/llama_linear";

nlohmann::json tokens_of(const std::string& model, const std::vector<std::string>& more = {}) {
  Program::Arguments arguments = {"run", "-m", model,    "--raw",     "-p", "12 34",
                                  "-n",  "8",  "--json", "--compute", "f32"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const Outcome o = Program().run(arguments);
  EXPECT_EQ(o.status, 0) << o.err;
  return o.status == 0 ? o.json()["tokens"] : nlohmann::json();
}

/// Names of all files in a folder.
std::vector<std::string> names_in(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    names.push_back(entry.path().filename());
  }
  return names;
}

TEST(Merge, WritesAModelThatAnswersAsWithTheAdapter) {
  Program program;
  const std::string out = program.folder().path() / "merged.gguf";
  Outcome o = program.run({"merge", "-m", kBase, "--lora", kFactors, out, "--type", "f32"});
  ASSERT_EQ(o.status, 0) << o.err;
  EXPECT_TRUE(has(o.out, {"merged.gguf: 20 tensors", "14 matrices", "F32, which were F16"}));
  EXPECT_EQ(tokens_of(out), tokens_of(kBase, {"--lora", kFactors}));
  EXPECT_NE(tokens_of(out), tokens_of(kBase));

  const std::string half = program.folder().path() / "half.gguf";
  o = program.run({"merge", "-m", kBase, "--lora", kFactors + ":0.5", half, "--json"});
  ASSERT_EQ(o.status, 0) << o.err;
  EXPECT_EQ(o.json()["changed"][0]["matrices"], 14);
  EXPECT_EQ(o.json()["changed"][0]["to"], "F16");
  EXPECT_EQ(o.json()["bytes"], std::filesystem::file_size(half));
  EXPECT_EQ(tokens_of(half), tokens_of(kBase, {"--lora", kFactors + ":0.5"}));
}

TEST(Merge, AModelThatHasAdaptersNeedsNoneNamed) {
  Program program;
  const auto& folder = program.folder();
  std::filesystem::create_directory(folder.path() / "both");
  std::filesystem::copy_file(kBase, folder.path() / "base.gguf");
  std::filesystem::copy_file(kFactors, folder.path() / "both/lora.gguf");
  folder.write("both/model.json", R"({"base": "base", "adapters": [{"file": "lora.gguf"}]})");
  program.set_environment("LONGHAUL_MODELS", folder.path());
  const std::string out = folder.path() / "merged.gguf";
  const Outcome o = program.run({"merge", "-m", "both", out, "-q"});
  ASSERT_EQ(o.status, 0) << o.err;
  EXPECT_EQ(o.out + o.err, "");
  EXPECT_EQ(tokens_of(out), tokens_of(kBase, {"--lora", kFactors}));
}

TEST(Merge, RefusesInOneLine) {
  Program program;
  const std::string out = program.folder().path() / "merged.gguf";
  const auto run = [&](const std::string& model, const std::string& lora, const std::string& file) {
    return program.run({"merge", "-m", model, "--lora", lora, file});
  };
  EXPECT_TRUE(refused(program.run({"merge", "-m", kBase, out}), {"no adapters", "--lora"}));
  EXPECT_TRUE(refused(program.run({"merge", "-m", kBase, "--lora", kFactors}), {"OUT"}));
  EXPECT_TRUE(refused(run(kFolder, kFactors, out), {"merged.gguf", "llama_linear", "a folder"}));
  EXPECT_TRUE(refused(program.run({"merge", "-m", kFolder, "--lora", kFactors,
                                   program.folder().path() / "f", "--type", "f16"}),
                      {"--type f16", "GGUF files only"}));
  EXPECT_TRUE(refused(run(kBase, LONGHAUL_TEST_DATA "/adapters/gguf/phi3.gguf", out),
                      {"phi3.gguf", "llama model"}));
  EXPECT_TRUE(refused(run(kBase, kBase, out), {"general.type"}));
  EXPECT_TRUE(refused(run(kBase, "nowhere.gguf", out), {"nowhere.gguf", "no such file"}));
  EXPECT_TRUE(refused(run(kBase, kFactors, "nowhere/merged.gguf"), {"no such folder"}));
  const std::string there = program.folder().write("there.gguf", "mine");
  EXPECT_TRUE(refused(run(kBase, kFactors, there), {"there.gguf", "is there already"}));
  EXPECT_EQ(std::filesystem::file_size(there), 4u);
}

TEST(Merge, OfAFolderIsAFolder) {
  Program program;
  const auto out = program.folder().path() / "merged";
  const std::string factors = LONGHAUL_TEST_DATA "/adapters/llama_linear";
  const Outcome o = program.run({"merge", "-m", kFolder, "--lora", factors, out.string() + "/"});
  ASSERT_EQ(o.status, 0) << o.err;
  EXPECT_TRUE(has(o.out, {"merged: 20 tensors", "14 matrices", "BF16 as they were"}));
  EXPECT_EQ(names_in(out).size(), names_in(kFolder).size());  // no partial files are left
  EXPECT_EQ(tokens_of(out), tokens_of(kFolder, {"--lora", factors}));
  EXPECT_NE(tokens_of(out), tokens_of(kFolder));
  EXPECT_TRUE(refused(program.run({"merge", "-m", kFolder, "--lora", factors, out}),
                      {"merged", "cannot be written: is a folder"}));
}

/// The merged folder may be given away. It must not contain a user's file only because a link in
/// the model's folder pointed to it.
TEST(Merge, LinksOutOfTheFolderAreRefusedAndThoseIntoAHubsBlobsAreNot) {
  namespace fs = std::filesystem;
  Program program;
  const fs::path cache = program.folder().path() / "models--a--b";
  const fs::path folder = cache / "snapshots" / "c0ffee";
  fs::create_directories(folder);
  fs::create_directory(cache / "blobs");
  for (const std::string& name : names_in(kFolder)) {
    fs::copy_file(fs::path(kFolder) / name, cache / "blobs" / name);
    fs::create_symlink("../../blobs/" + name, folder / name);
  }
  const std::string factors = LONGHAUL_TEST_DATA "/adapters/llama_linear";
  const auto merge = [&](const char* out) {
    return program.run({"merge", "-m", folder, "--lora", factors, program.folder().path() / out});
  };
  EXPECT_EQ(merge("one").status, 0);
  const fs::path secret = program.folder().write("id_rsa", "a secret");
  fs::create_symlink(secret, folder / "notes.txt");
  EXPECT_TRUE(refused(merge("two"), {"notes.txt: is a link to", "id_rsa"}));
  EXPECT_FALSE(fs::exists(program.folder().path() / "two"));
}

/// An aborted merge leaves no files.
TEST(Merge, FilesThatCannotBeWrittenWholeAreNot) {
  Program program;
  const testing_support::TempFolder target;
  const std::string out = target.path() / "merged.gguf";
  program.limit_files(40000);
  EXPECT_TRUE(refused(program.run({"merge", "-m", kBase, "--lora", kFactors, out}),
                      {"merged.gguf", "cannot be written"}));
  EXPECT_TRUE(
      refused(program.run({"merge", "-m", kFolder, "--lora", kFactors, target.path() / "f"}),
              {"model.safetensors", "cannot be written"}));
  EXPECT_EQ(names_in(target.path()), std::vector<std::string>());
}

/// Under the final name stands a whole model or nothing, whenever the program is killed.
TEST(Merge, AKilledMergeLeavesNoHalfAFolder) {
  namespace fs = std::filesystem;
  const std::string factors = LONGHAUL_TEST_DATA "/adapters/llama_linear";
  for (int wait = 0; wait < 4; ++wait) {
    Program program;
    const testing_support::TempFolder target;
    const fs::path out = target.path() / "out";
    const Program::Arguments merge = {"merge", "-m", kFolder, "--lora", factors, out};
    int seen = 0;
    program.run_and_interrupt(
        merge, [&] { return !names_in(target.path()).empty() && seen++ >= wait; }, SIGKILL);
    EXPECT_EQ(fs::exists(out), fs::exists(out / "config.json"));
    if (fs::exists(out)) continue;
    const Outcome again = program.run(merge);
    EXPECT_EQ(again.status, 0) << again.err;
    EXPECT_EQ(names_in(target.path()), std::vector<std::string>{"out"});
  }
}

}  // namespace
}  // namespace longhaul
