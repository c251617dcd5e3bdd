#pragma once
// Converts text to token ids and back. This class serves all kinds of vocabularies. Loaders
// (load_tokenizer.h) fill a TokenizerModel, which this class applies. Copies share the model, and
// all functions are thread-safe.

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

/// A part of a prompt. Chat templates set `parse_special` for their own text but not for the user's
/// text. Users can therefore not write control tokens into a conversation.
struct TextSegment {
  std::string text;
  bool parse_special = false;
};

/// One token of a sequence, and the offset of its bytes in the concatenation of all pieces.
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

  /// Encodes the segments as one text. Words may cross the borders of segments, but control tokens
  /// are recognised only inside `parse_special` segments.
  std::vector<int32_t> encode(std::span<const TextSegment> segments, bool add_special,
                              size_t* replaced = nullptr) const;

  /// Returns the text of tokens. It is always valid UTF-8, and invalid sequences become U+FFFD. The
  /// space that SentencePiece puts before a text is removed. Ids outside the vocabulary yield
  /// U+FFFD.
  std::string decode(std::span<const int32_t> ids, bool skip_special = true) const;

  /// Returns the raw bytes of a token, or the name of a control token. The result is empty for an
  /// id outside the vocabulary.
  std::string_view piece(int32_t id) const;
  std::vector<TokenSpan> spans(std::span<const int32_t> ids) const;

  /// Returns the number of tokens at the end that contain the last `bytes` bytes of the text.
  int64_t tokens_of_tail(std::span<const int32_t> ids, size_t bytes) const;

  size_t vocab_size() const;  ///< returns the highest id plus 1
  std::optional<int32_t> bos_id() const;
  std::optional<int32_t> eos_id() const;
  bool adds_bos() const;  ///< returns whether `add_special` prepends BOS

  /// Returns true for every token that ends a reply: eos, eot, eom, tokens of the generation
  /// config, and control tokens with a known text such as `<|im_end|>`.
  bool end_of_generation(int32_t id) const;
  /// Returns true for tokens that end a reply, and for tokens that end one of several messages of a
  /// reply (such as gpt-oss's `<|end|>`).
  bool end_of_message(int32_t id) const;

  bool is_special(int32_t id) const;  ///< returns true for control tokens, which decoded text omits
  /// Returns the id of the control or added token with exactly this text.
  std::optional<int32_t> special_token(std::string_view text) const;

  /// Returns one line with the kind of vocabulary, the pre-tokenizer and the size.
  std::string description() const;

  const TokenizerModel& model() const { return *model_; }

 private:
  std::shared_ptr<const TokenizerModel> model_;
};

}  // namespace longhaul
