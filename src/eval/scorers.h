#pragma once
// Scores replies from 0 to 1 by the rules of the published benchmarks. Each rule follows its
// reference definition. tools/make_score_goldens.py computes the expected values of the tests.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "eval/sample.h"

namespace longhaul {

/// Returns the score of a reply by sample.rule. It is the best score over all answers, unless the
/// rule defines something else. Throws UserError for an unknown rule or an invalid regular
/// expression.
double score_reply(const Sample& sample, std::string_view reply);

/// Checks all conditions of score_reply() before a run: answers exist, the rule is known, patterns
/// are valid, numeric answers are numbers. Throws UserError; the caller adds the location of the
/// sample.
void check_scorable(const Sample& sample);

/// A rule that Sample::rule may name.
struct ScoreRule {
  std::string_view name;
  std::string_view help;  ///< one line
  double (*score)(const Sample& sample, std::string_view reply);
  /// Throws UserError for an answer that no reply could match. Null if every answer is valid.
  void (*check)(const std::string& answer) = nullptr;
};
/// Returns all rules. Each rule NAME is also available as "first-line+NAME", which uses only the
/// reply's first non-empty line, and as "after-7+NAME", which ignores the first seven words of
/// reply and answers, because they repeat the question (CItruS, appendix G).
std::span<const ScoreRule> score_rules();

// --- single rules ---

/// 1 if the trimmed reply equals the answer, otherwise 0.
double exact_score(std::string_view answer, std::string_view reply);
/// 1 if the reply contains the answer, ignoring case, otherwise 0.
double contains_score(std::string_view answer, std::string_view reply);
/// 1 if the reply's first run of ASCII digits is the answer (passkey, InfiniteBench).
double first_integer_score(std::string_view answer, std::string_view reply);
/// 1 if the reply's last number ("1,234.50") equals the answer as a number (GSM8K).
double last_number_score(std::string_view answer, std::string_view reply);

/// F1 of two bags of words; 0 if they share none.
double bag_f1(std::span<const std::string> answer, std::span<const std::string> reply);
/// F1 of the set of answers and the set of the reply's names: runs of ASCII capitals as long as an
/// answer (GraphWalks).
double names_f1(std::span<const std::string> answers, std::string_view reply);
/// SQuAD's word F1; Chinese F1 with every character a word (InfiniteBench's rule).
double squad_f1(std::string_view answer, std::string_view reply);
/// 1 if the reply contains the answer, both normalised as in SQuAD (the best subspan match of "Lost
/// in the middle").
double squad_contains(std::string_view answer, std::string_view reply);
double chinese_f1(std::string_view answer, std::string_view reply);

/// ROUGE as in Google's rouge-score, without stemming. The functions return the F measure of
/// n-grams, of the longest common subsequence, and of the summary-level longest common subsequence,
/// in which every line is a sentence.
double rouge_n(int n, std::string_view answer, std::string_view reply);
double rouge_l(std::string_view answer, std::string_view reply);
double rouge_lsum(std::string_view answer, std::string_view reply);
/// ROUGE-L F as in the Python package `rouge`, which LongBench uses: sentences end at full stops,
/// and every distinct word counts once.
double rouge_l_unique(std::string_view answer, std::string_view reply);

/// 1 - (inserted + deleted characters) / (all characters): rapidfuzz's fuzz.ratio / 100.
double edit_similarity(std::string_view answer, std::string_view reply);
/// 1 - Levenshtein distance / the longer length.
double levenshtein_similarity(std::string_view answer, std::string_view reply);
/// Edit similarity, rounded to hundredths, of the reply's first line without `, # or //
/// (LongBench's code tasks).
double code_line_score(std::string_view answer, std::string_view reply);

/// The share of the reply's integers that equal the answer's first integer (LongBench).
double integer_share(std::string_view answer, std::string_view reply);
/// 1 / (classes named in the reply) if the answer is among them (LongBench's trec and lsht).
double classification_score(std::string_view answer, std::span<const std::string> classes,
                            std::string_view reply);
/// BABILong: the answer is the only label of the reply's first sentence that the question lacks.
double label_score(std::string_view answer, std::span<const std::string> labels,
                   std::string_view question, std::string_view reply);
/// NeedleBench: 1 if the reply contains the keyword, otherwise 0.2 times the edit similarity to the
/// answer.
double needlebench_score(std::string_view answer, std::string_view keyword, std::string_view reply);
/// Returns the share of the needle's distinct words that occur in the reply (DuoAttention's paper).
double needle_words_score(std::string_view answer, std::string_view reply);
/// The longest run of words, in SQuAD's normal form, shared by answer and reply, as a share of the
/// answer's words.
double verbatim_score(std::string_view answer, std::string_view reply);

}  // namespace longhaul
