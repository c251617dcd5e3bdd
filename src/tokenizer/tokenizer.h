#pragma once
// Converts text to token ids and back. One class serves every kind of vocabulary: loaders
// (load_tokenizer.h) fill a TokenizerModel, and this class runs it. Copies share the model; all
// calls are thread-safe.

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
  bool add_special = true;     ///< adds BOS and EOS if the model requires them
  bool parse_special = false;  ///< text such as `<|im_end|>` becomes the control token of that name
};

/// A part of a prompt. Chat templates mark their own text as `parse_special` and the user's text as
/// plain, so that no user can write a control token into a conversation.
struct TextSegment {
  std::string text;
  bool parse_special = false;
};

/// One token of a sequence and its offset in the bytes of all concatenated pieces.
struct TokenSpan {
  int32_t id = 0;
  std::string_view piece;  ///< raw bytes, possibly part of a UTF-8 character; owned by the model
  size_t begin = 0;
};

class Tokenizer {
 public:
  explicit Tokenizer(std::shared_ptr<const TokenizerModel> model);

  /// Invalid UTF-8 becomes U+FFFD; `replaced`, if given, receives the number of such sequences.
  std::vector<int32_t> encode(std::string_view text, EncodeOptions options = {},
                              size_t* replaced = nullptr) const;

  /// Encodes the segments as one text: words may cross their borders, but control tokens are
  /// recognised only inside `parse_special` segments.
  std::vector<int32_t> encode(std::span<const TextSegment> segments, bool add_special,
                              size_t* replaced = nullptr) const;

  /// Always valid UTF-8 (broken sequences become U+FFFD). The space that SentencePiece puts before
  /// a text is removed. Ids outside the vocabulary give U+FFFD.
  std::string decode(std::span<const int32_t> ids, bool skip_special = true) const;

  /// The token's raw bytes; a control token's name. Empty for an id outside the vocabulary.
  std::string_view piece(int32_t id) const;
  std::vector<TokenSpan> spans(std::span<const int32_t> ids) const;

  /// Returns the number of tokens at the end that contain the last `bytes` bytes of the text.
  int64_t tokens_of_tail(std::span<const int32_t> ids, size_t bytes) const;

  size_t vocab_size() const;  ///< highest id + 1
  std::optional<int32_t> bos_id() const;
  std::optional<int32_t> eos_id() const;
  bool adds_bos() const;  ///< whether `add_special` prepends BOS

  /// True for every token that ends a reply: eos, eot, eom, the generation config's list, and
  /// control tokens with a known text such as `<|im_end|>`.
  bool end_of_generation(int32_t id) const;
  /// True for these, and for tokens that end one message of several in a reply (gpt-oss's
  /// `<|end|>`).
  bool end_of_message(int32_t id) const;

  bool is_special(int32_t id) const;  ///< a control token, omitted from decoded text
  /// The id of the control or added token with exactly this text.
  std::optional<int32_t> special_token(std::string_view text) const;

  /// One line: kind of vocabulary, pre-tokenizer, size.
  std::string description() const;

  const TokenizerModel& model() const { return *model_; }

 private:
  std::shared_ptr<const TokenizerModel> model_;
};

}  // namespace longhaul
