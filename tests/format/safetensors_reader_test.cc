#include "format/safetensors_reader.h"

#include <gtest/gtest.h>

#include <cstring>
#include <span>

#include "base/buffer.h"
#include "format/safetensors_builder.h"
#include "format/temp_folder.h"

namespace longhaul {
namespace {

using testing_support::entry;
using testing_support::error_of;
using testing_support::has;
using testing_support::header_of;
using testing_support::safetensors;

/// Text at an aligned address, like a mapped file.
struct Aligned {
  Buffer<std::byte> bytes;
  explicit Aligned(const std::string& text) : bytes(text.size() + 1) {
    std::memcpy(bytes.data(), text.data(), text.size());
    span = {bytes.data(), text.size()};
  }
  std::span<const std::byte> span;
};

std::string read_failure(const std::string& text) {
  const Aligned file(text);
  return error_of([&] { (void)read_safetensors(file.span, "x.safetensors"); });
}

/// The error for a file of one tensor of 16 bytes with this header.
std::string header_failure(const std::string& header) {
  return read_failure(safetensors(header, std::string(16, 'd')));
}

TEST(SafetensorsReader, TypesShapesAndOrder) {
  const std::string header =
      header_of({entry("b", "BF16", "[2,3]", 16, 28), R"("__metadata__":{"format":"pt"})",
                 entry("a", "F32", "[4]", 0, 16), entry("c", "F16", "[]", 28, 30)});
  const Aligned file(
      safetensors(header, std::string(16, 'a') + std::string(12, 'b') + std::string(2, 'c')));
  const TensorList list = read_safetensors(file.span, "x.safetensors");
  ASSERT_EQ(list.tensors.size(), 3u);
  EXPECT_TRUE(list.unreadable.empty());
  const TensorView &a = list.tensors[0], &b = list.tensors[1], &c = list.tensors[2];
  EXPECT_EQ(a.name, "a");
  EXPECT_EQ(a.type, DType::F32);
  EXPECT_EQ(a.shape[0], 4);
  EXPECT_EQ(b.type, DType::BF16);
  EXPECT_EQ(b.rank, 2);
  EXPECT_EQ(b.rows(), 2);
  EXPECT_EQ(b.cols(), 3);
  EXPECT_EQ(b.data[11], static_cast<std::byte>('b'));
  EXPECT_EQ(c.type, DType::F16);
  EXPECT_EQ(c.rank, 0);
  EXPECT_EQ(c.bytes(), 2u);
}

TEST(SafetensorsReader, EmptyTensorsAndEmptyFiles) {
  const Aligned none(safetensors("{}"));
  EXPECT_TRUE(read_safetensors(none.span, "x").tensors.empty());
  const Aligned file(safetensors(
      header_of({entry("e", "F32", "[0,4]", 0, 0), entry("f", "F32", "[1]", 0, 4)}), "1234"));
  EXPECT_EQ(read_safetensors(file.span, "x").tensors.size(), 2u);
}

TEST(SafetensorsReader, OtherTypesAreListedAsUnreadable) {
  const Aligned file(safetensors(
      header_of({entry("ids", "I64", "[2]", 0, 16), entry("q", "F8_E4M3", "[4]", 16, 20),
                 entry("new", "F4_X", "[77]", 20, 24), entry("rank5", "F32", "[1,1,1,1,1]", 24, 28),
                 entry("one", "U8", "[1]", 28, 29), entry("odd", "F16", "[1]", 29, 31)}),
      std::string(31, 0)));
  const TensorList list = read_safetensors(file.span, "x");
  EXPECT_TRUE(list.tensors.empty());
  ASSERT_EQ(list.unreadable.size(), 6u);
  EXPECT_TRUE(has(list.unreadable[0].reason, {"'I64'", "BF16"}));
  EXPECT_TRUE(has(list.unreadable[1].reason, {"'F8_E4M3'"}));
  EXPECT_TRUE(has(list.unreadable[2].reason, {"'F4_X'"}));
  EXPECT_TRUE(has(list.unreadable[3].reason, {"5 dimensions"}));
  EXPECT_TRUE(has(list.unreadable[5].reason, {"F16", "address"}));
}

TEST(SafetensorsReader, HeaderLength) {
  EXPECT_TRUE(has(read_failure(""), {"x.safetensors", "truncated", "header length"}));
  EXPECT_TRUE(has(read_failure("1234567"), {"truncated"}));
  EXPECT_TRUE(has(read_failure(std::string("\xff\xff\xff\xff\xff\xff\xff\xff{}", 10)),
                  {"18446744073709551615", "not a safetensors file"}));
  EXPECT_TRUE(has(read_failure(safetensors("{}").substr(0, 9)), {"truncated", "header"}));
  EXPECT_TRUE(has(read_failure("version https://git-lfs.github.com/spec/v1"), {"Git LFS"}));
}

TEST(SafetensorsReader, HeadersThatAreNoJson) {
  for (const std::string header : {"", "{", "{\"a\"}", "nonsense", "{}{}", "{\"a\xff\":1}"}) {
    EXPECT_TRUE(has(header_failure(header), {"x.safetensors", "JSON"})) << header;
  }
  for (const std::string header : {"[]", "1", "null", "\"a\""}) {
    EXPECT_TRUE(has(header_failure(header), {"no JSON object"})) << header;
  }
  EXPECT_TRUE(has(header_failure(std::string(1'000'000, '[')), {"no JSON object"}));
}

TEST(SafetensorsReader, MalformedEntries) {
  EXPECT_TRUE(has(header_failure(R"({"a":1})"), {"'a'", "unexpected"}));
  EXPECT_TRUE(has(header_failure(R"({"a":{}})"), {"'a'", "dtype"}));
  EXPECT_TRUE(
      has(header_failure(R"({"a":{"dtype":"F32","shape":[4]}})"), {"'a'", "no data_offsets"}));
  EXPECT_TRUE(
      has(header_failure(R"({"a":{"dtype":"F32","data_offsets":[0,16]}})"), {"'a'", "no shape"}));
  EXPECT_TRUE(has(header_failure(R"({"a":{"dtype":"F32","dtype":"F32"}})"), {"'dtype'", "twice"}));
  EXPECT_TRUE(has(header_failure(R"({"a":{"dtype":4}})"), {"'a'", "'dtype'", "a number"}));
  EXPECT_TRUE(has(header_failure(R"({"a":{"shape":[-4]}})"), {"'a'", "-4"}));
  EXPECT_TRUE(has(header_failure(R"({"a":{"shape":[4.5]}})"), {"'a'", "4.5"}));
  EXPECT_TRUE(has(header_failure(R"({"a":{"shape":[[4]]}})"), {"'a'", "an array"}));
  EXPECT_TRUE(has(header_failure(R"({"a":{"shape":{"b":1}}})"), {"'a'", "an object"}));
  EXPECT_TRUE(has(header_failure(R"({"a":{"shape":[1e400]}})"), {"x.safetensors"}));
  EXPECT_TRUE(has(header_failure(R"({"a":{"shape":[18446744073709551615]}})"), {"too large"}));
  EXPECT_TRUE(has(header_failure(R"({"a":{"data_offsets":[0,1,2]}})"), {"3 numbers"}));
  EXPECT_TRUE(has(header_failure(R"({"a":{"data_offsets":[0]}})"), {"1 numbers"}));
  EXPECT_TRUE(has(header_failure(R"({"__metadata__":{"a":1}})"), {"__metadata__", "a number"}));
  std::string ones = "1";
  for (int i = 0; i < 100; ++i) ones += ",1";
  EXPECT_TRUE(has(header_failure(R"({"a":{"shape":[)" + ones + "]}}"), {"more than 32"}));
  const std::string a = entry("a", "F32", "[4]", 0, 16);
  EXPECT_TRUE(has(header_failure(header_of({a, a})), {"'a'", "twice"}));
}

TEST(SafetensorsReader, OffsetsThatDoNotFit) {
  const auto one = [](const std::string& shape, uint64_t begin, uint64_t end) {
    return header_failure(header_of({entry("t", "F32", shape, begin, end)}));
  };
  EXPECT_TRUE(has(one("[5]", 0, 20), {"'t'", "[0, 20]", "16 bytes"}));
  EXPECT_TRUE(has(one("[3]", 4, 16), {"'t'", "[4, 16]", "do not follow byte 0"}));
  EXPECT_TRUE(has(one("[3]", 0, 12), {"16 bytes of data", "take 12"}));
  EXPECT_TRUE(has(one("[4]", 16, 0), {"'t'", "[16, 0]"}));
  EXPECT_TRUE(has(one("[3]", 0, 16), {"'t'", "shape [3]", "16 bytes"}));
  EXPECT_TRUE(has(one("[4611686018427387904,4]", 0, 16), {"'t'", "shape"}));
  EXPECT_TRUE(has(one("[4611686018427387905]", 0, 16), {"'t'", "shape"}));
  EXPECT_TRUE(has(one("[4]", 0, UINT64_MAX), {"'t'", "18446744073709551615"}));
  EXPECT_TRUE(has(
      header_failure(header_of({entry("a", "F32", "[4]", 0, 16), entry("b", "F32", "[2]", 8, 16)})),
      {"'b'", "[8, 16]", "do not follow byte 16"}));
}

TEST(SafetensorsReader, EveryTruncationIsAnError) {
  const std::string whole =
      safetensors(header_of({entry("a", "F32", "[4]", 0, 16)}), std::string(16, 0));
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_TRUE(has(read_failure(whole.substr(0, size)), {"x.safetensors"})) << size;
  }
}

}  // namespace
}  // namespace longhaul
