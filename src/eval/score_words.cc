#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/parse_number.h"
#include "eval/score_text.h"
#include "eval/scorers.h"

namespace longhaul {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool digit_at(std::string_view text, size_t at) { return at < text.size() && is_digit(text[at]); }

size_t after_digits(std::string_view text, size_t at) {
  while (digit_at(text, at)) ++at;
  return at;
}

/// Whether `at` is a thousands separator: a comma followed by exactly three digits.
bool thousands_at(std::string_view text, size_t at) {
  return at < text.size() && text[at] == ',' && after_digits(text, at + 1) == at + 4;
}

/// End of the number that begins at a digit or at a decimal point.
size_t number_end(std::string_view text, size_t begin) {
  size_t end = after_digits(text, begin);
  if (end - begin <= 3) {
    while (thousands_at(text, end)) end += 4;
  }
  if (end < text.size() && text[end] == '.' && digit_at(text, end + 1)) {
    end = after_digits(text, end + 1);
  }
  if (end >= text.size() || (text[end] != 'e' && text[end] != 'E')) return end;
  size_t power = end + 1;
  if (power < text.size() && (text[power] == '+' || text[power] == '-')) ++power;
  return digit_at(text, power) ? after_digits(text, power) : end;
}

/// A decimal point without digits before it: not the full stop of "No.5", not "...42".
bool point_at(std::string_view text, size_t at) {
  const bool behind_word =
      at > 0 && (std::isalnum(static_cast<unsigned char>(text[at - 1])) || text[at - 1] == '.');
  return text[at] == '.' && digit_at(text, at + 1) && !behind_word;
}

/// The last number of a text without its thousands separators: "$1,234.50." -> "1234.50".
std::string last_number(std::string_view text) {
  std::string number;
  for (size_t at = 0; at < text.size();) {
    const bool point = point_at(text, at);
    if (!point && !is_digit(text[at])) {
      ++at;
      continue;
    }
    // A hyphen is a sign unless a letter or digit precedes it ("10-20").
    const bool negative = at > 0 && text[at - 1] == '-' &&
                          (at == 1 || !std::isalnum(static_cast<unsigned char>(text[at - 2])));
    const size_t end = number_end(text, at);
    number = negative ? "-" : "";
    for (const char c : text.substr(at, end - at)) {
      if (c != ',') number.push_back(c);
    }
    at = end;
  }
  return number;
}

}  // namespace

double exact_score(std::string_view answer, std::string_view reply) {
  return trim(reply) == trim(answer) ? 1 : 0;
}

double names_f1(std::span<const std::string> answers, std::string_view reply) {
  const std::set<std::string> right(answers.begin(), answers.end());
  std::set<std::string> named;
  const auto is_capital = [](char c) { return c >= 'A' && c <= 'Z'; };
  for (auto at = std::ranges::find_if(reply, is_capital); at != reply.end();) {
    const auto end = std::find_if_not(at, reply.end(), is_capital);
    const std::string name(at, end);
    const auto as_long = [&](const std::string& answer) { return answer.size() == name.size(); };
    if (std::ranges::any_of(right, as_long)) named.insert(name);
    at = std::find_if(end, reply.end(), is_capital);
  }
  const auto found =
      std::ranges::count_if(named, [&](const std::string& name) { return right.count(name) > 0; });
  return found == 0
             ? 0
             : 2.0 * static_cast<double>(found) / static_cast<double>(right.size() + named.size());
}

double contains_score(std::string_view answer, std::string_view reply) {
  return lower_case(reply).find(lower_case(answer)) != std::string::npos ? 1 : 0;
}

double first_integer_score(std::string_view answer, std::string_view reply) {
  const size_t begin = reply.find_first_of("0123456789");
  if (begin == std::string_view::npos) return 0;
  const size_t end = reply.find_first_not_of("0123456789", begin);
  return reply.substr(begin, end == std::string_view::npos ? end : end - begin) == answer ? 1 : 0;
}

double last_number_score(std::string_view answer, std::string_view reply) {
  double expected = 0;
  double found = 0;
  return parse_number(last_number(answer), expected) && parse_number(last_number(reply), found) &&
                 expected == found
             ? 1
             : 0;
}

double bag_f1(std::span<const std::string> answer, std::span<const std::string> reply) {
  std::map<std::string_view, int64_t> left;
  for (const std::string& word : answer) ++left[word];
  int64_t shared = 0;
  for (const std::string& word : reply) {
    const auto it = left.find(word);
    if (it != left.end() && it->second-- > 0) ++shared;
  }
  if (shared == 0) return 0;
  const double precision = static_cast<double>(shared) / static_cast<double>(reply.size());
  const double recall = static_cast<double>(shared) / static_cast<double>(answer.size());
  return 2 * precision * recall / (precision + recall);
}

double squad_f1(std::string_view answer, std::string_view reply) {
  return bag_f1(squad_words(answer), squad_words(reply));
}

double squad_contains(std::string_view answer, std::string_view reply) {
  const std::string wanted = fmt::format("{}", fmt::join(squad_words(answer), " "));
  const std::string found = fmt::format("{}", fmt::join(squad_words(reply), " "));
  return !found.empty() && found.find(wanted) != std::string::npos ? 1 : 0;
}

double chinese_f1(std::string_view answer, std::string_view reply) {
  return bag_f1(chinese_characters(answer), chinese_characters(reply));
}

double integer_share(std::string_view answer, std::string_view reply) {
  const std::vector<std::string> wanted = digit_runs(answer);
  const std::vector<std::string> found = digit_runs(reply);
  if (wanted.empty() || found.empty()) return 0;
  return static_cast<double>(std::count(found.begin(), found.end(), wanted.front())) /
         static_cast<double>(found.size());
}

double classification_score(std::string_view answer, std::span<const std::string> classes,
                            std::string_view reply) {
  std::vector<std::string_view> named;
  for (const std::string& name : classes) {
    if (reply.find(name) != std::string_view::npos) named.emplace_back(name);
  }
  // The reference removes elements from the list while iterating over it, and so skips the entry
  // after a removed one. Published scores include this effect.
  for (size_t i = 0; i < named.size(); ++i) {
    const std::string_view name = named[i];
    if (name != answer && answer.find(name) != std::string_view::npos) {
      named.erase(std::find(named.begin(), named.end(), name));
    }
  }
  const bool right = std::find(named.begin(), named.end(), answer) != named.end();
  return right ? 1.0 / static_cast<double>(named.size()) : 0;
}

double label_score(std::string_view answer, std::span<const std::string> labels,
                   std::string_view question, std::string_view reply) {
  std::string said = lower_case(reply);
  for (const std::string_view end : {".", "<context>", "<example>"}) {
    said = said.substr(0, said.find(end));
  }
  const std::string asked = lower_case(question);
  std::set<std::string> named;
  for (const std::string& label : labels) {
    const std::string name = lower_case(label);
    if (said.find(name) != std::string::npos && asked.find(name) == std::string::npos) {
      named.insert(name);
    }
  }
  // "apple,milk" is two labels; "n,w" of the path task is one.
  std::set<std::string> wanted;
  std::string target = lower_case(answer);
  if (target.size() > 3) std::replace(target.begin(), target.end(), ',', '\n');
  for (size_t at = 0; at <= target.size();) {
    const size_t end = std::min(target.find('\n', at), target.size());
    wanted.insert(target.substr(at, end - at));
    at = end + 1;
  }
  return named == wanted ? 1 : 0;
}

}  // namespace longhaul
