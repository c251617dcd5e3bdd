// SentencePiece's tokenizer.model: a protobuf message (sentencepiece_model.proto of google's
// repository) with the pieces, their scores and the settings of training and normalization.

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "text/printable.h"
#include "tokenizer/load_parts.h"

namespace longhaul {
namespace {

/// The fields of a protobuf message in order.
class ProtoFields {
 public:
  ProtoFields(std::string_view message, const std::string& file) : rest_(message), file_(file) {}

  /// Moves to the next field; false at the end.
  bool next() {
    if (rest_.empty()) return false;
    const uint64_t key = varint();
    field_ = key >> 3;
    bytes_ = {};
    switch (key & 7) {
      case 0:
        number_ = varint();
        break;
      case 1:
        bytes_ = take(8);
        break;
      case 2:
        bytes_ = take(varint());
        break;
      case 5:
        bytes_ = take(4);
        break;
      default:
        damaged();
    }
    return true;
  }

  uint64_t field() const { return field_; }
  uint64_t number() const { return number_; }
  std::string_view bytes() const { return bytes_; }
  float real() const {
    if (bytes_.size() != sizeof(float)) damaged();
    float value;
    std::memcpy(&value, bytes_.data(), sizeof value);
    return value;
  }

 private:
  [[noreturn]] void damaged() const {
    user_error("{}: not a tiktoken file, and damaged as a SentencePiece model", file_);
  }

  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<uint8_t>(take(1)[0]);
      value |= uint64_t{byte & 0x7Fu} << shift;
      if (byte < 0x80) return value;
    }
    damaged();
  }

  std::string_view take(uint64_t count) {
    if (count > rest_.size()) damaged();
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }

  std::string_view rest_;
  const std::string& file_;
  uint64_t field_ = 0, number_ = 0;
  std::string_view bytes_;
};

struct SentencePieces {
  std::vector<std::string> texts;
  std::vector<float> scores;
  std::vector<int64_t> types;
  uint64_t kind = 1;  // 1: unigram, 2: BPE
  int64_t unknown = 0, bos = 1, eos = 2;
  bool space_prefix = true, fewer_spaces = true, maps_characters = false;
};

void read_piece(std::string_view message, const std::string& file, SentencePieces& to) {
  ProtoFields fields(message, file);
  std::string text;
  float score = 0;
  int64_t type = 1;
  while (fields.next()) {
    if (fields.field() == 1) text = fields.bytes();
    if (fields.field() == 2) score = fields.real();
    if (fields.field() == 3) type = static_cast<int64_t>(fields.number());
  }
  to.texts.push_back(std::move(text));
  to.scores.push_back(score);
  to.types.push_back(type);
}

void read_training(std::string_view message, const std::string& file, SentencePieces& to) {
  ProtoFields fields(message, file);
  const auto id = [&] { return static_cast<int64_t>(static_cast<int32_t>(fields.number())); };
  while (fields.next()) {
    if (fields.field() == 3) to.kind = fields.number();
    if (fields.field() == 40) to.unknown = id();
    if (fields.field() == 41) to.bos = id();
    if (fields.field() == 42) to.eos = id();
  }
}

void read_normalizer(std::string_view message, const std::string& file, SentencePieces& to) {
  ProtoFields fields(message, file);
  while (fields.next()) {
    if (fields.field() == 2) to.maps_characters = !fields.bytes().empty();
    if (fields.field() == 3) to.space_prefix = fields.number() != 0;
    if (fields.field() == 4) to.fewer_spaces = fields.number() != 0;
  }
}

SentencePieces read_pieces(std::string_view message, const std::string& file) {
  SentencePieces pieces;
  ProtoFields fields(message, file);
  while (fields.next()) {
    if (fields.field() == 1) read_piece(fields.bytes(), file, pieces);
    if (fields.field() == 2) read_training(fields.bytes(), file, pieces);
    if (fields.field() == 3) read_normalizer(fields.bytes(), file, pieces);
  }
  constexpr uint64_t kBpe = 2;
  if (pieces.kind != kBpe) {
    user_error("{}: model_type is {}; only BPE vocabularies of SentencePiece are supported", file,
               pieces.kind == 1 ? "unigram" : std::to_string(pieces.kind));
  }
  if (pieces.maps_characters || pieces.fewer_spaces) {
    user_error("{}: {} is set, which needs a tokenizer.json beside it", file,
               pieces.maps_characters ? "precompiled_charsmap" : "remove_extra_whitespaces");
  }
  if (pieces.texts.empty()) user_error("{}: the vocabulary is empty", file);
  return pieces;
}

std::optional<int32_t> id_within(int64_t id, size_t size) {
  if (id < 0 || static_cast<size_t>(id) >= size) return std::nullopt;
  return static_cast<int32_t>(id);
}

}  // namespace

bool is_sentencepiece_file(std::string_view text) { return text.starts_with('\n'); }

std::unique_ptr<TokenizerModel> load_sentencepiece(std::string_view message,
                                                   const std::string& file,
                                                   std::vector<AddedToken> added) {
  const SentencePieces pieces = read_pieces(message, file);
  std::vector<Token> tokens;
  for (size_t id = 0; id < pieces.texts.size(); ++id) {
    tokens.push_back(sentencepiece_token(pieces.texts[id], pieces.types[id]));
    const TokenKind kind = tokens.back().kind;
    if (kind != TokenKind::control && kind != TokenKind::unknown && kind != TokenKind::user_defined)
      continue;
    const bool named = std::ranges::any_of(
        added, [&](const AddedToken& token) { return token.id == static_cast<int32_t>(id); });
    if (named) continue;
    const bool special = kind != TokenKind::user_defined;
    added.push_back({pieces.texts[id], static_cast<int32_t>(id), special, false, false});
  }
  make_marks_special(added);
  std::vector<float> scores = pieces.scores;
  put_added_tokens(tokens, added, file);
  scores.resize(tokens.size());
  auto model = std::make_unique<TokenizerModel>();
  model->source = file;
  model->vocabulary = Vocabulary(std::move(tokens));
  model->added = AddedTokens(std::move(added), file);
  fill_sentencepiece(*model, scores, pieces.space_prefix, file + ": a score");
  const size_t size = model->vocabulary.size();
  if (const auto unknown = id_within(pieces.unknown, size)) model->merges.unknown = *unknown;
  model->bos = id_within(pieces.bos, size);
  model->eos = id_within(pieces.eos, size);
  if (model->bos) model->prefix = {*model->bos};
  return model;
}

}  // namespace longhaul
