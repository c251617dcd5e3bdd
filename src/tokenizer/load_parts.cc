#include "tokenizer/load_parts.h"

#include <algorithm>
#include <charconv>

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

std::string token_text(const nlohmann::json& document, const std::string& where,
                       std::string_view key) {
  if (document.is_null()) return {};
  const JsonField field = JsonField(document, where)[key];
  return field.value().is_object() ? field["content"].text() : field.text_or("");
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
