#pragma once
// A run can continue in the folder of an earlier run. RunAnswers determines which answers the
// folder already has, and checks that they belong to the same prompts.

#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "eval/record_writer.h"
#include "eval/sample_queue.h"

namespace longhaul {

/// Returns a record with the members that all records of a sample share. `opening` is true if the
/// prompt ends with the first words of the reply (Sample::opening).
Record cell_of(const QueuedSample& queued, bool opening);

class RunAnswers {
 public:
  /// Creates or continues the run in the folder. `run` is the result of run_json(). Before anything
  /// in the folder is changed, checks that the settings of the runs are comparable, and that
  /// answers in the folder belong to the prompts of this run. The check covers the samples that
  /// `queue` has already made, and the first sample of every task and length that has answers;
  /// `queue` makes these samples. Warns if the answers come from another build of the program.
  RunAnswers(const std::filesystem::path& folder, const nlohmann::ordered_json& run,
             SampleQueue& queue, const PromptComposer& composer, Openings openings);

  /// Returns the prompt for which the folder has answers of the same sample, or null. `cell` is the
  /// result of cell_of(). Throws UserError if the sample of the folder has other texts. The reason
  /// can be that --data or --lengths differ between the runs.
  const FoundPrompt* found_prompt(const Sample& sample, Record cell) const;
  /// Throws UserError if `tokens` differ from the tokens of the prompt in the folder. This check is
  /// for records without a sample hash, which older versions wrote.
  void check_prompt(const FoundPrompt& found, const Record& cell,
                    const std::vector<int32_t>& tokens) const;
  /// Returns whether the folder has the answer for `cell`, whose method must be set. For a text
  /// whose tokens are predicted (Sample::perplexity), every stretch must have a record.
  bool answered(const Sample& sample, const Record& cell, const FoundPrompt& found) const;

  /// Records in run.json that the folder has all answers. Does nothing if an earlier run requested
  /// answers that this run does not request, because they may be missing.
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
