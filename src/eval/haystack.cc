#include "eval/haystack.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <cmath>

#include "eval/data.h"
#include "eval/data_json.h"

namespace longhaul {
namespace {

// Listed here instead of from the folder, because samples must not change when a book is added.
constexpr std::string_view kBooks[] = {
    "books/frankenstein.txt",
    "books/the-moonstone.txt",
    "books/the-war-of-the-worlds.txt",
    "books/villette.txt",
};
constexpr std::string_view kEssays = "essays/PaulGrahamEssays.json";
constexpr int kDepths = 10;
constexpr int kTries = 24;

bool is_space(char c) { return c == ' ' || c == '\n'; }

/// Whether a sentence ends before `at`: its mark, optionally a closing quote, then white space.
bool starts_sentence(std::string_view text, size_t at) {
  if (at == 0) return true;
  if (!is_space(text[at - 1]) || at >= text.size() || is_space(text[at])) return false;
  size_t end = at;
  while (end > 0 && is_space(text[end - 1])) --end;
  while (end > 0 && (text[end - 1] == '"' || text[end - 1] == '\'')) --end;
  return end > 0 && (text[end - 1] == '.' || text[end - 1] == '!' || text[end - 1] == '?');
}

}  // namespace

const std::string_view kNoiseLine =
    "The grass is green. The sky is blue. The sun is yellow. Here we go. There and back again.";

std::shared_ptr<const std::string> graham_essays(const EvalData& data) {
  if (!data.has(kEssays)) return nullptr;
  auto text = std::make_shared<std::string>(text_member(data_json(data, kEssays), "text"));
  if (std::all_of(text->begin(), text->end(), is_space)) {
    user_error("{}: key \"text\" holds no text", kEssays);
  }
  return text;
}

std::string essays_hash(const EvalData& data) {
  if (!data.has(kEssays)) return "";
  const std::string& text = data.text(kEssays);
  return fmt::format("{:016x}", XXH3_64bits(text.data(), text.size()));
}

BookStretch::BookStretch(const EvalData& data, Random& random,
                         std::shared_ptr<const std::string> essays)
    : essays_(std::move(essays)) {
  if (essays_) {
    books_.push_back(essays_.get());
  } else {
    for (const std::string_view name : kBooks) {
      books_.push_back(&data.text(name));
      if (books_.back()->empty()) user_error("data file {} is empty", name);
    }
  }
  book_ = static_cast<size_t>(random.below(books_.size()));
  const std::string& text = *books_[book_];
  offset_ = sentence_start(text, static_cast<size_t>(random.below(text.size())));
}

std::string BookStretch::text(size_t bytes) const {
  std::string out;
  size_t book = book_, offset = offset_;
  while (out.size() < bytes) {
    const std::string& from = *books_[book];
    out += from.substr(offset, bytes - out.size());
    if (out.size() < bytes) out += "\n\n";
    book = (book + 1) % books_.size();
    offset = 0;
  }
  while (!out.empty() && !is_space(out.back())) out.pop_back();
  while (!out.empty() && is_space(out.back())) out.pop_back();
  return out;
}

size_t sentence_start(std::string_view text, size_t at) {
  at = std::min(at, text.size());
  while (!starts_sentence(text, at)) --at;
  return at;
}

std::string hide(std::string_view haystack, std::vector<Hidden> hidden, std::string_view before,
                 std::string_view after) {
  std::stable_sort(hidden.begin(), hidden.end(),
                   [](const Hidden& a, const Hidden& b) { return a.depth < b.depth; });
  std::string out;
  size_t done = 0;
  for (const Hidden& h : hidden) {
    const bool at_end = h.depth >= 1;
    const auto wanted = static_cast<size_t>(h.depth * static_cast<double>(haystack.size()));
    const size_t at = at_end ? haystack.size() : std::max(done, sentence_start(haystack, wanted));
    out += haystack.substr(done, at - done);
    if (at_end && !out.empty() && before.empty()) out += " ";
    out += before;
    out += h.text;
    if (!at_end || !after.starts_with(' ')) out += after;
    done = at;
  }
  out += haystack.substr(done);
  return out;
}

double grid_depth(int sample) {
  // 3 and 10 have no common divisor, so the points are spread: 0, 3, 6, 9, 2, ...
  return static_cast<double>(int64_t{sample} * 3 % kDepths) / (kDepths - 1);
}

void fit_to_length(const TaskRequest& request, Sample& sample, double units_per_token,
                   int64_t least, const std::function<void(Sample&, int64_t units)>& fill) {
  const int64_t limit = request.length - sample.max_tokens;
  const auto tokens_with = [&](int64_t units) {
    fill(sample, units);
    return request.prompt_tokens(sample);
  };
  int64_t fits = least, fitting_tokens = tokens_with(least);
  if (fitting_tokens > limit) {
    user_error(
        "--lengths {}: too short for this task; its shortest prompt and reply take {} tokens",
        request.length, fitting_tokens + sample.max_tokens);
  }
  const int64_t close_enough = std::max<int64_t>(4, request.length / 1024);
  int64_t too_many = 0;  // 0: unknown so far
  double rate = units_per_token;
  for (int i = 0; i < kTries && limit - fitting_tokens > close_enough; ++i) {
    int64_t next = fits + std::max<int64_t>(
                              1, std::llround(rate * static_cast<double>(limit - fitting_tokens)));
    // An estimate that always lands on one side would converge slowly, so every third step bisects.
    if (too_many > 0 && (next >= too_many || i % 3 == 2)) next = fits + (too_many - fits) / 2;
    if (next <= fits) break;
    const int64_t tokens = tokens_with(next);
    if (tokens > fitting_tokens) {
      rate = static_cast<double>(next - fits) / static_cast<double>(tokens - fitting_tokens);
    }
    if (tokens <= limit) {
      fits = next;
      fitting_tokens = tokens;
    } else {
      too_many = next;
    }
  }
  fill(sample, fits);
}

void fit_book_text(const TaskRequest& request, Sample& sample, const BookStretch& stretch,
                   const std::function<std::string(std::string_view text)>& context) {
  fit_to_length(request, sample, kBytesPerToken, kLeastBytes, [&](Sample& s, int64_t bytes) {
    s.context = context(stretch.text(static_cast<size_t>(bytes)));
  });
}

}  // namespace longhaul
