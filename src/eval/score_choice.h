#pragma once
// Scores replies by the rules of InfiniteBench's tasks and of multiple choice, which extract the
// answer from the reply.
//  Source: OpenBMB/InfiniteBench, src/compute_scores.py at 88b3daa.

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace longhaul {

/// kv_retrieval: 1 if the answer is one of the reply's words after punctuation is replaced by
/// spaces.
double whole_word_score(std::string_view answer, std::string_view reply);
/// longdialogue_qa_eng: whole_word_score() with the reply in capitals.
double name_score(std::string_view answer, std::string_view reply);
/// code_run: 1 if the reply's last word is the answer's integer.
double last_integer_score(std::string_view answer, std::string_view reply);
/// math_find: 1 if the reply's first number, with or without a fraction, is the answer.
double first_number_score(std::string_view answer, std::string_view reply);
/// math_calc: the share of the values, from the first one on, that the reply's integers repeat.
double running_values_score(std::span<const std::string> answers, std::string_view reply);
/// code_debug: labels are {function, letter}.
double function_choice_score(std::span<const std::string> labels, std::string_view reply);
/// longbook_choice_eng: labels are {option's text, letter}.
double option_choice_score(std::span<const std::string> labels, std::string_view reply);
/// 1 if the first letter A to D that stands alone is the answer (MMLU and similar tasks).
double lone_letter_score(std::string_view answer, std::string_view reply);
/// 1 if the first "true" or "false" in the reply is the answer.
double true_false_score(std::string_view answer, std::string_view reply);

}  // namespace longhaul
