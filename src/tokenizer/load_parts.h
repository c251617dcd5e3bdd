#pragma once
// Declares the functions that several loaders of tokenizers share, and the loaders themselves. A
// merge joins two neighbouring symbols of a word to one token (merge_table.h).

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
/// The largest size of a normal token that add_merges_by_rank() accepts, because it tries every way
/// to split a token.
inline constexpr size_t kMaxDividedTokenBytes = 1024;

/// Returns the text with U+2581 replaced by a space.
std::string with_spaces(std::string_view text);
/// If `text` is the name of a byte token, for example `<0x0A>`, returns the token for this byte.
/// SentencePiece, transformers and llama.cpp recognise these tokens by their names, with upper-case
/// digits. The token type in the file is ignored.
std::optional<Token> byte_token(std::string_view text);

/// Returns a normal token of a byte-level vocabulary. `text` is decoded from GPT-2's byte alphabet
/// (byte_alphabet.h). If it has characters outside this alphabet, it is used unchanged.
Token byte_level_token(std::string_view text);

/// Token types in GGUF files and in SentencePiece files.
inline constexpr int64_t kTypeUnknown = 2, kTypeControl = 3, kTypeUser = 4, kTypeUnused = 5;
/// Sets the kind of the token according to `type`, one of the numbers above. If the token is not a
/// normal or byte token, its bytes become `text`, the text in the file.
Token token_of_type(Token token, std::string_view text, int64_t type);
/// Returns a token of a SentencePiece vocabulary.
Token sentencepiece_token(std::string_view text, int64_t type);

/// Reads the text and flags of an added token as stored in tokenizer.json and
/// tokenizer_config.json. The id is not read.
AddedToken read_added_token(const JsonField& entry);
/// Makes tokens that begin or end a turn (TurnMarks) control tokens, even if the file does not mark
/// them as such.
void make_marks_special(std::vector<AddedToken>& added);

/// Maps the texts of tokens, as they are in the file, to token ids. The keys are views, so the
/// texts must outlive the map.
using TextIds = std::unordered_map<std::string_view, int32_t, SeededHash>;

/// Adds the merge of the tokens `left` and `right` with the given rank. A merge whose result is a
/// control token is skipped, so that plain text never becomes a control token. Throws UserError
/// with `where` and the rank if one of the texts is not a token.
void add_merge_by_text(MergeTable& table, const TextIds& ids, const Vocabulary& vocabulary,
                       std::string_view left, std::string_view right, int32_t rank,
                       const std::string& where);
/// Adds the merge in the line "LEFT RIGHT" of a file.
void add_merge_line(MergeTable& table, const TextIds& ids, const Vocabulary& vocabulary,
                    std::string_view line, int32_t rank, const std::string& where);

/// Adds merges for a vocabulary that has ranks but no list of merges (tiktoken, SentencePiece). For
/// every way to split a normal token into two symbols, the merge of these symbols gets the rank of
/// the token. A symbol is a token. With Start::characters, it may also be a single character that
/// is not a token.
void add_merges_by_rank(MergeModel& model, const Vocabulary& vocabulary,
                        const std::vector<int32_t>& ranks, const std::string& where);

/// Returns a model with a byte-level vocabulary in which the id of a token is also its rank. The
/// pre-tokenizer and the description are not set.
std::unique_ptr<TokenizerModel> model_by_rank(std::vector<Token> tokens,
                                              std::vector<AddedToken> added,
                                              const std::string& file);

/// Sets the merges and the normalizer of a SentencePiece BPE vocabulary. `scores` has one score per
/// token. Merges that produce tokens with higher scores come first. `where` names the scores in
/// error messages.
void fill_sentencepiece(TokenizerModel& model, const std::vector<float>& scores, bool space_prefix,
                        const std::string& where);

/// Stores added tokens in `tokens` at their ids.
void put_added_tokens(std::vector<Token>& tokens, const std::vector<AddedToken>& added,
                      const std::string& where);

/// Decodes base64. The result is empty if `text` is not base64.
std::string from_base64(std::string_view text);

/// Returns the text of the entry `key`, such as "bos_token", in tokenizer_config.json or
/// special_tokens_map.json. In the file, the entry is "..." or {"content": "..."}. The result is
/// empty if the entry is absent or if `document` is null. `where` is the name of the file.
std::string token_text(const nlohmann::json& document, const std::string& where,
                       std::string_view key);

/// Largest file that is parsed as a whole. The largest tokenizer.json of a known model has 35 MB,
/// and parsing needs about twenty times the size of the file.
inline constexpr size_t kMaxTextFileBytes = size_t{128} << 20;
/// Reads a file. Throws UserError if it is larger than kMaxTextFileBytes.
std::string read_text_file(const std::filesystem::path& path);

// The following functions are the loaders. Unless stated otherwise, the models that they return
// have no BOS, no EOS and no end-of-generation tokens yet.
/// Loads a complete model from the keys tokenizer.ggml.* of a GGUF file.
std::shared_ptr<const TokenizerModel> load_gguf_tokenizer(const GgufMetadata& metadata);
/// Parses tokenizer.json. `where` is the name of the file in messages.
std::unique_ptr<TokenizerModel> parse_tokenizer_json(std::string_view text,
                                                     const std::string& where);
/// Loads vocab.json and merges.txt. `added` are the tokens of added_tokens_decoder in
/// tokenizer_config.json.
std::unique_ptr<TokenizerModel> load_vocab_and_merges(const std::filesystem::path& folder,
                                                      const NamedPreTokenizer& named,
                                                      std::vector<AddedToken> added);
/// Loads the file `tokenizer.model` of Llama 3. It is a tiktoken file: each line has a token in
/// base64 and its rank. If `added` is empty, the control tokens of Llama 3.1 are used.
std::unique_ptr<TokenizerModel> load_tiktoken(const std::filesystem::path& path,
                                              std::vector<AddedToken> added);

/// Returns whether the contents of a file tokenizer.model are in SentencePiece's format. Otherwise
/// they are a tiktoken file.
bool is_sentencepiece_file(std::string_view text);
/// Parses a tokenizer.model in SentencePiece's format. Sets BOS and EOS, and makes BOS the prefix
/// (TokenizerModel::prefix).
std::unique_ptr<TokenizerModel> load_sentencepiece(std::string_view message,
                                                   const std::string& file,
                                                   std::vector<AddedToken> added);
/// Loads Mistral's tekken.json. Sets BOS and EOS, and makes BOS the prefix
/// (TokenizerModel::prefix).
std::unique_ptr<TokenizerModel> load_tekken(const std::filesystem::path& path);

}  // namespace longhaul
