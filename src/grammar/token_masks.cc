#include "grammar/token_masks.h"

#include <algorithm>

namespace longhaul::grammar {

void TokenMasks::set(std::span<uint64_t> mask, int32_t token) const {
  const size_t id = static_cast<size_t>(token);
  mask[id / 64] |= uint64_t{1} << (id % 64);
}

const TokenMasks::Known& TokenMasks::known(StateTables& tables, uint32_t state, bool plain) {
  auto& cache = plain ? plain_ : others_;
  if (const auto found = cache.find(state); found != cache.end()) return found->second;
  const TrieNodes& nodes = plain ? vocabulary_.plain() : vocabulary_.others();
  Known made;
  path_.resize(vocabulary_.longest() + 1);
  path_[0] = state;
  for (uint32_t i = 0; i < nodes.size();) {
    const TokenTrie::TrieNode& node = nodes[i];
    const uint32_t to = tables.next(path_[node.depth - 1u], node.byte);
    if (to == StateTables::kDead) {
      i = node.end;
      continue;
    }
    path_[node.depth] = to;
    if (node.token >= 0) {
      made.tokens.push_back(node.token);
      const auto equal = vocabulary_.equal_tokens(node.token);
      made.tokens.insert(made.tokens.end(), equal.begin(), equal.end());
    }
    if (tables.pops(to) && i + 1 < node.end) made.ends.push_back(i);
    ++i;
  }
  if (made.tokens.size() > 2 * vocabulary_.mask_words()) {
    made.mask.assign(vocabulary_.mask_words(), 0);
    for (const int32_t token : made.tokens) set(made.mask, token);
    made.tokens = {};
  }
  made.tokens.shrink_to_fit();
  made.ends.shrink_to_fit();
  bytes_ += 200 + made.tokens.size() * 4 + made.mask.size() * 8 + made.ends.size() * 4;
  return cache[state] = std::move(made);
}

/// The number of plain characters of which any may follow, if no longer plain text may follow;
/// kMostPlain if at least so many may; -1 if it depends on the characters.
int TokenMasks::all_plain(StateTables& tables, Place place, std::span<const uint32_t> stack) {
  int characters = 0;
  for (; characters < static_cast<int>(TokenTrie::kMostPlain); ++characters) {
    const uint32_t to = tables.plain_next(place.state);
    if (to == StateTables::kDead) break;
    place = resolved(tables, {to, place.depth}, stack);
  }
  if (characters == static_cast<int>(TokenTrie::kMostPlain)) return characters;
  return characters > 0 && tables.no_plain(place.state) ? characters : -1;
}

void TokenMasks::add_known(StateTables& tables, Place place, std::span<const uint32_t> stack,
                           bool plain, std::span<uint64_t> mask) {
  const Known& found = known(tables, place.state, plain);
  for (size_t i = 0; i < found.mask.size(); ++i) mask[i] |= found.mask[i];
  for (const int32_t token : found.tokens) set(mask, token);
  if (place.depth == 0 || found.ends.empty()) return;
  const size_t outer = place.depth - 1;
  const Place from = resolved(tables, {tables.resume(stack[outer]), outer}, stack);
  add_rest(tables, plain ? vocabulary_.plain() : vocabulary_.others(), found.ends, from, stack,
           mask);
}

void TokenMasks::write(StateTables& tables, Place place, std::span<const uint32_t> stack,
                       std::span<uint64_t> mask) {
  const int characters = all_plain(tables, place, stack);
  if (characters >= 0) {
    const TokenMask& plain = vocabulary_.plain_mask(static_cast<size_t>(characters));
    std::copy(plain.begin(), plain.end(), mask.begin());
  } else {
    std::fill(mask.begin(), mask.end(), 0);
    add_known(tables, place, stack, true, mask);
  }
  add_known(tables, place, stack, false, mask);
}

void TokenMasks::add_rest(StateTables& tables, const TrieNodes& nodes,
                          std::span<const uint32_t> ends, Place from,
                          std::span<const uint32_t> stack, std::span<uint64_t> mask) {
  places_.resize(vocabulary_.longest() + 1);
  for (const uint32_t end : ends) {
    places_[nodes[end].depth] = from;
    for (uint32_t i = end + 1; i < nodes[end].end;) {
      const TokenTrie::TrieNode& node = nodes[i];
      const Place before = places_[node.depth - 1u];
      const uint32_t to = tables.next(before.state, node.byte);
      if (to == StateTables::kDead) {
        i = node.end;
        continue;
      }
      places_[node.depth] = resolved(tables, {to, before.depth}, stack);
      if (node.token >= 0) {
        set(mask, node.token);
        for (const int32_t equal : vocabulary_.equal_tokens(node.token)) set(mask, equal);
      }
      ++i;
    }
  }
}

}  // namespace longhaul::grammar
