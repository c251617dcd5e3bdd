#include "tokenizer/added_tokens.h"

#include <algorithm>

namespace longhaul {

AddedTokens::AddedTokens(std::vector<AddedToken> tokens) : tokens_(std::move(tokens)) {
  std::erase_if(tokens_, [](const AddedToken& token) { return token.text.empty(); });
  const auto by_text = [](const AddedToken& a, const AddedToken& b) { return a.text < b.text; };
  std::stable_sort(tokens_.begin(), tokens_.end(), by_text);
  const auto same = [](const AddedToken& a, const AddedToken& b) { return a.text == b.text; };
  tokens_.erase(std::unique(tokens_.begin(), tokens_.end(), same), tokens_.end());
  for (const AddedToken& token : tokens_) {
    ++first_byte_[size_t{static_cast<uint8_t>(token.text[0])} + 1];
  }
  for (size_t byte = 0; byte < 256; ++byte) first_byte_[byte + 1] += first_byte_[byte];
}

const AddedToken* AddedTokens::longest_at(std::string_view text, bool with_special) const {
  const auto first = static_cast<uint8_t>(text[0]);
  auto low = tokens_.begin() + first_byte_[first];
  auto high = tokens_.begin() + first_byte_[size_t{first} + 1];
  const AddedToken* best = nullptr;
  // Tokens in [low, high) share their first `depth` bytes with the text; shorter ones sort first.
  for (size_t depth = 1; low != high; ++depth) {
    if (low->text.size() == depth) {
      if (with_special || !low->special) best = &*low;
      ++low;
    }
    if (depth == text.size()) break;
    const auto byte = static_cast<uint8_t>(text[depth]);
    low = std::lower_bound(low, high, byte, [depth](const AddedToken& token, uint8_t wanted) {
      return static_cast<uint8_t>(token.text[depth]) < wanted;
    });
    high = std::upper_bound(low, high, byte, [depth](uint8_t wanted, const AddedToken& token) {
      return wanted < static_cast<uint8_t>(token.text[depth]);
    });
  }
  return best;
}

std::optional<AddedTokenMatch> AddedTokens::find(std::string_view text, size_t from,
                                                 bool with_special) const {
  if (tokens_.empty()) return std::nullopt;
  for (size_t at = from; at < text.size(); ++at) {
    const auto byte = static_cast<uint8_t>(text[at]);
    if (first_byte_[byte] == first_byte_[size_t{byte} + 1]) continue;
    if (const AddedToken* token = longest_at(text.substr(at), with_special)) {
      return AddedTokenMatch{at, at + token->text.size(), token};
    }
  }
  return std::nullopt;
}

const AddedToken* AddedTokens::with_text(std::string_view text) const {
  const auto found = std::lower_bound(
      tokens_.begin(), tokens_.end(), text,
      [](const AddedToken& token, std::string_view wanted) { return token.text < wanted; });
  return found != tokens_.end() && found->text == text ? &*found : nullptr;
}

}  // namespace longhaul
