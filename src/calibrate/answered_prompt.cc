#include "calibrate/answered_prompt.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "calibrate/asked_sample.h"
#include "engine/prompt_tokens.h"
#include "eval/compose.h"
#include "eval/haystack.h"
#include "eval/random.h"

namespace longhaul {
namespace {

// The words, sentences and their spelling are those of the published prompts.
constexpr const char* kWords[] = {
    "alpha",  "bravo", "charlie", "delta",  "echo",     "foxtrot", "golf",   "hotel",  "india",
    "juliet", "kilo",  "lima",    "mike",   "november", "oscar",   "papa",   "quebec", "romeo",
    "sierra", "tango", "uniform", "victor", "whiskey",  "xray",    "yankee", "zulu"};
constexpr const char* kOrdinals[] = {"first", "second",  "third",  "fourth", "fifth",
                                     "sixth", "seventh", "eighth", "ninth",  "tenth"};
constexpr size_t kKeys = std::size(kOrdinals);
constexpr int kDepths = 1000;
constexpr double kFirstDepth = 0.05, kLastDepth = 0.95;

struct Vault {
  std::vector<std::string> keys;
  std::vector<double> depths;  // ascending
};

Vault draw_vault(Random& random, int words) {
  Vault vault;
  std::vector<int> points(kDepths);
  for (int i = 0; i < kDepths; ++i) points[static_cast<size_t>(i)] = i;
  random.shuffle(points);
  points.resize(kKeys);
  std::ranges::sort(points);
  for (const int point : points) {
    vault.depths.push_back(kFirstDepth + (kLastDepth - kFirstDepth) * point / (kDepths - 1));
    std::vector<std::string> key;
    for (int i = 0; i < words; ++i) key.emplace_back(random.pick(kWords));
    vault.keys.push_back(fmt::format("{}", fmt::join(key, " ")));
  }
  return vault;
}

std::string book_with(const Vault& vault, std::string_view text) {
  std::vector<Hidden> lines;
  for (size_t i = 0; i < kKeys; ++i) {
    lines.push_back({fmt::format("Remeber this sequence of words, it's the {} passkey to the "
                                 "vault: {}",
                                 kOrdinals[i], vault.keys[i]),
                     vault.depths[i]});
  }
  return "This is a very long story book: <book> " + hide(text, lines, "\n\n", "\n\n") +
         " </book>.\n\n";
}

std::string question_of(size_t key) {
  return fmt::format("Based on the content of the book, what is the {} passkey to the vault?",
                     kOrdinals[key]);
}

PromptText vault_text(const Vault& vault, const std::string& book,
                      const std::optional<ChatTemplate>& chat) {
  if (!chat) {
    std::string text = book;
    for (size_t i = 0; i < kKeys; ++i) {
      text += fmt::format("{}{}\nPasskey: {}", i == 0 ? "" : "\n\n", question_of(i), vault.keys[i]);
    }
    return bare_prompt(std::move(text), false);
  }
  std::vector<ChatMessage> messages;
  for (size_t i = 0; i < kKeys; ++i) {
    messages.push_back({ChatRole::user, (i == 0 ? book : "") + question_of(i)});
    if (i + 1 < kKeys) messages.push_back({ChatRole::assistant, "Passkey: " + vault.keys[i]});
  }
  return chat_prompt(*chat, messages, "Passkey: " + vault.keys.back());
}

AnsweredPrompt tokens_of_vault(const PromptRequest& request, const Vault& vault,
                               std::string_view text) {
  const std::string book = book_with(vault, text);
  const PromptText prompt = vault_text(vault, book, request.chat);
  const std::string whole = prompt.text();
  AnsweredPrompt answered;
  answered.tokens = prompt_tokens(*request.tokenizer, prompt, "").tokens;
  const size_t book_end = whole.find(question_of(0));
  LH_ASSERT(book_end != std::string::npos);
  answered.first_row = static_cast<int64_t>(answered.tokens.size()) -
                       request.tokenizer->tokens_of_tail(answered.tokens, whole.size() - book_end);
  return answered;
}

}  // namespace

AnsweredPrompt ten_passkeys(const PromptRequest& request, int words) {
  Random random("ten-passkeys", request.seed, request.length, request.index);
  const Vault vault = draw_vault(random, words);
  const BookStretch stretch(*request.data, random);
  AnsweredPrompt fitting = tokens_of_vault(request, vault, stretch.text(kLeastBytes));
  const auto count = [](const AnsweredPrompt& p) { return static_cast<int64_t>(p.tokens.size()); };
  if (count(fitting) > request.length) {
    user_error("--lengths {}: ten passkeys of {} words, asked for and answered, take {} tokens",
               request.length, words, count(fitting));
  }
  // Two steps of linear interpolation come within a few tokens.
  double bytes = kLeastBytes, per_token = kBytesPerToken;
  for (int i = 0; i < 4; ++i) {
    const double next = bytes + per_token * static_cast<double>(request.length - count(fitting)) *
                                    (i == 0 ? 0.9 : 1);
    AnsweredPrompt longer =
        tokens_of_vault(request, vault, stretch.text(static_cast<size_t>(next)));
    if (count(longer) > request.length || count(longer) <= count(fitting)) {
      per_token *= 0.8;
      continue;
    }
    per_token = (next - bytes) / static_cast<double>(count(longer) - count(fitting));
    bytes = next;
    fitting = std::move(longer);
  }
  return fitting;
}

int64_t least_passkey_tokens(const PromptRequest& request, int words) {
  Random random("ten-passkeys", request.seed, 0, 0);
  const Vault vault = draw_vault(random, words);
  const BookStretch stretch(*request.data, random);
  const auto tokens = static_cast<int64_t>(
      tokens_of_vault(request, vault, stretch.text(kLeastBytes)).tokens.size());
  return tokens + tokens / 8;
}

AnsweredPrompt answered_task(const PromptRequest& request, const TaskInfo& task) {
  const PromptComposer composer(*request.tokenizer, request.chat);
  Sample sample =
      numbered_sample(task, request.index, request.length, request.seed, composer, *request.data);
  const std::vector<int32_t> asked = composer.compose(sample, !sample.opening.empty()).tokens;
  sample.opening +=
      fmt::format("{}{}", sample.opening.empty() ? "" : " ", fmt::join(sample.answers, ", "));
  AnsweredPrompt answered;
  answered.tokens = composer.compose(sample, true).tokens;
  const auto apart = std::ranges::mismatch(asked, answered.tokens);
  answered.first_row = apart.in2 - answered.tokens.begin() - 1;
  return answered;
}

}  // namespace longhaul
