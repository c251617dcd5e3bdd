#pragma once
// The rules of InfiniteBench's tasks and of multiple choice: what of a reply is its answer.
// Source: OpenBMB/InfiniteBench, src/compute_scores.py at 88b3daa.

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace longhaul {

/// kv_retrieval: the answer is one of the reply's words once punctuation is blank.
double whole_word_score(std::string_view answer, std::string_view reply);
/// longdialogue_qa_eng: the same with the reply in capitals.
double name_score(std::string_view answer, std::string_view reply);
/// code_run: the last word is the integer.
double last_integer_score(std::string_view answer, std::string_view reply);
/// math_find: the first number, with or without a fraction.
double first_number_score(std::string_view answer, std::string_view reply);
/// math_calc: the share of the values that the reply's integers repeat from the start on.
double running_values_score(std::span<const std::string> answers, std::string_view reply);
/// code_debug: labels are {function, letter}.
double function_choice_score(std::span<const std::string> labels, std::string_view reply);
/// longbook_choice_eng: labels are {option's text, letter}.
double option_choice_score(std::span<const std::string> labels, std::string_view reply);
/// The first letter A-D that stands alone (MMLU and the like, asked for a letter).
double lone_letter_score(std::string_view answer, std::string_view reply);
/// Which of "true" and "false" the reply says first.
double true_false_score(std::string_view answer, std::string_view reply);

}  // namespace longhaul
