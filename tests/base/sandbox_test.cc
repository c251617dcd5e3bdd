#include "base/sandbox.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <optional>

#include "base/durable_file.h"
#include "base/error_of.h"
#include "base/parallel.h"
#include "format/temp_folder.h"

namespace longhaul {
namespace {

namespace fs = std::filesystem;
using testing_support::TempFolder;

constexpr const char *kOwn = "LONGHAUL_TEST_OWN", *kOther = "LONGHAUL_TEST_OTHER";

bool can_write(const fs::path& file) {
  const int opened = open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (opened >= 0) close(opened);
  return opened >= 0;
}

/// Runs in a process of its own, which cannot return. Each failed check has its own exit status.
[[noreturn]] void stay_inside(const fs::path& own, const fs::path& other) {
  setenv("TMPDIR", own.c_str(), 1);
  const Sandbox sandbox = enter_sandbox({own});
  if (!sandbox.calls) _exit(1);
  if (sandbox.files && (can_write(other / "new") || can_write(other / "there"))) _exit(2);
  if (sandbox.files && (unlink((other / "there").c_str()) == 0 || errno != EACCES)) _exit(3);
  if (!std::ifstream(other / "there")) _exit(4);
  if (!testing_support::error_if_any([&] { replace_file(own / "file", "text"); }).empty()) _exit(5);
  if (socket(AF_INET, SOCK_STREAM, 0) >= 0 || errno != EPERM) _exit(6);
  if (syscall(SYS_fork) >= 0 || errno != EPERM) _exit(7);
  if (execl("/bin/true", "true", nullptr) == 0 || errno != EPERM) _exit(8);
  set_thread_count(3);  // threads are not processes
  std::atomic<int> sum{0};
  parallel_for(100, [&](int64_t i, int) { sum += static_cast<int>(i); });
  if (sum != 4950) _exit(9);
  _exit(sandbox.description().find("seccomp, set up in ") != std::string::npos ? 0 : 10);
}

TEST(Sandbox, ReadsEverythingWritesWhereItMayAndStartsNothing) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  // The sandboxed process runs this test from the beginning, in the same two folders.
  std::optional<TempFolder> own, other;
  if (std::getenv(kOwn) == nullptr) {
    setenv(kOwn, own.emplace().path().c_str(), 1);
    setenv(kOther, other.emplace().path().c_str(), 1);
    other->write("there", "text");
  }
  const fs::path inside = std::getenv(kOwn), outside = std::getenv(kOther);
  EXPECT_EXIT(stay_inside(inside, outside), testing::ExitedWithCode(0), "");
  EXPECT_TRUE(fs::exists(inside / "file"));
  EXPECT_TRUE(fs::exists(outside / "there"));
  EXPECT_FALSE(fs::exists(outside / "new"));
  unsetenv(kOwn);
}

}  // namespace
}  // namespace longhaul
