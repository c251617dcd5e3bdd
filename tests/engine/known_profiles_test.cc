// The published method settings in the repository match the models that they are named after.

#include "engine/known_profiles.h"

#include <gtest/gtest.h>

#include "attention/method_run.h"
#include "attention/profile.h"
#include "base/error_of.h"
#include "engine/with_variable.h"

namespace longhaul {
namespace {

using testing_support::error_of;
using testing_support::small_shape;
using testing_support::WithVariable;

/// Layers, KV heads and query heads per KV head of a model, by its name.
ModelShape shape_of(const std::string& name) {
  if (name == "llama-2-7b-32k-instruct" || name.starts_with("phi-3")) {
    return small_shape(32, 32, 1, 128);
  }
  if (name.starts_with("yi-9b")) return small_shape(48, 4, 8, 128);
  if (name.starts_with("qwen2.5-32b")) return small_shape(64, 8, 5, 128);
  if (name.starts_with("qwen2.5-14b")) return small_shape(48, 8, 5, 128);
  if (name.starts_with("qwen2")) return small_shape(28, 4, 7, 128);
  return small_shape(32, 8, 4, 128);  // Llama 3 and Mistral
}

std::vector<KnownProfiles> of_the_repository() {
  const WithVariable models("LONGHAUL_MODELS", LONGHAUL_MODELS);
  return known_profiles();
}

TEST(KnownProfiles, FitTheirModels) {
  size_t methods = 0;
  for (const KnownProfiles& known : of_the_repository()) {
    if (known.folder.parent_path() != std::filesystem::path(LONGHAUL_MODELS) / "profiles") continue;
    EXPECT_FALSE(known.methods.empty()) << known.name;
    ModelShape shape = shape_of(known.name);
    shape.profile_prefix = (known.folder / "").string();
    for (const std::string& method : known.methods) {
      SCOPED_TRACE(known.name + " " + method);
      EXPECT_NE(testing_support::make(method, shape), nullptr);
      EXPECT_NE(MethodSpec::parse(method).for_model(shape).fingerprint(),
                MethodSpec::parse(method).fingerprint());
      ++methods;
    }
  }
  EXPECT_GE(methods, 20u);
}

TEST(KnownProfiles, OfAModelWithOtherHeadsAreRefused) {
  ModelShape shape = small_shape(32, 4, 8, 128);
  for (const KnownProfiles& known : of_the_repository()) {
    if (known.name != "llama-3.1-8b-instruct") continue;
    shape.profile_prefix = (known.folder / "").string();
    EXPECT_NE(error_of([&] { testing_support::make("duo", shape); }).find("duo_gates.tsv"),
              std::string::npos);
    return;
  }
  FAIL() << "there are none of Llama 3.1 8B";
}

/// Compares with Table 4.7 and the heads of the paper.
TEST(KnownProfiles, LtrisTablesAreThePapers) {
  const auto options = read_profile(LONGHAUL_MODELS "/profiles/llama-3-8b-instruct-262k/", "ltri");
  const auto count = [&](const char* key) {
    return std::ranges::count(options.at(key).text, '/') + 1;
  };
  EXPECT_EQ(count("theta"), 32);
  EXPECT_EQ(count("phi"), 32);
  EXPECT_EQ(count("heads"), 14);
  EXPECT_TRUE(options.at("heads").text.starts_with("5.8:0.21/8.1:0.49/"));
}

TEST(KnownProfiles, AreFoundByFolderOrName) {
  const WithVariable models("LONGHAUL_MODELS", LONGHAUL_MODELS);
  EXPECT_EQ(find_profiles(LONGHAUL_MODELS), LONGHAUL_MODELS);
  EXPECT_EQ(find_profiles("yi-9b-200k").filename(), "yi-9b-200k");
  const std::string error = error_of([] { find_profiles("llama-3.1-8b-instuct"); });
  EXPECT_EQ(error.find("--profiles 'llama-3.1-8b-instuct': no such folder"), 0u) << error;
  EXPECT_NE(error.find("did you mean 'llama-3.1-8b-instruct'?"), std::string::npos) << error;
}

}  // namespace
}  // namespace longhaul
