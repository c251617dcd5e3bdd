#pragma once
// Scores replies by the rules of InfiniteBench's tasks and of multiple-choice tasks. These rules
// extract the answer from the reply. Each function returns a score from 0 to 1.
//  Source: OpenBMB/InfiniteBench, src/compute_scores.py at 88b3daa.

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace longhaul {

/// kv_retrieval: returns 1 if the answer is one of the words of the reply. Punctuation in the reply
/// is replaced by spaces.
double whole_word_score(std::string_view answer, std::string_view reply);
/// longdialogue_qa_eng: returns whole_word_score() of the reply in capitals.
double name_score(std::string_view answer, std::string_view reply);
/// code_run: returns 1 if the last word of the reply is the answer, an integer.
double last_integer_score(std::string_view answer, std::string_view reply);
/// math_find: returns 1 if the first number in the reply, with or without a fraction, is the
/// answer.
double first_number_score(std::string_view answer, std::string_view reply);
/// math_calc: the reply should repeat a list of values. Returns the number of values before the
/// first wrong or missing integer, divided by the number of all values.
double running_values_score(std::span<const std::string> answers, std::string_view reply);
/// code_debug: returns 1 if the reply chooses the right option. `labels` are the name of its
/// function and its letter.
double function_choice_score(std::span<const std::string> labels, std::string_view reply);
/// longbook_choice_eng: returns 1 if the reply chooses the right option. `labels` are its text and
/// its letter.
double option_choice_score(std::span<const std::string> labels, std::string_view reply);
/// Returns 1 if the first single letter A to D in the reply is the answer (MMLU and similar tasks).
double lone_letter_score(std::string_view answer, std::string_view reply);
/// Returns 1 if the first "true" or "false" in the reply is the answer.
double true_false_score(std::string_view answer, std::string_view reply);

}  // namespace longhaul
