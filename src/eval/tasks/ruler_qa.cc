// RULER's two question tasks: the paragraphs of a question among those of others.

#include <fmt/format.h>

#include <algorithm>

#include "eval/data_json.h"
#include "eval/haystack.h"
#include "eval/prompt_template.h"
#include "eval/question_sets.h"
#include "eval/tasks/benchmark_families.h"
#include "eval/tasks/make_samples.h"
#include "eval/tasks/ruler.h"

namespace longhaul {
namespace {

std::string numbered_documents(const QuestionSet& set, const std::vector<size_t>& order) {
  std::string text;
  for (size_t i = 0; i < order.size(); ++i) {
    const QuestionDocument& document = set.documents[order[i]];
    text += fmt::format("{}Document {}:\n{}{}{}", i == 0 ? "" : "\n\n", i + 1, document.title,
                        document.title.empty() ? "" : "\n", document.text);
  }
  return text;
}

/// The question's own paragraphs, then those of its article, then random ones; the whole pool
/// repeats if more are requested than exist.
std::vector<size_t> pick_documents(const Question& question, const std::vector<size_t>& others,
                                   size_t count) {
  std::vector<size_t> picked = question.own;
  picked.insert(picked.end(), question.near.begin(), question.near.end());
  picked.insert(picked.end(), others.begin(), others.end());
  for (size_t i = 0; picked.size() < count; ++i) picked.push_back(picked[i]);
  picked.resize(count);
  return picked;
}

std::vector<Sample> make_qa(const TaskRequest& request, const QuestionSet& set) {
  const RulerTemplate prompt = ruler_template(*request.data, "qa");
  return make_samples(request, [&](Sample& sample, Random& random, int i) {
    Question question = set.questions[static_cast<size_t>(i) % set.questions.size()];
    random.shuffle(question.near);
    std::vector<size_t> known = question.own;
    known.insert(known.end(), question.near.begin(), question.near.end());
    const std::vector<size_t> others = distractors(set, known, random);
    const PromptField fields[] = {{"query", question.text}};
    sample.answers = question.answers;
    sample.rule = "contains-any";
    sample.opening = prompt.answer_prefix;
    sample.max_tokens = prompt.max_tokens;
    const uint64_t seed = random.bits();
    fit_to_length(request, sample, 1.0 / 150, static_cast<int64_t>(question.gold.size()),
                  [&](Sample& filled, int64_t count) {
                    std::vector<size_t> order =
                        pick_documents(question, others, static_cast<size_t>(count));
                    Random again(seed);
                    again.shuffle(order);
                    place_prompt(filled, prompt.text, numbered_documents(set, order), fields);
                  });
  });
}

std::vector<Sample> make_squad(const TaskRequest& request) {
  return make_qa(request, xquad(*request.data));
}
std::vector<Sample> make_hotpot(const TaskRequest& request) {
  return make_qa(request, hotpotqa(*request.data));
}

constexpr std::string_view kQaRule = "one of the answers is in the reply, case ignored";

constexpr TaskInfo kQaTasks[] = {
    {"ruler/qa_1", "a question on one of many paragraphs", kQaRule,
     "RULER's prompt; XQuAD's English questions, all of SQuAD's dev set, for SQuAD", true,
     make_squad},
    {"ruler/qa_2", "a question on two of many paragraphs", kQaRule,
     "RULER's prompt; 100 HotpotQA questions and 1,900 paragraphs for the whole dev set", true,
     make_hotpot},
};

}  // namespace

std::span<const TaskInfo> ruler_qa_tasks() { return kQaTasks; }

}  // namespace longhaul
