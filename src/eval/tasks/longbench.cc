// LongBench's 21 tasks (Bai et al. 2023, arXiv:2308.14508): records in its public form, prompts and
// reply lengths from data/prompts, scores by its metrics.

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "eval/data_json.h"
#include "eval/prompt_template.h"
#include "eval/score_text.h"
#include "eval/tasks/benchmark_families.h"
#include "eval/tasks/make_samples.h"

namespace longhaul {
namespace {

constexpr std::string_view kLongBenchFamily = "longbench/";

/// LongBench's metric names and the rules of scorers.h; "" if a word segmenter is missing.
const std::map<std::string, std::string_view>& rules_of_metrics() {
  static const std::map<std::string, std::string_view> rules = {
      {"qa_f1_score", "f1"},
      {"qa_f1_zh_score", "f1-chinese"},
      {"rouge_score", "rouge-l-unique"},
      {"rouge_zh_score", ""},
      {"classification_score", "classes"},
      {"retrieval_score", "integer-share"},
      {"retrieval_zh_score", "integer-share"},
      {"count_score", "integer-share"},
      {"code_sim_score", "code-line"},
  };
  return rules;
}

bool lists(const DataValue& rules, std::string_view key, const std::string& name) {
  const std::vector<std::string> names = texts_member(rules, key);
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// For passage retrieval, the prompt's own cue ("The answer is: ") as the beginning of the reply.
/// The other sets' prompts end with their cue, or have none, and are asked in one form.
std::string retrieval_cue(const std::string& name, std::string_view prompt) {
  if (!name.starts_with("passage_retrieval")) return "";
  return std::string(trim(prompt.substr(prompt.rfind('\n') + 1)));
}

/// Shared settings of a data set's samples.
struct LongBenchSettings {
  std::string prompt, rule, opening;
  int max_tokens = 0;
  bool chat = true;
};

LongBenchSettings settings_of(const EvalData& data, const std::string& name) {
  const DataValue prompts = data_json(data, "prompts/longbench.json");
  const DataValue rules = data_json(data, "prompts/longbench_rules.json");
  const DataValue metrics = member(rules, "dataset2metric");
  const auto known = rules_of_metrics().find(text_member(metrics, name));
  if (known == rules_of_metrics().end()) {
    user_error("{}: metric \"{}\" of {} is not known", rules.where, text_member(metrics, name),
               name);
  }
  if (known->second.empty()) {
    user_error(
        "task longbench/{}: LongBench scores it by Chinese words, and this build has no word "
        "segmenter",
        name);
  }
  LongBenchSettings s;
  s.prompt = text_member(prompts, name);
  s.opening = retrieval_cue(name, s.prompt);
  s.rule =
      (lists(rules, "first_line_only", name) ? "first-line+" : "") + std::string(known->second);
  s.max_tokens = count_member(member(rules, "max_tokens"), name);
  s.chat = !lists(rules, "no_chat_template", name);
  return s;
}

/// LongBench-E's buckets, by a record's number of words.
std::string bucket(const DataValue& record) {
  const int words = count_member(record, "length");
  return words < 4000 ? "0-4k" : words < 8000 ? "4-8k" : "8k+";
}

std::vector<Sample> make_longbench(const TaskRequest& request) {
  const std::string name(request.task.substr(kLongBenchFamily.size()));
  const LongBenchSettings settings = settings_of(*request.data, name);
  const auto records =
      data_json_lines(*request.data, fmt::format("{}.jsonl", request.task), request.samples);
  std::vector<Sample> samples;
  for (const DataValue& record : records) {
    Sample sample;
    sample.id = std::to_string(samples.size());
    sample.group = bucket(record);
    const std::string input = text_member(record, "input");
    const PromptField fields[] = {{"input", input}};
    place_prompt(sample, settings.prompt, text_member(record, "context"), fields);
    sample.answers = texts_member(record, "answers");
    sample.opening = settings.opening;
    if (settings.rule.ends_with("classes")) sample.choices = texts_member(record, "all_classes");
    sample.rule = settings.rule;
    sample.max_tokens = settings.max_tokens;
    sample.chat = settings.chat;
    cut_to_length(request, sample);
    samples.push_back(std::move(sample));
  }
  return samples;
}

constexpr std::string_view kF1 = "word F1 (SQuAD)";
constexpr std::string_view kRouge = "ROUGE-L F (Python package rouge)";
constexpr std::string_view kInteger = "share of the reply's integers that are right";
constexpr std::string_view kClasses = "1 / classes named in the first line, if one is right";
constexpr std::string_view kCode = "edit similarity of the first line of code";
constexpr std::string_view kCharacters =
    "F1 of characters (LongBench: of words; not comparable with its numbers)";
constexpr std::string_view kNoWords = "not to be had: needs a Chinese word segmenter";
constexpr std::string_view kHere = "LongBench's prompt and data";
constexpr std::string_view kLongBenchSource =
    "LongBench's prompt; data from --data DIR (longbench/*.jsonl)";

struct LongBenchSet {
  std::string_view name, summary, rule, source;
};

constexpr LongBenchSet kLongBenchSets[] = {
    {"longbench/narrativeqa", "questions on a story", kF1, kLongBenchSource},
    {"longbench/qasper", "questions on a paper", kF1, kLongBenchSource},
    {"longbench/multifieldqa_en", "questions on one text", kF1, kLongBenchSource},
    {"longbench/multifieldqa_zh", "questions on one Chinese text", kCharacters, kHere},
    {"longbench/hotpotqa", "questions on two of several passages", kF1, kLongBenchSource},
    {"longbench/2wikimqa", "questions on two or more passages", kF1, kLongBenchSource},
    {"longbench/musique", "questions over up to four passages", kF1, kLongBenchSource},
    {"longbench/dureader", "questions on Chinese passages", kNoWords, kLongBenchSource},
    {"longbench/gov_report", "a summary of a report", kRouge, kLongBenchSource},
    {"longbench/qmsum", "questions on a meeting", kRouge, kLongBenchSource},
    {"longbench/multi_news", "a summary of several news texts", kRouge, kLongBenchSource},
    {"longbench/vcsum", "a summary of a Chinese meeting", kNoWords, kLongBenchSource},
    {"longbench/trec", "the class of a question, after examples", kClasses, kLongBenchSource},
    {"longbench/triviaqa", "a question, after examples", kF1, kLongBenchSource},
    {"longbench/samsum", "a summary of a dialogue, after examples", kRouge, kLongBenchSource},
    {"longbench/lsht", "the class of Chinese news, after examples", kClasses, kLongBenchSource},
    {"longbench/passage_count", "how many different passages there are", kInteger,
     kLongBenchSource},
    {"longbench/passage_retrieval_en", "which passage a summary is of", kInteger, kLongBenchSource},
    {"longbench/passage_retrieval_zh", "which Chinese passage a summary is of", kInteger, kHere},
    {"longbench/lcc", "the next line of code", kCode, kLongBenchSource},
    {"longbench/repobench-p", "the next line of code in a repository", kCode, kLongBenchSource},
};

constexpr TaskInfo longbench_task(const LongBenchSet& set) {
  return {set.name, set.summary, set.rule, set.source, false, make_longbench};
}

constexpr auto kLongBenchTasks = tasks_of_sets(kLongBenchSets, longbench_task);

}  // namespace

std::span<const TaskInfo> longbench_tasks() { return kLongBenchTasks; }

}  // namespace longhaul
