#pragma once
// Shared parts of the loaders: token texts as stored in files, merges by text, and reading of small
// files.

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

/// SentencePiece's visible blank, U+2581.
inline constexpr std::string_view kVisibleBlank = "\u2581";
/// Longest token for which every division into two is tried as a merge.
inline constexpr size_t kMaxDividedTokenBytes = 1024;

/// Text with U+2581 written as a space.
std::string with_spaces(std::string_view text);
/// The token of one byte where `text` is its name, such as `<0x0A>`. SentencePiece, transformers
/// and llama.cpp find these tokens by their names, with capital digits, whatever type a file gives
/// them.
std::optional<Token> byte_token(std::string_view text);

/// A normal token of a byte-level vocabulary; text outside GPT-2's alphabet is taken as it is.
Token byte_level_token(std::string_view text);

/// Types of tokens in GGUF files and in SentencePiece's.
inline constexpr int64_t kTypeUnknown = 2, kTypeControl = 3, kTypeUser = 4, kTypeUnused = 5;
/// The token with the kind of `type`. Tokens that are not matched as text keep their name `text`.
Token token_of_type(Token token, std::string_view text, int64_t type);
/// A token of a SentencePiece vocabulary.
Token sentencepiece_token(std::string_view text, int64_t type);

/// Text and flags of an added token as stored in tokenizer.json and tokenizer_config.json, without
/// its id.
AddedToken read_added_token(const JsonField& entry);
/// Tokens that begin or end a turn (TurnMarks) become special, whatever the file says of them.
void make_marks_special(std::vector<AddedToken>& added);

/// Ids by token texts as stored in the file. Keys are views, so the texts must outlive the map.
using TextIds = std::unordered_map<std::string_view, int32_t, SeededHash>;

/// Adds the merge `left` + `right` with the given rank. Merges into control tokens are skipped, so
/// that plain text never produces one. Throws UserError (with `where` and the rank) for a text that
/// is not a token.
void add_merge_by_text(MergeTable& table, const TextIds& ids, const Vocabulary& vocabulary,
                       std::string_view left, std::string_view right, int32_t rank,
                       const std::string& where);
/// Variant for a line "left right".
void add_merge_line(MergeTable& table, const TextIds& ids, const Vocabulary& vocabulary,
                    std::string_view line, int32_t rank, const std::string& where);

/// For vocabularies that have an order but no list of merges (tiktoken, SentencePiece): wherever a
/// normal token can be divided into two symbols, these merge into it, with the token's rank. With
/// Start::characters, parts may also be single characters without a token of their own.
void add_merges_by_rank(MergeModel& model, const Vocabulary& vocabulary,
                        const std::vector<int32_t>& ranks, const std::string& where);

/// A byte-level vocabulary whose tokens are merged in the order of their ids, without pre-tokenizer
/// and description.
std::unique_ptr<TokenizerModel> model_by_rank(std::vector<Token> tokens,
                                              std::vector<AddedToken> added,
                                              const std::string& file);

/// Fills merges and normalizer of a SentencePiece BPE vocabulary, whose tokens with higher scores
/// are merged first. `where` names the scores, for messages.
void fill_sentencepiece(TokenizerModel& model, const std::vector<float>& scores, bool space_prefix,
                        const std::string& where);

/// Puts added tokens at their ids.
void put_added_tokens(std::vector<Token>& tokens, const std::vector<AddedToken>& added,
                      const std::string& where);

/// Empty if `text` is not base64.
std::string from_base64(std::string_view text);

/// `bos_token` and similar entries of tokenizer_config.json or special_tokens_map.json, given as
/// "..." or {"content": "..."}; empty if absent or if `document` is null. `where` is the file's
/// name.
std::string token_text(const nlohmann::json& document, const std::string& where,
                       std::string_view key);

/// Largest file that is parsed as a whole. The largest tokenizer.json of a known model has 35 MB,
/// and parsing needs about twenty times the file's size.
inline constexpr size_t kMaxTextFileBytes = size_t{128} << 20;
/// UserError if the file is larger.
std::string read_text_file(const std::filesystem::path& path);

// Loaders. The models they return lack BOS, EOS and the ends of generation unless stated otherwise.
/// A complete model, from the tokenizer.ggml.* keys.
std::shared_ptr<const TokenizerModel> load_gguf_tokenizer(const GgufMetadata& metadata);
/// `where` is the file's name for messages.
std::unique_ptr<TokenizerModel> parse_tokenizer_json(std::string_view text,
                                                     const std::string& where);
/// vocab.json + merges.txt; `added` as in tokenizer_config.json's added_tokens_decoder.
std::unique_ptr<TokenizerModel> load_vocab_and_merges(const std::filesystem::path& folder,
                                                      const NamedPreTokenizer& named,
                                                      std::vector<AddedToken> added);
/// Llama 3's `tokenizer.model` (lines of base64 bytes and rank). If `added` is empty, uses the
/// control tokens of Llama 3.1.
std::unique_ptr<TokenizerModel> load_tiktoken(const std::filesystem::path& path,
                                              std::vector<AddedToken> added);

/// Whether the contents of a tokenizer.model are SentencePiece's, not lines of a tiktoken file.
bool is_sentencepiece_file(std::string_view text);
/// SentencePiece's tokenizer.model, with BOS, EOS and BOS as the prefix.
std::unique_ptr<TokenizerModel> load_sentencepiece(std::string_view message,
                                                   const std::string& file,
                                                   std::vector<AddedToken> added);
/// Mistral's tekken.json, with BOS, EOS and BOS as the prefix.
std::unique_ptr<TokenizerModel> load_tekken(const std::filesystem::path& path);

}  // namespace longhaul
