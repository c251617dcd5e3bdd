#include "tokenizer/load_parts.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/cpu_limit.h"
#include "base/error.h"
#include "base/mapped_file.h"
#include "base/units.h"
#include "text/printable.h"
#include "text/utf8.h"
#include "tokenizer/byte_alphabet.h"
#include "tokenizer/json_fields.h"

namespace longhaul {

std::string with_spaces(std::string_view text) {
  std::string out;
  size_t done = 0;
  for (size_t at; (at = text.find(kVisibleBlank, done)) != std::string_view::npos;
       done = at + kVisibleBlank.size()) {
    out.append(text.substr(done, at - done)).push_back(' ');
  }
  return out.append(text.substr(done));
}

std::optional<Token> byte_token(std::string_view text) {
  const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'F'); };
  if (text.size() != 6 || !text.starts_with("<0x") || text[5] != '>') return std::nullopt;
  if (!is_digit(text[3]) || !is_digit(text[4])) return std::nullopt;
  unsigned byte = 0;
  const auto [end, error] = std::from_chars(text.data() + 3, text.data() + 5, byte, 16);
  LH_ASSERT(error == std::errc() && end == text.data() + 5);
  return Token{std::string(1, static_cast<char>(byte)), TokenKind::byte};
}

Token byte_level_token(std::string_view text) {
  if (auto bytes = bytes_from_alphabet(text)) return {*std::move(bytes), TokenKind::normal};
  return {std::string(text), TokenKind::normal};
}

void add_merge_by_text(MergeTable& table, const TextIds& ids, const Vocabulary& vocabulary,
                       std::string_view left, std::string_view right, int32_t rank,
                       const std::string& where) {
  std::string both(left);
  both += right;
  const auto id_of = [&](std::string_view text) {
    const auto found = ids.find(text);
    if (found == ids.end()) {
      user_error("{}: merge {} of {} and {} needs {}, which is not in the vocabulary", where, rank,
                 printable(left), printable(right), printable(text));
    }
    return found->second;
  };
  const int32_t result = id_of(both);
  const Merge merge{rank, result};
  const int32_t left_id = id_of(left);
  const int32_t right_id = id_of(right);
  if (vocabulary[result].kind != TokenKind::control) table.add(left_id, right_id, merge);
}

void add_merge_line(MergeTable& table, const TextIds& ids, const Vocabulary& vocabulary,
                    std::string_view line, int32_t rank, const std::string& where) {
  const size_t blank = line.find(' ', 1);
  if (blank == std::string_view::npos || blank + 1 == line.size()) {
    user_error("{}: merge {} is {}, not two texts with a blank between", where, rank,
               printable(line));
  }
  add_merge_by_text(table, ids, vocabulary, line.substr(0, blank), line.substr(blank + 1), rank,
                    where);
}

namespace {

/// Assigns symbols beyond the vocabulary to characters that occur in tokens but are not tokens.
void collect_extra_characters(MergeModel& model, const Vocabulary& vocabulary) {
  auto next = static_cast<int32_t>(vocabulary.size());
  for (size_t id = 0; id < vocabulary.size(); ++id) {
    const Token& token = vocabulary[static_cast<int32_t>(id)];
    if (token.kind != TokenKind::normal) continue;
    for (size_t at = 0; at < token.bytes.size();) {
      const size_t bytes = read_utf8(std::string_view(token.bytes).substr(at)).bytes;
      std::string character = token.bytes.substr(at, bytes);
      at += bytes;
      if (vocabulary.find(character) >= 0) continue;
      if (model.extra_characters.emplace(std::move(character), next).second) ++next;
    }
  }
}

}  // namespace

void add_merges_by_rank(MergeModel& model, const Vocabulary& vocabulary,
                        const std::vector<int32_t>& ranks, const std::string& where) {
  LH_ASSERT(ranks.size() == vocabulary.size());
  const bool characters = model.start == MergeModel::Start::characters;
  if (characters) collect_extra_characters(model, vocabulary);
  const auto symbol = [&](std::string_view part) {
    const int32_t token = vocabulary.find(part);
    if (token >= 0 || !characters || model.extra_characters.empty() || part.size() > 4) {
      return token;
    }
    const auto extra = model.extra_characters.find(std::string(part));
    return extra == model.extra_characters.end() ? -1 : extra->second;
  };
  for (size_t id = 0; id < vocabulary.size(); ++id) {
    const Token& token = vocabulary[static_cast<int32_t>(id)];
    if (token.kind != TokenKind::normal) continue;
    CpuLimit::check();
    if (token.bytes.size() > kMaxDividedTokenBytes) {
      user_error("{}: token {} has {} bytes; at most {} are supported", where, id,
                 token.bytes.size(), kMaxDividedTokenBytes);
    }
    const std::string_view text = token.bytes;
    for (size_t cut = 1; cut < text.size(); ++cut) {
      if (characters && (static_cast<uint8_t>(text[cut]) & 0xC0) == 0x80) continue;
      const int32_t left = symbol(text.substr(0, cut));
      if (left < 0) continue;
      model.merges.add(left, symbol(text.substr(cut)), {ranks[id], static_cast<int32_t>(id)});
    }
  }
}

