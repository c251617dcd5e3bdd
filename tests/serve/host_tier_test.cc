// The tier of the prefix cache in host memory beside a device.

#include <gtest/gtest.h>
#include <unistd.h>

#include "format/temp_folder.h"
#include "scheduler_fixture.h"

namespace longhaul::serve {
namespace {

using testing_support::CacheServer;
using testing_support::LastReport;
using testing_support::text_of;
using testing_support::operator+;
using Tokens = std::vector<int32_t>;

constexpr size_t kToken = 1024;  // bytes

/// A server whose device has room for `cached` tokens in the cache, and whose host has room for
/// `on_host` tokens.
class HostServer : public CacheServer {
 public:
  explicit HostServer(size_t cached, size_t on_host, int move_polls = 3)
      : CacheServer(settings_of(on_host, move_polls), options_of(cached)) {}

  /// Until all copies have ended.
  void settle() {
    for (int i = 0; i < 400; ++i) scheduler.turn();
  }
  double returned() const {
    return metrics.value("longhaul_host_copied_bytes_total", "to=\"device\"");
  }
  double from_host() const {
    return metrics.value("longhaul_prompt_tokens_total", "source=\"host\"");
  }
  double read() const { return metrics.value("longhaul_prompt_tokens_total", "source=\"read\""); }

