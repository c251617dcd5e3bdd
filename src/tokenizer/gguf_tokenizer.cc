// Builds a tokenizer from GGUF metadata (the tokenizer.ggml.* keys; source: the GGUF specification
// and the output of llama.cpp's converter).

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "format/gguf_metadata.h"
#include "text/printable.h"
#include "tokenizer/load_parts.h"

namespace longhaul {

namespace {

constexpr size_t kMaxTokens = size_t{1} << 24;

struct GgufVocabulary {
  std::vector<std::string_view> texts;
  std::vector<int64_t> types;  // as in the file; all normal if it has none
};

GgufVocabulary read_vocabulary(const GgufMetadata& metadata) {
  GgufVocabulary out;
  auto texts = metadata.find_strings("tokenizer.ggml.tokens");
  if (!texts || texts->empty()) {
    user_error("{}: the model has no vocabulary (tokenizer.ggml.tokens)", metadata.file());
  }
  out.texts = *std::move(texts);
  if (out.texts.size() > kMaxTokens) {
    user_error("{}: tokenizer.ggml.tokens has {} entries", metadata.file(), out.texts.size());
  }
  auto types = metadata.find_integers("tokenizer.ggml.token_type");
  if (types && types->size() != out.texts.size()) {
    user_error("{}: tokenizer.ggml.token_type has {} entries for {} tokens", metadata.file(),
               types->size(), out.texts.size());
  }
  out.types = types ? *std::move(types) : std::vector<int64_t>(out.texts.size(), 1);
  const TurnMarks marks(
      [&](std::string_view text) { return std::ranges::find(out.texts, text) != out.texts.end(); });
  for (size_t id = 0; id < out.texts.size(); ++id) {
    // Some converters mark them as normal or user-defined tokens.
    if (marks.is_mark(out.texts[id])) out.types[id] = kTypeControl;
  }
  return out;
}

std::optional<int32_t> token_id(const GgufMetadata& metadata, std::string_view key, size_t size) {
  const std::optional<int64_t> id = metadata.find_i64(key);
  if (!id || *id == -1 || *id == int64_t{0xFFFFFFFF}) return std::nullopt;  // "none" is -1
  if (*id < 0 || static_cast<size_t>(*id) >= size) {
    user_error("{}: {} is {}, outside the vocabulary of {} tokens", metadata.file(), key, *id,
               size);
  }
  return static_cast<int32_t>(*id);
}

Token make_token(std::string_view text, int64_t type, bool sentencepiece) {
  if (sentencepiece) return sentencepiece_token(text, type);
  return token_of_type(byte_level_token(text), text, type);
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

/// Phi-3's tokenizer removes white space after its control tokens; GGUF has no key for that.
bool strips_after_control(const GgufMetadata& metadata) {
  const std::string name = lower(metadata.find_string("general.name").value_or(""));
  return metadata.find_string("general.architecture").value_or("") == "phi3" ||
         name.find("phi-3") != std::string::npos || name.find("phi3") != std::string::npos;
}

AddedTokens make_added(const GgufMetadata& metadata, const GgufVocabulary& vocabulary) {
  const bool strips = strips_after_control(metadata);
  std::vector<AddedToken> added;
  for (size_t id = 0; id < vocabulary.texts.size(); ++id) {
    const int64_t type = vocabulary.types[id];
    if (type != kTypeControl && type != kTypeUnknown && type != kTypeUser) continue;
    const std::string_view text = vocabulary.texts[id];
    const bool rstrip = strips && text != "<unk>" && text != "<s>" && text != "<|endoftext|>";
    added.push_back(
        {std::string(text), static_cast<int32_t>(id), type != kTypeUser, false, rstrip});
  }
  return AddedTokens(std::move(added), metadata.file());
}

/// Returns whether BOS is added if the file does not specify it.
bool fill_byte_level(TokenizerModel& model, const GgufMetadata& metadata,
                     const GgufVocabulary& vocabulary) {
  const auto name = metadata.find_string("tokenizer.ggml.pre");
  if (!name) {
    warn("{}: no tokenizer.ggml.pre (an old file): words may be cut otherwise than the model knows",
         metadata.file());
  }
  const NamedPreTokenizer& named =
      named_pre_tokenizer(name.value_or("default"), metadata.file() + ": tokenizer.ggml.pre");
  model.description = fmt::format("byte-level BPE ({})", name.value_or("default"));
  model.pre_tokenizer = make_pre_tokenizer(named);
  model.merges.ignore_merges = named.ignore_merges;
  if (named.nfc) model.normalizer.add({NormalizeStep::Kind::nfc, "", ""});
  const auto merges = metadata.find_strings("tokenizer.ggml.merges");
  if (!merges) user_error("{}: tokenizer.ggml.merges is missing", metadata.file());
  TextIds ids;
  ids.reserve(vocabulary.texts.size());
  for (size_t id = 0; id < vocabulary.texts.size(); ++id) {
    ids.emplace(vocabulary.texts[id], static_cast<int32_t>(id));
  }
  model.merges.merges = MergeTable(merges->size());
  int32_t rank = 0;
  for (const std::string_view line : *merges) {
    add_merge_line(model.merges.merges, ids, model.vocabulary, line, rank++,
                   metadata.file() + ": tokenizer.ggml.merges");
  }
  return named.add_bos;
}

void fill_special_ids(TokenizerModel& model, const GgufMetadata& metadata, bool add_bos) {
  const size_t size = model.vocabulary.size();
  model.bos = token_id(metadata, "tokenizer.ggml.bos_token_id", size);
  model.eos = token_id(metadata, "tokenizer.ggml.eos_token_id", size);
  const auto unknown = token_id(metadata, "tokenizer.ggml.unknown_token_id", size);
  // Byte-level vocabularies do not use it: a byte without a token is skipped.
  if (unknown && model.merges.byte_fallback) model.merges.unknown = *unknown;
  add_bos = metadata.find_bool("tokenizer.ggml.add_bos_token").value_or(add_bos);
  if (add_bos && model.bos) model.prefix = {*model.bos};
  const bool add_eos = metadata.find_bool("tokenizer.ggml.add_eos_token").value_or(false);
  if (add_eos && model.eos) model.suffix = {*model.eos};
  std::vector<int64_t> ends;
  for (const char* key : {"tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id"}) {
    if (const auto id = token_id(metadata, key, size)) ends.push_back(*id);
  }
  set_end_of_generation(model, std::move(ends));
}

}  // namespace

std::shared_ptr<const TokenizerModel> load_gguf_tokenizer(const GgufMetadata& metadata) {
  const std::string_view kind = metadata.get_string("tokenizer.ggml.model");
  if (kind != "gpt2" && kind != "llama") {
    user_error("{}: tokenizer.ggml.model {} is not supported; known are gpt2 and llama",
               metadata.file(), printable(kind));
  }
  const bool sentencepiece = kind == "llama";
  const GgufVocabulary vocabulary = read_vocabulary(metadata);
  std::vector<Token> tokens;
  tokens.reserve(vocabulary.texts.size());
  for (size_t id = 0; id < vocabulary.texts.size(); ++id) {
    tokens.push_back(make_token(vocabulary.texts[id], vocabulary.types[id], sentencepiece));
  }
  auto model = std::make_shared<TokenizerModel>();
  model->source = metadata.file();
  model->vocabulary = Vocabulary(std::move(tokens));
  model->added = make_added(metadata, vocabulary);
  bool add_bos = true;
  if (sentencepiece) {
    const auto scores = metadata.find_floats("tokenizer.ggml.scores");
    if (!scores || scores->size() != model->vocabulary.size()) {
      user_error("{}: tokenizer.ggml.scores has {} entries for {} tokens", metadata.file(),
                 scores ? scores->size() : 0, model->vocabulary.size());
    }
    const bool prefix = metadata.find_bool("tokenizer.ggml.add_space_prefix").value_or(true);
    fill_sentencepiece(*model, *scores, prefix, metadata.file() + ": tokenizer.ggml.scores");
  } else {
    add_bos = fill_byte_level(*model, metadata, vocabulary);
  }
  fill_special_ids(*model, metadata, add_bos);
  return model;
}

}  // namespace longhaul
