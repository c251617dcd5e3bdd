#pragma once
// Reads sets of questions for multi-document tasks. All questions of a set share a pool of
// paragraphs. Some paragraphs answer a question, and the others are distractors.

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
  /// Indexes of gold documents, followed by other documents given with the question.
  std::vector<size_t> own;
  /// Indexes of other documents from the same article, which are the first distractors.
  std::vector<size_t> near;
};

struct QuestionSet {
  std::vector<QuestionDocument> documents;  ///< without duplicates, sorted by title and text
  std::vector<Question> questions;          ///< in file order
};

/// Returns SQuAD 1.1 questions from qa/xquad.en.json.
QuestionSet xquad(const EvalData& data);
/// Returns HotpotQA questions with ten paragraphs each from qa/hotpotqa.json. The pool also
/// contains the paragraphs of qa/hotpotqa_paragraphs.json.
QuestionSet hotpotqa(const EvalData& data);
/// Returns Natural Questions from qa/nq_open.jsonl, with one passage each.
QuestionSet natural_questions(const EvalData& data);

/// Returns the documents that are not in `without`, in random order.
std::vector<size_t> distractors(const QuestionSet& set, const std::vector<size_t>& without,
                                Random& random);

}  // namespace longhaul
