#pragma once
// Applies a grammar to a reply. Either the whole reply must match, or only the text after a start
// text such as the mark of a tool call.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "grammar/grammar.h"

namespace longhaul::grammar {

/// A constraint and its state in one reply. Copies are independent of each other.
class Constraint {
 public:
  /// The reply must match from its beginning.
  Constraint(const Grammar& grammar, std::shared_ptr<const TokenTrie> vocabulary);
  /// The reply is free until one of the strings `starts` has appeared. The text after it must
  /// match. After a match the reply is free again. A start may be the text of a control token.
  Constraint(const Grammar& grammar, std::shared_ptr<const TokenTrie> vocabulary,
             std::vector<std::string> starts);

  /// Returns whether the next token is restricted.
  bool active() const { return active_; }
  /// Writes the tokens that may come next to `mask`, which has mask_words() words. Call it only if
  /// active() is true. Throws UserError if the vocabulary has no such token.
  void allowed(std::span<uint64_t> mask);
  size_t mask_words() const { return vocabulary_->mask_words(); }
  /// Appends the sampled token. `text` is the text of a control token, otherwise empty.
  void accept(int32_t token, std::string_view text = {});
  /// Returns whether the reply is complete and nothing can follow.
  bool must_end() const { return starts_.empty() && state_.must_end(); }
  /// Returns the bytes of the tables that all copies share.
  size_t shared_memory_bytes() const { return begin_.shared_memory_bytes(); }

 private:
  void watch(std::string_view text);

  std::shared_ptr<const TokenTrie> vocabulary_;
  GrammarState begin_, state_;
  std::vector<std::string> starts_;
  std::string recent_;  // end of the free text, at most as long as the longest start
  bool active_ = true;
};

}  // namespace longhaul::grammar
