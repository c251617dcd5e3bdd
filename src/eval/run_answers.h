#pragma once
// RunAnswers checks the answers in the folder of a run. It determines which answers exist, and
// whether they belong to the prompts of this run.

#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "eval/record_writer.h"
#include "eval/sample_queue.h"

namespace longhaul {

/// Returns the fields that all records of a sample share. `opening` is true if the prompt ends with
/// the first words of the answer.
Record cell_of(const QueuedSample& queued, bool opening);

class RunAnswers {
 public:
  /// Creates or continues the run in the folder. `run` is the result of run_json(). Before any
  /// change, it checks the conditions of the run and the samples that `queue` has made. It also
  /// checks the first sample of every length that has answers in the folder. `queue` makes these
  /// samples for the check. Warns if the answers come from another build of the program.
  RunAnswers(const std::filesystem::path& folder, const nlohmann::ordered_json& run,
             SampleQueue& queue, const PromptComposer& composer, Openings openings);

  /// Returns the prompt that the folder contained for a cell when it was opened, or null. Throws
  /// UserError if that prompt was made from another sample. The reason can be that --data or
  /// --lengths differ between runs (samples with their own length are cut to --lengths).
  const FoundPrompt* found_prompt(const Sample& sample, Record cell) const;
  /// Throws UserError if the tokens of a prompt differ from those in the folder. It is used for
  /// records without a sample hash.
  void check_prompt(const FoundPrompt& found, const Record& cell,
                    const std::vector<int32_t>& tokens) const;
  /// Returns whether there is a record for the cell, including its method. For a predicted text,
  /// there must be a record for every stretch.
  bool answered(const Sample& sample, const Record& cell, const FoundPrompt& found) const;

  /// Records in run.json that all answers exist. Does nothing if answers are missing that an
  /// earlier run requested and this run did not request.
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
