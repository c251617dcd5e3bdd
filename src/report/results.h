#pragma once
// Groups records into cells. All formats of the report print these data.

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

/// One row of a table or curve of a chart: a method of one run.
struct Series {
  size_t run = 0;
  std::string method;  ///< canonical text
  /// The shortest unique name. It has the method's name and the options in which the series of this
  /// method differ. The run's name follows if several runs have the method.
  std::string label;
  bool control = false;
};

/// A task with or without the answer's opening words at the end of the prompt.
struct TaskVariant {
  std::string task;
  bool opening = false;
  Metric metric;
  std::string label;  ///< "needle", "needle, opened"
  std::string summary, rule, source;
};

/// Medians over the answers; 0: unknown.
struct Cost {
  double first_token_seconds = 0;
  double decode_tokens_per_second = 0;  ///< for replies of two tokens or more
  double kv_bytes = 0;
  double pairs_share = 0;
};
Cost cost_of(const std::vector<const Record*>& records);

struct Cell {
  Estimate score;
  int64_t answers = 0;  ///< number of samples, including failed ones
  int64_t failed = 0;   ///< records without an answer: scored 0; excluded for nll and baselines
  Cost cost;
  std::vector<const Record*> records;
};
Cell cell_of(std::vector<const Record*> records, bool control);

struct CellKey {
  size_t variant = 0;
  int64_t length = 0;
  size_t series = 0;
  // clang-tidy 14 takes the 0 with which the compiler compares for a pointer.
  auto operator<=>(const CellKey&) const = default;  // NOLINT(modernize-use-nullptr)
};

/// All results in display order. Methods are in the order of run.json (dense attention first) and
/// baselines are last. Tasks are in the order of run.json. Lengths ascend; 0 stands for samples
/// with their own lengths.
class Results {
 public:
  /// Keeps pointers into `runs`, which must outlive it.
  explicit Results(std::span<const RunFolder> runs);

  std::span<const RunFolder> runs() const { return runs_; }
  const std::vector<Series>& series() const { return series_; }
  const std::vector<TaskVariant>& variants() const { return variants_; }
  const std::vector<int64_t>& lengths() const { return lengths_; }
  /// Returns the lengths for which the variant has a record.
  std::vector<int64_t> lengths_of(size_t variant) const;
  const Cell* cell(size_t variant, int64_t length, size_t series) const;  ///< null: none
  const std::map<CellKey, Cell>& cells() const { return cells_; }
  /// Returns whether a run was stopped or is running, or whether a method lacks samples that
  /// another method has.
  bool unfinished() const;
  int64_t answers() const { return answers_; }  ///< including failed ones
  /// Returns the series of dense attention in a run, or nothing if the run did not request it.
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

/// Returns one number per sample. With metric nll, a text has several records, one for each range
/// of positions ("emma@512", "emma@1024", ...). They are not independent, so they count as one
/// sample with their token-weighted mean. A missing answer counts as 0. With nll or `drop_failed`
/// it is excluded.
std::map<std::string, double> scores_by_sample(std::span<const Record* const> records,
                                               bool drop_failed);

}  // namespace longhaul