std::unique_ptr<TokenizerModel> model_by_rank(std::vector<Token> tokens,
                                              std::vector<AddedToken> added,
                                              const std::string& file) {
  auto model = std::make_unique<TokenizerModel>();
  model->source = file;
  model->vocabulary = Vocabulary(std::move(tokens));
  model->added = AddedTokens(std::move(added), file);
  std::vector<int32_t> ranks(model->vocabulary.size());
  for (size_t id = 0; id < ranks.size(); ++id) ranks[id] = static_cast<int32_t>(id);
  add_merges_by_rank(model->merges, model->vocabulary, ranks, file);
  model->merges.ignore_merges = true;
  return model;
}

Token token_of_type(Token token, std::string_view text, int64_t type) {
  const bool named = type == kTypeControl || type == kTypeUnknown || type == kTypeUnused;
  if (named || type == kTypeUser) token.bytes = text;
  if (type == kTypeControl) token.kind = TokenKind::control;
  if (type == kTypeUnknown) token.kind = TokenKind::unknown;
  if (type == kTypeUnused) token.kind = TokenKind::unused;
  if (type == kTypeUser) token.kind = TokenKind::user_defined;
  return token;
}

Token sentencepiece_token(std::string_view text, int64_t type) {
  if (std::optional<Token> byte = byte_token(text)) return *byte;
  const std::string spaced = with_spaces(text);
  return token_of_type({spaced, TokenKind::normal}, type == kTypeUser ? spaced : text, type);
}

namespace {

/// The merge order implied by scores: highest first, equal scores get equal ranks.
std::vector<int32_t> ranks_of_scores(const std::vector<float>& scores, const std::string& where) {
  std::vector<float> order = scores;
  for (const float score : order) {
    if (!std::isfinite(score)) {
      user_error("{} holds {}, not a number", where, score);
    }
  }
  std::sort(order.begin(), order.end(), std::greater<>());
  order.erase(std::unique(order.begin(), order.end()), order.end());
  std::vector<int32_t> ranks;
  ranks.reserve(scores.size());
  for (const float score : scores) {
    ranks.push_back(static_cast<int32_t>(
        std::lower_bound(order.begin(), order.end(), score, std::greater<>()) - order.begin()));
  }
  return ranks;
}

}  // namespace

void fill_sentencepiece(TokenizerModel& model, const std::vector<float>& scores, bool space_prefix,
                        const std::string& where) {
  model.description = "SentencePiece BPE";
  model.merges.start = MergeModel::Start::characters;
  model.merges.byte_fallback = true;
  add_merges_by_rank(model.merges, model.vocabulary, ranks_of_scores(scores, where), where);
  model.normalizer.add({NormalizeStep::Kind::replace, std::string(kVisibleBlank), " "});
  if (space_prefix) {
    model.normalizer.add({NormalizeStep::Kind::prepend, "", " "});
    model.drops_first_space = true;
  }
  if (blanks_only_begin_tokens(model.vocabulary)) model.pre_tokenizer.cut_before_blanks();
}

std::string token_text(const nlohmann::json& document, const std::string& where,
                       std::string_view key) {
  if (document.is_null()) return {};
  const JsonField field = JsonField(document, where)[key];
  return field.value().is_object() ? field["content"].text() : field.text_or("");
}

void put_added_tokens(std::vector<Token>& tokens, const std::vector<AddedToken>& added,
                      const std::string& where) {
  const size_t most = 2 * (tokens.size() + added.size()) + 65536;
  for (const AddedToken& token : added) {
    const auto id = static_cast<size_t>(token.id);
    if (token.id < 0 || id > most) {
      user_error("{}: added token {} has id {}", where, printable(token.text), token.id);
    }
    if (id >= tokens.size()) tokens.resize(id + 1);
    tokens[id] = {token.text, token.special ? TokenKind::control : TokenKind::user_defined};
  }
}

namespace {

int base64_digit(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  return c == '+' ? 62 : c == '/' ? 63 : -1;
}

}  // namespace

std::string from_base64(std::string_view text) {
  while (text.ends_with('=')) text.remove_suffix(1);
  std::string out;
  uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    const int digit = base64_digit(c);
    if (digit < 0) return {};
    bits = bits << 6 | static_cast<uint32_t>(digit);
    if ((count += 6) >= 8) out += static_cast<char>(bits >> (count -= 8) & 0xFF);
  }
  return out;
}

std::string read_text_file(const std::filesystem::path& path) {
  const MappedFile file(path);
  if (file.bytes().size() > kMaxTextFileBytes) {
    user_error("{}: {}; files of a tokenizer and of settings are read up to {}", path.string(),
               format_bytes(file.bytes().size()), format_bytes(kMaxTextFileBytes));
  }
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

void make_marks_special(std::vector<AddedToken>& added) {
  const TurnMarks marks([&](std::string_view text) {
    return std::ranges::find(added, text, &AddedToken::text) != added.end();
  });
  for (AddedToken& token : added) token.special = token.special || marks.is_mark(token.text);
}

AddedToken read_added_token(const JsonField& entry) {
  AddedToken token;
  token.text = entry["content"].text();
  token.special = entry["special"].flag(false);
  token.lstrip = entry["lstrip"].flag(false);
  token.rstrip = entry["rstrip"].flag(false);
  return token;
}

}  // namespace longhaul
