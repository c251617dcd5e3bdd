#include <gtest/gtest.h>

#include "attention/method_run.h"
#include "attention/method_spec.h"
#include "format/temp_folder.h"

namespace longhaul {
namespace {

using testing_support::error_of;
using testing_support::small_shape;
using testing_support::TempFolder;

struct ProbeOptions {
  double share = 0.5;
  std::string gates;
  bool deep = false;
  int64_t depth = 1;
};
ProbeOptions probed;  ///< options of the method constructed last

class Probe final : public Method {
 public:
  ProbeOptions own;
  void declare(OptionList& o) {
    o.real(own.share, "share", 0, 1, "", "a number");
    o.text(own.gates, "gates", "", "a file");
    o.flag(own.deep, "deep", "a flag");
    o.integer(own.depth, "depth", 0, 9, "", "a number")
        .only([this] { return own.deep; }, "deep=true", "deep");
  }
  void fit(const ModelShape&) { probed = own; }
  ListPlan plan(int, int, int64_t) const override { return {}; }
};

const MethodInfo kMethod[] = {method_info<Probe>({.name = "probe"})};

struct Folder : TempFolder {
  explicit Folder(std::string_view json) {
    write("probe.json", json);
    shape.profile_prefix = (path() / "").string();
  }
  void make(const char* text) const { MethodSpec::parse(text, kMethod).make(shape); }
  ModelShape shape = small_shape(1, 1, 1, 32);
};

TEST(Profile, ReplacesDefaultsAndIsReplacedByTheCommandLine) {
  const Folder folder(
      R"({"made_with": "x", "options": {"share": 0.25, "gates": {"file": "g.tsv"}, "deep": true}})");
  folder.make("probe");
  EXPECT_EQ(probed.share, 0.25);
  EXPECT_EQ(probed.gates, (folder.path() / "g.tsv").string());
  EXPECT_TRUE(probed.deep);
  folder.make("probe:share=0.5,gates=other");
  EXPECT_EQ(probed.share, 0.5);
  EXPECT_EQ(probed.gates, "other");
  EXPECT_TRUE(probed.deep);
}

TEST(Profile, ReadsFilesBesideItOnly) {
  for (const char* name : {"", "..", "/etc/passwd", "../g.tsv", "a/g.tsv"}) {
    const Folder folder(fmt::format("{{\"options\": {{\"gates\": {{\"file\": \"{}\"}}}}}}", name));
    const std::string error = error_of([&] { folder.make("probe"); });
    EXPECT_NE(error.find("options.gates: '" + std::string(name) + "' is no name of a file beside"),
              std::string::npos)
        << error;
  }
}

TEST(Profile, ValuesWithAZeroByteAreRefusedInAWholeLine) {
  for (const char* value : {R"({"file": "g.tsv\u0000x"})", R"("g.tsv\u0000x")"}) {
    const Folder folder(fmt::format("{{\"options\": {{\"gates\": {}}}}}", value));
    const std::string error = error_of([&] { folder.make("probe"); });
    EXPECT_NE(error.find("g.tsv\\x00x' holds a zero byte"), std::string::npos) << error;
  }
}

TEST(Profile, MakesNoMethodWriteFiles) {
  for (const auto& [method, options] : std::vector<std::pair<const char*, const char*>>{
           {"minference", R"("save": "found.json")"},
           {"trianglemix", R"("dense": "minference", "dense_options": "save=found.json")"}}) {
    const TempFolder folder;
    folder.write(fmt::format("{}.json", method), fmt::format("{{\"options\": {{{}}}}}", options));
    ModelShape shape = small_shape(1, 1, 1, 32);
    shape.profile_prefix = (folder.path() / "").string();
    const std::string error = error_of([&, name = method] { MethodSpec::parse(name).make(shape); });
    EXPECT_NE(error.find(fmt::format("{}.json: options.", method)), std::string::npos) << error;
    EXPECT_NE(error.find("a profile makes no method write files"), std::string::npos) << error;
  }
}

TEST(Profile, ATextThatSpeaksOfSavingWritesNothing) {
  const Folder folder(R"({"options": {"gates": "save=1"}})");
  folder.make("probe");
  EXPECT_EQ(probed.gates, "save=1");
}

/// A profile comes with a model, from wherever that was fetched: a plain text is no path.
TEST(Profile, APlainTextNamesNoFile) {
  for (const auto& [method, options] : std::vector<std::pair<const char*, const char*>>{
           {"duo", R"("gates": "/etc/passwd")"},
           {"duo", R"("gates": "gates.tsv")"},
           {"minference", R"("patterns": "p.json")"},
           {"xattention", R"("thresholds": "/dev/zero")"},
           {"trianglemix", R"("dense": "minference", "dense_options": "patterns=/etc/passwd")"},
       }) {
    const TempFolder folder;
    folder.write(fmt::format("{}.json", method), fmt::format("{{\"options\": {{{}}}}}", options));
    ModelShape shape = small_shape(1, 1, 1, 32);
    shape.profile_prefix = (folder.path() / "").string();
    const std::string error = error_of([&, name = method] { MethodSpec::parse(name).make(shape); });
    EXPECT_NE(error.find(fmt::format("{}.json: options.", method)), std::string::npos) << error;
    EXPECT_NE(error.find("a profile names files beside it only, as {\"file\": NAME}"),
              std::string::npos)
        << error;
  }
}

TEST(Profile, AWordThatIsNoFileIsAPlainText) {
  const TempFolder folder;
  folder.write("minference.json", R"({"options": {"patterns": "search"}})");
  ModelShape shape = small_shape(1, 1, 1, 32);
  shape.profile_prefix = (folder.path() / "").string();
  EXPECT_NO_THROW(MethodSpec::parse("minference").make(shape));
}

TEST(Profile, APartWritesWhereTheUserSaysSoHimself) {
  const TempFolder folder;
  folder.write("trianglemix.json",
               R"({"options": {"dense": "minference", "dense_options": "patterns=search"}})");
  ModelShape shape = small_shape(1, 1, 1, 32);
  shape.profile_prefix = (folder.path() / "").string();
  EXPECT_NO_THROW(MethodSpec::parse("trianglemix").make(shape));
  EXPECT_NO_THROW(
      MethodSpec::parse("trianglemix:dense_options=patterns=search+save=found.json").make(shape));
  EXPECT_NO_THROW(MethodSpec::parse("trianglemix:dense=full").make(shape));  // the file is not used
}

TEST(Profile, AFileOfAPartIsPartOfTheFingerprint) {
  const TempFolder folder;
  ModelShape shape = small_shape(1, 1, 1, 32);
  shape.profile_prefix = (folder.path() / "").string();
  const auto print = [&](const std::string& file, const char* contents) {
    folder.write("minference.json", R"({"options": {"patterns": {"file": "p.json"}}})");
    folder.write(file, contents);
    return MethodSpec::parse("trianglemix:dense=minference").for_model(shape).fingerprint();
  };
  const uint64_t one = print("p.json", "[1]");
  EXPECT_EQ(print("p.json", "[1]"), one);
  EXPECT_NE(print("p.json", "[2]"), one);
}

TEST(Profile, SaysWhatAnOptionDependsOn) {
  const Folder folder(R"({"options": {"deep": true, "depth": 3}})");
  folder.make("probe:depth=4");
  EXPECT_EQ(probed.depth, 4);
  folder.make("probe:deep=false");  // the profile's depth is not used
  EXPECT_EQ(probed.depth, 1);
  EXPECT_EQ(error_of([&] { folder.make("probe:deep=false,depth=4"); }),
            "--attention probe: depth has no effect with deep=false");
  const Folder without(R"({"options": {}})");
  EXPECT_EQ(error_of([&] { without.make("probe:depth=4"); }),
            "--attention probe: depth has no effect with deep=false");
}

TEST(Profile, TheTextSaysWhatDiffersFromTheBareNameForThisModel) {
  const Folder folder(R"({"options": {"share": 0.25}})");
  const auto text = [&](const char* given) {
    return MethodSpec::parse(given, kMethod).for_model(folder.shape).text();
  };
  EXPECT_EQ(text("probe"), "probe");
  // This is the default, but not the profile's value.
  EXPECT_EQ(text("probe:share=0.5"), "probe:share=0.5");
  EXPECT_EQ(text("probe:share=0.25"), "probe");
  EXPECT_EQ(text("probe:deep=true"), "probe:deep=true");
  EXPECT_EQ(MethodSpec::parse("probe:share=0.5", kMethod).text(), "probe");
}

TEST(Profile, AnOptionMayDependOnAnotherOnesValue) {
  const Folder folder(
      R"({"options": {"share": 0.25, "deep": true}, "only_with": {"share": "deep=true"}})");
  folder.make("probe");
  EXPECT_EQ(probed.share, 0.25);
  folder.make("probe:deep=false");
  EXPECT_EQ(probed.share, 0.5);
  folder.make("probe:deep=false,share=0.75");
  EXPECT_EQ(probed.share, 0.75);
  const auto profile_text = [&](const char* given) {
    return MethodSpec::parse(given, kMethod).for_model(folder.shape).profile_text();
  };
  EXPECT_EQ(profile_text("probe"), "deep=true,share=0.25");
  EXPECT_EQ(profile_text("probe:share=0.5"), "deep=true");
  EXPECT_EQ(profile_text("probe:deep=false"), "");
}

/// The method is part of another method, which has its own defaults for it.
TEST(Profile, ReplacesAnotherDefaultToo) {
  const Folder with(R"({"options": {"share": 0.25}})"), without(R"({"options": {}})");
  const auto make = [](const char* text, const ModelShape& shape) {
    MethodSpec spec = MethodSpec::parse(text, kMethod);
    spec.set_default("share", "0.75");
    spec.make(shape);
    return probed.share;
  };
  EXPECT_EQ(make("probe", without.shape), 0.75);
  EXPECT_EQ(make("probe", with.shape), 0.25);
  EXPECT_EQ(make("probe:share=0.5", with.shape), 0.5);
}

TEST(Profile, ThereNeedBeNone) {
  const TempFolder folder;
  EXPECT_TRUE(read_profile((folder.path() / "").string(), "probe").empty());
  EXPECT_TRUE(read_profile("", "probe").empty());
}

TEST(Profile, NamesWhatIsWrongInIt) {
  const auto refused = [](const char* json) {
    const Folder folder(json);
    return error_of([&] { folder.make("probe"); });
  };
  EXPECT_NE(refused("{}").find("\"options\""), std::string::npos);
  EXPECT_NE(refused(R"({"options": {"shade": 1}})").find("did you mean 'share'"),
            std::string::npos);
  EXPECT_NE(refused(R"({"options": {"share": 7}})").find("share=7: must be"), std::string::npos);
  EXPECT_NE(refused(R"({"options": {"share": 7}})").find("probe.json"), std::string::npos);
  EXPECT_NE(refused(R"({"options": {"share": [1]}})").find("options.share"), std::string::npos);
  EXPECT_NE(refused(R"({"options": {"share": 0.1}, "only_with": {"deep": "share=0.1"}})")
                .find("only_with.'deep'"),
            std::string::npos);
  EXPECT_NE(
      refused(R"({"options": {"share": 0.1}, "only_with": {"share": "deep"}})").find("KEY=VALUE"),
      std::string::npos);
  for (const char* json : {"{}", "{", "[]", R"({"options": {"share": [1]}})"}) {
    EXPECT_EQ(refused(json).find("--attention probe: /"), 0u) << json;
  }
}

}  // namespace
}  // namespace longhaul
