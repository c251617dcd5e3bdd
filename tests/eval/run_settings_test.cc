// A run that continues in a folder does not trust the run.json in it.

#include "eval/run_settings.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/error_of.h"
#include "format/temp_folder.h"

namespace longhaul {
namespace {

using nlohmann::ordered_json;

void begin_run(const std::filesystem::path& folder, const ordered_json& run) {
  make_run_folder(folder);
  write_run(folder, has_begun(folder) ? continued_run(folder, run) : run);
}

ordered_json run() {
  ordered_json run = {{"openings", "both"}, {"samples", 20}, {"settings", ordered_json::object()}};
  run["tasks"] = ordered_json::array({{{"name", "needle"}}});
  run["methods"] = {"dense"};
  run["lengths"] = {4096};
  run["conditions"] = {{"seed", 7}};
  return run;
}

/// The refusal to begin run() in a folder whose run.json has `key` set to `value`; empty if
/// accepted.
std::string refusal(const char* key, const ordered_json& value) {
  const testing_support::TempFolder folder;
  ordered_json held = run();
  held[key] = value;
  folder.write("run.json", held.dump());
  try {
    begin_run(folder.path(), run());
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

TEST(BeginRun, NamesTheOtherModel) {
  const auto of_model = [](const char* name, const char* fingerprint) {
    ordered_json named = run();
    named["model"] = {{"name", name}};
    named["conditions"]["model"] = fingerprint;
    return named;
  };
  const testing_support::TempFolder folder;
  folder.write("run.json", of_model("nano", "12").dump());
  try {
    begin_run(folder.path(), of_model("llama.gguf", "13"));
    FAIL();
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("another model ('nano'; this one is of 'llama.gguf')"),
              std::string::npos)
        << error.what();
  }
}

TEST(BeginRun, NamesTheKeyThatIsOfAnotherKind) {
  EXPECT_EQ(refusal("samples", 5), "");
  for (const char* key : {"tasks", "methods", "lengths"}) {
    for (const ordered_json& value : {ordered_json(5), ordered_json("x"), ordered_json(nullptr)}) {
      EXPECT_NE(
          refusal(key, value)
              .find(fmt::format("run.json: key '{}' is '{}', expected a list", key, value.dump())),
          std::string::npos)
          << refusal(key, value);
    }
  }
  EXPECT_NE(refusal("settings", "x").find("key 'settings' is '\"x\"', expected an object"),
            std::string::npos);
  EXPECT_NE(refusal("commands", {"longhaul eval", 5})
                .find("key 'commands' is '[\"longhaul eval\",5]', expected a list of texts"),
            std::string::npos);
  for (const char* key : {"command", "build"}) {
    EXPECT_NE(refusal(key, 5).find(fmt::format("key '{}' is '5', expected a text", key)),
              std::string::npos);
  }
  EXPECT_NE(refusal("openings", 5).find("key 'openings' is '5', expected a text"),
            std::string::npos);
  for (const ordered_json& value :
       {ordered_json(1e300), ordered_json(-1), ordered_json(UINT64_MAX), ordered_json("20")}) {
    EXPECT_NE(refusal("samples", value).find("key 'samples' is "), std::string::npos);
  }
}

/// run.json after run(), with `key` set to `value`, has begun in the folder.
ordered_json begun(const testing_support::TempFolder& folder, const char* key,
                   const std::string& value) {
  ordered_json now = run();
  now[key] = value;
  begin_run(folder.path(), now);
  std::ifstream in(folder.path() / "run.json");
  return ordered_json::parse(in);
}

using Texts = std::vector<std::string>;

TEST(BeginRun, KeepsEveryCommandOnce) {
  const testing_support::TempFolder folder;
  EXPECT_EQ(begun(folder, "command", "a")["commands"], (Texts{"a"}));
  EXPECT_EQ(begun(folder, "command", "b")["commands"], (Texts{"a", "b"}));
  const ordered_json again = begun(folder, "command", "a");
  EXPECT_EQ(again["commands"], (Texts{"a", "b"}));
  EXPECT_EQ(again["command"], "a") << "the last one";
}

TEST(BeginRun, TakesOverTheOneCommandOfEarlierVersions) {
  const testing_support::TempFolder folder;
  ordered_json held = run();
  held["command"] = "old";
  folder.write("run.json", held.dump());
  EXPECT_EQ(begun(folder, "command", "new")["commands"], (Texts{"old", "new"}));
}

/// The refusal of run() in a folder that contains it. `held` and `now` are additional keys of its
/// task.
std::string task_refusal(const char* held, const char* now) {
  const testing_support::TempFolder folder;
  ordered_json first = run(), second = run();
  first["tasks"][0].update(ordered_json::parse(held));
  second["tasks"][0].update(ordered_json::parse(now));
  begin_run(folder.path(), first);
  return testing_support::error_if_any([&] { begin_run(folder.path(), second); });
}

TEST(BeginRun, ATaskKeepsItsRuleAndTheFilesThatItReads) {
  using testing_support::has;
  EXPECT_EQ(task_refusal(R"({"rule": "a", "source": "books"})", R"({"rule": "a", "source": "b"})"),
            "");
  EXPECT_TRUE(has(task_refusal(R"({"rule": "a"})", R"({"rule": "b"})"),
                  {"\"needle\" with another rule", R"('"a"')", "--out"}));
  EXPECT_TRUE(has(task_refusal(R"({"rule": 5})", R"({"rule": "b"})"), {"another rule", "'5'"}));
  EXPECT_TRUE(has(task_refusal("{}", R"({"contents": "1f"})"),
                  {"\"needle\" with other essays, or none", "--data", "--out"}));
  EXPECT_NE(task_refusal(R"({"contents": "1f"})", "{}"), "");
  EXPECT_NE(task_refusal(R"({"contents": "1f"})", R"({"contents": "2f"})"), "");
  EXPECT_EQ(task_refusal(R"({"contents": "1f"})", R"({"contents": "1f"})"), "");
  EXPECT_EQ(task_refusal(R"({"name": "fact", "rule": "a"})", R"({"rule": "b"})"), "");
}

TEST(BeginRun, RecordsWithoutARunAreRefusedButNotTheFileThatLocks) {
  const testing_support::TempFolder folder;
  folder.write("samples.jsonl", "");
  EXPECT_FALSE(has_begun(folder.path()));
  folder.write("samples.jsonl", "{");
  EXPECT_TRUE(testing_support::has(testing_support::error_of([&] { has_begun(folder.path()); }),
                                   {folder.path().string(), "without run.json"}));
  folder.write("run.json", run().dump());
  EXPECT_TRUE(has_begun(folder.path()));
}

TEST(BeginRun, TellsOfBuildsThatAreOthers) {
  const testing_support::TempFolder folder;
  ordered_json now = run();
  begin_run(folder.path(), now);
  EXPECT_EQ(other_builds(folder.path(), now), "") << "this one is not known";
  now["build"] = "c1";
  EXPECT_EQ(other_builds(folder.path(), now), "unknown");
  const testing_support::TempFolder known;
  begin_run(known.path(), now);
  EXPECT_EQ(other_builds(known.path(), now), "");
  now["build"] = "c2";
  EXPECT_EQ(other_builds(known.path(), now), "c1");
  begin_run(known.path(), now);
  EXPECT_EQ(other_builds(known.path(), now), "");
  now["build"] = "c";
  EXPECT_EQ(other_builds(known.path(), now), "c1, c2");
}

TEST(BeginRun, NamesEveryBuildAndRefusesNone) {
  const testing_support::TempFolder known;
  EXPECT_EQ(begun(known, "build", "c1d3045")["build"], "c1d3045");
  EXPECT_EQ(begun(known, "build", "c1d3045")["build"], "c1d3045");
  const testing_support::TempFolder folder;
  begin_run(folder.path(), run());  // begun by a program without the key
  EXPECT_EQ(begun(folder, "build", "c1d3045")["build"], "unknown, c1d3045");
  EXPECT_EQ(begun(folder, "build", "c1")["build"], "unknown, c1d3045, c1");
  EXPECT_EQ(begun(folder, "build", "c1d3045")["build"], "unknown, c1d3045, c1");
}

}  // namespace
}  // namespace longhaul
