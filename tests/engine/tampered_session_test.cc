// Session files with a correct checksum and wrong numbers. They are refused with one line, and the
// session is unchanged.

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/byte_stream.h"
#include "base/error.h"
#include "engine/session.h"
#include "format/temp_folder.h"

namespace longhaul {
namespace {

namespace fs = std::filesystem;

class TamperedSession : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    model_ = Engine::open(fs::path(LONGHAUL_TEST_DATA) / "tiny_models/llama_linear");
  }
  static void TearDownTestSuite() { model_.reset(); }

  static Session session(const char* method) {
    SessionOptions options;
    options.attention = MethodSpec::parse(method);
    options.chunk = 16;
    return Session(model_, options);
  }

  /// The file of a context of 61 tokens, without its checksum.
  std::string saved(const char* method) const {
    Session s = session(method);
    std::vector<int32_t> tokens;
    for (int i = 0; i < 61; ++i) tokens.push_back(3 + i * i % 250);
    PrefillHooks hooks;
    hooks.instruction = 5;
    s.prefill(tokens, hooks);
    s.save(path());
    std::ifstream in(path(), std::ios::binary);
    std::string file(std::istreambuf_iterator<char>(in), {});
    file.resize(file.size() - 8);
    return file;
  }

  /// The refusal of the file, without its name.
  std::string refusal(const char* method, const std::string& file) const {
    ByteWriter out(path());
    out.bytes(file.data(), file.size());
    out.finish();
    Session s = session(method);
    try {
      s.load(path());
    } catch (const UserError& error) {
      EXPECT_TRUE(s.tokens().empty());
      EXPECT_EQ(s.store().longest(), 0);
      const std::string line = error.what();
      EXPECT_EQ(line.find(path().string() + ": "), 0u) << line;
      EXPECT_EQ(line.find('\n'), std::string::npos);
      return line.substr(path().string().size() + 2);
    }
    return "";
  }

  /// Offset of the store, which follows the method's own state.
  static size_t store_at(const std::string& file) {
    const size_t at = file.rfind(std::string("\4\0\0\0\0\0\0\0BF16", 12));
    EXPECT_NE(at, std::string::npos);
    return at;
  }
  /// The file with `number` in place of the 8 bytes from `at` on.
  static std::string with(std::string file, size_t at, int64_t number) {
    EXPECT_LE(at + sizeof number, file.size());
    std::memcpy(file.data() + at, &number, sizeof number);
    return file;
  }
  static int64_t number_at(const std::string& file, size_t at) {
    int64_t number = 0;
    std::memcpy(&number, file.data() + at, sizeof number);
    return number;
  }

  fs::path path() const { return folder_.path() / "session"; }

  testing_support::TempFolder folder_;
  inline static std::shared_ptr<const Engine> model_;
};

TEST_F(TamperedSession, RowsThatAMethodCountsAreThoseOfTheStore) {
  for (const char* method : {"citrus:k=16,chunk=8", "h2o:budget=24,stride=8,sink=2,recent=4"}) {
    const std::string file = saved(method);
    EXPECT_EQ(refusal(method, file), "");
    const size_t at = store_at(file) - 8;
    const int64_t held = number_at(file, at);
    EXPECT_GT(held, 8);
    EXPECT_LT(held, 61);
    for (const int64_t number : {int64_t{-1}, held + 1, int64_t{1} << 40}) {
      EXPECT_EQ(refusal(method, with(file, at, number)),
                fmt::format("damaged: layer 0 keeps {} rows in list 0, expected {}", held, number));
    }
  }
}

TEST_F(TamperedSession, TheStoreIsOfTheContext) {
  const std::string file = saved("dense");
  // Layout: type, head dimension, two layers of two heads; then length and tokens of the first
  // list.
  const size_t length = store_at(file) + 12 + 4 + 8 + 2 * 4;
  ASSERT_EQ(number_at(file, length), 61);
  EXPECT_EQ(refusal("dense", with(file, length + 8, 62)),
            "damaged: layer 0 has seen 62 tokens in list 0, the context has 61");
  EXPECT_NE(refusal("dense", with(file, length, 60)), "");
  const size_t tokens = length + 16;  // an empty list, no columns, offloaded rows
  const size_t tier = tokens + 8 + 4;
  ASSERT_EQ(number_at(file, tokens), 0);
  ASSERT_EQ(number_at(file, tier + 8), 0);
  EXPECT_EQ(refusal("dense", with(file, tier + 8, 62)),
            "damaged: KV store with impossible rows in the slower tier");
}

TEST_F(TamperedSession, TheHeaderSaysWhatCanBe) {
  const std::string file = saved("dense");
  const size_t tokens = file.find(std::string("BF16\x3d\0\0\0\0\0\0\0", 12)) + 4;
  const size_t angles = tokens + 8 + 61 * 4;
  ASSERT_EQ(number_at(file, angles), 61);
  EXPECT_EQ(refusal("dense", with(file, angles, -1)),
            "says that it was read as a context of -1 tokens");
  EXPECT_EQ(refusal("dense", with(file, tokens + 8, 264)),
            "holds token 264, which the model does not have");
  EXPECT_NE(refusal("dense", with(file, angles + 8, 263)).find("264 tokens"), std::string::npos);
  for (const size_t count : {tokens, angles + 8}) {
    EXPECT_EQ(refusal("dense", with(file, count, int64_t{1} << 61)), "damaged: ends too early");
  }
  EXPECT_EQ(refusal("dense", file + "x"), "1 bytes too many");
  EXPECT_EQ(refusal("dense", with(file, 0, 7)), "not a session file of longhaul");
  std::string other = file;
  other.replace(file.find("dense"), 5, "de\nse");
  EXPECT_EQ(refusal("dense", other),
            "was saved with --attention 'de\\x0ase', this session uses dense");
}

TEST_F(TamperedSession, AnOlderTextWithoutLaterOptionsIsTheSameMethod) {
  const char* method = "ltri:block=4,chunk=8,last=8,n_init=4,n_local=16";
  const std::string now = "ltri:block=4,chunk=8,form=paper,last=8,n_init=4,n_local=16";
  const auto said = [](const std::string& text) {
    const uint64_t length = text.size();
    return std::string(reinterpret_cast<const char*>(&length), sizeof length) + text;
  };
  std::string file = saved(method);
  file.replace(file.find(said(now)), said(now).size(), said(method));
  EXPECT_EQ(refusal(method, file), "");
  EXPECT_EQ(refusal("ltri:block=4,chunk=8,last=8,n_init=4,n_local=15", file),
            fmt::format("was saved with --attention {}, this session uses "
                        "ltri:block=4,chunk=8,form=paper,last=8,n_init=4,n_local=15",
                        method));
}

TEST_F(TamperedSession, OtherFilesAreNoDamagedSessions) {
  for (const char* text : {"%PDF-1.4 and more", "GGUF\3\1\1\1 and more"}) {
    const auto file = folder_.write("other", text);
    try {
      session("dense").load(file);
      ADD_FAILURE() << text;
    } catch (const UserError& error) {
      EXPECT_EQ(std::string(error.what()), file.string() + ": not a session file of longhaul");
    }
  }
}

}  // namespace
}  // namespace longhaul
