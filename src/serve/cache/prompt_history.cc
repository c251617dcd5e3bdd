#include "serve/cache/prompt_history.h"

#include <algorithm>

#include "serve/cache/prefix_cache.h"
#include "text/utf8.h"

namespace longhaul::serve {
namespace {

constexpr size_t kMostRecords = 256;
constexpr size_t kMostTokens = size_t{2} << 20;  // in all records
constexpr int64_t kSmallLoss = 32;               // tokens that are not worth a reason
constexpr size_t kShownBytes = 40, kShownTokens = 40;

int64_t common_tokens(std::span<const int32_t> a, std::span<const int32_t> b) {
  return std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin();
}

/// Whether the middle of `prompt` is also in `other`, at about the same place: only a few words
/// before it differ.
bool resembles(std::span<const int32_t> prompt, std::span<const int32_t> other) {
  constexpr size_t kRun = 16, kShift = 64;
  if (prompt.size() < 2 * kRun || other.size() < 2 * kRun) return false;
  const size_t middle = prompt.size() / 2 - kRun / 2;
  const size_t begin = middle > kShift ? middle - kShift : 0;
  if (begin >= other.size()) return false;
  const auto window = other.subspan(begin, std::min(other.size() - begin, 2 * kShift + kRun));
  const auto run = prompt.subspan(middle, kRun);
  return std::search(window.begin(), window.end(), run.begin(), run.end()) != window.end();
}

/// The text from token `at` on, with the word that it belongs to.
std::string text_at(const Tokenizer& tokenizer, std::span<const int32_t> tokens, int64_t at) {
  const auto begin = static_cast<size_t>(std::max<int64_t>(0, at - 8));
  std::string before, after;
  for (size_t i = begin; i < static_cast<size_t>(at); ++i) before += tokenizer.piece(tokens[i]);
  for (size_t i = static_cast<size_t>(at); i < tokens.size() && i < at + kShownTokens; ++i) {
    after += tokenizer.piece(tokens[i]);
  }
  const size_t space = before.find_last_of(" \n\t");
  std::string text = (space == std::string::npos ? before : before.substr(space + 1)) + after;
  std::string storage;
  size_t replaced = 0;
  text.resize(std::min(text.size(), kShownBytes));
  while (!text.empty() && (text.back() & 0xc0) == 0x80) text.pop_back();  // no half characters
  if (!text.empty() && (text.back() & 0x80) != 0) text.pop_back();
  return std::string(repair_utf8(text, storage, &replaced));
}

std::string part_at(const Tokenizer& tokenizer, const PromptRecord& prompt, int64_t at) {
  size_t bytes = 0;
  for (const int32_t token : std::span(prompt.tokens).first(static_cast<size_t>(at))) {
    bytes += tokenizer.piece(token).size();
  }
  std::string name;
  for (const PromptPart& part : prompt.parts) {
    if (part.begin <= bytes + 1) name = part.name;  // a token may begin before the part's text
  }
  return name;
}

}  // namespace

void PromptHistory::add(PromptRecord record) {
  std::erase_if(records_, [&](const PromptRecord& old) {
    const bool covered = old.key == record.key && old.salt == record.salt &&
                         old.method == record.method && old.adapter == record.adapter &&
                         common_tokens(old.tokens, record.tokens) == std::ssize(old.tokens);
    if (covered) tokens_ -= old.tokens.size();
    return covered;
  });
  tokens_ += record.tokens.size();
  records_.push_back(std::move(record));
  while (records_.size() > kMostRecords || (tokens_ > kMostTokens && records_.size() > 1)) {
    tokens_ -= records_.front().tokens.size();
    records_.pop_front();
  }
}

void PromptHistory::explain(const PromptRecord& prompt, int64_t instruction, const ResumeRule& rule,
                            const Tokenizer& tokenizer, CacheReport& report) const {
  const auto length = std::ssize(prompt.tokens);
  const std::string shared = shared_method(prompt.method, rule);
  const PromptRecord* best = nullptr;
  int64_t same_settings = 0;  // tokens in common with prompts of the same method and adapter
  bool ends_there = false;    // one of them ends where the prompt goes on
  bool any = false;
  for (auto record = records_.rbegin(); record != records_.rend(); ++record) {
    if (record->key != prompt.key || record->salt != prompt.salt) continue;
    const int64_t common = common_tokens(record->tokens, prompt.tokens);
    const bool alike = common >= kLeastPrefill || resembles(prompt.tokens, record->tokens);
    if (!alike) continue;
    if (!any || common > report.reusable) {
      report.reusable = common;
      best = &*record;
    }
    any = true;
    const bool same_method = record->method == prompt.method ||
                             (rule.group == ResumeGroup::kDense && record->method == shared);
    const bool same = same_method && record->adapter == prompt.adapter;
    if (same && common > same_settings) same_settings = common;
    if (same && common == std::ssize(record->tokens) && common > report.reused) ends_there = true;
  }
  report.reusable = std::max(report.reusable, report.reused);
  if (best == nullptr) {
    if (report.reused == 0) report.reason = MissReason::kFirst;
    return;
  }
  const int64_t common = common_tokens(best->tokens, prompt.tokens);
  const int64_t lost = std::min(common, length - kLeastPrefill) - report.reused;
  const bool parts = common < length && common < std::ssize(best->tokens);
  // The last message is new in every turn.
  const int64_t reread = length - std::max<int64_t>(instruction, kLeastPrefill) - common;
  if (parts && reread > std::max(lost, int64_t{0})) {
    report.at = common;
    report.message = part_at(tokenizer, prompt, common);
    report.reason = report.message == "tools" ? MissReason::kTools : MissReason::kText;
    report.cached_text = text_at(tokenizer, best->tokens, common);
    report.request_text = text_at(tokenizer, prompt.tokens, common);
  } else if (lost >= kSmallLoss) {
    const bool anywhere =
        rule.group == ResumeGroup::kDense || rule.group == ResumeGroup::kRewindable;
    report.reason = same_settings + kSmallLoss <= common ? MissReason::kSettings
                    : anywhere || ends_there             ? MissReason::kEvicted
                                                         : MissReason::kMethod;
  }
}

}  // namespace longhaul::serve
