#pragma once
// Scores replies from 0 to 1 by the rules of the published benchmarks. Each rule follows its
// reference definition. tools/make_score_goldens.py computes the expected values in the tests.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "eval/sample.h"

namespace longhaul {

/// Returns the score of a reply by the rule sample.rule. It is the highest score over all answers,
/// unless the rule defines something else. Throws UserError for an unknown rule or an invalid
/// regular expression.
double score_reply(const Sample& sample, std::string_view reply);

/// Checks before a run that score_reply() will not throw: there are answers, the rule is known,
/// patterns are valid, and numeric answers are numbers. Throws UserError. The caller adds the
/// location of the sample to the message.
void check_scorable(const Sample& sample);

/// A rule that Sample::rule may name.
struct ScoreRule {
  std::string_view name;
  std::string_view help;  ///< description in one line
  double (*score)(const Sample& sample, std::string_view reply);
  /// Throws UserError for an answer that no reply could match. The pointer is null if every answer
  /// is valid.
  void (*check)(const std::string& answer) = nullptr;
};
/// Returns all rules. Each rule NAME has two variants. "first-line+NAME" uses only the first
/// non-empty line of the reply. "after-7+NAME" ignores the first seven words of reply and answers,
/// because they repeat the question (CItruS, appendix G).
std::span<const ScoreRule> score_rules();

// --- single rules (they return a score from 0 to 1) ---

/// Returns 1 if the trimmed reply equals the answer, and otherwise 0.
double exact_score(std::string_view answer, std::string_view reply);
/// Returns 1 if the reply contains the answer, ignoring case, and otherwise 0.
double contains_score(std::string_view answer, std::string_view reply);
/// Returns 1 if the first run of ASCII digits in the reply is the answer (passkey, InfiniteBench).
double first_integer_score(std::string_view answer, std::string_view reply);
/// Returns 1 if the last number in the reply ("1,234.50") equals the answer as a number (GSM8K).
double last_number_score(std::string_view answer, std::string_view reply);

/// Returns the F1 score of two bags of words. It is 0 if they have no common word.
double bag_f1(std::span<const std::string> answer, std::span<const std::string> reply);
/// Returns the F1 score of the set of answers and the set of names in the reply. Names are runs of
/// ASCII capitals that are as long as an answer (GraphWalks).
double names_f1(std::span<const std::string> answers, std::string_view reply);
/// Returns the F1 score of words, as SQuAD defines it. chinese_f1() treats every character as a
/// word (rule of InfiniteBench).
double squad_f1(std::string_view answer, std::string_view reply);
/// Returns 1 if the reply contains the answer after both are normalised as in SQuAD (best subspan
/// match of "Lost in the middle").
double squad_contains(std::string_view answer, std::string_view reply);
double chinese_f1(std::string_view answer, std::string_view reply);

/// These functions return ROUGE scores as Google's rouge-score does, without stemming. The scores
/// are the F measures of n-grams (rouge_n), of the longest common subsequence (rouge_l), and of the
/// summary-level longest common subsequence, in which every line is a sentence (rouge_lsum).
double rouge_n(int n, std::string_view answer, std::string_view reply);
double rouge_l(std::string_view answer, std::string_view reply);
double rouge_lsum(std::string_view answer, std::string_view reply);
/// Returns the ROUGE-L F measure of the Python package `rouge`, which LongBench uses. Sentences end
/// at full stops, and every distinct word counts once.
double rouge_l_unique(std::string_view answer, std::string_view reply);

/// Returns 1 - (inserted + deleted characters) / (all characters), as fuzz.ratio / 100 of
/// rapidfuzz.
double edit_similarity(std::string_view answer, std::string_view reply);
/// Returns 1 - (Levenshtein distance) / (length of the longer text).
double levenshtein_similarity(std::string_view answer, std::string_view reply);
/// Returns the edit similarity of the answer and the first line of the reply that contains no `, #
/// or //, rounded to hundredths (code tasks of LongBench).
double code_line_score(std::string_view answer, std::string_view reply);

/// Returns the share of the integers in the reply that equal the first integer in the answer
/// (LongBench).
double integer_share(std::string_view answer, std::string_view reply);
/// Returns 1 / (number of classes named in the reply) if the answer is one of these classes, and
/// otherwise 0 (trec and lsht of LongBench).
double classification_score(std::string_view answer, std::span<const std::string> classes,
                            std::string_view reply);
/// Returns 1 if the answer is the only label in the first sentence of the reply that is not in the
/// question (BABILong).
double label_score(std::string_view answer, std::span<const std::string> labels,
                   std::string_view question, std::string_view reply);
/// Returns 1 if the reply contains the keyword, and otherwise 0.2 times the edit similarity of
/// reply and answer (NeedleBench).
double needlebench_score(std::string_view answer, std::string_view keyword, std::string_view reply);
/// Returns the share of the needle's distinct words that occur in the reply (DuoAttention's paper).
double needle_words_score(std::string_view answer, std::string_view reply);
/// Returns the length of the longest run of words that answer and reply share, as a share of the
/// answer's words. Words are normalised as in SQuAD.
double verbatim_score(std::string_view answer, std::string_view reply);

}  // namespace longhaul
