#include "tokenizer/added_tokens.h"

#include <algorithm>

#include "base/error.h"

namespace longhaul {

AddedTokens::AddedTokens(std::vector<AddedToken> tokens, std::string_view where)
    : tokens_(std::move(tokens)) {
  std::erase_if(tokens_, [](const AddedToken& token) { return token.text.empty(); });
  const auto by_text = [](const AddedToken& a, const AddedToken& b) { return a.text < b.text; };
  std::stable_sort(tokens_.begin(), tokens_.end(), by_text);
  const auto same = [](const AddedToken& a, const AddedToken& b) { return a.text == b.text; };
  tokens_.erase(std::unique(tokens_.begin(), tokens_.end(), same), tokens_.end());
  size_t bytes = 0;
  std::vector<TokenAutomaton::Entry> entries;
  entries.reserve(tokens_.size());
  for (const AddedToken& token : tokens_) {
    bytes += token.text.size();
    entries.push_back({token.text, token.special});
  }
  if (bytes > kMostBytes) {
    user_error("{}: the added tokens have {} bytes together; at most {} are supported", where,
               bytes, kMostBytes);
  }
  automaton_ = TokenAutomaton(entries);
}

std::vector<AddedTokenMatch> AddedTokens::find_all(std::string_view text, bool with_special) const {
  // Candidates come last place first.
  std::vector<AddedTokenMatch> candidates;
  automaton_.from_the_end(text, with_special, [&](size_t begin, uint32_t index) {
    const AddedToken& token = tokens_[index];
    candidates.push_back({begin, begin + token.text.size(), &token});
  });
  std::vector<AddedTokenMatch> found;
  size_t done = 0;
  for (auto at = candidates.rbegin(); at != candidates.rend(); ++at) {
    if (at->begin < done) continue;
    found.push_back(*at);
    done = at->end;
  }
  return found;
}

const AddedToken* AddedTokens::with_text(std::string_view text) const {
  const auto found = std::lower_bound(
      tokens_.begin(), tokens_.end(), text,
      [](const AddedToken& token, std::string_view wanted) { return token.text < wanted; });
  return found != tokens_.end() && found->text == text ? &*found : nullptr;
}

}  // namespace longhaul