 private:
  static MockSettings settings_of(size_t on_host, int move_polls) {
    MockSettings settings;
    settings.bytes_per_token = kToken;
    settings.host_memory = on_host * kToken;
    settings.move_polls = move_polls;
    return settings;
  }
  static SchedulerOptions options_of(size_t cached) {
    SchedulerOptions options;
    options.cache_memory = cached * kToken;
    return options;
  }
};

TEST(HostTier, AnEvictedSnapshotComesBack) {
  HostServer server(2'500, 100'000);
  const Tokens a = text_of(2'000, 1), b = text_of(2'000, 2);
  server.answer(a);
  server.settle();
  EXPECT_EQ(server.engine.host_use().in_use, 0U) << "there is room on the device";
  server.answer(b);
  server.settle();
  EXPECT_GE(server.engine.host_use().in_use, 2'000 * kToken);
  EXPECT_LE(server.engine.live_bytes(), 2'500 * kToken);
  EXPECT_GT(server.metrics.value("longhaul_evicted_bytes_total", "to=\"host\""), 0);
  EXPECT_EQ(server.metrics.value("longhaul_evicted_bytes_total", "to=\"nowhere\""), 0);
  EXPECT_GE(server.metrics.value("longhaul_kv_bytes", "state=\"host\""), 2'000.0 * kToken);

  const JobReport again = server.answer(a + text_of(40, 3));
  EXPECT_EQ(again.cache.reused, 2'000);
  EXPECT_EQ(server.from_host(), 2'000);
  EXPECT_EQ(server.read(), 4'040);
}

/// A conversation is a chain of snapshots that share pages. All of it leaves before anything of a
/// prompt that is worth more.
TEST(HostTier, AChainLeavesAsAWhole) {
  HostServer server(3'000, 100'000, 20);
  const Tokens a = text_of(2'000, 1), b = text_of(2'000, 2);
  server.answer(a);
  server.answer(a + text_of(40, 3));
  server.answer(b, "", [](Job& job) { job.cache_seconds = 1e6; });
  server.settle();
  EXPECT_LE(server.engine.live_bytes(), 3'000 * kToken);
  EXPECT_LE(server.engine.host_use().in_use, 2'200 * kToken) << "what they share is copied once";
  EXPECT_EQ(server.answer(b + text_of(40, 4)).cache.reused, 2'000);
  EXPECT_EQ(server.from_host(), 0);
  EXPECT_EQ(server.answer(a + text_of(40, 5)).cache.reused, 2'000);
  EXPECT_EQ(server.from_host(), 2'000);
}

TEST(HostTier, LimitsHoldAndWhatSavesLeastIsDropped) {
  HostServer server(2'500, 6'000);
  for (unsigned i = 0; i < 12; ++i) {
    const auto sink = server.send(text_of(2'000, i));
    while (!server.scheduler.idle()) {
      server.scheduler.turn();
      ASSERT_LE(server.engine.host_use().in_use, 6'000 * kToken);
    }
    EXPECT_EQ(sink->error.status, 0) << sink->error.message;
    server.settle();
    ASSERT_LE(server.engine.live_bytes(), 2'500 * kToken);
  }
  EXPECT_GE(server.engine.host_use().in_use, 2'000 * kToken);
  EXPECT_EQ(server.answer(text_of(2'000, 10) + text_of(40, 99)).cache.reused, 2'000);
  EXPECT_EQ(server.answer(text_of(2'000, 1) + text_of(40, 99)).cache.reused, 0);
}

TEST(HostTier, OneCopyServesTwoRequests) {
  HostServer server(2'500, 100'000, 20);
  const Tokens a = text_of(2'000, 1);
  server.answer(a);
  server.answer(text_of(2'000, 2));
  server.settle();
  const auto one = server.send(a + text_of(40, 3)), two = server.send(a + text_of(40, 4));
  server.run();
  EXPECT_EQ(one->report.cache.reused, 2'000);
  EXPECT_EQ(two->report.cache.reused, 2'000);
  EXPECT_LT(server.returned(), 2'100.0 * kToken);
}

TEST(HostTier, OtherRepliesContinueMeanwhile) {
  HostServer server(2'500, 100'000, 1'000);
  const Tokens a = text_of(2'000, 1);
  server.answer(a);
  server.answer(text_of(2'000, 2));
  for (int i = 0; i < 3'000; ++i) server.scheduler.turn();
  const auto other = server.send(text_of(20, 9), "", [](Job& job) { job.reply.max_tokens = 100; });
  const auto waits = server.send(a + text_of(40, 3));
  while (!other->ended) server.scheduler.turn();
  EXPECT_FALSE(waits->ended) << "its snapshot is still being copied";
  EXPECT_EQ(other->report.reply_tokens, 100);
  server.run();
  EXPECT_EQ(waits->report.cache.reused, 2'000);
}

TEST(HostTier, AClientThatLeavesDoesNotEndTheCopy) {
  HostServer server(2'500, 100'000, 50);
  const Tokens a = text_of(2'000, 1);
  server.answer(a);
  server.answer(text_of(2'000, 2));
  server.settle();
  Job* job = nullptr;
  const auto left = server.send(a + text_of(40, 3), "", [&](Job& j) { job = &j; });
  for (int i = 0; i < 5; ++i) server.scheduler.turn();
  job->cancel.request();
  server.run();
  EXPECT_EQ(left->error.code, "cancelled");
  server.settle();
  EXPECT_EQ(server.answer(a + text_of(40, 4)).cache.reused, 2'000);
}

TEST(HostTier, ConversationsOfOneDocumentShareItsCopy) {
  HostServer server(10'000, 100'000);
  const Tokens document = text_of(4'000, 1);
  for (unsigned i = 0; i < 16; ++i) server.answer(document + text_of(100, 10 + i));
  server.settle();
  for (unsigned i = 0; i < 6; ++i) {
    server.answer(text_of(7'000, 90 + i));
    server.settle();
  }
  const size_t everything = (4'000 + 16 * 120 + 6 * 7'020) * kToken;
  EXPECT_GT(server.engine.host_use().in_use, 4'000 * kToken);
  EXPECT_LE(server.engine.host_use().in_use, everything);
  // They also share it after they have come back.
  const double before = server.returned();
  for (unsigned i = 3; i < 6; ++i) {
    const JobReport report = server.answer(document + text_of(100, 10 + i) + text_of(30, 7));
    EXPECT_EQ(report.cache.reused, 4'100) << i;
  }
  EXPECT_LE(server.engine.live_bytes(), 10'000 * kToken);
  EXPECT_GT(server.returned(), before);
}

TEST(HostTier, AFailedCopyIsAsIfThereWereNoTier) {
  MockSettings settings;
  settings.bytes_per_token = kToken;
  settings.host_memory = 100'000 * kToken;
  settings.moves_fail = true;
  SchedulerOptions options;
  options.cache_memory = 2'500 * kToken;
  CacheServer server(settings, options);
  const Tokens a = text_of(2'000, 1);
  server.answer(a);
  server.answer(text_of(2'000, 2));
  for (int i = 0; i < 100; ++i) server.scheduler.turn();
  EXPECT_LE(server.engine.live_bytes(), 2'500 * kToken);
  EXPECT_EQ(server.engine.host_use().in_use, 0U);
  EXPECT_EQ(server.answer(a + text_of(40, 3)).cache.reused, 0);
}

/// A reply without a limit needs more memory at once: nothing waits for a copy.
TEST(HostTier, RequestsThatNeedMemoryWaitForCopies) {
  MockSettings settings;
  settings.bytes_per_token = kToken;
  settings.host_memory = 100'000 * kToken;
  settings.move_polls = 10;
  SchedulerOptions options;
  options.memory_limit = 5'000 * kToken;
  options.cache_memory = 5'000 * kToken;
  CacheServer server(settings, options);
  const Tokens a = text_of(3'000, 1);
  server.answer(a);
  const auto next = server.send(text_of(3'000, 2));
  while (!server.scheduler.idle()) {
    server.scheduler.turn();
    ASSERT_LE(server.engine.live_bytes(), 5'000 * kToken + 4 * kToken);
  }
  EXPECT_EQ(next->error.status, 0) << next->error.message;
  EXPECT_GE(server.engine.host_use().in_use, 3'000 * kToken);
  EXPECT_EQ(server.answer(a + text_of(40, 3)).cache.reused, 3'000);
}

TEST(HostTier, FilesAreWrittenFromTheHostAndLoadedThere) {
  const longhaul::testing_support::TempFolder folder;
  const Tokens prompt = text_of(5'000, 1);
  {
    HostServer server(100'000, 1);
    server.scheduler.open_disk({.folder = folder.path(), .fingerprint = 7, .load_speed = 1e9});
    server.answer(prompt);
    for (int quiet = 0; quiet < 50; ++quiet) {
      server.engine.pass(1);
      if (server.scheduler.turn()) quiet = 0;
      usleep(2000);
    }
    EXPECT_GT(server.metrics.value("longhaul_cache_written_bytes_total"), 0);
    EXPECT_EQ(server.engine.host_use().in_use, 0U) << "the copies for files have ended";
  }
  HostServer server(100'000, 1);
  server.scheduler.open_disk({.folder = folder.path(), .fingerprint = 7, .load_speed = 1e9});
  const auto sink = server.send(prompt + text_of(40, 2));
  for (int i = 0; i < 5'000 && !sink->ended; ++i) {
    if (!server.scheduler.turn()) usleep(1000);
  }
  EXPECT_EQ(sink->report.cache.reused, 5'000);
  EXPECT_EQ(server.metrics.value("longhaul_prompt_tokens_total", "source=\"disk\""), 5'000);
  EXPECT_EQ(server.engine.host_use().in_use, 0U);
}

TEST(HostTier, AServerMayEndDuringCopies) {
  HostServer server(2'500, 100'000, 1'000);
  server.answer(text_of(2'000, 1));
  server.answer(text_of(2'000, 2));
  server.scheduler.turn();
}

}  // namespace
}  // namespace longhaul::serve
