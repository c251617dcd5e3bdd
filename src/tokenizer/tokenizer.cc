#include "tokenizer/tokenizer.h"

#include <algorithm>

#include "base/cpu_limit.h"
#include "base/error.h"
#include "base/units.h"
#include "text/printable.h"
#include "text/utf8.h"
#include "tokenizer/tokenizer_model.h"

namespace longhaul {

namespace {

constexpr size_t kMaxTextBytes = size_t{1} << 31;

/// Processor time limit for a text: a hundred times that of the slowest known tokenizer.
constexpr double kLeastSeconds = 30, kSecondsPerMiB = 30;

double seconds_for(size_t bytes) {
  return kLeastSeconds + kSecondsPerMiB * static_cast<double>(bytes) / (1 << 20);
}

std::string too_slow(const TokenizerModel& model, size_t bytes) {
  return one_line(fmt::format(
      "{}: this tokenizer takes more than {:.0f} s of processor time for {} of text; ordinary ones "
      "take less than a second for a MiB",
      model.source, seconds_for(bytes), format_bytes(bytes)));
}

/// A token that was found as a whole, or text between such tokens.
struct Fragment {
  int32_t id = -1;  // -1: text
  std::string text;
};

/// Collects fragments. Neighbouring texts are joined, and white space that a token removes is
/// dropped.
class FragmentList {
 public:
  void add_text(std::string_view text) {
    if (strip_next_) text = trim_front(text);
    if (text.empty()) return;
    strip_next_ = false;
    if (list_.empty() || list_.back().id >= 0) list_.emplace_back();
    list_.back().text += text;
  }
  void add_token(const AddedToken& token) {
    if (token.lstrip && !list_.empty() && list_.back().id < 0) {
      std::string& before = list_.back().text;
      before.resize(trim_back(before).size());
      if (before.empty()) list_.pop_back();
    }
    list_.push_back({token.id, {}});
    strip_next_ = token.rstrip;
  }
  const std::vector<Fragment>& list() const { return list_; }

