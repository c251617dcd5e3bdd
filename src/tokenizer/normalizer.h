#pragma once
// What is done to text before it is cut into words. Longhaul writes SentencePiece's blank (U+2581)
// as an ordinary space, in text and vocabulary alike, so steps speak of spaces.

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
    prepend,               ///< `to` before the text
    prepend_unless_there,  ///< the same if the text does not begin with it
    replace,               ///< every `from` by `to`
  };
  Kind kind;
  std::string from, to;
  bool only_at_start = false;  ///< prepend: only at the very beginning of the input
};

/// UserError (naming `where`) when `grown` bytes are more than 64 times the `input` and 1 MiB,
/// which is what normalizers may make of it. Unicode's forms give at most 11 times as much.
void check_growth(std::string_view where, size_t input, size_t grown);

class Normalizer {
 public:
  void add(NormalizeStep step) { steps_.push_back(std::move(step)); }
  const std::vector<NormalizeStep>& steps() const { return steps_; }

  /// `text` is valid UTF-8 and not empty; `at_start`: nothing stands before it in the input. Throws
  /// UserError as check_growth() does, before the memory is taken.
  std::string apply(std::string text, bool at_start, std::string_view where) const;

 private:
  std::vector<NormalizeStep> steps_;
};

}  // namespace longhaul
