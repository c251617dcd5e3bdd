#include "grammar/token_trie.h"

#include <algorithm>
#include <string>

#include "text/utf8.h"

namespace longhaul::grammar {
namespace {

constexpr size_t kLongestToken = 65'000;  // bytes; TrieNode::depth has 16 bits

/// The number of characters if all are plain; -1 if one is not.
int plain_characters(std::string_view text) {
  int count = 0;
  while (!text.empty()) {
    const Utf8Sequence next = read_utf8(text);
    const uint32_t c = next.code_point;
    if (next.status != Utf8Status::complete || c < 0x20 || c == '"' || c == '\\' || c == 0x7F) {
      return -1;
    }
    text.remove_prefix(next.bytes);
    ++count;
  }
  return count;
}

}  // namespace

TokenTrie::TokenTrie(std::span<const std::string_view> texts, std::vector<int32_t> ending_tokens)
    : texts_(texts.begin(), texts.end()), ending_(std::move(ending_tokens)) {
  std::sort(ending_.begin(), ending_.end());
  std::vector<int32_t> plain, others;
  plain_masks_.assign(kMostPlain + 1, TokenMask(mask_words()));
  for (size_t i = 0; i < texts_.size(); ++i) {
    const int32_t token = static_cast<int32_t>(i);
    if (texts_[i].empty() || texts_[i].size() > kLongestToken || ends(token)) continue;
    longest_ = std::max(longest_, texts_[i].size());
    const int characters = plain_characters(texts_[i]);
    if (characters < 0 || characters > static_cast<int>(kMostPlain)) {
      others.push_back(token);
      continue;
    }
    plain.push_back(token);
    for (size_t n = static_cast<size_t>(characters); n <= kMostPlain; ++n) {
      plain_masks_[n][i / 64] |= uint64_t{1} << (i % 64);
    }
  }
  add_trie(plain, plain_);
  add_trie(others, others_);
  std::sort(equal_.begin(), equal_.end());
}

void TokenTrie::add_trie(std::vector<int32_t>& tokens, std::vector<TrieNode>& nodes) {
  std::sort(tokens.begin(), tokens.end(), [this](int32_t a, int32_t b) {
    const int order = texts_[static_cast<size_t>(a)].compare(texts_[static_cast<size_t>(b)]);
    return order < 0 || (order == 0 && a < b);
  });
  std::vector<uint32_t> path;  // nodes of the last token
  std::string_view last;
  int32_t last_token = -1;
  for (const int32_t token : tokens) {
    const std::string_view text = texts_[static_cast<size_t>(token)];
    if (text == last) {
      if (equal_.empty() || equal_.back().first != last_token) equal_.push_back({last_token, {}});
      equal_.back().second.push_back(token);
      continue;
    }
    size_t same = 0;
    while (same < std::min(text.size(), last.size()) && text[same] == last[same]) ++same;
    for (; path.size() > same; path.pop_back()) {
      nodes[path.back()].end = static_cast<uint32_t>(nodes.size());
    }
    for (size_t i = same; i < text.size(); ++i) {
      path.push_back(static_cast<uint32_t>(nodes.size()));
      nodes.push_back({0, -1, static_cast<uint16_t>(i + 1), static_cast<uint8_t>(text[i])});
    }
    nodes.back().token = token;
    last = text;
    last_token = token;
  }
  for (; !path.empty(); path.pop_back()) {
    nodes[path.back()].end = static_cast<uint32_t>(nodes.size());
  }
}

std::span<const int32_t> TokenTrie::equal_tokens(int32_t token) const {
  const auto found =
      std::lower_bound(equal_.begin(), equal_.end(), token,
                       [](const auto& entry, int32_t id) { return entry.first < id; });
  if (found == equal_.end() || found->first != token) return {};
  return found->second;
}

std::string_view TokenTrie::text(int32_t token) const {
  if (token < 0 || static_cast<size_t>(token) >= texts_.size()) return {};
  return texts_[static_cast<size_t>(token)];
}

bool TokenTrie::ends(int32_t token) const {
  return std::binary_search(ending_.begin(), ending_.end(), token);
}

}  // namespace longhaul::grammar
