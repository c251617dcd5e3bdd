// Snapshots on disk: after a restart, with full and read-only folders, damaged files, and sessions.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "base/error.h"
#include "format/temp_folder.h"
#include "scheduler_fixture.h"
#include "serve/cache/disk_store.h"

namespace longhaul::serve {
namespace {

namespace fs = std::filesystem;
using longhaul::testing_support::TempFolder;
using testing_support::CacheServer;
using testing_support::text_of;
using testing_support::operator+;
using Tokens = std::vector<int32_t>;

/// A server with a folder.
class DiskServer : public CacheServer {
 public:
  explicit DiskServer(const fs::path& folder, size_t most = 0, uint64_t fingerprint = 7,
                      MockSettings settings = {})
      : CacheServer(std::move(settings)) {
    scheduler.open_disk({.folder = folder,
                         .most_bytes = most,
                         .fingerprint = fingerprint,
                         .log = [this](const std::string& line) { log += line + "\n"; },
                         .load_speed = 1e9});
  }
  /// Until everything that is worth it is on disk.
  void write_all() {
    for (int quiet = 0; quiet < 30; ++quiet) {
      engine.pass(1);
      if (scheduler.turn()) quiet = 0;
      usleep(2000);
    }
  }
  SessionAnswer session(const std::function<void(Scheduler::SessionDone)>& work) {
    SessionAnswer answer{.error = "no answer"};
    bool done = false;
    scheduler.post([&] {
      work([&](const SessionAnswer& a) {
        answer = a;
        done = true;
      });
    });
    for (int i = 0; i < 2000 && !done; ++i) {
      scheduler.turn();
      usleep(1000);
    }
    return answer;
  }
  std::string log;
};

size_t files_with(const fs::path& folder, const std::string& ending) {
  size_t count = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    count += entry.path().string().ends_with(ending) ? 1 : 0;
  }
  return count;
}

TEST(DiskCache, ADocumentSurvivesARestart) {
  const TempFolder folder;
  const Tokens document = text_of(5'000, 1);
  {
    DiskServer server(folder.path());
    server.answer(document + text_of(40, 2));
    server.write_all();
  }
  EXPECT_GE(files_with(folder.path(), ".session"), 1U);
  DiskServer server(folder.path());
  EXPECT_EQ(server.engine.live_bytes(), 0U) << "loaded when it is needed";
  const JobReport report = server.answer(document + text_of(40, 3));
  EXPECT_EQ(report.cache.reused, 5'000);
  EXPECT_EQ(server.metrics.value("longhaul_prompt_tokens_total", "source=\"read\""), 40);
}

TEST(DiskCache, AnIdleServerSleepsAndWakes) {
  const TempFolder folder;
  SchedulerOptions options;
  options.sleep_after = 5;
  CacheServer server({}, options);
  server.scheduler.open_disk({.folder = folder.path(), .fingerprint = 7, .load_speed = 1e9});
  const Tokens prompt = text_of(1'000, 1);
  server.answer(prompt, "", [](Job& job) { job.pin = "doc_1"; });
  EXPECT_GT(server.engine.live_bytes(), 0U);
  for (int i = 0; i < 2000 && server.engine.live_bytes() > 0; ++i) {
    server.engine.pass(1);
    server.scheduler.turn();
    usleep(1000);
  }
  EXPECT_EQ(server.engine.live_bytes(), 0U);
  EXPECT_EQ(server.answer(prompt + text_of(40, 2)).cache.reused, 1'000);
  EXPECT_GT(server.engine.live_bytes(), 0U);
}

TEST(DiskCache, APinKeepsItsFileUntilItIsUnpinned) {
  const TempFolder folder;
  const Tokens prompt = text_of(1'000, 1);
  {
    DiskServer server(folder.path());
    std::string saved = "not yet";
    server.answer(prompt, "", [&](Job& job) {
      job.pin = "doc_1";
      job.saved = [&](const std::string& error) { saved = error; };
    });
    server.write_all();
    EXPECT_EQ(saved, "");
  }
  {
    DiskServer server(folder.path());
    EXPECT_EQ(server.scheduler.stored_pins().count("doc_1"), 1U);
    EXPECT_EQ(server.answer(prompt + text_of(40, 2)).cache.reused, 1'000);
    server.scheduler.unpin("doc_1");
    server.write_all();
    EXPECT_EQ(files_with(folder.path(), ".session"), 0U) << "with everything that continues it";
  }
  DiskServer server(folder.path());
  EXPECT_TRUE(server.scheduler.stored_pins().empty());
  EXPECT_EQ(server.answer(prompt + text_of(40, 3)).cache.reused, 0);
}

TEST(DiskCache, FilesArePrivate) {
  const TempFolder folder;
  const fs::path inner = folder.path() / "cache";
  DiskServer server(inner);
  server.answer(text_of(1'000, 1));
  server.write_all();
  struct stat info {};
  ASSERT_EQ(stat(inner.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700U);
  for (const auto& entry : fs::directory_iterator(inner)) {
    ASSERT_EQ(stat(entry.path().c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0600U) << entry.path();
  }
}

TEST(DiskCache, OneProcessHasTheFolder) {
  const TempFolder folder;
  DiskServer first(folder.path());
  try {
    DiskServer second(folder.path());
    FAIL() << "the folder is locked";
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find(std::to_string(getpid())), std::string::npos)
        << error.what();
  }
}

TEST(DiskCache, FilesOfAnotherModelAreLeftAlone) {
  const TempFolder folder;
  const Tokens prompt = text_of(1'000, 1);
  {
    DiskServer server(folder.path(), 0, 7);
    server.answer(prompt);
    server.write_all();
  }
  const size_t files = files_with(folder.path(), ".session");
  {
    DiskServer other(folder.path(), 0, 8);
    EXPECT_EQ(other.answer(prompt).cache.reused, 0);
    EXPECT_NE(other.log.find("another model"), std::string::npos);
  }
  EXPECT_EQ(files_with(folder.path(), ".session"), files);
  DiskServer again(folder.path(), 0, 7);
  EXPECT_EQ(again.answer(prompt + text_of(20, 2)).cache.reused, 1'000);
}

TEST(DiskCache, ADamagedFileIsReadAnewAndSetAside) {
  const TempFolder folder;
  const Tokens prompt = text_of(1'000, 1);
  {
    DiskServer server(folder.path());
    server.answer(prompt);
    server.write_all();
  }
  for (const auto& entry : fs::directory_iterator(folder.path())) {
    if (entry.path().extension() != ".session") continue;
    std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(100);
    file.put('\x55');
  }
  DiskServer server(folder.path());
  const JobReport report = server.answer(prompt + text_of(40, 2));
  EXPECT_EQ(report.cache.reused, 0);
  EXPECT_EQ(report.prompt_tokens, 1'040);
  EXPECT_GE(files_with(folder.path(), ".bad"), 1U);
  EXPECT_GE(server.metrics.value("longhaul_cache_damaged_total"), 1);
}

TEST(DiskCache, ALineThatWasCutOffIsLeftOut) {
  const TempFolder folder;
  {
    DiskServer server(folder.path());
    server.answer(text_of(1'000, 1));
    server.write_all();
  }
  std::ofstream(folder.path() / "manifest", std::ios::app) << "{\"op\":\"add\",\"file\":\"s-1";
  std::ofstream(folder.path() / "s-1.session") << "half a file";
  DiskServer server(folder.path());
  EXPECT_FALSE(fs::exists(folder.path() / "s-1.session"));
  EXPECT_EQ(server.answer(text_of(1'000, 1) + text_of(20, 3)).cache.reused, 1'000);
}

TEST(DiskCache, AFolderThatCannotBeWrittenCostsNoReply) {
  const TempFolder folder;
  const fs::path inner = folder.path() / "cache";
  DiskServer server(inner);
  // Also for root, who may write everywhere: a folder stands where the file should be.
  fs::remove_all(inner);
  const JobReport report = server.answer(text_of(1'000, 1));
  EXPECT_EQ(report.reply_tokens, 4);
  server.write_all();
  EXPECT_GE(server.metrics.value("longhaul_cache_write_errors_total"), 1);
  EXPECT_EQ(server.answer(text_of(1'000, 1)).cache.reused, 1'000) << "the memory still has it";
  const SessionAnswer answer =
      server.session([&](auto done) { server.scheduler.save_session("", "", "mine", done); });
  EXPECT_NE(answer.error, "");
}

TEST(DiskCache, TheFolderHasALimit) {
  const TempFolder folder;
  DiskServer server(folder.path(), 3'000'000);
  for (unsigned i = 0; i < 8; ++i) {
    server.answer(text_of(1'000, i));
    server.write_all();
  }
  size_t bytes = 0;
  for (const auto& entry : fs::directory_iterator(folder.path())) {
    if (entry.path().extension() == ".session") bytes += fs::file_size(entry.path());
  }
  EXPECT_LE(bytes, 3'000'000U);
}

/// llama.cpp's #26676: a restored slot was read anew at the next request.
TEST(DiskCache, ARestoredSessionIsReused) {
  const TempFolder folder;
  const Tokens prompt = text_of(2'000, 1);
  const auto named = [](Job& job) { job.conversation = "talk"; };
  {
    DiskServer server(folder.path());
    server.answer(prompt, "", named);
    const SessionAnswer saved =
        server.session([&](auto done) { server.scheduler.save_session("", "talk", "talk", done); });
    EXPECT_EQ(saved.error, "");
    EXPECT_EQ(saved.tokens, 2'003);
  }
  DiskServer server(folder.path());
  const SessionAnswer restored = server.session(
      [&](auto done) { server.scheduler.restore_session("", "talk", "talk", done); });
  EXPECT_EQ(restored.error, "");
  EXPECT_EQ(restored.tokens, 2'003);
  EXPECT_EQ(server.answer(prompt + text_of(50, 2), "", named).cache.reused, 2'000);
  const SessionAnswer unknown = server.session(
      [&](auto done) { server.scheduler.restore_session("", "other", "other", done); });
  EXPECT_TRUE(unknown.missing);
  const SessionAnswer foreign = server.session(
      [&](auto done) { server.scheduler.restore_session("eve", "talk", "talk", done); });
  EXPECT_TRUE(foreign.missing) << "the session of another key";
}

TEST(DiskCache, SessionsAreListedForkedAndErased) {
  const TempFolder folder;
  DiskServer server(folder.path());
  server.answer(text_of(500, 1), "ann", [](Job& job) { job.conversation = "one"; });
  EXPECT_TRUE(server.scheduler.sessions("bob").empty());
  ASSERT_EQ(server.scheduler.sessions("ann").size(), 1U);
  EXPECT_EQ(server.scheduler.sessions("ann")[0].tokens, 503);
  EXPECT_TRUE(server.scheduler.fork_session("ann", "one", "two"));
  EXPECT_FALSE(server.scheduler.fork_session("bob", "one", "two"));
  EXPECT_EQ(server.scheduler.sessions("ann").size(), 2U);
  EXPECT_EQ(server.scheduler.erase_session("ann", "one"), 503);
  EXPECT_EQ(server.scheduler.sessions("ann").size(), 1U) << "the fork has the tokens";
  EXPECT_EQ(server.scheduler.erase_session("ann", "one"), -1);
}

}  // namespace
}  // namespace longhaul::serve
