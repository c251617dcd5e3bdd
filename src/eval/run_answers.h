#pragma once
// Checks the answers in the folder of a run: which answers exist, and whether they belong to the
// prompts of this run.

#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "eval/record_writer.h"
#include "eval/sample_queue.h"

namespace longhaul {

/// Returns the fields that all records of a sample share, with or without opening.
Record cell_of(const QueuedSample& queued, bool opening);

class RunAnswers {
 public:
  /// Begins the folder with run_json()'s `run`, or continues it. Before any change it checks
  /// everything that can be checked at this point: the conditions of the run, the samples that
  /// `queue` has planned, and the first sample of every length with answers in the folder (`queue`
  /// makes it for this check). Warns if the answers come from another build of the program.
  RunAnswers(const std::filesystem::path& folder, const nlohmann::ordered_json& run,
             SampleQueue& queue, const PromptComposer& composer, Openings openings);

  /// Returns the prompt of a cell that the folder contained when it was opened, or null. Throws
  /// UserError if that prompt was made from another sample. This can happen because --data and
  /// --lengths (to which samples with their own length are cut) may differ between runs.
  const FoundPrompt* found_prompt(const Sample& sample, Record cell) const;
  /// Checks the prompt by its tokens, for records without a sample hash.
  void check_prompt(const FoundPrompt& found, const Record& cell,
                    const std::vector<int32_t>& tokens) const;
  /// Returns whether the cell, including its method, has a record. For a predicted text, every
  /// stretch must have a record.
  bool answered(const Sample& sample, const Record& cell, const FoundPrompt& found) const;

  /// Records in run.json that all answers exist, unless answers are missing that an earlier run
  /// requested and this run did not.
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
