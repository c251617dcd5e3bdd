// Five questions about one text, in the manner of SCBench (Li et al. 2024, arXiv:2412.10319): the
// text is read as a prompt of its own, before any question is known.

#include <fmt/format.h>

#include <set>

#include "eval/haystack.h"
#include "eval/tasks/families.h"
#include "eval/tasks/make_samples.h"
#include "eval/tasks/words.h"

namespace longhaul {
namespace {

constexpr int kQuestions = 5;

struct LaterFact {
  std::string question, opening, value;
};

LaterFact later_fact(const std::string& key, const std::string& value) {
  return {"What is the special magic number for " + key + " mentioned in the provided text?",
          "The special magic number for " + key + " mentioned in the provided text is", value};
}

/// Samples 5 n to 5 n + 4 ask about the same text. With `chat` the earlier questions and their
/// right answers stand between text and question.
std::vector<Sample> make_later(const TaskRequest& request) {
  const bool chat = request.task == "later-questions/chat";
  return make_samples(request, [&](Sample& sample, Random&, int i) {
    Random random(request.task, request.seed, request.length, i / kQuestions);
    const BookStretch stretch(*request.data, random);
    std::vector<Hidden> needles;
    std::vector<LaterFact> facts;
    std::set<std::string> used;
    while (std::ssize(facts) < kQuestions) {
      const std::string key = random_key(random), value = random.digits(7);
      if (!used.insert(key).second) continue;
      const double depth = (static_cast<double>(facts.size()) + random.unit()) / kQuestions;
      needles.push_back(
          {fmt::format("One of the special magic numbers for {} is: {}.", key, value), depth});
      facts.push_back(later_fact(key, value));
    }
    // The order of the questions is not that of the text.
    std::vector<size_t> order = {0, 1, 2, 3, 4};
    random.shuffle(order);
    const auto asked = static_cast<size_t>(i % kQuestions);
    for (size_t earlier = 0; chat && earlier < asked; ++earlier) {
      const LaterFact& fact = facts[order[earlier]];
      sample.turns.push_back({false, fact.question});
      sample.turns.push_back({true, fact.opening + " " + fact.value + "."});
    }
    const LaterFact& fact = facts[order[asked]];
    sample.depth = needles[order[asked]].depth;
    sample.question = fact.question;
    sample.opening = fact.opening;
    sample.answers = {fact.value};
    sample.group = chat ? fmt::format("question {}", asked + 1) : "";
    sample.context_first = true;
    sample.max_tokens = 40;
    fit_book_text(request, sample, stretch,
                  [&](std::string_view text) { return hide(text, needles); });
  });
}

constexpr std::string_view kLaterRule = "the number is in the reply";
constexpr std::string_view kLaterSource =
    "RULER's sentences and question, as in SCBench; public-domain books";

constexpr TaskInfo kLaterTasks[] = {
    {"later-questions/one",
     "one of five magic numbers in a book that is prefilled before the question", kLaterRule,
     kLaterSource, true, make_later},
    {"later-questions/chat", "the same, after the earlier ones of five questions and answers",
     kLaterRule, kLaterSource, true, make_later},
};

}  // namespace

std::span<const TaskInfo> later_question_tasks() { return kLaterTasks; }

}  // namespace longhaul
