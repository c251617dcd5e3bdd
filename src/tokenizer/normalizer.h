#pragma once
// Normalizes text before it is split into words. SentencePiece writes a space as U+2581. Longhaul
// uses an ordinary space instead, in texts, in vocabularies, and in the steps defined here.

#include <string>
#include <string_view>
#include <vector>

namespace longhaul {

struct NormalizeStep {
  enum class Kind {
    nfc,
    nfd,
    nfkc,
    nfkd,
    prepend,               ///< prepends `to` to the text
    prepend_unless_there,  ///< prepends `to` unless the text begins with it
    replace,               ///< replaces every `from` by `to`
  };
  Kind kind;
  std::string from, to;
  /// For prepend: whether it applies only at the beginning of the input.
  bool only_at_start = false;
};

/// Throws UserError with `where` if `grown`, the size of the normalized text, exceeds 64 times
/// `input` plus 1 MiB. A hostile file could otherwise exhaust the memory. Unicode's normalization
/// forms produce at most 11 times the input.
void check_growth(std::string_view where, size_t input, size_t grown);

class Normalizer {
 public:
  void add(NormalizeStep step) { steps_.push_back(std::move(step)); }
  const std::vector<NormalizeStep>& steps() const { return steps_; }

  /// Applies all steps. `text` must be valid UTF-8 and not empty. `at_start` is true if it is the
  /// beginning of the input. Throws the UserError of check_growth() before it allocates too much
  /// memory.
  std::string apply(std::string text, bool at_start, std::string_view where) const;

 private:
  std::vector<NormalizeStep> steps_;
};

}  // namespace longhaul
