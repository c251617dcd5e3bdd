#include "format/gguf_metadata.h"

#include <gtest/gtest.h>

#include <span>

#include "format/gguf_builder.h"
#include "format/gguf_reader.h"
#include "format/temp_folder.h"

namespace longhaul {
namespace {

using testing_support::error_of;
using testing_support::GgufBuilder;
using testing_support::has;

/// Keeps the bytes that the metadata refers to.
struct Parsed {
  std::string bytes;
  GgufFile file;
  explicit Parsed(const GgufBuilder& builder)
      : bytes(builder.build()), file(read_gguf(std::as_bytes(std::span(bytes)), "m.gguf")) {}
  const GgufMetadata* operator->() const { return &file.metadata; }
};

TEST(GgufMetadata, TakesEveryIntegerType) {
  const Parsed m(GgufBuilder()
                     .number("u8", GgufType::kU8, uint8_t{200})
                     .number("i8", GgufType::kI8, int8_t{-3})
                     .number("u16", GgufType::kU16, uint16_t{60000})
                     .number("i16", GgufType::kI16, int16_t{-300})
                     .number("u32", GgufType::kU32, uint32_t{4000000000})
                     .number("i32", GgufType::kI32, int32_t{32})
                     .number("u64", GgufType::kU64, uint64_t{1} << 63)
                     .number("i64", GgufType::kI64, int64_t{-1}));
  EXPECT_EQ(m->get_u64("u8"), 200u);
  EXPECT_EQ(m->get_u64("u16"), 60000u);
  EXPECT_EQ(m->get_u64("u32"), 4000000000u);
  EXPECT_EQ(m->get_u64("i32"), 32u);
  EXPECT_EQ(m->get_u64("u64"), uint64_t{1} << 63);
  EXPECT_EQ(m->get_i64("i8"), -3);
  EXPECT_EQ(m->get_i64("i16"), -300);
  EXPECT_EQ(m->get_i64("i64"), -1);
  EXPECT_EQ(m->get_i64("u32"), 4000000000);
  EXPECT_EQ(m->get_f64("i16"), -300.0);
  EXPECT_TRUE(has(error_of([&] { (void)m->get_u64("i64"); }), {"m.gguf", "'i64'", "-1"}));
  EXPECT_TRUE(has(error_of([&] { (void)m->get_i64("u64"); }), {"'u64'", "too large"}));
}

TEST(GgufMetadata, FloatsStringsAndBools) {
  const Parsed m(GgufBuilder()
                     .number("f32", GgufType::kF32, 0.5f)
                     .number("f64", GgufType::kF64, 1e-5)
                     .number("yes", GgufType::kBool, uint8_t{1})
                     .number("no", GgufType::kBool, uint8_t{0})
                     .text("name", "a b")
                     .text("empty", ""));
  EXPECT_EQ(m->get_f64("f32"), 0.5);
  EXPECT_EQ(m->get_f64("f64"), 1e-5);
  EXPECT_TRUE(m->get_bool("yes"));
  EXPECT_FALSE(m->get_bool("no"));
  EXPECT_EQ(m->get_string("name"), "a b");
  EXPECT_EQ(m->get_string("empty"), "");
  EXPECT_EQ(m->entries().size(), 6u);
  EXPECT_EQ(m->entries()[4].key, "name");
}

TEST(GgufMetadata, AbsentKeys) {
  const Parsed m{GgufBuilder()};
  EXPECT_FALSE(m->find_u64("k"));
  EXPECT_FALSE(m->find_i64("k"));
  EXPECT_FALSE(m->find_f64("k"));
  EXPECT_FALSE(m->find_bool("k"));
  EXPECT_FALSE(m->find_string("k"));
  EXPECT_FALSE(m->find_array("k"));
  EXPECT_FALSE(m->find_strings("k"));
  EXPECT_FALSE(m->find_integers("k"));
  EXPECT_FALSE(m->find_floats("k"));
  EXPECT_FALSE(m->find_u64_per_layer("k", 3));
  const std::string error = error_of([&] { (void)m->get_string("general.architecture"); });
  EXPECT_TRUE(has(error, {"m.gguf", "'general.architecture'", "missing"}));
}

TEST(GgufMetadata, WrongTypesNameWhatWasFound) {
  const Parsed m(GgufBuilder()
                     .text("s", "x")
                     .u32("n", 1)
                     .number("f", GgufType::kF32, 1.5f)
                     .strings("a", {"x", "y"}));
  EXPECT_TRUE(has(error_of([&] { (void)m->get_u64("s"); }), {"'s'", "string", "an integer"}));
  EXPECT_TRUE(has(error_of([&] { (void)m->get_u64("f"); }), {"'f'", "f32", "an integer"}));
  EXPECT_TRUE(has(error_of([&] { (void)m->get_f64("s"); }), {"'s'", "string", "a number"}));
  EXPECT_TRUE(has(error_of([&] { (void)m->get_string("n"); }), {"'n'", "u32", "string"}));
  EXPECT_TRUE(has(error_of([&] { (void)m->get_bool("n"); }), {"'n'", "u32", "bool"}));
  EXPECT_TRUE(has(error_of([&] { (void)m->get_u64("a"); }), {"'a'", "array of 2 string"}));
  EXPECT_TRUE(has(error_of([&] { (void)m->find_strings("n"); }), {"'n'", "u32", "array"}));
  EXPECT_TRUE(has(error_of([&] { (void)m->find_floats("a"); }), {"'a'", "array of numbers"}));
  EXPECT_TRUE(has(error_of([&] { (void)m->find_integers("a"); }), {"'a'", "array of integers"}));
}

TEST(GgufMetadata, ArraysAreViewsOfTheFile) {
  const Parsed m(GgufBuilder()
                     .strings("tokens", {"<s>", "", "\xc4\xa0the"})
                     .array<float>("scores", GgufType::kF32, {-1.5f, 0.0f})
                     .array<int32_t>("types", GgufType::kI32, {3, -1})
                     .array<uint64_t>("empty", GgufType::kU64, {}));
  const auto tokens = *m->find_strings("tokens");
  ASSERT_EQ(tokens.size(), 3u);
  EXPECT_EQ(tokens[0], "<s>");
  EXPECT_EQ(tokens[1], "");
  EXPECT_EQ(tokens[2], "\xc4\xa0the");
  EXPECT_GE(tokens[2].data(), m.bytes.data());
  EXPECT_LT(tokens[2].data(), m.bytes.data() + m.bytes.size());
  EXPECT_EQ(*m->find_floats("scores"), (std::vector<float>{-1.5f, 0.0f}));
  EXPECT_EQ(*m->find_integers("types"), (std::vector<int64_t>{3, -1}));
  EXPECT_EQ(*m->find_floats("types"), (std::vector<float>{3, -1}));
  EXPECT_TRUE(m->find_integers("empty")->empty());
  EXPECT_EQ(m->get_array("tokens").count, 3u);
  EXPECT_EQ(m->get_array("tokens").element, GgufType::kString);
}

TEST(GgufMetadata, OneNumberOrOnePerLayer) {
  const Parsed m(GgufBuilder()
                     .u32("one", 8)
                     .array<uint32_t>("each", GgufType::kU32, {8, 4, 2})
                     .array<int32_t>("bad", GgufType::kI32, {8, -4, 2}));
  EXPECT_EQ(*m->find_u64_per_layer("one", 3), (std::vector<uint64_t>{8, 8, 8}));
  EXPECT_EQ(*m->find_u64_per_layer("each", 3), (std::vector<uint64_t>{8, 4, 2}));
  EXPECT_TRUE(has(error_of([&] { (void)m->find_u64_per_layer("each", 4); }),
                  {"'each'", "3 elements", "4 layers"}));
  EXPECT_TRUE(
      has(error_of([&] { (void)m->find_u64_per_layer("bad", 3); }), {"'bad'", "element 1", "-4"}));
  EXPECT_TRUE(has(error_of([&] { (void)m->find_u64_per_layer("one", uint64_t{1} << 60); }),
                  {"layers", "at most"}));
}

TEST(GgufMetadata, Describes) {
  const Parsed m(GgufBuilder()
                     .text("s", "line\nnext")
                     .number("b", GgufType::kBool, uint8_t{1})
                     .array<int32_t>("a", GgufType::kI32, {1, 2, 3, 4, 5})
                     .raw("nested", 9, std::string("\x09\0\0\0\0\0\0\0\0\0\0\0", 12)));
  EXPECT_EQ(m->describe(m->entries()[0]), "'line\\x0anext'");
  EXPECT_EQ(m->describe(m->entries()[1]), "true");
  EXPECT_EQ(m->describe(m->entries()[2]), "5 i32 [1, 2, 3, 4, ...]");
  EXPECT_EQ(m->describe(m->entries()[3]), "0 array []");
}

}  // namespace
}  // namespace longhaul
