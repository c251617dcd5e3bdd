#include "format/gguf_reader.h"

#include <gtest/gtest.h>

#include <span>

#include "format/gguf_builder.h"
#include "format/temp_folder.h"

namespace longhaul {
namespace {

using testing_support::error_of;
using testing_support::GgufBuilder;
using testing_support::has;
using testing_support::put;
using testing_support::put_string;

constexpr uint32_t kF32 = 0, kQ4_K = 12, kI32 = 26;
constexpr uint64_t kHuge = uint64_t{1} << 62;

GgufFile read(const std::string& bytes) {
  return read_gguf(std::as_bytes(std::span(bytes)), "x.gguf");
}
std::string failure(const std::string& bytes) {
  return error_of([&] { (void)read(bytes); });
}
std::string failure(const GgufBuilder& builder) { return failure(builder.build()); }

TEST(GgufReader, EveryTypeAndTheOrderOfDimensions) {
  struct Type {
    uint32_t number;
    DType type;
  };
  const std::vector<Type> types = {
      {0, DType::F32},      {1, DType::F16},      {30, DType::BF16},   {2, DType::Q4_0},
      {3, DType::Q4_1},     {6, DType::Q5_0},     {7, DType::Q5_1},    {8, DType::Q8_0},
      {11, DType::Q3_K},    {12, DType::Q4_K},    {13, DType::Q5_K},   {14, DType::Q6_K},
      {20, DType::IQ4_NL},  {23, DType::IQ4_XS},  {10, DType::Q2_K},   {19, DType::IQ1_S},
      {29, DType::IQ1_M},   {16, DType::IQ2_XXS}, {17, DType::IQ2_XS}, {22, DType::IQ2_S},
      {18, DType::IQ3_XXS}, {21, DType::IQ3_S},   {34, DType::TQ1_0},  {35, DType::TQ2_0},
      {39, DType::MXFP4},   {40, DType::NVFP4}};
  ASSERT_EQ(types.size(), static_cast<size_t>(kDTypeCount));
  GgufBuilder builder;
  for (const Type& t : types) {
    builder.tensor(std::string(name_of(t.type)), {512, 3}, t.number, 3 * bytes_of(t.type, 512),
                   static_cast<char>(t.number + 1));
  }
  const std::string bytes = builder.build();
  const GgufFile file = read(bytes);
  ASSERT_EQ(file.list.tensors.size(), types.size());
  for (size_t i = 0; i < types.size(); ++i) {
    const TensorView& tensor = file.list.tensors[i];
    EXPECT_EQ(tensor.type, types[i].type);
    EXPECT_EQ(tensor.name, name_of(types[i].type));
    EXPECT_EQ(tensor.rank, 2);
    EXPECT_EQ(tensor.rows(), 3);
    EXPECT_EQ(tensor.cols(), 512);
    EXPECT_EQ(tensor.data[0], static_cast<std::byte>(types[i].number + 1));
    EXPECT_EQ(tensor.data[tensor.bytes() - 1], static_cast<std::byte>(types[i].number + 1));
  }
}

TEST(GgufReader, AlignmentOfTheFile) {
  const std::string bytes = GgufBuilder()
                                .alignment(64)
                                .tensor("a", {3}, kF32, 12, 1)
                                .tensor("b", {3}, kF32, 12, 2)
                                .build();
  const GgufFile file = read(bytes);
  EXPECT_EQ(file.list.tensors[1].data - file.list.tensors[0].data, 64);
  EXPECT_EQ(file.list.tensors[1].data[11], std::byte{2});
}

TEST(GgufReader, VersionTwoAndAFileWithoutTensors) {
  GgufBuilder builder;
  builder.u32("k", 7);
  builder.version = 2;
  EXPECT_EQ(read(builder.build()).metadata.get_u64("k"), 7u);
}

TEST(GgufReader, PlainIntegersAreListedAsUnreadable) {
  const GgufFile file = read(GgufBuilder().tensor("ids", {4}, kI32, 16).build());
  ASSERT_EQ(file.list.unreadable.size(), 1u);
  EXPECT_EQ(file.list.unreadable[0].name, "ids");
  EXPECT_TRUE(has(file.list.unreadable[0].reason, {"I32", "Q4_K"}));
}

TEST(GgufReader, NotAGgufFile) {
  EXPECT_TRUE(has(failure(std::string("")), {"x.gguf", "not a GGUF file: it is empty"}));
  EXPECT_TRUE(has(failure(std::string("GG")), {"not a GGUF file", "'GG'"}));
  EXPECT_TRUE(has(failure(std::string("PK\x03\x04 and so on")), {"not a GGUF", "'PK\\x03\\x04'"}));
  EXPECT_TRUE(
      has(failure(std::string("version https://git-lfs.github.com/spec/v1\noid")), {"Git LFS"}));
}

TEST(GgufReader, Versions) {
  GgufBuilder builder;
  for (const uint32_t version : {0u, 1u, 4u}) {
    builder.version = version;
    EXPECT_TRUE(has(failure(builder), {"x.gguf", "version " + std::to_string(version)}));
  }
  builder.version = 3u << 24;
  EXPECT_TRUE(has(failure(builder), {"big-endian"}));
}

TEST(GgufReader, HugeCounts) {
  GgufBuilder keys;
  keys.key_count = kHuge;
  EXPECT_TRUE(has(failure(keys), {"metadata key count", std::to_string(kHuge)}));
  GgufBuilder tensors;
  tensors.tensor_count = kHuge;
  EXPECT_TRUE(has(failure(tensors), {"tensor count", std::to_string(kHuge)}));
  GgufBuilder more_than_there;
  more_than_there.key_count = 9;
  EXPECT_TRUE(has(failure(more_than_there), {"truncated", "0 are left"}));
}

TEST(GgufReader, HugeStringsAndArrays) {
  std::string length;
  put<uint64_t>(length, kHuge);
  EXPECT_TRUE(has(failure(GgufBuilder().raw("k", 8, length)),
                  {"truncated", "metadata string", std::to_string(kHuge)}));
  for (const uint32_t element : {0u, 8u, 9u, 12u}) {
    std::string array;
    put(array, element);
    put<uint64_t>(array, kHuge);
    EXPECT_TRUE(
        has(failure(GgufBuilder().raw("k", 9, array)), {"'k'", "claims " + std::to_string(kHuge)}));
  }
}

TEST(GgufReader, DeepArrays) {
  std::string nested;
  for (int i = 0; i < 100000; ++i) {
    put<uint32_t>(nested, 9);
    put<uint64_t>(nested, 1);
  }
  EXPECT_TRUE(has(failure(GgufBuilder().raw("k", 9, nested)), {"'k'", "deeper"}));
}

TEST(GgufReader, UnknownValueTypes) {
  EXPECT_TRUE(has(failure(GgufBuilder().raw("k", 13, "")), {"'k'", "type 13"}));
  std::string array;
  put<uint32_t>(array, 77);
  put<uint64_t>(array, 0);
  EXPECT_TRUE(has(failure(GgufBuilder().raw("k", 9, array)), {"'k'", "type 77"}));
}

TEST(GgufReader, DuplicateNames) {
  EXPECT_TRUE(has(failure(GgufBuilder().u32("k", 1).u32("k", 1)), {"key 'k'", "twice"}));
  EXPECT_TRUE(has(failure(GgufBuilder().tensor("t", {4}, kF32, 16).tensor("t", {4}, kF32, 16)),
                  {"tensor 't'", "twice"}));
}

TEST(GgufReader, Alignments) {
  for (const uint32_t alignment : {0u, 1u, 24u, 33u, 1u << 30}) {
    EXPECT_TRUE(has(failure(GgufBuilder().u32("general.alignment", alignment)),
                    {"general.alignment", std::to_string(alignment)}));
  }
  EXPECT_TRUE(has(failure(GgufBuilder().text("general.alignment", "32")),
                  {"'general.alignment'", "string"}));
}

TEST(GgufReader, ShapesThatCannotBe) {
  const auto shape = [](std::vector<uint64_t> dims, uint32_t type) {
    return failure(GgufBuilder().tensor_at("t", std::move(dims), type, 0));
  };
  EXPECT_TRUE(has(shape({}, kF32), {"'t'", "0 dimensions"}));
  EXPECT_TRUE(has(shape({1, 1, 1, 1, 1}, kF32), {"'t'", "5 dimensions"}));
  EXPECT_TRUE(has(shape({4, 0}, kF32), {"'t'", "dimension 1 is 0"}));
  EXPECT_TRUE(has(shape({uint64_t{1} << 63}, kF32), {"'t'", "dimension 0"}));
  EXPECT_TRUE(has(shape({kHuge, kHuge}, kF32), {"'t'", "too large"}));
  EXPECT_TRUE(has(shape({kHuge}, kF32), {"'t'", "too large"}));
  EXPECT_TRUE(has(shape({300, 2}, kQ4_K), {"'t'", "300", "Q4_K", "256"}));
}

TEST(GgufReader, TensorsOutsideTheData) {
  const auto at = [](uint64_t offset, uint64_t cols) {
    return failure(GgufBuilder().tensor("a", {16}, kF32, 64).tensor_at("t", {cols}, kF32, offset));
  };
  EXPECT_TRUE(has(at(64, 1), {"'t'", "offset 64", "past"}));
  EXPECT_TRUE(has(at(kHuge, 1), {"'t'", "past"}));
  EXPECT_TRUE(has(at(32, 9), {"'t'", "36 bytes at offset 32", "past"}));
  EXPECT_TRUE(has(at(4, 1), {"'t'", "offset 4", "alignment 32"}));
  EXPECT_TRUE(has(at(32, 1), {"'a'", "'t'", "overlap"}));
  EXPECT_TRUE(has(at(0, 1), {"overlap"}));
}

TEST(GgufReader, TypesThatCannotBeRead) {
  const auto type = [](uint32_t number) {
    return failure(GgufBuilder().tensor("blk.0.attn_q.weight", {256}, number, 256));
  };
  EXPECT_TRUE(has(type(9), {"'blk.0.attn_q.weight'", "Q8_1", "Q4_K", "IQ4_XS"}));
  EXPECT_TRUE(has(type(15), {"Q8_K"}));
  EXPECT_TRUE(has(type(4), {"type Q4_2 (4)"}));
  EXPECT_TRUE(has(type(4711), {"type unknown (4711)"}));
}

TEST(GgufReader, MessagesShowHostileNamesOnOneLine) {
  const std::string name = "a\nb\x1b[31m" + std::string(500, 'x');
  const std::string error = failure(GgufBuilder().tensor(name, {300}, kQ4_K, 300));
  EXPECT_TRUE(has(error, {"'a\\x0ab\\x1b[31mxx", "...'"}));
  EXPECT_LT(error.size(), 300u);
}

TEST(GgufReader, EveryTruncationIsAnError) {
  const std::string whole = GgufBuilder()
                                .text("general.architecture", "llama")
                                .strings("tokens", {"a", "bc"})
                                .array<int32_t>("types", GgufType::kI32, {1, 2})
                                .tensor("t", {32, 2}, kF32, 256)
                                .build();
  EXPECT_EQ(read(whole).list.tensors.size(), 1u);
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_TRUE(has(failure(whole.substr(0, size)), {"x.gguf"})) << size;
  }
}

}  // namespace
}  // namespace longhaul
