// BABILong (Kuratov et al. 2024, arXiv:2406.10149): the facts of a bAbI story hidden in book text.

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "eval/data_json.h"
#include "eval/haystack.h"
#include "eval/prompt_template.h"
#include "eval/score_text.h"
#include "eval/tasks/benchmark_families.h"
#include "eval/tasks/make_samples.h"

namespace longhaul {
namespace {

constexpr std::string_view kBabiFamily = "babilong/";
constexpr int kBabiReplyTokens = 25;

struct Story {
  std::vector<std::string> facts;
  std::string question, answer;
};

/// Parses a line "3 Where is John? \thallway\t1" or, in some copies, with | instead of tabs.
bool parse_question(std::string_view line, Story* story) {
  const char bar = line.find('\t') != std::string_view::npos ? '\t' : '|';
  const size_t first = line.find(bar);
  if (first == std::string_view::npos) return false;
  const size_t second = std::min(line.find(bar, first + 1), line.size());
  story->question = trim(line.substr(0, first));
  story->answer = trim(line.substr(first + 1, second - first - 1));
  return true;
}

/// Returns one story for each question, with all preceding facts of its story.
std::vector<Story> read_stories(const EvalData& data, const std::string& file) {
  std::vector<Story> stories;
  Story current;
  for (const std::string_view line : data_lines(data, file)) {
    const size_t blank = line.find(' ');
    if (blank == std::string_view::npos ||
        line.substr(0, blank).find_first_not_of("0123456789") != std::string_view::npos) {
      user_error("{}: \"{}\" is no numbered line", file, line.substr(0, 40));
    }
    if (line.substr(0, blank) == "1") current.facts.clear();
    const std::string_view text = line.substr(blank + 1);
    if (parse_question(text, &current)) {
      if (current.answer.empty()) user_error("{}: a question has no answer", file);
      stories.push_back(current);
    } else {
      current.facts.emplace_back(trim(text));
    }
  }
  return stories;
}

/// The stories of BABILong's published runs, in their order; the others follow.
std::vector<size_t> story_order(const EvalData& data, const std::string& task, size_t count) {
  std::vector<bool> used(count, false);
  std::vector<size_t> order;
  const DataValue file = data_json(data, "babi/test_100_idxs.json");
  // The published runs selected questions of the first five tasks only.
  if (!file.json.is_object()) user_error("{}: is no JSON object", file.where);
  const bool chosen = file.json.contains(task);
  for (const DataValue& index : chosen ? elements(file, task) : std::vector<DataValue>()) {
    if (!index.json.is_number_unsigned()) user_error("{}: is no index", index.where);
    const auto i = index.json.get<size_t>();
    if (i >= count) user_error("{}: there are {} questions only", index.where, count);
    if (!used[i]) order.push_back(i);
    used[i] = true;
  }
  for (size_t i = 0; i < count; ++i) {
    if (!used[i]) order.push_back(i);
  }
  return order;
}

struct Prompt {
  std::string text;  ///< contains {context} and {question}
  std::vector<std::string> labels;
};

Prompt read_prompt(const EvalData& data, const std::string& task) {
  const DataValue file = data_json(data, "prompts/babilong.json");
  const DataValue own = member(member(file, "DEFAULT_PROMPTS"), task);
  const std::string instruction = text_member(own, "instruction");
  const std::string examples = text_member(own, "examples");
  const std::string post = text_member(own, "post_prompt");
  const PromptField fields[] = {
      {"instruction", instruction}, {"examples", examples}, {"post_prompt", post}};
  const std::string text = fill_in(text_member(file, "DEFAULT_TEMPLATE"), fields);
  return {std::string(trim(text)), texts_member(member(file, "TASK_LABELS"), task)};
}

/// "Where is Mary?" between "Where is " and "?": Mary. Empty if the question has another form.
std::string_view asked_between(std::string_view question, std::string_view before,
                               std::string_view after) {
  const bool fits = question.size() > before.size() + after.size() &&
                    question.starts_with(before) && question.ends_with(after);
  if (!fits) return "";
  question.remove_prefix(before.size());
  question.remove_suffix(after.size());
  return question;
}

/// The first words of the answer in the form of the prompt's examples. If the examples show the
/// bare answer, the cue before it.
std::string opening_of(std::string_view task, std::string_view question) {
  const std::string_view asked = asked_between(question, "Where is ", "?");
  if (task == "qa1" && !asked.empty())
    return fmt::format("The most recent location of {} is", asked);
  if (task == "qa2" && asked.starts_with("the "))
    return fmt::format("T{} is in the", asked.substr(1));
  const std::string_view former = asked_between(question, "Where was ", "?");
  constexpr std::string_view kBefore = " before ";
  const size_t at = former.find(kBefore);
  if (task == "qa3" && at != std::string_view::npos) {
    return fmt::format("Before {} {} was in the", former.substr(at + kBefore.size()),
                       former.substr(0, at));
  }
  return "Answer:";
}

std::vector<Sample> make_babi(const TaskRequest& request) {
  const std::string name(request.task.substr(kBabiFamily.size()));
  const std::vector<Story> stories = read_stories(*request.data, fmt::format("babi/{}.txt", name));
  const std::vector<size_t> order = story_order(*request.data, name, stories.size());
  const Prompt prompt = read_prompt(*request.data, name);
  return make_samples(request, [&](Sample& sample, Random& random, int i) {
    const Story& story = stories[order[static_cast<size_t>(i) % order.size()]];
    const BookStretch stretch(*request.data, random);
    std::vector<double> depths;
    for (size_t f = 0; f < story.facts.size(); ++f) depths.push_back(random.unit());
    std::sort(depths.begin(), depths.end());
    std::vector<Hidden> facts;
    for (size_t f = 0; f < story.facts.size(); ++f) facts.push_back({story.facts[f], depths[f]});
    const PromptField fields[] = {{"question", story.question}};
    sample.answers = {story.answer};
    sample.choices = prompt.labels;
    sample.opening = opening_of(name, story.question);
    sample.before_opening = "\n";
    sample.rule = "labels";
    sample.max_tokens = kBabiReplyTokens;
    fit_to_length(request, sample, kBytesPerToken, kLeastBytes, [&](Sample& filled, int64_t bytes) {
      const std::string book = stretch.text(static_cast<size_t>(bytes));
      place_prompt(filled, prompt.text, hide(book, facts), fields);
    });
  });
}

struct BabiSet {
  std::string_view name, summary;
};

constexpr BabiSet kBabiSets[] = {
    {"babilong/qa1", "where a person is"},
    {"babilong/qa2", "where a thing is"},
    {"babilong/qa3", "where a thing was before"},
    {"babilong/qa4", "who or what stands where"},
    {"babilong/qa5", "who gave what to whom"},
    {"babilong/qa6", "is a person there, yes or no"},
    {"babilong/qa7", "how many things one has"},
    {"babilong/qa8", "which things one has"},
    {"babilong/qa9", "is a person there, with negations"},
    {"babilong/qa10", "is a person there, maybe"},
    {"babilong/qa11", "where a person is (he, she)"},
    {"babilong/qa12", "where one of two is"},
    {"babilong/qa13", "where they are"},
    {"babilong/qa14", "where a person was when"},
    {"babilong/qa15", "what one is afraid of"},
    {"babilong/qa16", "which colour one has"},
    {"babilong/qa17", "what stands where, yes or no"},
    {"babilong/qa18", "what fits where, yes or no"},
    {"babilong/qa19", "the way between two places"},
    {"babilong/qa20", "why a person went there"},
};

constexpr TaskInfo babi_task(const BabiSet& set) {
  return {set.name,
          set.summary,
          "the right label is the only one in the reply's first sentence",
          "BABILong's prompt and questions; public-domain books for PG-19",
          true,
          make_babi};
}

constexpr auto kBabiTasks = tasks_of_sets(kBabiSets, babi_task);

}  // namespace

std::span<const TaskInfo> babilong_tasks() { return kBabiTasks; }

}  // namespace longhaul
