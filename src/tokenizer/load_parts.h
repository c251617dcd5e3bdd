#pragma once
// Functions that several loaders of tokenizers share: they read token texts as stored in files,
// merges of texts, and small files.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/seeded_hash.h"
#include "tokenizer/tokenizer_model.h"

namespace longhaul {

class GgufMetadata;
class JsonField;

/// SentencePiece's visible space, U+2581.
inline constexpr std::string_view kVisibleBlank = "\u2581";
/// Longest token for which every division into two parts is tried as a merge.
inline constexpr size_t kMaxDividedTokenBytes = 1024;

/// Returns the text with U+2581 replaced by a space.
std::string with_spaces(std::string_view text);
/// Returns the token of a single byte if `text` is the name of such a token, for example `<0x0A>`.
/// SentencePiece, transformers and llama.cpp recognise these tokens by their names, with upper-case
/// digits. The type that a file gives them is ignored.
std::optional<Token> byte_token(std::string_view text);

/// Returns a normal token of a byte-level vocabulary. If the text has characters outside GPT-2's
/// alphabet, it is used unchanged.
Token byte_level_token(std::string_view text);

/// Token types in GGUF files and in SentencePiece files.
inline constexpr int64_t kTypeUnknown = 2, kTypeControl = 3, kTypeUser = 4, kTypeUnused = 5;
/// Sets the kind of the token according to `type`. A token that is not matched as text gets the
/// name `text`.
Token token_of_type(Token token, std::string_view text, int64_t type);
/// Returns a token of a SentencePiece vocabulary.
Token sentencepiece_token(std::string_view text, int64_t type);

/// Reads the text and flags of an added token as stored in tokenizer.json and
/// tokenizer_config.json. The id is not read.
AddedToken read_added_token(const JsonField& entry);
/// Makes tokens that begin or end a turn (TurnMarks) special, whatever flags the file gives them.
void make_marks_special(std::vector<AddedToken>& added);

/// Token ids by texts as stored in the file. The keys are views, so the texts must outlive the map.
using TextIds = std::unordered_map<std::string_view, int32_t, SeededHash>;

/// Adds the merge of `left` and `right` with the given rank. Merges into control tokens are
/// skipped, so that plain text never yields one. Throws UserError (with `where` and the rank) if a
/// text is not a token.
void add_merge_by_text(MergeTable& table, const TextIds& ids, const Vocabulary& vocabulary,
                       std::string_view left, std::string_view right, int32_t rank,
                       const std::string& where);
/// Adds the merge of a line "left right".
void add_merge_line(MergeTable& table, const TextIds& ids, const Vocabulary& vocabulary,
                    std::string_view line, int32_t rank, const std::string& where);

/// Adds merges for a vocabulary that has an order but no list of merges (tiktoken, SentencePiece).
/// If a normal token can be divided into two symbols, they merge into it with the rank of the
/// token. With Start::characters, the parts may also be single characters that are not tokens.
void add_merges_by_rank(MergeModel& model, const Vocabulary& vocabulary,
                        const std::vector<int32_t>& ranks, const std::string& where);

/// Returns a model with a byte-level vocabulary whose tokens are merged in the order of their ids.
/// The pre-tokenizer and the description are not set.
std::unique_ptr<TokenizerModel> model_by_rank(std::vector<Token> tokens,
                                              std::vector<AddedToken> added,
                                              const std::string& file);

/// Sets the merges and the normalizer of a SentencePiece BPE vocabulary. Tokens with higher scores
/// are merged first. `where` names the scores in messages.
void fill_sentencepiece(TokenizerModel& model, const std::vector<float>& scores, bool space_prefix,
                        const std::string& where);

/// Stores added tokens at their ids.
void put_added_tokens(std::vector<Token>& tokens, const std::vector<AddedToken>& added,
                      const std::string& where);

/// Decodes base64. The result is empty if `text` is not base64.
std::string from_base64(std::string_view text);

/// Returns `bos_token` or a similar entry of tokenizer_config.json or special_tokens_map.json. It
/// is "..." or {"content": "..."} in the file. The result is empty if it is absent or if `document`
/// is null. `where` is the name of the file.
std::string token_text(const nlohmann::json& document, const std::string& where,
                       std::string_view key);

/// Largest file that is parsed as a whole. The largest tokenizer.json of a known model has 35 MB,
/// and parsing needs about twenty times the size of the file.
inline constexpr size_t kMaxTextFileBytes = size_t{128} << 20;
/// Reads a file. Throws UserError if it is larger than this limit.
std::string read_text_file(const std::filesystem::path& path);

// Loaders. Unless stated otherwise, the models that they return have no BOS, no EOS and no
// end-of-generation tokens yet.
/// Loads a complete model from the keys tokenizer.ggml.*.
std::shared_ptr<const TokenizerModel> load_gguf_tokenizer(const GgufMetadata& metadata);
/// Parses tokenizer.json. `where` is the name of the file in messages.
std::unique_ptr<TokenizerModel> parse_tokenizer_json(std::string_view text,
                                                     const std::string& where);
/// Loads vocab.json and merges.txt. `added` are the tokens of added_tokens_decoder in
/// tokenizer_config.json.
std::unique_ptr<TokenizerModel> load_vocab_and_merges(const std::filesystem::path& folder,
                                                      const NamedPreTokenizer& named,
                                                      std::vector<AddedToken> added);
/// Loads Llama 3's `tokenizer.model`, which has lines of base64 bytes and a rank. If `added` is
/// empty, the control tokens of Llama 3.1 are used.
std::unique_ptr<TokenizerModel> load_tiktoken(const std::filesystem::path& path,
                                              std::vector<AddedToken> added);

/// Returns whether the contents of a tokenizer.model are SentencePiece's and not lines of a
/// tiktoken file.
bool is_sentencepiece_file(std::string_view text);
/// Parses SentencePiece's tokenizer.model. Sets BOS, EOS, and BOS as the prefix.
std::unique_ptr<TokenizerModel> load_sentencepiece(std::string_view message,
                                                   const std::string& file,
                                                   std::vector<AddedToken> added);
/// Loads Mistral's tekken.json. Sets BOS, EOS, and BOS as the prefix.
std::unique_ptr<TokenizerModel> load_tekken(const std::filesystem::path& path);

}  // namespace longhaul
