// llama.cpp's test vectors: 47 texts for each of seven vocabularies.

#include <gtest/gtest.h>

#include <algorithm>

#include "format/checkpoint.h"
#include "tokenizer/load_tokenizer.h"
#include "tokenizer/test_paths.h"

namespace longhaul {
namespace {

struct VectorCase {
  std::string name;        // name of the .inp and .out files
  std::string vocabulary;  // GGUF file or folder, relative to the test data
};

void PrintTo(const VectorCase& value, std::ostream* out) { *out << value.name; }

std::vector<std::string> read_inputs(const std::string& name) {
  const std::string separator = "\n__ggml_vocab_test__\n";
  const std::string text =
      read_whole(tokenizer_data() / "llama_cpp_vocab" / ("ggml-vocab-" + name + ".gguf.inp"));
  std::vector<std::string> out;
  size_t done = 0;
  for (size_t at; (at = text.find(separator, done)) != std::string::npos;
       done = at + separator.size()) {
    out.push_back(text.substr(done, at - done));
  }
  out.push_back(text.substr(done));
  return out;
}

std::vector<std::vector<int32_t>> read_outputs(const std::string& name) {
  std::istringstream lines(
      read_whole(tokenizer_data() / "llama_cpp_vocab" / ("ggml-vocab-" + name + ".gguf.out")));
  std::vector<std::vector<int32_t>> out;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream numbers(line);
    out.emplace_back(std::istream_iterator<int32_t>(numbers), std::istream_iterator<int32_t>());
  }
  out.emplace_back();  // the empty text after the last newline
  return out;
}

Tokenizer load_vocabulary(const std::string& vocabulary) {
  const std::filesystem::path path = tokenizer_data() / vocabulary;
  if (std::filesystem::is_directory(path)) return load_tokenizer_folder(path);
  return load_tokenizer(open_checkpoint(path));
}

class Vectors : public testing::TestWithParam<VectorCase> {};

TEST_P(Vectors, EncodeAsLlamaCpp) {
  const Tokenizer tokenizer = load_vocabulary(GetParam().vocabulary);
  const auto inputs = read_inputs(GetParam().name);
  const auto outputs = read_outputs(GetParam().name);
  ASSERT_EQ(inputs.size(), 47u);
  ASSERT_EQ(outputs.size(), inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    EXPECT_EQ(tokenizer.encode(inputs[i], {.add_special = false}), outputs[i]) << inputs[i];
  }
}

TEST_P(Vectors, DecodeGivesTheTextBack) {
  const Tokenizer tokenizer = load_vocabulary(GetParam().vocabulary);
  for (const std::string& text : read_inputs(GetParam().name)) {
    const std::vector<int32_t> ids = tokenizer.encode(text, {.add_special = false});
    EXPECT_EQ(tokenizer.decode(ids), text);
    std::string joined;
    for (const TokenSpan& span : tokenizer.spans(ids)) {
      EXPECT_EQ(span.begin, joined.size());
      joined += span.piece;
    }
    EXPECT_TRUE(joined == text || joined == " " + text) << joined;
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, Vectors,
    testing::Values(VectorCase{"gpt-2", "llama_cpp_vocab/ggml-vocab-gpt-2.gguf"},
                    VectorCase{"llama-bpe", "llama3"},
                    VectorCase{"llama-spm", "llama_cpp_vocab/ggml-vocab-llama-spm.gguf"},
                    VectorCase{"phi-3", "llama_cpp_vocab/ggml-vocab-phi-3.gguf"},
                    VectorCase{"qwen2", "qwen2"},
                    VectorCase{"refact", "llama_cpp_vocab/ggml-vocab-refact.gguf"},
                    VectorCase{"deepseek-coder", "llama_cpp_vocab/ggml-vocab-deepseek-coder.gguf"}),
    [](const auto& test) {
      std::string name = test.param.name;
      std::replace(name.begin(), name.end(), '-', '_');
      return name;
    });

}  // namespace
}  // namespace longhaul
