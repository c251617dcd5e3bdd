#pragma once
// Text to token ids and back. One class for every kind of vocabulary: loaders (load_tokenizer.h)
// fill a TokenizerModel, this runs it. Copies share the model; all calls are thread-safe.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace longhaul {

struct TokenizerModel;

struct EncodeOptions {
  bool add_special = true;     ///< put BOS and EOS around the text where the model asks for them
  bool parse_special = false;  ///< text such as `<|im_end|>` becomes the control token of that name
};

/// A stretch of a prompt. Chat templates give their own text as `parse_special` and the user's
/// as plain, so that nobody can write a control token into a conversation.
struct TextSegment {
  std::string text;
  bool parse_special = false;
};

/// One token of a sequence and where it stands in the bytes of all pieces laid end to end.
struct TokenSpan {
  int32_t id = 0;
  std::string_view piece;  ///< raw bytes, perhaps part of a UTF-8 character; lives with the model
  size_t begin = 0;
};

class Tokenizer {
 public:
  explicit Tokenizer(std::shared_ptr<const TokenizerModel> model);

  /// Invalid UTF-8 becomes U+FFFD; `replaced`, if given, receives how many sequences were.
  std::vector<int32_t> encode(std::string_view text, EncodeOptions options = {},
                              size_t* replaced = nullptr) const;

  /// The segments as one text: words may run across their borders, control tokens are looked for
  /// only inside `parse_special` segments.
  std::vector<int32_t> encode(std::span<const TextSegment> segments, bool add_special,
                              size_t* replaced = nullptr) const;

  /// Valid UTF-8 always (broken sequences become U+FFFD). The space that SentencePiece puts before
  /// a text is taken away again. Ids outside the vocabulary give U+FFFD.
  std::string decode(std::span<const int32_t> ids, bool skip_special = true) const;

  /// The token's raw bytes; a control token's name. Empty for an id outside the vocabulary.
  std::string_view piece(int32_t id) const;
  std::vector<TokenSpan> spans(std::span<const int32_t> ids) const;

  /// How many tokens at the end hold the last `bytes` bytes of the text.
  int64_t tokens_of_tail(std::span<const int32_t> ids, size_t bytes) const;

  size_t vocab_size() const;  ///< highest id + 1
  std::optional<int32_t> bos_id() const;
  std::optional<int32_t> eos_id() const;
  bool adds_bos() const;  ///< whether `add_special` puts BOS first

  /// True for every token that ends a reply: eos, eot, eom, the generation config's list, and
  /// control tokens with a known text such as `<|im_end|>`.
  bool end_of_generation(int32_t id) const;

  bool is_special(int32_t id) const;  ///< a control token: left out of decoded text
  /// The id of the control or added token with exactly this text.
  std::optional<int32_t> special_token(std::string_view text) const;

  /// One line: kind of vocabulary, pre-tokenizer, size.
  std::string description() const;

  const TokenizerModel& model() const { return *model_; }

 private:
  std::shared_ptr<const TokenizerModel> model_;
};

}  // namespace longhaul
