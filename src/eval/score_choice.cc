// The rules of InfiniteBench's tasks and of multiple choice: extraction of the answer from a reply.

#include "eval/score_choice.h"

#include <algorithm>
#include <initializer_list>

#include "base/parse_number.h"
#include "eval/score_text.h"

namespace longhaul {
namespace {

constexpr std::string_view kLetters = "ABCD";
constexpr std::string_view kWordEnds = "\n:\"'.,?!{}";

bool is_alphanumeric(char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

template <class Number>
bool parse(std::string_view text, Number* value) {
  if (text.starts_with('+')) text.remove_prefix(1);
  return parse_number(text, *value);
}

std::string single_blanks(std::string text) {
  text.erase(
      std::unique(text.begin(), text.end(), [](char a, char b) { return a == ' ' && b == ' '; }),
      text.end());
  return text;
}

/// The text after the first of the phrases that occurs, and one more character; nullopt if none
/// occurs.
std::optional<std::string_view> after_phrase(std::string_view text,
                                             std::initializer_list<std::string_view> phrases) {
  for (const std::string_view phrase : phrases) {
    const size_t at = text.find(phrase);
    if (at != std::string_view::npos)
      return text.substr(std::min(at + phrase.size() + 1, text.size()));
  }
  return std::nullopt;
}

bool starts_with_one(std::string_view text, std::span<const std::string> labels) {
  return std::any_of(labels.begin(), labels.end(), [&](const std::string& label) {
    return !text.empty() && text.starts_with(label);
  });
}

bool is_one(std::string_view text, std::span<const std::string> labels) {
  return std::find(labels.begin(), labels.end(), text) != labels.end();
}

}  // namespace

double whole_word_score(std::string_view answer, std::string_view reply) {
  const auto words = split_words(blank_out(reply, kWordEnds));
  return std::find(words.begin(), words.end(), answer) != words.end() ? 1 : 0;
}

double name_score(std::string_view answer, std::string_view reply) {
  std::string capitals(reply);
  for (char& c : capitals) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return whole_word_score(answer, capitals);
}

double last_integer_score(std::string_view answer, std::string_view reply) {
  const auto words = split_words(blank_out(reply, "\n.`'\":"));
  int64_t wanted = 0;
  int64_t found = 0;
  return !words.empty() && parse(words.back(), &found) && parse(answer, &wanted) && found == wanted
             ? 1
             : 0;
}

double first_number_score(std::string_view answer, std::string_view reply) {
  constexpr std::string_view kDigits = "0123456789";
  const size_t begin = reply.find_first_of(kDigits);
  if (begin == std::string_view::npos) return 0;
  size_t end = std::min(reply.find_first_not_of(kDigits, begin), reply.size());
  if (end + 1 < reply.size() && reply[end] == '.' &&
      kDigits.find(reply[end + 1]) != std::string_view::npos) {
    end = std::min(reply.find_first_not_of(kDigits, end + 1), reply.size());
  }
  double wanted = 0;
  double found = 0;
  return parse(reply.substr(begin, end - begin), &found) && parse(answer, &wanted) &&
                 found == wanted
             ? 1
             : 0;
}

double running_values_score(std::span<const std::string> answers, std::string_view reply) {
  const std::vector<std::string> found = digit_runs(reply);
  size_t right = 0;
  for (; right < std::min(answers.size(), found.size()); ++right) {
    int64_t a = 0;
    int64_t b = 0;
    if (!parse(answers[right], &a) || !parse(found[right], &b) || a != b) break;
  }
  return answers.empty() ? 0 : static_cast<double>(right) / static_cast<double>(answers.size());
}

double function_choice_score(std::span<const std::string> labels, std::string_view reply) {
  const std::string_view text = trim(reply);
  if (labels.empty()) return 0;
  const std::string_view letter = labels.back();
  if (text.starts_with(letter) && text.size() > letter.size() &&
      (text[letter.size()] == '.' || text[letter.size()] == ':')) {
    return 1;
  }
  std::string plain = blank_out(text, "\n`'\"-*");
  for (const std::string_view word : {"Option", "option"}) replace_all(plain, word, " ");
  plain = single_blanks(std::move(plain));
  const auto said = after_phrase(plain, {"answer is:", "is:", "answer:", "correct option is:"});
  return said && starts_with_one(*said, labels) ? 1 : 0;
}

double option_choice_score(std::span<const std::string> labels, std::string_view reply) {
  const std::string_view text = trim(reply);
  if (text.empty()) return 0;
  if (kLetters.find(text[0]) != std::string_view::npos) {
    return is_one(text.substr(0, 1), labels) ? 1 : 0;
  }
  if (is_one(text, labels)) return 1;
  const std::string plain = single_blanks(blank_out(text, "\n\"'.,?!{}"));
  if (const auto said = after_phrase(plain, {"answer is:", "answer:", "answer is", "option is"})) {
    return starts_with_one(*said, labels) ? 1 : 0;
  }
  for (const std::string& word : split_words(plain)) {
    if (kLetters.find(word) != std::string_view::npos) return is_one(word, labels) ? 1 : 0;
  }
  return 0;
}

double lone_letter_score(std::string_view answer, std::string_view reply) {
  for (size_t i = 0; i < reply.size(); ++i) {
    const bool lone = (i == 0 || !is_alphanumeric(reply[i - 1])) &&
                      (i + 1 == reply.size() || !is_alphanumeric(reply[i + 1]));
    if (lone && kLetters.find(reply[i]) != std::string_view::npos) {
      return reply.substr(i, 1) == trim(answer) ? 1 : 0;
    }
  }
  return 0;
}

double true_false_score(std::string_view answer, std::string_view reply) {
  const auto said = [](std::string_view text) {
    const std::string lower = lower_case(text);
    return std::pair(lower.find("true"), lower.find("false"));
  };
  const auto [wanted_true, wanted_false] = said(answer);
  const auto [found_true, found_false] = said(reply);
  if (found_true == found_false) return 0;  // neither word
  return (wanted_true < wanted_false) == (found_true < found_false) ? 1 : 0;
}

}  // namespace longhaul
