// Files that are replaced atomically, and the files left after a failure.

#include "base/durable_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <vector>

#include "base/file_size_limit.h"
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

}  // namespace
}  // namespace longhaul
