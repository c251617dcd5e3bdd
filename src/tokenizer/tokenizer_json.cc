// Hugging Face's tokenizer.json with a BPE model (format: the `tokenizers` library).

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "text/printable.h"
#include "tokenizer/load_parts.h"
#include "tokenizer/tokenizer_json_steps.h"

namespace longhaul {

namespace {

/// The vocabulary as stored in the file: texts by id; ids without a token have an empty text.
struct JsonVocabulary {
  std::vector<std::string> texts;
  std::vector<const AddedToken*> added;  // by id; null for tokens of the model itself
};

int32_t checked_id(int64_t id, size_t entries, const std::string& where) {
  // Ids may have gaps, but ids far beyond the number of entries are invalid.
  if (id < 0 || static_cast<uint64_t>(id) > uint64_t{4} * entries + 65536) {
    user_error("{}: token id {} is out of range for {} entries", where, id, entries);
  }
  return static_cast<int32_t>(id);
}

std::vector<AddedToken> read_added_tokens(const JsonField& list, size_t model_entries) {
  std::vector<AddedToken> out;
  if (list.is_null()) return out;
  const size_t entries = model_entries + list.array_size();
  for (size_t i = 0; i < list.array_size(); ++i) {
    const JsonField entry = list.at(i);
    if (entry["single_word"].flag(false)) {
      user_error("{}: added tokens with single_word are not supported", entry.where());
    }
    AddedToken token = read_added_token(entry);
    token.id = checked_id(entry["id"].integer(), entries, entry.where());
    out.push_back(std::move(token));
  }
  make_marks_special(out);
  return out;
}

JsonVocabulary read_vocabulary(const JsonField& vocab, const std::vector<AddedToken>& added) {
  if (!vocab.value().is_object()) vocab.wrong("an object of texts and ids");
  JsonVocabulary out;
  const size_t entries = vocab.value().size() + added.size();
  const auto place = [&](int64_t id) {
    const auto at = static_cast<size_t>(checked_id(id, entries, vocab.where()));
    if (at >= out.texts.size()) {
      out.texts.resize(at + 1);
      out.added.resize(at + 1);
    }
    return at;
  };
  for (const auto& [text, id] : vocab.value().items()) {
    if (!id.is_number_integer() || (id.is_number_unsigned() && id.get<uint64_t>() > INT32_MAX)) {
      user_error("{}: the id of {} is not a token id", vocab.where(), printable(text));
    }
    std::string& slot = out.texts[place(id.get<int64_t>())];
    if (!slot.empty()) {
      user_error("{}: {} and {} have the same id", vocab.where(), printable(slot), printable(text));
    }
    slot = text;
  }
  for (const AddedToken& token : added) {
    const size_t at = place(token.id);
    if (out.texts[at].empty()) out.texts[at] = token.text;
    out.added[at] = &token;
  }
  return out;
}

Vocabulary make_vocabulary(const JsonVocabulary& source, const TokenizerJsonStyle& style,
                           bool byte_fallback) {
  const bool has_bytes = byte_fallback && !style.byte_level;
  std::vector<Token> tokens(source.texts.size());
  for (size_t id = 0; id < tokens.size(); ++id) {
    const std::string& text = source.texts[id];
    if (std::optional<Token> byte = has_bytes ? byte_token(text) : std::nullopt) {
      tokens[id] = *std::move(byte);  // also where the file lists it among the added tokens
    } else if (const AddedToken* added = source.added[id]) {
      tokens[id].bytes = style.visible_blanks ? with_spaces(added->text) : added->text;
      tokens[id].kind = added->special ? TokenKind::control : TokenKind::user_defined;
    } else if (text.empty()) {
      continue;
    } else if (style.byte_level) {
      tokens[id] = byte_level_token(text);
    } else {
      tokens[id] = {style.visible_blanks ? with_spaces(text) : text, TokenKind::normal};
    }
  }
  return Vocabulary(std::move(tokens));
}

void read_merges(TokenizerModel& model, const JsonField& list, const JsonVocabulary& source) {
  TextIds ids;
  ids.reserve(source.texts.size());
  for (size_t id = 0; id < source.texts.size(); ++id) {
    if (!source.texts[id].empty()) ids.emplace(source.texts[id], static_cast<int32_t>(id));
  }
  const size_t count = list.array_size();
  if (count > INT32_MAX) list.wrong("a shorter list");
  MergeTable& table = model.merges.merges = MergeTable(count);
  for (size_t i = 0; i < count; ++i) {
    const nlohmann::json& merge = list.value()[i];
    const auto rank = static_cast<int32_t>(i);
    if (merge.is_string()) {
      add_merge_line(table, ids, model.vocabulary, merge.get_ref<const std::string&>(), rank,
                     list.where());
    } else if (merge.is_array() && merge.size() == 2 && merge[0].is_string() &&
               merge[1].is_string()) {
      add_merge_by_text(table, ids, model.vocabulary, merge[0].get_ref<const std::string&>(),
                        merge[1].get_ref<const std::string&>(), rank, list.where());
    } else {
      list.at(i).wrong("\"left right\" or [left, right]");
    }
  }
}

void read_merge_options(MergeModel& merges, const JsonField& json, const JsonVocabulary& source,
                        const TokenizerJsonStyle& style) {
  for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    const JsonField affix = json[key];
    if (!affix.text_or("").empty()) {
      user_error("{} is not supported, but is {}", affix.where(), printable(affix.text()));
    }
  }
  merges.start = style.byte_level ? MergeModel::Start::bytes : MergeModel::Start::characters;
  merges.ignore_merges = json["ignore_merges"].flag(false);
  merges.byte_fallback = json["byte_fallback"].flag(false);
  merges.fuse_unknown = json["fuse_unk"].flag(false);
  const JsonField unknown = json["unk_token"];
  if (unknown.is_null()) return;
  const auto found = std::find(source.texts.begin(), source.texts.end(), unknown.text());
  if (found == source.texts.end()) {
    user_error("{} {} is not in the vocabulary", unknown.where(), printable(unknown.text()));
  }
  merges.unknown = static_cast<int32_t>(found - source.texts.begin());
}

}  // namespace

