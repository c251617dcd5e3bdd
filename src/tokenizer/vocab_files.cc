// Older vocabulary files: GPT-2's vocab.json + merges.txt, and the tiktoken file that Llama 3 calls
// tokenizer.model.

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/parse_number.h"
#include "text/printable.h"
#include "tokenizer/json_fields.h"
#include "tokenizer/load_parts.h"

namespace longhaul {

namespace {

constexpr int32_t kMaxRank = 1 << 24;

/// Calls `visit` with each line, without its line end.
template <class Visit>
void for_each_line(std::string_view text, Visit visit) {
  while (!text.empty()) {
    const auto end = static_cast<size_t>(std::ranges::find(text, '\n') - text.begin());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    visit(line);
  }
}

/// Llama 3.1's control tokens, from id `first` on (Meta's model card; the tokens of Llama 3 have
/// the same ids).
std::vector<AddedToken> llama3_control_tokens(int32_t first) {
  const std::vector<std::string> named = {"begin_of_text",
                                          "end_of_text",
                                          "reserved_special_token_0",
                                          "reserved_special_token_1",
                                          "finetune_right_pad_id",
                                          "reserved_special_token_2",
                                          "start_header_id",
                                          "end_header_id",
                                          "eom_id",
                                          "eot_id",
                                          "python_tag"};
  std::vector<AddedToken> out;
  for (int32_t i = 0; i < 256; ++i) {
    const auto at = static_cast<size_t>(i);
    const std::string name =
        at < named.size() ? named[at] : fmt::format("reserved_special_token_{}", at - 8);
    out.push_back({"<|" + name + "|>", first + i, true, false, false});
  }
  return out;
}

}  // namespace

std::unique_ptr<TokenizerModel> load_vocab_and_merges(const std::filesystem::path& folder,
                                                      const NamedPreTokenizer& named,
                                                      std::vector<AddedToken> added) {
  const std::string vocab_file = (folder / "vocab.json").string();
  const nlohmann::json vocab = parse_json(read_text_file(vocab_file), vocab_file);
  if (!vocab.is_object()) user_error("{}: not an object of texts and ids", vocab_file);
  std::vector<Token> tokens(vocab.size());
  TextIds ids;
  for (const auto& [text, id] : vocab.items()) {
    if (!id.is_number_unsigned() || id.get<uint64_t>() >= vocab.size()) {
      user_error("{}: the id of {} is not below the number of tokens, {}", vocab_file,
                 printable(text), vocab.size());
    }
    tokens[id.get<size_t>()] = byte_level_token(text);
    ids.emplace(text, id.get<int32_t>());
  }
  put_added_tokens(tokens, added, vocab_file);

  auto model = std::make_unique<TokenizerModel>();
  model->source = folder.string();
  model->vocabulary = Vocabulary(std::move(tokens));
  const std::string merges_file = (folder / "merges.txt").string();
  const std::string merges = read_text_file(merges_file);
  int32_t rank = 0;
  for_each_line(merges, [&](std::string_view line) {
    if (line.empty() || (rank == 0 && line.starts_with("#version"))) return;
    add_merge_line(model->merges.merges, ids, model->vocabulary, line, rank++, merges_file);
  });
  model->added = AddedTokens(std::move(added), vocab_file);
  model->pre_tokenizer = make_pre_tokenizer(named);
  model->merges.ignore_merges = named.ignore_merges;
  if (named.nfc) model->normalizer.add({NormalizeStep::Kind::nfc, "", ""});
  model->description = "byte-level BPE (vocab.json)";
  return model;
}

std::unique_ptr<TokenizerModel> load_tiktoken(const std::filesystem::path& path,
                                              std::vector<AddedToken> added) {
  const std::string file = path.string();
  const std::string text = read_text_file(path);
  std::vector<Token> tokens;
  for_each_line(text, [&](std::string_view line) {
    if (line.empty()) return;
    const size_t blank = std::min(line.find(' '), line.size());
    std::string bytes = from_base64(line.substr(0, blank));
    int32_t rank = -1;
    const bool ranked = parse_number(line.substr(std::min(blank + 1, line.size())), rank);
    if (bytes.empty() || !ranked || rank < 0 || rank > kMaxRank ||
        static_cast<size_t>(rank) > tokens.size() + 65536) {
      user_error(
          "{}: not a tiktoken file (base64 bytes and rank on each line), nor a SentencePiece model",
          file);
    }
    const auto id = static_cast<size_t>(rank);
    if (id >= tokens.size()) tokens.resize(id + 1);
    tokens[id] = {std::move(bytes), TokenKind::normal};
  });
  if (tokens.empty()) user_error("{}: the file is empty", file);
  if (added.empty()) added = llama3_control_tokens(static_cast<int32_t>(tokens.size()));
  put_added_tokens(tokens, added, file);

  auto model = model_by_rank(std::move(tokens), std::move(added), file);
  model->pre_tokenizer = make_pre_tokenizer(named_pre_tokenizer("llama3", file));
  model->description = "byte-level BPE (tiktoken)";
  return model;
}

}  // namespace longhaul
