#pragma once
// The answers in a run's folder: which cells exist, and whether they belong to the prompts of this
// run.

#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "eval/record_writer.h"
#include "eval/sample_queue.h"

namespace longhaul {

/// The common beginning of all records of a sample, with or without opening.
Record cell_of(const QueuedSample& queued, bool opening);

class RunAnswers {
 public:
  /// Begins the folder with run_json()'s `run`, or continues it. Before any change it performs all
  /// checks that are possible at once. These are the run's conditions, the samples that `queue` has
  /// planned, and for every length with answers in the folder the first sample (which `queue` makes
  /// for this purpose). Warns if the answers come from another build of the program.
  RunAnswers(const std::filesystem::path& folder, const nlohmann::ordered_json& run,
             SampleQueue& queue, const PromptComposer& composer, Openings openings);

  /// The folder's prompt for a cell when it was opened; null if there was none. UserError if it was
  /// another sample. This can happen because samples with their own length are cut to --lengths or
  /// the model's, and texts come from --data, and neither is among the run's conditions.
  const FoundPrompt* found_prompt(const Sample& sample, Record cell) const;
  /// Checks by the prompt's tokens, for records without a sample hash.
  void check_prompt(const FoundPrompt& found, const Record& cell,
                    const std::vector<int32_t>& tokens) const;
  /// Whether the cell, including its method, is present; for a predicted text, whether every
  /// stretch is.
  bool answered(const Sample& sample, const Record& cell, const FoundPrompt& found) const;

  /// Notes in run.json that everything has been answered, unless an earlier run left something open
  /// that this one did not request.
  void finish();

  RecordWriter& writer() { return *writer_; }
  const RecordWriter& writer() const { return *writer_; }

 private:
  void check_planned(SampleQueue& queue, const PromptComposer& composer, Openings openings) const;

  const std::filesystem::path folder_;
  bool leaves_none_ = true;
  std::unique_ptr<RecordWriter> writer_;
};

}  // namespace longhaul