 private:
  std::vector<Fragment> list_;
  bool strip_next_ = false;
};

void collect(const AddedTokens& added, std::string_view text, bool parse_special,
             FragmentList& out) {
  size_t done = 0;
  for (const AddedTokenMatch& match : added.find_all(text, parse_special)) {
    out.add_text(text.substr(done, match.begin - done));
    out.add_token(*match.token);
    done = match.end;
  }
  out.add_text(text.substr(done));
}

/// `bytes` is the size of the text that the fragments come from.
std::vector<int32_t> encode_fragments(const TokenizerModel& model, const FragmentList& fragments,
                                      bool add_special, size_t bytes) {
  std::vector<int32_t> ids;
  if (add_special) ids = model.prefix;
  WordEncoder words(model.vocabulary, model.merges);
  bool at_start = true;
  size_t normal_bytes = 0;  // total of all fragments
  for (const Fragment& fragment : fragments.list()) {
    if (fragment.id >= 0) {
      ids.push_back(fragment.id);
    } else {
      const std::string normal = model.normalizer.apply(fragment.text, at_start, model.source);
      check_growth(model.source, bytes, normal_bytes += normal.size());
      for (const std::string_view word : model.pre_tokenizer.split(normal)) {
        CpuLimit::check();
        words.encode(word, ids);
      }
    }
    at_start = false;
  }
  if (add_special) ids.insert(ids.end(), model.suffix.begin(), model.suffix.end());
  return ids;
}

void check_size(size_t bytes) {
  if (bytes > kMaxTextBytes) {
    user_error("text of {} bytes is too long to tokenize in one piece (limit {})", bytes,
               kMaxTextBytes);
  }
}

}  // namespace

Tokenizer::Tokenizer(std::shared_ptr<const TokenizerModel> model) : model_(std::move(model)) {
  LH_ASSERT(model_ != nullptr);
}

std::vector<int32_t> Tokenizer::encode(std::string_view text, EncodeOptions options,
                                       size_t* replaced) const {
  check_size(text.size());
  const CpuLimit limit(seconds_for(text.size()), too_slow(*model_, text.size()));
  if (replaced != nullptr) *replaced = 0;
  std::string repaired;
  FragmentList fragments;
  collect(model_->added, repair_utf8(text, repaired, replaced), options.parse_special, fragments);
  return encode_fragments(*model_, fragments, options.add_special, text.size());
}

std::vector<int32_t> Tokenizer::encode(std::span<const TextSegment> segments, bool add_special,
                                       size_t* replaced) const {
  if (replaced != nullptr) *replaced = 0;
  size_t bytes = 0;
  for (const TextSegment& segment : segments) check_size(bytes += segment.text.size());
  const CpuLimit limit(seconds_for(bytes), too_slow(*model_, bytes));
  std::string repaired;
  FragmentList fragments;
  for (const TextSegment& segment : segments) {
    const std::string_view text = repair_utf8(segment.text, repaired, replaced);
    collect(model_->added, text, segment.parse_special, fragments);
  }
  return encode_fragments(*model_, fragments, add_special, bytes);
}

std::string Tokenizer::decode(std::span<const int32_t> ids, bool skip_special) const {
  std::string raw;
  bool first = true;
  for (const int32_t id : ids) {
    if (!model_->vocabulary.contains(id)) {
      raw += kReplacementCharacter;
      first = false;
      continue;
    }
    if (skip_special && is_special(id)) continue;
    std::string_view bytes = piece(id);
    if (first && model_->drops_first_space && bytes.starts_with(' ')) bytes.remove_prefix(1);
    first = false;
    raw += bytes;
  }
  std::string repaired;
  return std::string(repair_utf8(raw, repaired, nullptr));
}

std::string_view Tokenizer::piece(int32_t id) const {
  return model_->vocabulary.contains(id) ? std::string_view(model_->vocabulary[id].bytes)
                                         : std::string_view();
}

std::vector<TokenSpan> Tokenizer::spans(std::span<const int32_t> ids) const {
  std::vector<TokenSpan> out;
  out.reserve(ids.size());
  size_t at = 0;
  for (const int32_t id : ids) {
    out.push_back({id, piece(id), at});
    at += out.back().piece.size();
  }
  return out;
}

int64_t Tokenizer::tokens_of_tail(std::span<const int32_t> ids, size_t bytes) const {
  size_t covered = 0;
  int64_t count = 0;
  for (auto id = ids.rbegin(); id != ids.rend() && covered < bytes; ++id, ++count) {
    covered += piece(*id).size();
  }
  return count;
}

size_t Tokenizer::vocab_size() const { return model_->vocabulary.size(); }
std::optional<int32_t> Tokenizer::bos_id() const { return model_->bos; }
std::optional<int32_t> Tokenizer::eos_id() const { return model_->eos; }

bool Tokenizer::adds_bos() const {
  return model_->bos && !model_->prefix.empty() && model_->prefix.front() == *model_->bos;
}

bool Tokenizer::end_of_generation(int32_t id) const {
  const std::vector<int32_t>& ids = model_->end_of_generation;
  return std::binary_search(ids.begin(), ids.end(), id);
}

bool Tokenizer::end_of_message(int32_t id) const {
  const std::vector<int32_t>& ids = model_->end_of_message;
  return std::binary_search(ids.begin(), ids.end(), id);
}

bool Tokenizer::is_special(int32_t id) const {
  if (!model_->vocabulary.contains(id)) return false;
  const TokenKind kind = model_->vocabulary[id].kind;
  return kind == TokenKind::control || kind == TokenKind::unknown;
}

std::optional<int32_t> Tokenizer::special_token(std::string_view text) const {
  const AddedToken* token = model_->added.with_text(text);
  return token == nullptr ? std::nullopt : std::optional(token->id);
}

std::string Tokenizer::description() const {
  return fmt::format("{}, {} tokens", model_->description, vocab_size());
}

}  // namespace longhaul
