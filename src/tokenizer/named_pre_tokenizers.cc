// Patterns by their names in GGUF files. Sources: the models' own tokenizer.json files and OpenAI's
// tiktoken; names as written by llama.cpp's converter.

#include <algorithm>

#include "base/error.h"
#include "text/printable.h"
#include "tokenizer/pre_tokenizer.h"

namespace longhaul {

namespace {

constexpr std::string_view kLlama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen2 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen35 =  // like Qwen2, but marks belong to letters
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kSeed =  // like Qwen2, but punctuation does not include line ends
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kTekken =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

/// o200k_base of tiktoken.
constexpr std::string_view kO200k =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

constexpr std::string_view kDeepSeek3 =
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
/// Words that follow each other are one piece.
constexpr std::string_view kExaoneMoe =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+)";

const std::vector<NamedPreTokenizer>& table() {
  static const std::vector<NamedPreTokenizer> entries = {
      {"llama-bpe llama3 llama-v3 falcon3 smaug-bpe falcon-h1 lfm2 pixtral",
       {kLlama3},
       true,
       true,
       false},
      {"dbrx glm4 chatglm-bpe", {kLlama3}},    // also OLMo 2, Phi-4 and GLM-4
      {"gpt-4o minimax-m2 llama4", {kO200k}},  // also gpt-oss and Phi-4-mini
      {"qwen2 deepseek-r1-qwen", {kQwen2}, false, false, true},
      {"hunyuan solar-open", {kQwen2}},
      {"deepseek-v3 hunyuan-dense",
       {R"(\p{N}{1,3})", R"([\x{4e00}-\x{9fa5}\x{3040}-\x{309f}\x{30a0}-\x{30ff}]+)", kDeepSeek3}},
      {"exaone-moe", {kExaoneMoe}},
      {"qwen35", {kQwen35}, false, false, true},
      {"seed-coder", {kSeed}},
      {"smollm starcoder refact command-r codeshell", {R"(\p{N})", kGpt2Pattern}},
      {"gpt-2 gpt2 phi-2 mpt olmo jais exaone4", {kGpt2Pattern}},
      {"deepseek-coder",
       {R"([\r\n])", R"(\s?\p{L}+)", R"(\s?\p{P}+)",
        R"([\x{4e00}-\x{9fa5}\x{800}-\x{4e00}\x{ac00}-\x{d7ff}]+)", R"(\p{N})"}},
      {"tekken", {kTekken}, true, true, false},
      {"default", {R"([\p{P}\$\+<=>\^~\|]+)", kGpt2Pattern, R"(\p{N}+)", R"([0-9][0-9][0-9])"}},
  };
  return entries;
}

bool lists(std::string_view names, std::string_view name) {
  if (name.empty() || name.find(' ') != std::string_view::npos) return false;
  for (size_t at = 0; at < names.size();) {
    const size_t end = std::min(names.find(' ', at), names.size());
    if (names.substr(at, end - at) == name) return true;
    at = end + 1;
  }
  return false;
}

}  // namespace

const NamedPreTokenizer& named_pre_tokenizer(std::string_view name, std::string_view where) {
  std::string known;
  for (const NamedPreTokenizer& entry : table()) {
    if (lists(entry.names, name)) return entry;
    known += known.empty() ? "" : " ";
    known += entry.names;
  }
  user_error("{}: pre-tokenizer {} is not supported; known are: {}", where, printable(name), known);
}

PreTokenizer make_pre_tokenizer(const NamedPreTokenizer& named) {
  PreTokenizer out;
  for (const std::string_view pattern : named.patterns) {
    out.add({Regex(pattern, "pre-tokenizer " + std::string(named.names)), SplitBehaviour::isolated,
             false});
  }
  return out;
}

}  // namespace longhaul
