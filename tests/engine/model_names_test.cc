#include "engine/model_names.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "engine/with_variable.h"
#include "format/temp_folder.h"

namespace longhaul {
namespace {

using testing_support::error_of;
using testing_support::has;
using testing_support::TempFolder;
using testing_support::WithVariable;

TEST(ModelNames, FoldersAndFilesOfTheGivenFolderComeFirst) {
  const TempFolder folder;
  std::filesystem::create_directory(folder.path() / "nano");
  folder.write("nano/config.json", "{}");
  folder.write("other.gguf", "");
  folder.write("notes.txt", "");
  std::filesystem::create_directory(folder.path() / "empty");
  const WithVariable models("LONGHAUL_MODELS", folder.path());
  EXPECT_EQ(find_model("nano"), folder.path() / "nano");
  EXPECT_EQ(find_model("other"), folder.path() / "other.gguf");
  const auto list = models_at_hand();
  EXPECT_EQ(std::count_if(list.begin(), list.end(), [](auto& m) { return m.name == "nano"; }), 1);
  EXPECT_EQ(std::count_if(list.begin(), list.end(), [](auto& m) { return m.name == "empty"; }), 0);
}

TEST(ModelNames, TheSourceTreesModelIsFoundFromTheProgram) {
  const WithVariable models("LONGHAUL_MODELS", "");
  EXPECT_TRUE(std::filesystem::exists(find_model("nano") / "config.json"));
}

TEST(ModelNames, TheCacheFolderFollowsTheVariables) {
  {
    const WithVariable xdg("XDG_CACHE_HOME", "/tmp/xdg");
    EXPECT_EQ(model_cache_folder(), "/tmp/xdg/longhaul");
  }
  const WithVariable xdg("XDG_CACHE_HOME", ""), home("HOME", "/tmp/home");
  EXPECT_EQ(model_cache_folder(), "/tmp/home/.cache/longhaul");
  const WithVariable no_home("HOME", "");
  EXPECT_TRUE(has(error_of([] { model_cache_folder(); }), {"XDG_CACHE_HOME", "HOME"}));
}

TEST(ModelNames, PathsAreTakenAsTheyAre) {
  const TempFolder folder;
  const auto file = folder.write("model.gguf", "");
  EXPECT_EQ(find_model(file), file);
}

TEST(ModelNames, UnknownNamesSayWhatIsAtHand) {
  const WithVariable xdg("XDG_CACHE_HOME", "/nowhere");
  EXPECT_TRUE(has(error_of([] { find_model("no-such"); }), {"'no-such'", "at hand", "nano"}));
  EXPECT_TRUE(has(error_of([] { find_model("smollm2"); }), {"longhaul pull smollm2"}));
}

/// A base and a model derived from it, in one folder.
class Recipes : public testing::Test {
 protected:
  Recipes() : models_("LONGHAUL_MODELS", folder_.path()), cache_("XDG_CACHE_HOME", "/nowhere") {
    std::filesystem::create_directory(folder_.path() / "both");
    folder_.write("base.gguf", "");
  }
  std::string recipe_error(const std::string& text) {
    folder_.write("both/model.json", text);
    return error_of([] { find_model_source("both"); });
  }

  const TempFolder folder_;
  const WithVariable models_, cache_;
};

TEST_F(Recipes, NameABaseAndAdaptersBesideThem) {
  folder_.write(
      "both/model.json",
      R"({"base": "base", "adapters": [{"file": "a.gguf"}, {"file": "b", "weight": 2}]})");
  const ModelSource source = find_model_source("both");
  EXPECT_EQ(source.path, folder_.path() / "base.gguf");
  ASSERT_EQ(source.adapters.size(), 2u);
  EXPECT_EQ(source.adapters[0].path, folder_.path() / "both/a.gguf");
  EXPECT_EQ(source.adapters[1].weight, 2);
  EXPECT_EQ(source.profiles, folder_.path() / "both");
  EXPECT_EQ(find_model("both"), folder_.path() / "base.gguf");
  EXPECT_TRUE(find_model_source("base").adapters.empty());
}

TEST_F(Recipes, AreRefusedWithFileAndKey) {
  EXPECT_TRUE(has(recipe_error("{}"), {"both/model.json", "'base' is missing"}));
  EXPECT_TRUE(has(recipe_error(R"({"base": "../base"})"), {"'base'", "no plain name"}));
  EXPECT_TRUE(has(recipe_error(R"({"base": "base"})"), {"'adapters'"}));
  EXPECT_TRUE(has(recipe_error(R"({"base": "base", "adapters": [{"file": "/etc/x"}]})"),
                  {"'file'", "no plain name"}));
  EXPECT_TRUE(has(recipe_error(R"({"base": "base", "adapters": [{"file": "x", "weight": "1"}]})"),
                  {"'weight'"}));
  EXPECT_TRUE(has(recipe_error(R"({"base": "absent", "adapters": [{"file": "x"}]})"),
                  {"'both'", "needs model 'absent'"}));
  EXPECT_TRUE(has(recipe_error(R"({"base": "both", "adapters": [{"file": "x"}]})"), {"'both'"}));
}

TEST_F(Recipes, SmolLm2For32kIsTheDefaultWhereItsBaseIs) {
  EXPECT_EQ(default_model(), "nano");
  folder_.write("smollm2.gguf", "");
  EXPECT_EQ(default_model(), "smollm2-32k");
}

}  // namespace
}  // namespace longhaul
