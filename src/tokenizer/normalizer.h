#pragma once
// Normalization of text before it is split into words. Longhaul writes SentencePiece's blank
// (U+2581) as an ordinary space, in text and vocabulary, so steps refer to spaces.

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
  bool only_at_start = false;  ///< prepend: only at the very beginning of the input
};

/// Throws UserError (with `where`) if `grown` bytes exceed 64 times `input` plus 1 MiB, the limit
/// for the output of normalizers. Unicode's forms produce at most 11 times the input.
void check_growth(std::string_view where, size_t input, size_t grown);

class Normalizer {
 public:
  void add(NormalizeStep step) { steps_.push_back(std::move(step)); }
  const std::vector<NormalizeStep>& steps() const { return steps_; }

  /// `text` is valid UTF-8 and not empty; `at_start` means that it begins the input. Throws
  /// UserError like check_growth(), before memory is allocated.
  std::string apply(std::string text, bool at_start, std::string_view where) const;

 private:
  std::vector<NormalizeStep> steps_;
};

}  // namespace longhaul
