// Files that are replaced atomically, and the files left after a failure.

#include "base/durable_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <thread>
#include <vector>

#include "base/file_size_limit.h"
#include "base/mapped_file.h"
#include "format/temp_folder.h"

namespace longhaul {
namespace {

namespace fs = std::filesystem;
using testing_support::error_of;
using testing_support::FileSizeLimit;
using testing_support::has;
using testing_support::TempFolder;

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

/// Changes the current folder for its lifetime.
class Inside {
 public:
  explicit Inside(const fs::path& folder) : before_(fs::current_path()) {
    fs::current_path(folder);
  }
  ~Inside() { fs::current_path(before_); }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  fs::path before_;
};

TEST(DurableFile, TheWholeTextStandsInPlaceOfTheOther) {
  const TempFolder folder;
  const fs::path path = folder.write("run.json", "a text that was longer");
  replace_file(path, "new");
  EXPECT_EQ(read(path), "new");
  EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"run.json"});
}

TEST(DurableFile, ABareNameIsOneOfTheCurrentFolder) {
  const TempFolder folder;
  {
    const Inside inside(folder.path());
    replace_file("run.json", "text");
    EXPECT_NO_THROW(sync_folder(""));
  }
  EXPECT_EQ(read(folder.path() / "run.json"), "text");
}

TEST(DurableFile, WhereNothingCanBeMadeIsNamed) {
  const TempFolder folder;
  const fs::path file = folder.write("file", "");
  for (const fs::path& parent : {folder.path() / "none", file}) {
    const fs::path path = parent / "run.json";
    EXPECT_TRUE(has(error_of([&] { replace_file(path, "text"); }),
                    {path.string() + ": cannot be written: "}));
    EXPECT_TRUE(
        has(error_of([&] { sync_folder(parent); }), {parent.string() + ": cannot be written: "}));
  }
}

TEST(DurableFile, AFailureLeavesWhatWasThereAndNothingBesideIt) {
  const TempFolder folder;
  const fs::path no_file = folder.path() / "b";
  fs::create_directories(no_file / "c");
  EXPECT_TRUE(has(error_of([&] { replace_file(no_file, "new"); }), {"b: cannot be written"}));
  EXPECT_TRUE(fs::is_directory(no_file / "c"));

  const fs::path too_large = folder.write("d", "old");
  const std::string error = [&] {
    const FileSizeLimit full(4);
    return error_of([&] { replace_file(too_large, "0123456789"); });
  }();
  EXPECT_TRUE(has(error, {"d: cannot be written"}));
  EXPECT_EQ(read(too_large), "old");
  EXPECT_EQ(names_in(folder.path()), (std::vector<std::string>{"b", "d"}));
}

/// A file that became shorter while it was mapped: what is written from it names it, and not the
/// result.
TEST(DurableFile, AShrunkSourceIsNamed) {
  const TempFolder folder;
  const fs::path source = folder.write("base.gguf", std::string(100000, 'a'));
  const MappedFile mapped(source);
  fs::resize_file(source, 10);
  const std::string error = error_of([&] {
    replace_file(folder.path() / "out",
                 {reinterpret_cast<const char*>(mapped.bytes().data()), mapped.bytes().size()});
  });
  EXPECT_TRUE(has(error, {"base.gguf: became shorter, or could not be read"})) << error;
  EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"base.gguf"});
}

TEST(DurableFileDeathTest, TwoThreadsThatReadAShrunkFileGiveOneLine) {
  const TempFolder folder;
  const fs::path source = folder.write("base.gguf", std::string(1000000, 'a'));
  const MappedFile mapped(source);
  fs::resize_file(source, 10);
  const auto read_all = [&] {
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t) {
      threads.emplace_back([&] {
        const volatile std::byte* const bytes = mapped.bytes().data();
        for (size_t i = 0; i < mapped.bytes().size(); ++i) (void)bytes[i];
      });
    }
    for (std::thread& thread : threads) thread.join();
  };
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(read_all(), testing::ExitedWithCode(2),
              "^error: [^\n]*base.gguf: became shorter[^\n]*\n$");
}

}  // namespace
}  // namespace longhaul
