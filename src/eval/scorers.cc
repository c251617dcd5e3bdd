#include "eval/scorers.h"

#include <algorithm>

#include "base/error.h"
#include "eval/score_choice.h"
#include "text/regex.h"
#include "text/utf8.h"

namespace longhaul {
namespace {

constexpr std::string_view kFirstLine = "first-line+";
constexpr std::string_view kAfterSeven = "after-7+";

using Pairwise = double (*)(std::string_view answer, std::string_view reply);

template <class Score>
double best(const Sample& sample, std::string_view reply, Score score) {
  double highest = 0;
  for (const std::string& answer : sample.answers) {
    highest = std::max(highest, score(answer, reply));
  }
  return highest;
}

template <Pairwise score>
double best_of(const Sample& sample, std::string_view reply) {
  return best(sample, reply, score);
}

double share_contained(const Sample& sample, std::string_view reply) {
  double contained = 0;
  for (const std::string& answer : sample.answers) contained += contains_score(answer, reply);
  return sample.answers.empty() ? 0 : contained / static_cast<double>(sample.answers.size());
}

double regex_score(std::string_view pattern, std::string_view reply) {
  std::string storage;
  size_t replaced = 0;
  return Regex(pattern, "answer").find(repair_utf8(reply, storage, &replaced), 0) ? 1 : 0;
}

std::string_view first_line(std::string_view reply) {
  reply.remove_prefix(std::min(reply.find_first_not_of('\n'), reply.size()));
  return reply.substr(0, reply.find('\n'));
}

/// The text after its first seven words.
std::string_view after_seven_words(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  for (int word = 0; word < 7; ++word) {
    text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
    text.remove_prefix(std::min(text.find_first_of(kBlanks), text.size()));
  }
  return text;
}

double classes(const Sample& sample, std::string_view reply) {
  return best(sample, reply, [&](const std::string& answer, std::string_view text) {
    return classification_score(answer, sample.choices, text);
  });
}

/// The question without the prompt's words before it.
std::string_view bare_question(const Sample& sample) {
  constexpr std::string_view kMark = "Question: ";
  const std::string_view text = sample.question;
  const size_t mark = text.rfind(kMark);
  return mark == std::string_view::npos ? text : text.substr(mark + kMark.size());
}

double labels(const Sample& sample, std::string_view reply) {
  return best(sample, reply, [&](const std::string& answer, std::string_view text) {
    return label_score(answer, sample.choices, bare_question(sample), text);
  });
}

double needlebench(const Sample& sample, std::string_view reply) {
  return sample.answers.empty()
             ? 0
             : needlebench_score(sample.answers.front(), sample.answers.back(), reply);
}

double running_values(const Sample& sample, std::string_view reply) {
  return running_values_score(sample.answers, reply);
}

double names(const Sample& sample, std::string_view reply) {
  return names_f1(sample.answers, reply);
}

double function_choice(const Sample& sample, std::string_view reply) {
  return function_choice_score(sample.answers, reply);
}

double option_choice(const Sample& sample, std::string_view reply) {
  return option_choice_score(sample.answers, reply);
}

void check_pattern(const std::string& answer) { Regex(answer, "answer"); }

void check_number(const std::string& answer) {
  if (last_number_score(answer, answer) == 0) user_error("answer \"{}\" holds no number", answer);
}

void check_digits(const std::string& answer) {
  if (answer.empty() || answer.find_first_not_of("0123456789") != std::string::npos) {
    user_error("answer \"{}\" is no run of digits", answer);
  }
}

double rouge_1(std::string_view answer, std::string_view reply) {
  return rouge_n(1, answer, reply);
}
double rouge_2(std::string_view answer, std::string_view reply) {
  return rouge_n(2, answer, reply);
}

constexpr ScoreRule kRules[] = {
    {"contains-all", "share of the answers that are in the reply, case ignored", share_contained},
    {"contains-any", "an answer is in the reply, case ignored", best_of<contains_score>},
    {"exact", "the trimmed reply equals an answer", best_of<exact_score>},
    {"regex", "an answer, as a pattern, is found in the reply", best_of<regex_score>,
     check_pattern},
    {"first-integer", "the first run of digits equals an answer", best_of<first_integer_score>,
     check_digits},
    {"number", "the last number equals an answer", best_of<last_number_score>, check_number},
    {"f1", "SQuAD's word F1", best_of<squad_f1>},
    {"subspan", "the answer is in the reply, both in SQuAD's normal form", best_of<squad_contains>},
    {"f1-chinese", "F1 with every Chinese character a word (no segmenter)", best_of<chinese_f1>},
    {"rouge-1", "ROUGE-1 F", best_of<rouge_1>},
    {"rouge-2", "ROUGE-2 F", best_of<rouge_2>},
    {"rouge-l", "ROUGE-L F", best_of<rouge_l>},
    {"rouge-lsum", "ROUGE-Lsum F, sentences are lines", best_of<rouge_lsum>},
    {"rouge-l-unique", "ROUGE-L F of LongBench's package: different words, once each",
     best_of<rouge_l_unique>},
    {"edit", "edit similarity", best_of<edit_similarity>},
    {"code-line", "edit similarity of the first line that is no comment", best_of<code_line_score>},
    {"integer-share", "of the reply's integers, the share that is right", best_of<integer_share>},
    {"classes", "1 / classes named, when the right one is among them", classes},
    {"labels", "the right label is the only one in the first sentence", labels},
    {"needlebench", "the keyword (last answer), else 0.2 x similarity to the first answer",
     needlebench},
    {"needle-words", "share of the needle's different words", best_of<needle_words_score>},
    {"verbatim", "share of the answer that its longest run of words in the reply covers",
     best_of<verbatim_score>},
    {"names-f1", "F1 of the answers and the reply's words in capitals of the same length", names},
    {"whole-word", "the answer is a word of the reply", best_of<whole_word_score>},
    {"name", "the answer is a word of the reply in capitals", best_of<name_score>},
    {"last-integer", "the last word is the integer", best_of<last_integer_score>},
    {"first-number", "the first number is the answer", best_of<first_number_score>},
    {"running-values", "share of the values repeated without a miss", running_values},
    {"function-choice", "the letter or function that the reply settles on", function_choice},
    {"option-choice", "the letter or option that the reply settles on", option_choice},
    {"lone-letter", "the first lone letter A-D", best_of<lone_letter_score>},
    {"true-false", "which of true and false comes first", best_of<true_false_score>},
};

const ScoreRule& find_rule(std::string_view name) {
  for (const std::string_view before : {kFirstLine, kAfterSeven}) {
    if (name.starts_with(before)) name.remove_prefix(before.size());
  }
  for (const ScoreRule& rule : kRules) {
    if (rule.name == name) return rule;
  }
  user_error("no score rule is named \"{}\"", name);
}

}  // namespace

std::span<const ScoreRule> score_rules() { return kRules; }

double score_reply(const Sample& sample, std::string_view reply) {
  const ScoreRule& rule = find_rule(sample.rule);
  if (sample.rule.starts_with(kAfterSeven)) {
    Sample cut = sample;
    for (std::string& answer : cut.answers) answer = after_seven_words(answer);
    return rule.score(cut, after_seven_words(reply));
  }
  return rule.score(sample, sample.rule.starts_with(kFirstLine) ? first_line(reply) : reply);
}

void check_scorable(const Sample& sample) {
  const ScoreRule& rule = find_rule(sample.rule);
  if (sample.answers.empty()) user_error("no answer is given");
  if (rule.check == nullptr) return;
  for (const std::string& answer : sample.answers) rule.check(answer);
}

}  // namespace longhaul
