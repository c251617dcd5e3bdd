#include "base/byte_stream.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <xxhash.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <span>

#include "base/file_size_limit.h"
#include "base/system_info.h"
#include "format/temp_folder.h"

namespace longhaul {
namespace {

using testing_support::error_of;
using testing_support::FileSizeLimit;
using testing_support::has;
using testing_support::TempFolder;

std::string contents(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Writes a file with a correct hash and any contents.
std::filesystem::path sealed(const TempFolder& folder, std::string body) {
  const uint64_t hash = XXH3_64bits(body.data(), body.size());
  body.append(reinterpret_cast<const char*>(&hash), sizeof hash);
  return folder.write("sealed", body);
}

std::filesystem::path written(const TempFolder& folder) {
  const auto path = folder.path() / "file";
  ByteWriter out(path);
  out.number<int32_t>(-7);
  out.text("two words");
  out.array(std::span<const float>(std::vector<float>{1.5f, -2.25f}));
  out.array(std::span<const int32_t>());
  out.number(0.1);
  out.finish();
  return path;
}

std::ptrdiff_t files_in(const TempFolder& folder) {
  return std::distance(std::filesystem::directory_iterator(folder.path()), {});
}

TEST(ByteStream, InMemoryReadsWhatWasWritten) {
  ByteWriter out;
  out.number<int32_t>(-7);
  out.text("two words");
  out.array(std::span<const int32_t>());
  ByteReader in(out.take());
  EXPECT_EQ(in.number<int32_t>(), -7);
  EXPECT_EQ(in.text(), "two words");
  EXPECT_TRUE(in.array<int32_t>().empty());
  EXPECT_EQ(in.remaining(), 0u);
  EXPECT_TRUE(has(error_of([&] { in.number<int32_t>(); }), {"ends too early"}));
}

TEST(ByteStream, ReadsWhatWasWritten) {
  TempFolder folder;
  const auto path = written(folder);
  EXPECT_EQ(files_in(folder), 1) << "no part is left";
  ByteReader in(path);
  EXPECT_EQ(in.path(), path);
  EXPECT_EQ(in.number<int32_t>(), -7);
  EXPECT_EQ(in.text(), "two words");
  EXPECT_EQ(in.array<float>(), (std::vector<float>{1.5f, -2.25f}));
  EXPECT_TRUE(in.array<int32_t>().empty());
  EXPECT_EQ(in.number<double>(), 0.1);
  EXPECT_EQ(in.remaining(), 0u);
  EXPECT_TRUE(has(error_of([&] { in.number<uint8_t>(); }), {path.string(), "ends too early"}));
}

TEST(ByteStream, ReplacesNothingThatIsNoRegularFile) {
  TempFolder folder;
  const auto pipe = folder.path() / "pipe", device = folder.path() / "device";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::filesystem::create_symlink("/dev/null", device);
  for (const auto& path : {pipe, device}) {
    EXPECT_EQ(error_of([&] { ByteWriter out(path); }),
              path.string() + ": cannot write: not a regular file");
  }
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
  EXPECT_TRUE(std::filesystem::is_symlink(device));
}

TEST(ByteStream, TheHashIsXxh3OfAllBytesBeforeIt) {
  TempFolder folder;
  const std::string all = contents(written(folder));
  uint64_t hash;
  std::memcpy(&hash, all.data() + all.size() - sizeof hash, sizeof hash);
  EXPECT_EQ(hash, XXH3_64bits(all.data(), all.size() - sizeof hash));
}

TEST(ByteStream, EveryChangedByteIsNoticed) {
  TempFolder folder;
  const std::string good = contents(written(folder));
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x10);
    const auto path = folder.write("bad", bad);
    EXPECT_EQ(error_of([&] { ByteReader in(path); }),
              path.string() + ": damaged: checksum does not match");
  }
}

TEST(ByteStream, EveryShortenedFileIsNoticed) {
  TempFolder folder;
  const std::string good = contents(written(folder));
  for (size_t size = 0; size < good.size(); ++size) {
    const auto path = folder.write("short", good.substr(0, size));
    EXPECT_TRUE(has(error_of([&] { ByteReader in(path); }), {path.string(), "damaged"})) << size;
  }
}

TEST(ByteStream, ABigFileTakesNoMemoryOfItsSize) {
  TempFolder folder;
  const auto path = folder.path() / "file";
  constexpr int kParts = 128;
  std::vector<std::byte> part(size_t{1} << 20);
  ByteWriter out(path);
  for (int i = 0; i < kParts; ++i) {
    part[0] = static_cast<std::byte>(i);
    out.bytes(part.data(), part.size());
  }
  out.finish();
  const size_t before = peak_resident_bytes();
  ByteReader in(path);
  for (int i = 0; i < kParts; ++i) {
    in.bytes(part.data(), part.size());
    ASSERT_EQ(part[0], static_cast<std::byte>(i));
  }
  EXPECT_EQ(in.remaining(), 0u);
  EXPECT_LT(peak_resident_bytes() - before, part.size() * kParts / 4);
}

TEST(ByteStream, WhatCannotBeReadIsNamed) {
  TempFolder folder;
  const auto missing = folder.path() / "missing";
  EXPECT_EQ(error_of([&] { ByteReader in(missing); }),
            missing.string() + ": cannot open: No such file or directory");
  EXPECT_EQ(error_of([&] { ByteReader in(folder.path()); }),
            folder.path().string() + ": not a regular file");
}

TEST(ByteStream, CountsBeyondTheFileAreRefusedBeforeAllocating) {
  TempFolder folder;
  for (const uint64_t count :
       {uint64_t{3}, uint64_t{1} << 40, uint64_t{1} << 62, std::numeric_limits<uint64_t>::max()}) {
    std::string body(reinterpret_cast<const char*>(&count), sizeof count);
    body += "ab";
    const auto path = sealed(folder, body);
    ByteReader text(path), array(path);
    EXPECT_TRUE(has(error_of([&] { text.text(); }), {"ends too early"}));
    EXPECT_TRUE(has(error_of([&] { array.array<double>(); }), {"ends too early"}));
  }
}

TEST(ByteStream, WithoutFinishNothingIsLeftAndAnOldFileStays) {
  TempFolder folder;
  const auto path = folder.write("file", "old");
  {
    ByteWriter out(path);
    out.text("new");
  }
  EXPECT_EQ(contents(path), "old");
  EXPECT_EQ(files_in(folder), 1) << "no part is left";
}

TEST(ByteStream, AFullDiskIsNamedAndLeavesNothingBehind) {
  TempFolder folder;
  const auto path = folder.path() / "file";
  const std::string big(8 << 20, 'x');
  // One fails in bytes(), the other in finish().
  for (const std::string& data : {big, std::string("small")}) {
    const FileSizeLimit full(3);
    EXPECT_EQ(error_of([&] {
                ByteWriter out(path);
                out.text(data);
                out.finish();
              }),
              path.string() + ": cannot write: File too large");
    EXPECT_EQ(files_in(folder), 0);
  }
}

TEST(ByteStream, AFolderThatIsMissingOrInTheWayIsNamed) {
  TempFolder folder;
  const auto missing = folder.path() / "no" / "file";
  EXPECT_EQ(error_of([&] { ByteWriter out(missing); }),
            missing.string() + ": cannot write: No such file or directory");
  const auto taken = folder.path() / "taken";
  std::filesystem::create_directory(taken);
  EXPECT_TRUE(has(error_of([&] { ByteWriter(taken).finish(); }), {taken.string(), "directory"}));
  EXPECT_EQ(files_in(folder), 1);
}

}  // namespace
}  // namespace longhaul
