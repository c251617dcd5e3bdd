#pragma once
// Converts text to token ids and back. A Tokenizer applies a TokenizerModel, which the loaders
// create (load_tokenizer.h). It supports all kinds of vocabularies. Copies of a Tokenizer share the
// model. All functions are thread-safe.

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
  bool add_special = true;  ///< whether BOS and EOS are added if the model requires them
  /// Whether a string such as `<|im_end|>` becomes the control token of that name.
  bool parse_special = false;
};

/// A part of a prompt's text. ChatTemplate sets `parse_special` for the template's own text, but
/// not for the texts of messages. Users can therefore not write control tokens into a conversation.
struct TextSegment {
  std::string text;
  bool parse_special = false;
};

/// One token of a sequence. `begin` is the offset of its bytes in the concatenation of the bytes of
/// all tokens.
struct TokenSpan {
  int32_t id = 0;
  std::string_view piece;  ///< raw bytes, possibly a part of a UTF-8 character; owned by the model
  size_t begin = 0;
};

class Tokenizer {
 public:
  explicit Tokenizer(std::shared_ptr<const TokenizerModel> model);

  /// Encodes a text. Invalid UTF-8 becomes U+FFFD. If `replaced` is not null, it receives the
  /// number of invalid sequences.
  std::vector<int32_t> encode(std::string_view text, EncodeOptions options = {},
                              size_t* replaced = nullptr) const;

  /// Encodes the segments as one text. A token may extend across the border of two segments.
  /// Control tokens are recognised only inside segments with `parse_special`.
  std::vector<int32_t> encode(std::span<const TextSegment> segments, bool add_special,
                              size_t* replaced = nullptr) const;

  /// Returns the text of tokens as valid UTF-8. Invalid sequences become U+FFFD. The space that
  /// SentencePiece puts before a text is removed. Ids outside the vocabulary yield U+FFFD.
  std::string decode(std::span<const int32_t> ids, bool skip_special = true) const;

  /// Returns the raw bytes of a token, or the name of a control token. The result is empty for an
  /// id outside the vocabulary.
  std::string_view piece(int32_t id) const;
  std::vector<TokenSpan> spans(std::span<const int32_t> ids) const;

  /// Returns how many tokens at the end of `ids` are needed to contain the last `bytes` bytes of
  /// the text.
  int64_t tokens_of_tail(std::span<const int32_t> ids, size_t bytes) const;

  size_t vocab_size() const;  ///< returns the highest id plus 1
  std::optional<int32_t> bos_id() const;
  std::optional<int32_t> eos_id() const;
  bool adds_bos() const;  ///< returns whether `add_special` prepends BOS

  /// Returns whether the token ends a reply. A token ends a reply if the model's files name it as
  /// eos, eot or eom, if generation_config.json lists it as an end token, or if it is a control
  /// token with a known text such as `<|im_end|>`.
  bool end_of_generation(int32_t id) const;
  /// Returns whether the token ends a reply, or ends one of several messages of which a reply
  /// consists (such as gpt-oss's `<|end|>`).
  bool end_of_message(int32_t id) const;

  bool is_special(int32_t id) const;  ///< returns true for control tokens, which decoded text omits
  /// Returns the id of the control token or added token with exactly this text, or nothing if there
  /// is none.
  std::optional<int32_t> special_token(std::string_view text) const;

  /// Returns one line with the kind of vocabulary, the pre-tokenizer and the size.
  std::string description() const;

  const TokenizerModel& model() const { return *model_; }

 private:
  std::shared_ptr<const TokenizerModel> model_;
};

}  // namespace longhaul
