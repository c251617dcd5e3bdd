// Pipes in place of files, and files that change while they are read.

#include "base/regular_file.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

#include "base/byte_stream.h"
#include "base/error_of.h"
#include "base/mapped_file.h"
#include "format/temp_folder.h"

namespace longhaul {
namespace {

namespace fs = std::filesystem;
using testing_support::error_of;
using testing_support::TempFolder;

TEST(RegularFile, PipesAndSocketsAreRefusedWithoutWaiting) {
  const TempFolder folder;
  const fs::path pipe = folder.path() / "pipe", socket_file = folder.path() / "socket";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const int listener = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  std::strncpy(address.sun_path, socket_file.c_str(), sizeof address.sun_path - 1);
  ASSERT_EQ(bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  for (const fs::path& path : {pipe, socket_file, folder.path(), fs::path("/dev/zero")}) {
    EXPECT_EQ(error_of([&] { MappedFile file(path); }), path.string() + ": not a regular file");
    EXPECT_EQ(error_of([&] { ByteReader file(path); }), path.string() + ": not a regular file");
  }
  close(listener);
}

TEST(RegularFile, ALinkToAFileIsThatFile) {
  const TempFolder folder;
  const fs::path file = folder.write("file", "text");
  fs::create_symlink(file, folder.path() / "link");
  EXPECT_EQ(MappedFile(folder.path() / "link").bytes().size(), 4u);
}

TEST(RegularFile, ReadsWithABound) {
  const TempFolder folder;
  const fs::path file = folder.write("file", "text"), pipe = folder.path() / "pipe";
  EXPECT_EQ(read_regular_file(file, 4), "text");
  EXPECT_EQ(error_of([&] { read_regular_file(file, 3); }),
            file.string() + ": has 4 bytes; at most 3 are read");
  EXPECT_EQ(read_regular_file(folder.write("empty", ""), 0), "");
  EXPECT_FALSE(read_regular_file("/proc/self/status", 1 << 20).empty());  // has no size
  EXPECT_NE(error_of([] { read_regular_file("/proc/self/status", 10); }), "");
  fs::resize_file(folder.write("huge", ""), uintmax_t{1} << 40);  // a sparse file
  EXPECT_EQ(read_if_regular(folder.path() / "huge", 1 << 20), std::nullopt);
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(read_if_regular(pipe, 10), std::nullopt);
  EXPECT_EQ(read_if_regular("/dev/zero", 10), std::nullopt);
  EXPECT_EQ(read_if_regular(folder.path() / "none", 10), std::nullopt);
  EXPECT_EQ(read_if_regular(file, 10), "text");
}

TEST(RegularFile, OwnFilesAreNoLinks) {
  const TempFolder folder;
  const fs::path file = folder.write("file", "text"), link = folder.path() / "link";
  close(open_own_file(folder.path() / "new"));
  EXPECT_TRUE(fs::exists(folder.path() / "new"));
  fs::create_symlink(file, link);
  EXPECT_EQ(error_of([&] { open_own_file(link); }), link.string() + ": not a regular file");
  fs::remove(link);
  fs::create_symlink(folder.path() / "nowhere", link);
  EXPECT_EQ(error_of([&] { open_own_file(link); }), link.string() + ": not a regular file");
  EXPECT_FALSE(fs::exists(folder.path() / "nowhere"));
  fs::remove(link);
  fs::create_hard_link(file, link);
  EXPECT_EQ(error_of([&] { open_own_file(link); }), link.string() + ": has other names too");
  const fs::path pipe = folder.path() / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(error_of([&] { open_own_file(pipe); }), pipe.string() + ": not a regular file");
  EXPECT_NE(error_of([&] { open_own_file(folder.path()); }), "");
}

/// Reads the last byte of a mapping whose file was truncated before.
[[noreturn]] void read_what_is_gone(const fs::path& file) {
  const MappedFile other(fs::path("/proc/self/exe"));
  const MappedFile mapped(file);
  fs::resize_file(file, 10);
  volatile auto last = mapped.bytes().back();
  _exit(last == std::byte{'x'} ? 1 : 0);
}

TEST(MappedFile, AFileThatShrinksIsNamed) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  const TempFolder folder;
  const fs::path file = folder.write("m\x1b.gguf", std::string(100'000, 'x'));
  EXPECT_EXIT(read_what_is_gone(file), testing::ExitedWithCode(2),
              "error: .*m[?].gguf: became shorter, or could not be read, while it was in use\n$");
}

TEST(MappedFile, AMappingThatIsGoneIsNotBlamed) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  const TempFolder folder;
  const fs::path file = folder.write("m.gguf", std::string(100'000, 'x'));
  const auto raise_after = [&file] {
    { const MappedFile mapped(file); }
    raise(SIGBUS);
    raise(SIGBUS);
  };
  EXPECT_EXIT(raise_after(), testing::KilledBySignal(SIGBUS), "^$");
}

}  // namespace
}  // namespace longhaul
