#include "format/gguf_writer.h"

#include <gtest/gtest.h>

#include "format/gguf_builder.h"
#include "format/gguf_reader.h"

namespace longhaul {
namespace {

using testing_support::GgufBuilder;

/// Writes a file that was read.
std::string written_again(const std::string& file) {
  const GgufFile read = read_gguf(std::as_bytes(std::span(file)), "m.gguf");
  const uint64_t alignment = gguf_alignment(read.metadata);
  std::string out = gguf_header(read.metadata.entries(), read.list.tensors, alignment);
  for (size_t i = 0; i < read.list.tensors.size(); ++i) {
    const TensorView& t = read.list.tensors[i];
    out.append(reinterpret_cast<const char*>(t.data), t.bytes());
    // The builder does not pad the last tensor.
    const bool last = i + 1 == read.list.tensors.size();
    if (!last) out.append(gguf_padding(t.bytes(), alignment), '\0');
  }
  return out;
}

TEST(GgufWriter, WritesByteForByteWhatWasRead) {
  for (const uint32_t alignment : {8, 32, 256}) {
    GgufBuilder file;
    file.alignment(alignment).text("general.architecture", "llama").text("empty", "");
    file.number("u8", GgufType::kU8, uint8_t{200}).number("i64", GgufType::kI64, int64_t{-5});
    file.number("f64", GgufType::kF64, 1.25).number("yes", GgufType::kBool, uint8_t{1});
    file.strings("words", {"a", "", "long word"}).strings("none", {});
    file.array<float>("floats", GgufType::kF32, {1.5f, -2.f});
    std::string nested;  // two arrays of u8
    testing_support::put(nested, static_cast<uint32_t>(GgufType::kArray));
    testing_support::put<uint64_t>(nested, 2);
    for (const std::string& bytes : {std::string("xyz"), std::string()}) {
      testing_support::put(nested, static_cast<uint32_t>(GgufType::kU8));
      testing_support::put_string(nested, bytes);
    }
    file.raw("nested", static_cast<uint32_t>(GgufType::kArray), nested);
    file.tensor("vector", {3}, 0, 12, 'a').tensor("matrix", {32, 5}, 8, 5 * 34, 'b');
    file.tensor("cube", {2, 3, 4}, 1, 48, 'c').tensor("four", {1, 2, 1, 3}, 30, 12, 'd');
    EXPECT_EQ(written_again(file.build()), file.build()) << alignment;
  }
}

TEST(GgufWriter, EveryTypeHasItsNumber) {
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto type = static_cast<DType>(i);
    TensorView tensor;
    tensor.type = type;
    tensor.rank = 1;
    tensor.shape = {traits(type).block_size, 1, 1, 1};
    tensor.name = "x";
    std::string file = gguf_header({}, std::span(&tensor, 1), 32);
    file.append(tensor.bytes(), '\0');
    const GgufFile read = read_gguf(std::as_bytes(std::span(file)), "m.gguf");
    EXPECT_EQ(read.list.tensors.at(0).type, type) << name_of(type);
  }
}

}  // namespace
}  // namespace longhaul
