// Facts in session files, and files of other versions.

#include "engine/session_about.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "base/byte_stream.h"
#include "base/error.h"
#include "engine/sequence_run.h"
#include "format/temp_folder.h"

namespace longhaul {
namespace {

using testing_support::read;
using testing_support::runner;
using testing_support::sequence_of;

class SessionAboutTest : public ::testing::Test {
 protected:
  SessionAboutTest() : sequence_(sequence_of("dense")), with_(runner()) {
    std::vector<int32_t> tokens;
    for (int32_t i = 0; i < 100; ++i) tokens.push_back(300 + i * 37 % 3000);
    read(sequence_, tokens, with_);
    about_ = {"nano", "-f 'a b.pdf'", 100, 250, {{"a b.pdf", 900, true, {{0, "On ships"}}}}};
  }

  testing_support::TempFolder folder_;
  Sequence sequence_;
  ModelRunner with_;
  SessionAbout about_;
};

TEST_F(SessionAboutTest, FactsAreReadAsTheyWereWritten) {
  const auto file = folder_.path() / "file";
  save_with_about(sequence_, file, about_);
  const SessionAbout got = read_about(file);
  EXPECT_EQ(got.model, "nano");
  EXPECT_EQ(got.reads, "-f 'a b.pdf'");
  EXPECT_EQ(got.held, 100);
  EXPECT_EQ(got.whole, 250);
  EXPECT_TRUE(got.incomplete());
  ASSERT_EQ(got.texts.size(), 1u);
  EXPECT_EQ(got.texts[0].name, "a b.pdf");
  EXPECT_EQ(got.texts[0].bytes, 900u);
  EXPECT_TRUE(got.texts[0].in_paragraphs);
  ASSERT_EQ(got.texts[0].headings.size(), 1u);
  EXPECT_EQ(got.texts[0].headings[0].text, "On ships");
  Sequence loaded = sequence_of("dense");
  loaded.load(file);
  EXPECT_TRUE(std::ranges::equal(loaded.tokens(), sequence_.tokens()));
}

/// Files of versions 8 and 10 state nothing, and are loaded as before.
TEST_F(SessionAboutTest, OlderVersionsStateNothing) {
  const auto plain = folder_.path() / "plain", whole = folder_.path() / "whole";
  sequence_.save(plain);
  sequence_.save_after(whole, {});
  for (const auto& file : {plain, whole}) {
    EXPECT_TRUE(read_about(file).model.empty());
    EXPECT_FALSE(read_about(file).incomplete());
    Sequence loaded = sequence_of("dense");
    loaded.load(file);
    EXPECT_TRUE(std::ranges::equal(loaded.tokens(), sequence_.tokens()));
  }
}

TEST_F(SessionAboutTest, DamagedFactsAreRefused) {
  const auto file = folder_.path() / "file";
  save_with_about(sequence_, file, about_);
  std::ifstream in(file, std::ios::binary);
  const std::string good(std::istreambuf_iterator<char>(in), {});
  constexpr size_t kLength = 16, kText = 24;
  const auto refused_with = [&](size_t at, char value) {
    std::string bad = good;
    bad[at] = value;
    std::ofstream(file, std::ios::binary) << bad;
    EXPECT_THROW(read_about(file), UserError) << at;
  };
  refused_with(kLength + 7, '\x7f');  // longer than any file
  refused_with(kLength, '\0');
  refused_with(kText, '[');
  refused_with(kText + 2, 'H');  // another member in place of "held"
  std::ofstream(file, std::ios::binary) << good.substr(0, kText + 4);
  EXPECT_THROW(read_about(file), UserError);
}

TEST(SessionTexts, AreDividedWhereTheFactsFit) {
  const std::vector<Document> documents = {{"a.txt", "First.\n", "", {}, false},
                                           {"b.txt", "\n", "", {}, false},
                                           {"c.html", "Third.", "", {}, true}};
  SessionAbout about;
  about.texts = saved_texts(documents);
  ASSERT_EQ(about.texts.size(), 2u) << "an empty text is no part of a prompt";
  auto parts = split_loaded_text("First.\n\nThird.", about, "the file");
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0].name, "a.txt");
  EXPECT_EQ(parts[0].text, "First.");
  EXPECT_EQ(parts[1].name, "c.html");
  EXPECT_EQ(parts[1].text, "Third.");
  EXPECT_TRUE(parts[1].in_paragraphs);

  parts = split_loaded_text("First.\n\nThird. And more.", about, "the file");
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_EQ(parts[0].name, "the file");
  about.held = 1;
  about.whole = 9;
  parts = split_loaded_text("First.\n\nTh", about, "the file");
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[1].text, "Th");
  parts = split_loaded_text("Fir", about, "the file");
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_EQ(parts[0].name, "a.txt");
  about.texts[0].bytes = static_cast<size_t>(-1);  // a hostile file
  EXPECT_EQ(split_loaded_text("First.", about, "the file").size(), 1u);
}

}  // namespace
}  // namespace longhaul
