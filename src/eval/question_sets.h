#pragma once
// Questions with a common pool of paragraphs, for multi-document tasks. Some paragraphs answer a
// question, and the others are distractors.

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
  std::vector<size_t> gold;  ///< documents that contain the answer
  std::vector<size_t> own;   ///< gold documents first, then others given with the question
  std::vector<size_t> near;  ///< others from the same article: the first distractors
};

struct QuestionSet {
  std::vector<QuestionDocument> documents;  ///< without duplicates, sorted by titles and texts
  std::vector<Question> questions;          ///< in file order
};

/// Returns SQuAD 1.1 questions from qa/xquad.en.json.
QuestionSet xquad(const EvalData& data);
/// Returns HotpotQA questions with ten paragraphs each from qa/hotpotqa.json. The pool also
/// contains the paragraphs of qa/hotpotqa_paragraphs.json.
QuestionSet hotpotqa(const EvalData& data);
/// Returns Natural Questions from qa/nq_open.jsonl, with one passage each.
QuestionSet natural_questions(const EvalData& data);

/// Returns documents that are not in `without`, in random order.
std::vector<size_t> distractors(const QuestionSet& set, const std::vector<size_t>& without,
                                Random& random);

}  // namespace longhaul
