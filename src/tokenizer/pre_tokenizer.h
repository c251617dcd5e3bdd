#pragma once
// Splits text into words, across which no merges happen. It is a list of splits, each applied to
// every piece from the previous one.

#include <string>
#include <string_view>
#include <vector>

#include "text/regex.h"

namespace longhaul {

/// Treatment of the ranges that a split's pattern matches (names of Hugging Face tokenizers).
enum class SplitBehaviour {
  removed,
  isolated,  ///< each match is a piece
  merged_with_previous,
  merged_with_next,
  contiguous,  ///< neighbouring matches are one piece
};

struct Split {
  Regex pattern;
  SplitBehaviour behaviour = SplitBehaviour::isolated;
  bool invert = false;  ///< text between matches counts as matched
};

class PreTokenizer {
 public:
  void add(Split split) { splits_.push_back(std::move(split)); }
  /// Also split before every blank that follows another character. Only for vocabularies whose
  /// tokens cannot cross such a place: it then changes no result and makes words short.
  void cut_before_blanks() { cut_before_blanks_ = true; }

  const std::vector<Split>& splits() const { return splits_; }

  /// Non-empty pieces in order; views into `text`, which must be valid UTF-8.
  std::vector<std::string_view> split(std::string_view text) const;

 private:
  std::vector<Split> splits_;
  bool cut_before_blanks_ = false;
};

/// GPT-2's pattern, also that of tokenizer.json's ByteLevel.
inline constexpr std::string_view kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

/// Meaning of llama.cpp's `tokenizer.ggml.pre` names.
struct NamedPreTokenizer {
  std::string_view names;  ///< separated by blanks
  std::vector<std::string_view> patterns;
  bool ignore_merges = false;  ///< a word that is a token is not split further
  bool add_bos = false;        ///< if the file does not specify it
  bool nfc = false;            ///< the model's own tokenizer normalizes to NFC
};

/// Throws UserError (with `where` and the known names) for an unknown name.
const NamedPreTokenizer& named_pre_tokenizer(std::string_view name, std::string_view where);
PreTokenizer make_pre_tokenizer(const NamedPreTokenizer& named);

}  // namespace longhaul
