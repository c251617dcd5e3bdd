#include "tokenizer/word_encoder.h"

#include "text/utf8.h"

namespace longhaul {

void WordEncoder::encode(std::string_view word, std::vector<int32_t>& ids) {
  if (!WordCache::worth_keeping(word)) return encode_anew(word, ids);
  if (const auto known = cache_.find(word)) {
    ids.insert(ids.end(), known->begin(), known->end());
    return;
  }
  const size_t before = ids.size();
  encode_anew(word, ids);
  cache_.put(word, std::span<const int32_t>(ids).subspan(before));
}

int32_t WordEncoder::character_symbol(std::string_view character) const {
  const int32_t token = vocabulary_.find(character);
  if (token >= 0 || model_.extra_characters.empty()) return token;
  const auto extra = model_.extra_characters.find(std::string(character));
  return extra == model_.extra_characters.end() ? -1 : extra->second;
}

void WordEncoder::start_symbols(std::string_view word) {
  symbols_.clear();
  for (size_t at = 0; at < word.size();) {
    if (model_.start == MergeModel::Start::bytes) {
      symbols_.push_back({vocabulary_.byte_token(static_cast<uint8_t>(word[at])), at, 1});
    } else {
      const uint32_t bytes = read_utf8(word.substr(at)).bytes;
      symbols_.push_back({character_symbol(word.substr(at, bytes)), at, bytes});
    }
    at += symbols_.back().bytes;
  }
}

bool WordEncoder::emit_bytes(std::string_view bytes, std::vector<int32_t>& ids) const {
  if (!model_.byte_fallback) return false;
  for (const char byte : bytes) {
    if (vocabulary_.byte_token(static_cast<uint8_t>(byte)) < 0) return false;
  }
  for (const char byte : bytes) ids.push_back(vocabulary_.byte_token(static_cast<uint8_t>(byte)));
  return true;
}

void WordEncoder::encode_anew(std::string_view word, std::vector<int32_t>& ids) {
  if (model_.ignore_merges) {
    if (const int32_t token = vocabulary_.find(word); token >= 0) {
      ids.push_back(token);
      return;
    }
  }
  start_symbols(word);
  merger_.merge(model_.merges, symbols_);
  bool after_unknown = false;
  for (const Symbol& symbol : symbols_) {
    const bool unknown = !vocabulary_.contains(symbol.id) &&
                         !emit_bytes(word.substr(symbol.begin, symbol.bytes), ids);
    if (vocabulary_.contains(symbol.id)) ids.push_back(symbol.id);
    const bool fused = after_unknown && model_.fuse_unknown;
    if (unknown && !fused && model_.unknown >= 0) ids.push_back(model_.unknown);
    after_unknown = unknown;
  }
}

}  // namespace longhaul
