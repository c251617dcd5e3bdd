#pragma once
// A Constraint forces a reply to match a grammar. Either the whole reply must match, or only the
// text after certain strings, such as the mark that begins a tool call.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "grammar/grammar.h"

namespace longhaul::grammar {

/// A constraint, and its state after the tokens of one reply so far. A copy can be continued
/// independently.
class Constraint {
 public:
  /// Creates a constraint for the whole reply.
  Constraint(const Grammar& grammar, std::shared_ptr<const TokenTrie> vocabulary);
  /// Creates a constraint for the text after one of the strings `starts`. Text before a start is
  /// not restricted. After the grammar has matched completely, text is not restricted until the
  /// next start. A start may be the text of a control token.
  Constraint(const Grammar& grammar, std::shared_ptr<const TokenTrie> vocabulary,
             std::vector<std::string> starts);

  /// Returns whether the next token is restricted.
  bool active() const { return active_; }
  /// Sets the bits of `mask`, which has mask_words() words, for the tokens that may come next
  /// (TokenMask). Call it only if active() is true. Throws UserError if the vocabulary has no such
  /// token.
  void allowed(std::span<uint64_t> mask);
  size_t mask_words() const { return vocabulary_->mask_words(); }
  /// Appends the sampled token. If it is a control token, `text` is its text.
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
  std::string recent_;  // end of the unrestricted text, at most as long as the longest start
  bool active_ = true;
};

}  // namespace longhaul::grammar
