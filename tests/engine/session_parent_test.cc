// Session files of version 10, whose first rows are in another file.

#include <gtest/gtest.h>
#include <xxhash.h>

#include <algorithm>
#include <fstream>

#include "base/error.h"
#include "engine/sequence_run.h"
#include "format/temp_folder.h"

namespace longhaul {
namespace {

using testing_support::decode;
using testing_support::logits_of;
using testing_support::read;
using testing_support::runner;
using testing_support::same_bits;
using testing_support::sequence_of;

std::vector<int32_t> text_of(size_t count) {
  std::vector<int32_t> tokens;
  for (size_t i = 0; i < count; ++i) tokens.push_back(static_cast<int32_t>(300 + i * 37 % 3000));
  return tokens;
}

class SessionParentTest : public ::testing::Test {
 protected:
  SessionParentTest() : whole_(sequence_of("dense")), part_(sequence_of("dense")), with_(runner()) {
    read(part_, std::span(text_).first(kParent), with_);
    whole_ = part_.clone();
    read(whole_, std::span(text_).subspan(kParent), with_);
  }

  void expect_equal(Sequence& loaded) {
    ASSERT_TRUE(std::ranges::equal(loaded.tokens(), whole_.tokens()));
    ASSERT_TRUE(same_bits(logits_of(loaded), logits_of(whole_)));
    Sequence original = whole_.clone();
    const auto expected = decode(original, with_, 5), got = decode(loaded, with_, 5);
    for (size_t i = 0; i < expected.size(); ++i) EXPECT_TRUE(same_bits(got[i], expected[i]));
  }

  /// Writes `file` again after a change, with a correct checksum.
  void change(const std::filesystem::path& file, size_t at, uint8_t value) const {
    std::ifstream in(file, std::ios::binary);
    std::string bytes(std::istreambuf_iterator<char>(in), {});
    bytes.resize(bytes.size() - 8);
    bytes[at] = static_cast<char>(value);
    const XXH64_hash_t hash = XXH3_64bits(bytes.data(), bytes.size());
    bytes.append(reinterpret_cast<const char*>(&hash), sizeof hash);
    std::ofstream(file, std::ios::binary) << bytes;  // without ByteWriter's wait for the disk
  }

  static constexpr size_t kParent = 150;  // ends within a page
  testing_support::TempFolder folder_;
  const std::vector<int32_t> text_ = text_of(400);
  Sequence whole_, part_;
  ModelRunner with_;
};

TEST_F(SessionParentTest, AChildHasOnlyTheRowsAfterItsParent) {
  const auto child = folder_.path() / "child", all = folder_.path() / "all";
  whole_.save_after(child, {kParent, "parent"});
  whole_.save_after(all, {});
  const auto ratio = static_cast<double>(std::filesystem::file_size(child)) /
                     static_cast<double>(std::filesystem::file_size(all));
  EXPECT_NEAR(ratio, (400.0 - kParent) / 400.0, 0.02);
  Sequence loaded = sequence_of("dense");
  loaded.load_after(child, part_);
  expect_equal(loaded);
  Sequence longer = sequence_of("dense");
  longer.load_after(child, whole_);  // a longer sequence has the parent's rows too
  expect_equal(longer);
  EXPECT_EQ(part_.tokens().size(), kParent) << "the parent is unchanged";
  Sequence alone = sequence_of("dense");
  alone.load(all);
  expect_equal(alone);
}

TEST_F(SessionParentTest, OlderVersionsStayReadable) {
  const auto file = folder_.path() / "old";
  whole_.save(file);
  Sequence loaded = sequence_of("dense");
  loaded.load(file);
  expect_equal(loaded);
  Sequence again = sequence_of("dense");
  again.load_after(file, part_);  // it needs no parent
  expect_equal(again);
}

TEST_F(SessionParentTest, AChildNeedsItsOwnParent) {
  const auto child = folder_.path() / "child";
  whole_.save_after(child, {kParent, "parent"});
  Sequence alone = sequence_of("dense");
  EXPECT_THROW(alone.load(child), UserError);
  Sequence short_parent = sequence_of("dense"), other = sequence_of("dense");
  read(short_parent, std::span(text_).first(kParent - 1), with_);
  EXPECT_THROW(alone.load_after(child, short_parent), UserError);
  auto changed = text_;
  changed[20] += 1;
  read(other, std::span(changed).first(kParent), with_);
  EXPECT_THROW(alone.load_after(child, other), UserError);
  EXPECT_TRUE(alone.tokens().empty());
}

TEST_F(SessionParentTest, AMethodThatEvictedIsSavedWhole) {
  Sequence evicted = sequence_of("snapkv:capacity=64,window=16");
  EXPECT_TRUE(evicted.can_leave_out());
  read(evicted, text_, with_);
  EXPECT_FALSE(evicted.can_leave_out());
  const auto file = folder_.path() / "evicted";
  evicted.save_after(file, {});
  Sequence loaded = sequence_of("snapkv:capacity=64,window=16");
  loaded.load(file);
  EXPECT_TRUE(same_bits(logits_of(loaded), logits_of(evicted)));
}

TEST_F(SessionParentTest, AnotherChunkIsRefused) {
  const auto file = folder_.path() / "file";
  whole_.save_after(file, {});
  SessionOptions options = whole_.options();
  options.chunk = 128;
  Sequence loaded(testing_support::short_nano(), options);
  EXPECT_THROW(loaded.load(file), UserError);
}

/// Every byte of the header, changed: the file is refused, or nothing breaks.
TEST_F(SessionParentTest, ChangedHeadersAreRefusedOrHarmless) {
  const auto child = folder_.path() / "child";
  whole_.save_after(child, {kParent, "parent"});
  std::ifstream in(child, std::ios::binary);
  const std::string good(std::istreambuf_iterator<char>(in), {});
  int refused = 0;
  for (size_t at = 8; at < 160; ++at) {
    std::ofstream(child, std::ios::binary) << good;
    change(child, at, static_cast<uint8_t>(good[at] ^ 0x5a));
    Sequence loaded = sequence_of("dense");
    try {
      loaded.load_after(child, part_);
    } catch (const UserError&) {
      ++refused;
      EXPECT_TRUE(loaded.tokens().empty());
    }
  }
  EXPECT_GT(refused, 80);
}

}  // namespace
}  // namespace longhaul
