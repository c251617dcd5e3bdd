#pragma once
// The answers that a run's folder holds: which cells are there, and whether they answer the prompts
// that this run would ask.

#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "eval/record_writer.h"
#include "eval/sample_queue.h"

namespace longhaul {

/// What every record of a sample, asked in one way, begins with.
Record cell_of(const QueuedSample& queued, bool opening);

class RunAnswers {
 public:
  /// Begins the folder with run_json()'s `run`, or goes on in it. Before it changes anything there,
  /// it checks all that can be checked at once: the run's conditions, the samples that `queue` has
  /// planned, and, of every length that the folder has answers of, the first sample (which `queue`
  /// makes for this). Warns where the answers are of another build of the program.
  RunAnswers(const std::filesystem::path& folder, const nlohmann::ordered_json& run,
             SampleQueue& queue, const PromptComposer& composer, Openings openings);

  /// What the folder held of a cell's prompt when it was opened; null when it held nothing. Samples
  /// that have a length of their own are cut to --lengths or the model's, and texts come from
  /// --data: neither is one of the run's conditions. UserError when it was another sample.
  const FoundPrompt* found_prompt(const Sample& sample, Record cell) const;
  /// The same by the prompt's tokens, for records that do not say of which sample they are.
  void check_prompt(const FoundPrompt& found, const Record& cell,
                    const std::vector<int32_t>& tokens) const;
  /// Whether the cell, its method included, is there: of a text that is predicted, every stretch.
  bool answered(const Sample& sample, const Record& cell, const FoundPrompt& found) const;

  /// Notes in run.json that all has been answered, unless an earlier run has left something open
  /// that this one did not ask for.
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
