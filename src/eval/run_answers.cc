#include "eval/run_answers.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "eval/ask.h"
#include "text/printable.h"

namespace longhaul {
namespace {

[[noreturn]] void refuse(const std::filesystem::path& folder, const Record& cell) {
  user_error("{} holds an answer to another prompt of {}, sample {}: give another --out",
             folder.string(), cell.task, cell.id);
}

}  // namespace

Record cell_of(const QueuedSample& queued, bool opening) {
  const Sample& sample = *queued.sample;
  Record cell;
  cell.task = queued.task->name;
  cell.opening = opening;
  cell.length = queued.length;
  cell.id = sample.id;
  cell.group = sample.group;
  cell.depth = sample.depth;
  cell.cut_tokens = sample.cut_tokens;
  cell.cut_to = sample.cut_to;
  cell.sample_hash = sample_hash(sample, opening);
  return cell;
}

RunAnswers::RunAnswers(const std::filesystem::path& folder, const nlohmann::ordered_json& run,
                       SampleQueue& queue, const PromptComposer& composer, Openings openings)
    : folder_(folder) {
  make_run_folder(folder);
  // locked, so that no other run begins here meanwhile
  writer_ = std::make_unique<RecordWriter>(folder);
  const nlohmann::ordered_json asked = asked_by(run);
  nlohmann::ordered_json all = run;
  all["unfinished"] = asked;
  if (has_begun(folder)) {
    all = continued_run(folder, run);
    check_planned(queue, composer, openings);
    const std::string others = other_builds(folder, run);
    if (!others.empty() && writer_->found() > 0) {
      warn("records of {} were made by build {}, this is {}", folder.string(), printable(others),
           printable(run.at("build").get<std::string>()));
    }
  }
  leaves_none_ = all["unfinished"] == asked;
  write_run(folder, std::move(all));
  writer_->begin();
}

void RunAnswers::finish() {
  if (leaves_none_) finish_run(folder_);
}

/// Checks every planned sample, and the first of every length for which the folder has answers.
void RunAnswers::check_planned(SampleQueue& queue, const PromptComposer& composer,
                               Openings openings) const {
  std::set<std::pair<std::string_view, int64_t>> held;
  for (const Record& record : writer_->records()) held.emplace(record.task, record.length);
  queue.plan_first([&](const PlannedTask& task, int64_t length) {
    return held.count({task.name, length}) > 0;
  });
  for (const QueuedSample& queued : queue.planned()) {
    for (const bool opening : openings_of(*queued.sample, openings, composer)) {
      const Record cell = cell_of(queued, opening);
      const FoundPrompt* found = found_prompt(*queued.sample, cell);
      const bool unnamed =
          found != nullptr && found->sample_hash.empty() && !found->prompt_hash.empty();
      if (unnamed) check_prompt(*found, cell, composer.compose(*queued.sample, opening).tokens);
    }
  }
}

const FoundPrompt* RunAnswers::found_prompt(const Sample& sample, Record cell) const {
  if (sample.perplexity) cell.id = stretch_id(sample.id, 0);
  const FoundPrompt* found = writer_->found_prompt(cell);
  if (found == nullptr || found->sample_hash.empty() || found->sample_hash == cell.sample_hash) {
    return found;
  }
  cell.id = sample.id;
  refuse(folder_, cell);
}

void RunAnswers::check_prompt(const FoundPrompt& found, const Record& cell,
                              const std::vector<int32_t>& tokens) const {
  if (!found.prompt_hash.empty() && found.prompt_hash != prompt_hash(tokens)) refuse(folder_, cell);
}

bool RunAnswers::answered(const Sample& sample, const Record& cell,
                          const FoundPrompt& found) const {
  if (!sample.perplexity) return writer_->has(cell);
  const std::vector<int64_t> begins = position_stretches(found.prompt_tokens);
  return std::all_of(begins.begin(), begins.end(), [&](int64_t begin) {
    Record stretch = cell;
    stretch.id = stretch_id(cell.id, begin);
    return writer_->has(stretch);
  });
}

}  // namespace longhaul
