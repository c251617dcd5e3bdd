#pragma once
// Splits text into words before tokenization. A token never extends over two words. A pre-tokenizer
// is a list of splits. Each split is applied to every piece that the previous split has produced.

#include <string>
#include <string_view>
#include <vector>

#include "text/regex.h"

namespace longhaul {

/// Determines what becomes of the ranges that the pattern of a split matches. The names are those
/// of the Hugging Face library tokenizers.
enum class SplitBehaviour {
  removed,
  isolated,  ///< each match becomes a piece
  merged_with_previous,
  merged_with_next,
  contiguous,  ///< adjacent matches become one piece
};

struct Split {
  Regex pattern;
  SplitBehaviour behaviour = SplitBehaviour::isolated;
  bool invert = false;  ///< whether the roles of matches and of the text between them are exchanged
};

class PreTokenizer {
 public:
  void add(Split split) { splits_.push_back(std::move(split)); }
  /// Adds a split before every space that follows another character, so that words become short and
  /// tokenization becomes fast. Use it only if no token of the vocabulary has a space after another
  /// character. The split then does not change the result.
  void cut_before_blanks() { cut_before_blanks_ = true; }

  const std::vector<Split>& splits() const { return splits_; }

  /// Returns the non-empty pieces in order. They are views into `text`, which must be valid UTF-8.
  std::vector<std::string_view> split(std::string_view text) const;

 private:
  std::vector<Split> splits_;
  bool cut_before_blanks_ = false;
};

/// The pattern with which GPT-2 splits text. The pre-tokenizer ByteLevel of tokenizer.json also
/// uses it.
inline constexpr std::string_view kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

/// A pre-tokenizer of llama.cpp. The key `tokenizer.ggml.pre` of a GGUF file names it.
struct NamedPreTokenizer {
  std::string_view names;  ///< all names of the pre-tokenizer, separated by spaces
  std::vector<std::string_view> patterns;
  /// Whether a word that is a token becomes this token without merging.
  bool ignore_merges = false;
  bool add_bos = false;  ///< whether BOS is added if the file does not specify this
  bool nfc = false;      ///< whether the model's original tokenizer normalizes text to NFC
};

/// Returns the pre-tokenizer with this name. Throws UserError with `where` and the known names if
/// the name is unknown.
const NamedPreTokenizer& named_pre_tokenizer(std::string_view name, std::string_view where);
PreTokenizer make_pre_tokenizer(const NamedPreTokenizer& named);

}  // namespace longhaul
