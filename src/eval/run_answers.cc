#include "eval/run_answers.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "eval/ask.h"

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
  cell.sample_hash = sample_hash(sample, opening);
  return cell;
}

RunAnswers::RunAnswers(const std::filesystem::path& folder, const nlohmann::ordered_json& run,
                       const SampleQueue& queue, Openings openings)
    : folder_(folder) {
  if (!has_begun(folder)) {
    write_run(folder, run);
    writer_ = std::make_unique<RecordWriter>(folder);
    return;
  }
  nlohmann::ordered_json continued = continued_run(folder, run);
  writer_ = std::make_unique<RecordWriter>(folder);
  for (const QueuedSample& queued : queue.planned()) {
    for (const bool opening : openings_of(*queued.sample, openings)) {
      found_prompt(*queued.sample, cell_of(queued, opening));
    }
  }
  write_run(folder, std::move(continued));
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
