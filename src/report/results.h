#pragma once
// Groups the records of runs into cells: a cell has the answers of one method in one run to one
// task at one length. All formats of the report are made from Results.

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "report/metric.h"
#include "report/run_folder.h"
#include "report/statistics/estimate.h"

namespace longhaul {

/// A series is a method of one run. It is a row of a table or a curve of a chart.
struct Series {
  size_t run = 0;
  /// Canonical text of the method: its name, and the options that differ from their defaults.
  std::string method;
  /// Unique name for display. It consists of the method's name and of the options in which the
  /// series of this method differ. If several runs contain the method, the name of the run follows.
  std::string label;
  bool control = false;
};

/// A task, with or without the first words of the reply at the end of its prompts
/// (Record::opening).
struct TaskVariant {
  std::string task;
  bool opening = false;
  Metric metric;
  std::string label;  ///< such as "needle" or "needle, opened"
  std::string summary, rule, source;
};

/// The costs of answers, as medians over several answers. 0 means unknown.
struct Cost {
  double first_token_seconds = 0;
  double decode_tokens_per_second = 0;  ///< median over replies of at least two tokens
  double kv_bytes = 0;
  double pairs_share = 0;
};
Cost cost_of(const std::vector<const Record*>& records);

struct Cell {
  Estimate score;
  int64_t answers = 0;  ///< number of answers, including failed ones
  /// Number of failed answers (Record::error). Each counts as a score of 0. For the metric nll and
  /// for baselines, failed answers are left out of `score`.
  int64_t failed = 0;
  Cost cost;
  std::vector<const Record*> records;
};
Cell cell_of(std::vector<const Record*> records, bool control);

struct CellKey {
  size_t variant = 0;
  int64_t length = 0;
  size_t series = 0;
  // clang-tidy 14 wrongly reports the 0 of this comparison as a null pointer.
  auto operator<=>(const CellKey&) const = default;  // NOLINT(modernize-use-nullptr)
};

/// All results, in the order in which reports show them. Methods and tasks are in the order of
/// run.json, with baselines after all methods. Lengths are in ascending order. Length 0 represents
/// samples with lengths of their own.
class Results {
 public:
  /// Stores pointers into `runs`, which must outlive this object.
  explicit Results(std::span<const RunFolder> runs);

  std::span<const RunFolder> runs() const { return runs_; }
  const std::vector<Series>& series() const { return series_; }
  const std::vector<TaskVariant>& variants() const { return variants_; }
  const std::vector<int64_t>& lengths() const { return lengths_; }
  /// Returns the lengths at which the task variant has a record.
  std::vector<int64_t> lengths_of(size_t variant) const;
  /// Returns a cell, or null if there is none.
  const Cell* cell(size_t variant, int64_t length, size_t series) const;
  const std::map<CellKey, Cell>& cells() const { return cells_; }
  /// Returns whether a run was stopped or is still running, or whether a method has not answered
  /// samples that another method has answered.
  bool unfinished() const;
  /// Returns the number of answers, including failed ones.
  int64_t answers() const { return answers_; }
  /// Returns the series of dense attention in a run, or nothing if the run did not include it.
  std::optional<size_t> dense_of(size_t run) const;

 private:
  void find_series();
  void find_variants();
  void fill_cells();
  bool uneven() const;

  std::span<const RunFolder> runs_;
  std::vector<Series> series_;
  std::vector<TaskVariant> variants_;
  std::vector<int64_t> lengths_;
  std::map<CellKey, Cell> cells_;
  int64_t answers_ = 0;
};

/// Returns one score per sample, by the id of the sample. With the metric nll, a text has several
/// records, one for each range of positions ("emma@512", "emma@1024", ...). They are not
/// independent, so they count as one sample, whose score is their mean weighted by the number of
/// tokens. A failed answer has the score 0. It is left out if `drop_failed` is true or if the
/// metric is nll.
std::map<std::string, double> scores_by_sample(std::span<const Record* const> records,
                                               bool drop_failed);

}  // namespace longhaul
