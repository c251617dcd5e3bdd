#pragma once
// Scores replies by the rules of InfiniteBench's tasks and of multiple-choice tasks. These rules
// first extract the answer from the reply. Each function returns a score from 0 to 1.
//  Source: OpenBMB/InfiniteBench, src/compute_scores.py at 88b3daa.

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace longhaul {

/// Rule of kv_retrieval: returns 1 if the answer is one of the words of the reply. Punctuation in
/// the reply is replaced by spaces.
double whole_word_score(std::string_view answer, std::string_view reply);
/// Rule of longdialogue_qa_eng: returns whole_word_score() of the reply in capitals.
double name_score(std::string_view answer, std::string_view reply);
/// Rule of code_run: returns 1 if the last word of the reply is the answer, an integer.
double last_integer_score(std::string_view answer, std::string_view reply);
/// Rule of math_find: returns 1 if the first number in the reply, with or without a fraction, is
/// the answer.
double first_number_score(std::string_view answer, std::string_view reply);
/// Rule of math_calc: the reply should be the list of integers in `answers`. Returns the number of
/// integers before the first wrong or missing one, divided by the number of all integers.
double running_values_score(std::span<const std::string> answers, std::string_view reply);
/// Rule of code_debug: returns 1 if the reply chooses the right option. `labels` are the function
/// name and the letter of the right option.
double function_choice_score(std::span<const std::string> labels, std::string_view reply);
/// Rule of longbook_choice_eng: returns 1 if the reply chooses the right option. `labels` are the
/// text and the letter of the right option.
double option_choice_score(std::span<const std::string> labels, std::string_view reply);
/// Returns 1 if the first single letter A to D in the reply is the answer (MMLU and similar tasks).
double lone_letter_score(std::string_view answer, std::string_view reply);
/// Returns 1 if the first "true" or "false" in the reply is the answer.
double true_false_score(std::string_view answer, std::string_view reply);

}  // namespace longhaul
