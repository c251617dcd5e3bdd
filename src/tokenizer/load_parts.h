#pragma once
// What the loaders share: token texts as files write them, merges by text, and small file reading.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
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
/// Longest token whose every division into two is tried as a merge.
inline constexpr size_t kMaxDividedTokenBytes = 1024;

/// Text with U+2581 written as a space.
std::string with_spaces(std::string_view text);
/// The byte of a token named `<0x0A>`; -1 for other texts.
int byte_of_token_name(std::string_view text);

/// A normal token of a byte-level vocabulary; text that is not of GPT-2's alphabet is taken as is.
Token byte_level_token(std::string_view text);
/// A normal or byte token of a SentencePiece vocabulary.
Token sentencepiece_token(std::string_view text, bool is_byte);

/// Text and flags of an added token as tokenizer.json and tokenizer_config.json write it, without
/// its id. Tokens that begin or end a turn (is_known_turn_mark) are special whatever the file says.
AddedToken read_added_token(const JsonField& entry);

/// Token texts as the file has them -> ids. Keys are views: the texts must stay.
using TextIds = std::unordered_map<std::string_view, int32_t, SeededHash>;

/// Adds the merge `left` + `right` of the given rank. Merges into control tokens are left out, so
/// that plain text never makes one. Throws UserError (naming `where` and the rank) for a text that
/// is no token.
void add_merge_by_text(MergeTable& table, const TextIds& ids, const Vocabulary& vocabulary,
                       std::string_view left, std::string_view right, int32_t rank,
                       const std::string& where);
/// The same for a line "left right".
void add_merge_line(MergeTable& table, const TextIds& ids, const Vocabulary& vocabulary,
                    std::string_view line, int32_t rank, const std::string& where);

/// For vocabularies that have an order but no list of merges (tiktoken, SentencePiece): wherever a
/// normal token can be divided into two symbols, these merge into it, with the token's rank.
/// With Start::characters, parts may also be single characters without a token of their own.
void add_merges_by_rank(MergeModel& model, const Vocabulary& vocabulary,
                        const std::vector<int32_t>& ranks, const std::string& where);

/// `bos_token` and the like of tokenizer_config.json or special_tokens_map.json, given as "..." or
/// {"content": "..."}; empty when absent or when `document` is null. `where` is the file's name.
std::string token_text(const nlohmann::json& document, const std::string& where,
                       std::string_view key);

/// Largest file that is parsed as a whole. The largest tokenizer.json of a known model has 35 MB,
/// and a parsed one takes some twenty times its size.
inline constexpr size_t kMaxTextFileBytes = size_t{128} << 20;
/// UserError when it is larger than that.
std::string read_text_file(const std::filesystem::path& path);

// Loaders. The models they return lack BOS, EOS and the ends of generation unless said otherwise.
/// Complete, from the tokenizer.ggml.* keys.
std::shared_ptr<const TokenizerModel> load_gguf_tokenizer(const GgufMetadata& metadata);
/// `where` is the file's name for messages.
std::unique_ptr<TokenizerModel> parse_tokenizer_json(std::string_view text,
                                                     const std::string& where);
/// vocab.json + merges.txt; `added` as in tokenizer_config.json's added_tokens_decoder.
std::unique_ptr<TokenizerModel> load_vocab_and_merges(const std::filesystem::path& folder,
                                                      const NamedPreTokenizer& named,
                                                      std::vector<AddedToken> added);
/// Llama 3's `tokenizer.model` (lines of base64 bytes and rank); `added` may be empty: then the
/// control tokens of Llama 3.1.
std::unique_ptr<TokenizerModel> load_tiktoken(const std::filesystem::path& path,
                                              std::vector<AddedToken> added);

}  // namespace longhaul
