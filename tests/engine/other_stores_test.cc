// Models of other programs, in the layouts of these programs' stores.

#include "engine/other_stores.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "format/temp_folder.h"

namespace longhaul {
namespace {

namespace fs = std::filesystem;
using testing_support::TempFolder;

class OtherStores : public testing::Test {
 protected:
  OtherStores() {
    for (const char* name : {"HF_HUB_CACHE", "HF_HOME", "OLLAMA_MODELS", "LLAMA_CACHE"})
      unsetenv(name);
    if (const char* home = std::getenv("HOME")) home_before_ = home;
    setenv("HOME", home_.path().c_str(), 1);
  }
  ~OtherStores() override { setenv("HOME", home_before_.c_str(), 1); }

  fs::path put(const std::string& file, const std::string& text = "") {
    fs::create_directories((home_.path() / file).parent_path());
    return home_.write(file, text);
  }
  /// Empty if there is no model of that name.
  static fs::path found(const std::string& name) {
    const std::vector<NamedModel> models = models_elsewhere();
    const auto at = std::find_if(models.begin(), models.end(),
                                 [&](const NamedModel& m) { return m.name == name; });
    return at == models.end() ? fs::path() : at->path;
  }

  TempFolder home_;
  std::string home_before_;
};

TEST_F(OtherStores, NothingIsNoFault) { EXPECT_TRUE(models_elsewhere().empty()); }

TEST_F(OtherStores, TheHubsCache) {
  const std::string repo = ".cache/huggingface/hub/models--some--Model-1B/";
  put(repo + "refs/main", "abc123");
  const fs::path config = put(repo + "snapshots/abc123/config.json", "{}");
  put(repo + "snapshots/abc123/model.safetensors");
  put(repo + "snapshots/old/config.json", "{}");
  const std::string files = ".cache/huggingface/hub/models--some--Model-GGUF/";
  put(files + "refs/main", "def\n");
  const fs::path gguf = put(files + "snapshots/def/model-Q4_0.gguf");
  put(files + "snapshots/def/mmproj-model.gguf");
  EXPECT_EQ(found("some/Model-1B"), config.parent_path());
  EXPECT_EQ(found("model-Q4_0"), gguf);
  EXPECT_EQ(models_elsewhere().size(), 2u);
  setenv("HF_HOME", (home_.path() / "elsewhere").c_str(), 1);
  EXPECT_TRUE(models_elsewhere().empty());
  unsetenv("HF_HOME");
}

TEST_F(OtherStores, OllamasManifestsNameBlobs) {
  const std::string store = ".ollama/models/";
  const std::string manifest =
      R"({"layers":[{"mediaType":"application/vnd.ollama.image.license","digest":"sha256:00"},)"
      R"({"mediaType":"application/vnd.ollama.image.model","digest":"sha256:abcd"}]})";
  const fs::path blob = put(store + "blobs/sha256-abcd");
  put(store + "manifests/registry.ollama.ai/library/llama3.2/1b", manifest);
  put(store + "manifests/registry.ollama.ai/me/mine/latest", manifest);
  put(store + "manifests/registry.ollama.ai/library/broken/latest", "{");
  put(store + "manifests/registry.ollama.ai/library/gone/latest",
      R"({"layers":[{"mediaType":"application/vnd.ollama.image.model","digest":"sha256:ffff"}]})");
  put(store + "manifests/registry.ollama.ai/library/odd/latest", R"({"layers":[1]})");
  EXPECT_EQ(found("llama3.2:1b"), blob);
  EXPECT_EQ(found("me/mine:latest"), blob);
  EXPECT_EQ(models_elsewhere().size(), 2u);
}

TEST_F(OtherStores, FoldersOfGgufFiles) {
  const fs::path studio = put(".lmstudio/models/owner/repo/a-Q8_0.gguf");
  const fs::path first = put(".cache/llama.cpp/owner_b-00001-of-00002.gguf");
  put(".cache/llama.cpp/owner_b-00002-of-00002.gguf");
  put(".cache/llama.cpp/notes.json");
  EXPECT_EQ(found("a-Q8_0"), studio);
  EXPECT_EQ(found("owner_b-00001-of-00002"), first);
  EXPECT_EQ(models_elsewhere().size(), 2u);
}

}  // namespace
}  // namespace longhaul
