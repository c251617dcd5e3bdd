#pragma once
// Reads sets of questions for multi-document tasks. All questions of a set share a pool of
// documents, which are paragraphs of articles. For each question, some documents contain the answer
// (gold documents), and others serve as distractors.

#include <cstdint>
#include <string>
#include <vector>

#include "eval/data.h"
#include "eval/random.h"

namespace longhaul {

struct QuestionDocument {
  std::string title;  ///< may be empty
  std::string text;
};

struct Question {
  std::string text;
  std::vector<std::string> answers;
  std::vector<size_t> gold;  ///< indexes of documents that contain the answer
  /// Indexes of the gold documents, followed by the other documents that the data set gives with
  /// the question.
  std::vector<size_t> own;
  /// Indexes of other documents from the same article. They are used as distractors before all
  /// others.
  std::vector<size_t> near;
};

struct QuestionSet {
  std::vector<QuestionDocument> documents;  ///< without duplicates, sorted by title and text
  std::vector<Question> questions;          ///< in file order
};

/// Returns the questions of SQuAD 1.1 that are in qa/xquad.en.json.
QuestionSet xquad(const EvalData& data);
/// Returns HotpotQA questions with ten paragraphs each from qa/hotpotqa.json. The pool also
/// contains the paragraphs of qa/hotpotqa_paragraphs.json.
QuestionSet hotpotqa(const EvalData& data);
/// Returns questions of the data set Natural Questions from qa/nq_open.jsonl, each with one
/// passage.
QuestionSet natural_questions(const EvalData& data);

/// Returns the indexes of all documents that are not in `without`, in random order.
std::vector<size_t> distractors(const QuestionSet& set, const std::vector<size_t>& without,
                                Random& random);

}  // namespace longhaul
