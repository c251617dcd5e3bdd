#pragma once
// Scores replies from 0 to 1 by the rules of the published benchmarks. Each rule computes the same
// score as the published program. tools/make_score_goldens.py runs these programs and writes the
// expected scores of the tests.

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

/// Checks before a run that score_reply() will not throw for this sample. Throws UserError if there
/// are no answers, if the rule is unknown, if a pattern is invalid, or if the rule requires numbers
/// and an answer is not a number. The caller adds the location of the sample to the message.
void check_scorable(const Sample& sample);

/// A rule that Sample::rule may name.
struct ScoreRule {
  std::string_view name;
  std::string_view help;  ///< description in one line
  double (*score)(const Sample& sample, std::string_view reply);
  /// Throws UserError if no reply could match `answer`. Null if every answer is valid.
  void (*check)(const std::string& answer) = nullptr;
};
/// Returns all rules. Sample::rule may also name a variant of a rule NAME. "first-line+NAME" scores
/// only the first non-empty line of the reply. "after-7+NAME" ignores the first seven words of the
/// reply and of the answers, because they repeat the question (CItruS, appendix G).
std::span<const ScoreRule> score_rules();

// --- single rules; each returns a score from 0 to 1 ---

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
/// Returns the F1 score of two sets: the answers, and the names in the reply. A name is a run of
/// ASCII capitals that is as long as an answer (GraphWalks).
double names_f1(std::span<const std::string> answers, std::string_view reply);
/// Returns the F1 score of the words of answer and reply, as SQuAD defines it. chinese_f1() treats
/// every character as a word (InfiniteBench).
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

/// Returns 1 - (inserted + deleted characters) / (characters of both texts). This equals fuzz.ratio
/// / 100 of the Python package rapidfuzz.
double edit_similarity(std::string_view answer, std::string_view reply);
/// Returns 1 - (Levenshtein distance) / (length of the longer text).
double levenshtein_similarity(std::string_view answer, std::string_view reply);
/// Returns the edit similarity of two texts, rounded to hundredths: the answer, and the first line
/// of the reply that contains no `, # or // (code tasks of LongBench).
double code_line_score(std::string_view answer, std::string_view reply);

/// Returns the share of the integers in the reply that equal the first integer in the answer
/// (LongBench).
double integer_share(std::string_view answer, std::string_view reply);
/// Returns 1 / (number of classes named in the reply) if the answer is one of these classes, and
/// otherwise 0 (trec and lsht of LongBench).
double classification_score(std::string_view answer, std::span<const std::string> classes,
                            std::string_view reply);
/// Considers the labels that occur in the first sentence of the reply but not in the question.
/// Returns 1 if the answer is the only one of them (BABILong).
double label_score(std::string_view answer, std::span<const std::string> labels,
                   std::string_view question, std::string_view reply);
/// Returns 1 if the reply contains the keyword, and otherwise 0.2 times the edit similarity of
/// reply and answer (NeedleBench).
double needlebench_score(std::string_view answer, std::string_view keyword, std::string_view reply);
/// Returns the share of the needle's distinct words that occur in the reply (DuoAttention's paper).
double needle_words_score(std::string_view answer, std::string_view reply);
/// Returns the length of the longest run of words that occurs in both answer and reply, divided by
/// the number of words of the answer. Words are normalised as in SQuAD.
double verbatim_score(std::string_view answer, std::string_view reply);

}  // namespace longhaul
