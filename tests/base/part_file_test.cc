#include "base/part_file.h"

#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "base/byte_stream.h"
#include "base/durable_file.h"
#include "format/temp_folder.h"

namespace longhaul {
namespace {

namespace fs = std::filesystem;
using testing_support::TempFolder;

size_t files_in(const fs::path& folder) {
  return static_cast<size_t>(std::distance(fs::directory_iterator(folder), {}));
}

std::string file_text(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(PartFile, ItIsPutInPlaceOrGone) {
  const TempFolder folder;
  const fs::path target = folder.path() / "a";
  {
    auto part = PartFile::create(target);
    ASSERT_TRUE(part);
    EXPECT_EQ(part->path().filename().string().size(), 1 + kPartNameBytes);
    EXPECT_EQ(files_in(folder.path()), 1u);
  }
  EXPECT_EQ(files_in(folder.path()), 0u);
  auto part = PartFile::create(target);
  ASSERT_EQ(write(part->get(), "text", 4), 4);
  ASSERT_TRUE(part->put_in_place(target));
  part.reset();
  EXPECT_EQ(file_text(target), "text");
}

/// Links at the names that partial files had in earlier versions are not followed.
TEST(PartFile, LinksLaidInTheWayAreNotFollowed) {
  const TempFolder folder;
  const fs::path victim = folder.write("victim", "precious");
  for (const char* name : {"s.longhaul-part", "s.new"}) {
    fs::create_symlink(victim, folder.path() / name);
  }
  {
    ByteWriter out(folder.path() / "s");
    out.number(1);
    out.finish();
  }
  replace_file(folder.path() / "s", "text");
  EXPECT_EQ(file_text(victim), "precious");
  EXPECT_EQ(file_text(folder.path() / "s"), "text");
}

TEST(PartFile, TheTargetItselfMayBeALinkWhichIsReplaced) {
  const TempFolder folder;
  const fs::path victim = folder.write("victim", "precious"), target = folder.path() / "s";
  fs::create_symlink(victim, target);
  replace_file(target, "text");
  EXPECT_EQ(file_text(victim), "precious");
  EXPECT_FALSE(fs::is_symlink(target));
}

TEST(PartFile, WhatAKilledProcessLeftIsTakenAwayAndWhatIsBeingWrittenIsNot) {
  const TempFolder folder;
  folder.write("s.0123abcd.longhaul-part", "left over");
  const fs::path other = folder.write("t.0123abcd.longhaul-part", "of another target");
  const fs::path link = folder.path() / "s.00000000.longhaul-part";
  fs::create_symlink(other, link);
  auto first = PartFile::create(folder.path() / "s");
  auto second = PartFile::create(folder.path() / "s");
  ASSERT_TRUE(first && second);
  EXPECT_TRUE(fs::exists(first->path()));
  EXPECT_TRUE(fs::exists(second->path()));
  EXPECT_NE(first->path(), second->path());
  EXPECT_FALSE(fs::exists(folder.path() / "s.0123abcd.longhaul-part"));
  EXPECT_TRUE(fs::exists(other));
  EXPECT_TRUE(fs::is_symlink(link));
}

TEST(PartFile, SaversOfOnePathDoNotFailEachOther) {
  const TempFolder folder;
  const fs::path target = folder.path() / "s";
  std::vector<std::thread> savers;
  for (int t = 0; t < 4; ++t) {
    savers.emplace_back([&target, t] {
      for (int i = 0; i < 40; ++i) {
        ByteWriter out(target);
        for (int n = 0; n < 100; ++n) out.number(t);
        EXPECT_NO_THROW(out.finish());
      }
    });
  }
  for (std::thread& saver : savers) saver.join();
  ByteReader in(target);  // the file of one saver, complete
  const int whose = in.number<int>();
  for (int n = 1; n < 100; ++n) EXPECT_EQ(in.number<int>(), whose);
  EXPECT_EQ(files_in(folder.path()), 1u);
}

TEST(PartFolder, ItIsPutInPlaceOrGoneWithWhatIsInIt) {
  const TempFolder folder;
  const fs::path target = folder.path() / "a";
  {
    auto part = PartFolder::create(target);
    ASSERT_TRUE(part);
    replace_file(part->path() / "x", "text");
    EXPECT_FALSE(fs::exists(target));
  }
  EXPECT_EQ(files_in(folder.path()), 0u);
  auto part = PartFolder::create(target);
  replace_file(part->path() / "x", "text");
  ASSERT_TRUE(part->put_in_place(target));
  part.reset();
  EXPECT_EQ(file_text(target / "x"), "text");
  auto second = PartFolder::create(target);
  EXPECT_FALSE(second->put_in_place(target)) << "what is there stays";
  EXPECT_EQ(errno, EEXIST);
}

TEST(PartFolder, WhatAKilledProcessLeftIsTakenAwayAndWhatIsInUseIsNot) {
  const TempFolder folder;
  const fs::path target = folder.path() / "a";
  const fs::path left = folder.path() / "a.0123abcd.longhaul-part";
  const fs::path precious = folder.write("precious", "text");
  fs::create_directory(left);
  fs::create_symlink(precious, left / "link");
  const auto used = PartFolder::create(target);
  EXPECT_FALSE(fs::exists(left));
  EXPECT_EQ(file_text(precious), "text");
  const auto other = PartFolder::create(target);
  EXPECT_TRUE(fs::exists(used->path()));
  EXPECT_NE(used->path(), other->path());
}

}  // namespace
}  // namespace longhaul
