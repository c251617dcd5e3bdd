#pragma once
// Cutting text into the words that merging may not cross. A list of splits, each applied to every
// piece that the one before left.

#include <string>
#include <string_view>
#include <vector>

#include "text/regex.h"

namespace longhaul {

/// What becomes of the stretches that a split's pattern matches (names of Hugging Face tokenizers).
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
  bool invert = false;  ///< what lies between matches counts as matched
};

class PreTokenizer {
 public:
  void add(Split split) { splits_.push_back(std::move(split)); }
  /// Also cut before every blank that follows something else. Only for vocabularies none of whose
  /// tokens could stand across such a place: then it changes no result and makes words short.
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

/// What llama.cpp's `tokenizer.ggml.pre` names stand for.
struct NamedPreTokenizer {
  std::string_view names;  ///< separated by blanks
  std::vector<std::string_view> patterns;
  bool ignore_merges = false;  ///< a whole word that is a token is that token
  bool add_bos = false;        ///< when the file does not say
  bool nfc = false;            ///< the model's own tokenizer normalizes
};

/// Throws UserError (naming `where` and the known names) for a name that is not known.
const NamedPreTokenizer& named_pre_tokenizer(std::string_view name, std::string_view where);
PreTokenizer make_pre_tokenizer(const NamedPreTokenizer& named);

}  // namespace longhaul
