// A question on one or two of many documents: lost in the middle's multi-document form (Liu et al.
// 2023, arXiv:2307.03172) with the relevant documents at set places.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "eval/haystack.h"
#include "eval/prompt_template.h"
#include "eval/question_sets.h"
#include "eval/tasks/benchmark_families.h"
#include "eval/tasks/make_samples.h"

namespace longhaul {
namespace {

constexpr std::string_view kPrompt =
    "Write a high-quality answer for the given question using only the provided search results "
    "(some of which might be irrelevant).\n\n{context}\n\nQuestion: {question}\nAnswer:";
constexpr std::string_view kCue = "Answer:";  // the prompt's own cue, repeated after the mark
constexpr int kDocumentReplyTokens = 100;
constexpr double kDocumentsPerToken = 1.0 / 150;

std::string search_results(const QuestionSet& set, const std::vector<size_t>& order) {
  std::string text;
  for (size_t i = 0; i < order.size(); ++i) {
    const QuestionDocument& document = set.documents[order[i]];
    const std::string title =
        document.title.empty() ? "" : fmt::format("(Title: {})", document.title);
    text += fmt::format("{}Document [{}]{} {}", i == 0 ? "" : "\n", i + 1, title, document.text);
  }
  return text;
}

/// Returns `count` documents with the gold ones at the given depths.
std::vector<size_t> with_gold(const std::vector<size_t>& others, const std::vector<size_t>& gold,
                              const std::vector<double>& depths, size_t count) {
  std::vector<size_t> order;
  for (size_t i = 0; order.size() + gold.size() < count; ++i) {
    order.push_back(others[i % others.size()]);
  }
  for (size_t g = 0; g < gold.size(); ++g) {
    const double place = depths[g] * static_cast<double>(order.size());
    order.insert(order.begin() + std::lround(place), gold[g]);
  }
  return order;
}

std::vector<Sample> make_documents(const TaskRequest& request, const QuestionSet& set,
                                   bool several) {
  std::vector<size_t> questions(set.questions.size());
  for (size_t i = 0; i < questions.size(); ++i) questions[i] = i;
  Random(request.task, request.seed, 0, 0).shuffle(questions);
  return make_samples(request, [&](Sample& sample, Random& random, int i) {
    const Question& question = set.questions[questions[static_cast<size_t>(i) % questions.size()]];
    // Two gold documents are a third of all places apart.
    const double depth = grid_depth(i);
    std::vector<double> depths = {depth};
    while (depths.size() < question.gold.size()) {
      depths.push_back(std::fmod(depths.back() + 1.0 / 3, 1.0));
    }
    if (!several) sample.depth = depth;
    std::vector<size_t> known = question.own;
    known.insert(known.end(), question.near.begin(), question.near.end());
    const std::vector<size_t> others = distractors(set, known, random);
    const PromptField fields[] = {{"question", question.text}};
    sample.answers = question.answers;
    sample.opening = kCue;
    sample.rule = several ? "f1" : "first-line+subspan";
    sample.max_tokens = kDocumentReplyTokens;
    fit_to_length(request, sample, kDocumentsPerToken, static_cast<int64_t>(question.gold.size()),
                  [&](Sample& filled, int64_t count) {
                    const auto order =
                        with_gold(others, question.gold, depths, static_cast<size_t>(count));
                    place_prompt(filled, kPrompt, search_results(set, order), fields);
                  });
  });
}

std::vector<Sample> make_nq(const TaskRequest& request) {
  return make_documents(request, natural_questions(*request.data), false);
}
std::vector<Sample> make_xquad(const TaskRequest& request) {
  return make_documents(request, xquad(*request.data), false);
}
std::vector<Sample> make_multihop(const TaskRequest& request) {
  return make_documents(request, hotpotqa(*request.data), true);
}

constexpr std::string_view kDocumentRule =
    "an answer is in the reply's first line (words as SQuAD's)";

constexpr TaskInfo kDocumentTasks[] = {
    {"multidoc/nq", "a question on one of many passages", kDocumentRule,
     "lost in the middle's prompt and gold passages; passages of other questions distract", true,
     make_nq},
    {"multidoc/xquad", "a question on one of many paragraphs", kDocumentRule,
     "lost in the middle's prompt; XQuAD", true, make_xquad},
    {"multihop/hotpotqa", "a question on two paragraphs that stand far apart", "word F1 (SQuAD)",
     "lost in the middle's prompt; HotpotQA", true, make_multihop},
};

}  // namespace

std::span<const TaskInfo> document_tasks() { return kDocumentTasks; }

}  // namespace longhaul
