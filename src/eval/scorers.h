#pragma once
// How replies become scores in 0..1: the rules of the published benchmarks, each after its
// reference definition. tools/make_score_goldens.py computes what the tests compare with.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "eval/sample.h"

namespace longhaul {

/// The score of a reply after sample.rule; best over the answers unless the rule says otherwise.
/// UserError: an unknown rule, a pattern that is no regular expression.
double score_reply(const Sample& sample, std::string_view reply);

/// Refuses before a run what score_reply would refuse in it: no answers, an unknown rule, a broken
/// pattern, a numeric answer that is none. UserError; the caller says where the sample stands.
void check_scorable(const Sample& sample);

/// A rule that Sample::rule may name.
struct ScoreRule {
  std::string_view name;
  std::string_view help;  ///< one line
  double (*score)(const Sample& sample, std::string_view reply);
  /// UserError for an answer that no reply could match; null where every answer will do.
  void (*check)(const std::string& answer) = nullptr;
};
/// Also known as "first-line+NAME": only the reply's first line that is not empty is looked at; and
/// as "after-7+NAME": neither the reply's nor the answers' first seven words (CItruS, appendix G:
/// they repeat the question).
std::span<const ScoreRule> score_rules();

// --- single rules ---

/// 0 or 1: what the trimmed reply equals; what the reply contains, case ignored.
double exact_score(std::string_view answer, std::string_view reply);
double contains_score(std::string_view answer, std::string_view reply);
/// The first run of ASCII digits is the answer (passkey, InfiniteBench).
double first_integer_score(std::string_view answer, std::string_view reply);
/// The last number ("1,234.50") equals the answer as a number (GSM8K).
double last_number_score(std::string_view answer, std::string_view reply);

/// F1 of two bags of words; 0 when they share none.
double bag_f1(std::span<const std::string> answer, std::span<const std::string> reply);
/// SQuAD's word F1; Chinese F1 with every character a word (InfiniteBench's rule).
double squad_f1(std::string_view answer, std::string_view reply);
/// The answer's words stand in the reply in this form (lost in the middle's best subspan match).
double squad_contains(std::string_view answer, std::string_view reply);
double chinese_f1(std::string_view answer, std::string_view reply);

/// ROUGE as Google's rouge-score has it (no stemming): F of n-grams, of the longest common
/// subsequence, and of the summary-level one, where sentences are lines.
double rouge_n(int n, std::string_view answer, std::string_view reply);
double rouge_l(std::string_view answer, std::string_view reply);
double rouge_lsum(std::string_view answer, std::string_view reply);
/// ROUGE-L F as the Python package `rouge` has it, which LongBench uses: sentences end at full
/// stops, and every different word counts once.
double rouge_l_unique(std::string_view answer, std::string_view reply);

/// 1 - (inserted + deleted characters) / (all characters): rapidfuzz's fuzz.ratio / 100.
double edit_similarity(std::string_view answer, std::string_view reply);
/// 1 - Levenshtein distance / the longer length.
double levenshtein_similarity(std::string_view answer, std::string_view reply);
/// Edit similarity, rounded to hundredths, of the reply's first line without `, # or //
/// (LongBench's code tasks).
double code_line_score(std::string_view answer, std::string_view reply);

/// Of all integers of the reply, the share that is the answer's first integer (LongBench).
double integer_share(std::string_view answer, std::string_view reply);
/// 1 / (classes named in the reply) when the answer is among them (LongBench's trec and lsht).
double classification_score(std::string_view answer, std::span<const std::string> classes,
                            std::string_view reply);
/// BABILong: the answer is the only label of the reply's first sentence that the question lacks.
double label_score(std::string_view answer, std::span<const std::string> labels,
                   std::string_view question, std::string_view reply);
/// NeedleBench: 1 with the keyword in the reply, else 0.2 of the edit similarity to the answer.
double needlebench_score(std::string_view answer, std::string_view keyword, std::string_view reply);
/// Share of the needle's different words that are in the reply (DuoAttention's paper).
double needle_words_score(std::string_view answer, std::string_view reply);
/// The longest run of words, in SQuAD's normal form, that answer and reply share, as a share of the
/// answer's words.
double verbatim_score(std::string_view answer, std::string_view reply);

}  // namespace longhaul
