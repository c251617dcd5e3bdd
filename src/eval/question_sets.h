#pragma once
// Questions and a common pool of paragraphs that answer them: what multi-document tasks are made
// of.

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
  std::vector<size_t> gold;  ///< documents that hold the answer
  std::vector<size_t> own;   ///< gold and those given with the question, gold first
  std::vector<size_t> near;  ///< others of the same article: the first distractors
};

struct QuestionSet {
  std::vector<QuestionDocument>
      documents;                    ///< all different, in the order of their titles and texts
  std::vector<Question> questions;  ///< in the order of the file
};

/// SQuAD 1.1 questions of qa/xquad.en.json.
QuestionSet xquad(const EvalData& data);
/// HotpotQA questions with ten paragraphs each of qa/hotpotqa.json; the paragraphs of
/// qa/hotpotqa_paragraphs.json are in the pool too.
QuestionSet hotpotqa(const EvalData& data);
/// Natural Questions of qa/nq_open.jsonl, one passage each.
QuestionSet natural_questions(const EvalData& data);

/// Documents that are not among `without`, in random order.
std::vector<size_t> distractors(const QuestionSet& set, const std::vector<size_t>& without,
                                Random& random);

}  // namespace longhaul
