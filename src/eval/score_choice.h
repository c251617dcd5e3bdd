#pragma once
// The rules of InfiniteBench's tasks and of multiple choice: extraction of the answer from a reply.
//  Source: OpenBMB/InfiniteBench, src/compute_scores.py at 88b3daa.

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace longhaul {

/// kv_retrieval: the answer is one of the reply's words after punctuation is replaced by blanks.
double whole_word_score(std::string_view answer, std::string_view reply);
/// longdialogue_qa_eng: whole_word_score() with the reply in capitals.
double name_score(std::string_view answer, std::string_view reply);
/// code_run: the last word is the integer.
double last_integer_score(std::string_view answer, std::string_view reply);
/// math_find: the first number, with or without a fraction.
double first_number_score(std::string_view answer, std::string_view reply);
/// math_calc: the share of the values that the reply's integers repeat from the start.
double running_values_score(std::span<const std::string> answers, std::string_view reply);
/// code_debug: labels are {function, letter}.
double function_choice_score(std::span<const std::string> labels, std::string_view reply);
/// longbook_choice_eng: labels are {option's text, letter}.
double option_choice_score(std::span<const std::string> labels, std::string_view reply);
/// The first letter A-D that stands alone (MMLU and similar tasks that ask for a letter).
double lone_letter_score(std::string_view answer, std::string_view reply);
/// The first of "true" and "false" in the reply.
double true_false_score(std::string_view answer, std::string_view reply);

}  // namespace longhaul
