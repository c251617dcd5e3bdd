// Documents that survive a restart.

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "format/temp_folder.h"
#include "serve/mock_server.h"

namespace longhaul::serve {
namespace {

namespace fs = std::filesystem;
using longhaul::testing_support::TempFolder;
using testing_support::Answer;
using testing_support::MockServer;

std::string long_report() {
  std::string text = "[page 1]\n";
  for (int i = 0; i < 200; ++i) text += "Line " + std::to_string(i) + " of the report.\n";
  return text + "[page 2]\nThe end.\n";
}

/// A server with the folder, which a process before it may have used.
class KeepingServer : public MockServer {
 public:
  explicit KeepingServer(const fs::path& folder) : MockServer({}, {}, {}, folder) {}

  Json document_when(const std::string& id, const std::function<bool(const Json&)>& is) {
    Json seen;
    for (int i = 0; i < 1000; ++i) {
      const Answer answer = get("/v1/documents/" + id);
      seen = answer.json();
      if (answer.status != 200 || is(seen)) break;
      usleep(10'000);
    }
    return seen;
  }
  std::string add_kept(const std::string& text) {
    const Answer added = post("/v1/documents", {{"text", text}, {"persist", true}});
    EXPECT_EQ(added.status, 202) << added.body;
    const std::string id = added.json()["id"];
    const Json seen = document_when(id, [](const Json& one) { return one["saved"] == true; });
    EXPECT_EQ(seen["saved"], true) << seen;
    return id;
  }
  Json ask_about(const std::string& id) {
    return post("/v1/chat/completions",
                {{"documents", {id}}, {"messages", {{{"role", "user"}, {"content", "What?"}}}}})
        .json();
  }
};

std::vector<fs::path> files_ending_with(const fs::path& folder, const std::string& ending) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().string().ends_with(ending)) found.push_back(entry.path());
  }
  return found;
}

/// Waits until a file is written or removed by another thread.
bool becomes(const std::function<bool()>& is) {
  for (int i = 0; i < 500 && !is(); ++i) usleep(10'000);
  return is();
}

void damage(const fs::path& path) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(200);
  file.put('\x01');
}

TEST(KeptDocuments, SurviveARestartWithTextMapAndSnapshot) {
  const TempFolder folder;
  std::string id;
  Json before, map;
  {
    KeepingServer server(folder.path());
    id = server.add_kept(long_report());
    before = server.get("/v1/documents/" + id).json();
    map = server.get("/v1/documents/" + id + "/map").json();
    struct stat info {};
    const auto written = [&] {
      // The file is written again after the prefill, with the map.
      return stat((folder.path() / (id + ".document")).c_str(), &info) == 0 &&
             static_cast<size_t>(info.st_size) > long_report().size() + 4 * map["kept"].size();
    };
    EXPECT_TRUE(becomes(written));
    EXPECT_EQ(info.st_mode & 0777, 0600U);
    usleep(200'000);
  }
  KeepingServer server(folder.path());
  const Json list = server.get("/v1/documents").json()["data"];
  ASSERT_EQ(list.size(), 1U);
  EXPECT_EQ(list[0]["id"], id);
  EXPECT_EQ(list[0]["status"], "ready");
  for (const char* same : {"name", "attention", "tokens", "characters", "pages", "kv_bytes"}) {
    EXPECT_EQ(list[0][same], before[same]) << same;
  }
  EXPECT_EQ(server.get("/v1/documents/" + id + "/map").json(), map);
  EXPECT_EQ(server.get("/v1/documents/" + id + "/text").json()["text"], long_report());
  const Json reply = server.ask_about(id);
  EXPECT_GE(reply["longhaul"]["cache"]["reused"].get<int64_t>(),
            before["tokens"].get<int64_t>() - 32)
      << reply;
}

TEST(KeptDocuments, AreReadAgainIfTheirSnapshotIsDamaged) {
  const TempFolder folder;
  std::string id;
  {
    KeepingServer server(folder.path());
    id = server.add_kept(long_report());
    usleep(200'000);
  }
  for (const fs::path& path : files_ending_with(folder.path(), ".session")) damage(path);
  KeepingServer server(folder.path());
  const Json reply = server.ask_about(id);
  EXPECT_EQ(reply["choices"][0]["message"]["content"], server.reply) << reply;
  EXPECT_GE(files_ending_with(folder.path(), ".bad").size(), 1U);
  EXPECT_GE(server.service().metrics().value("longhaul_cache_damaged_total"), 1);
  const Json again = server.document_when(
      id, [](const Json& one) { return one["status"] == "ready" && one["saved"] == true; });
  EXPECT_EQ(again["saved"], true) << again;
}

TEST(KeptDocuments, ADamagedTextIsSetAside) {
  const TempFolder folder;
  {
    KeepingServer server(folder.path());
    server.add_kept(long_report());
    usleep(200'000);
  }
  for (const fs::path& path : files_ending_with(folder.path(), ".document")) damage(path);
  KeepingServer server(folder.path());
  EXPECT_EQ(server.get("/v1/documents").json()["data"].size(), 0U);
  EXPECT_EQ(files_ending_with(folder.path(), ".document").size(), 0U);
  EXPECT_EQ(server.service().metrics().value("longhaul_cache_damaged_total"), 1);
}

TEST(KeptDocuments, DeletionRemovesTheirFiles) {
  const TempFolder folder;
  {
    KeepingServer server(folder.path());
    const std::string id = server.add_kept(long_report());
    server.ask_about(id);
    EXPECT_EQ(server.ask("DELETE", "/v1/documents/" + id, "").status, 200);
    EXPECT_EQ(files_ending_with(folder.path(), ".document").size(), 0U);
    EXPECT_TRUE(becomes([&] { return files_ending_with(folder.path(), ".session").empty(); }));
  }
  KeepingServer server(folder.path());
  EXPECT_EQ(server.get("/v1/documents").json()["data"].size(), 0U);
}

TEST(KeptDocuments, NeedAFolder) {
  MockServer server;
  const Answer refused = server.post("/v1/documents", {{"text", "a"}, {"persist", true}});
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(refused.json()["error"]["param"], "persist");
}

TEST(KeptDocuments, AFolderThatCannotBeWrittenRefusesOnlyThem) {
  const TempFolder folder;
  const fs::path inner = folder.path() / "cache";
  KeepingServer server(inner);
  fs::remove_all(inner);  // also for root, for whom no folder is read-only
  const Answer refused = server.post("/v1/documents", {{"text", "Some words."}, {"persist", true}});
  EXPECT_EQ(refused.status, 507) << refused.body;
  EXPECT_EQ(refused.json()["error"]["code"], "insufficient_storage");
  EXPECT_EQ(server.get("/v1/documents").json()["data"].size(), 0U);
  const Answer other = server.post("/v1/documents", {{"text", "Some words."}});
  EXPECT_EQ(other.status, 202);
  EXPECT_EQ(server.ask_about(other.json()["id"])["choices"][0]["message"]["content"], server.reply);
}

}  // namespace
}  // namespace longhaul::serve