std::unique_ptr<TokenizerModel> parse_tokenizer_json(std::string_view text,
                                                     const std::string& where) {
  const nlohmann::json document = parse_json(text, where);
  const JsonField root(document, where);
  const JsonField json = root["model"];
  // Old files of BPE models have no type.
  if (const std::string type = json["type"].text_or("BPE"); type != "BPE") {
    user_error("{}: model type {} is not supported, only BPE is", where, printable(type));
  }
  const TokenizerJsonStyle style = find_style(root);
  const JsonField vocab = json["vocab"];
  const std::vector<AddedToken> added =
      read_added_tokens(root["added_tokens"], vocab.value().size());
  const JsonVocabulary source = read_vocabulary(vocab, added);
  if (source.texts.empty()) user_error("{} is empty", vocab.where());

  auto model = std::make_unique<TokenizerModel>();
  model->source = where;
  read_merge_options(model->merges, json, source, style);
  model->vocabulary = make_vocabulary(source, style, model->merges.byte_fallback);
  model->added = AddedTokens(added, where);
  read_merges(*model, json["merges"], source);
  add_normalizer(*model, root["normalizer"], style);
  add_pre_tokenizer(*model, root["pre_tokenizer"]);
  add_post_processor(*model, root["post_processor"]);
  model->drops_first_space = decoder_drops_first_space(root["decoder"]);
  model->description = style.byte_level ? "byte-level BPE (tokenizer.json)"
                                        : "SentencePiece-like BPE (tokenizer.json)";
  if (style.visible_blanks && blanks_only_begin_tokens(model->vocabulary)) {
    model->pre_tokenizer.cut_before_blanks();
  }
  return model;
}

}  // namespace longhaul
