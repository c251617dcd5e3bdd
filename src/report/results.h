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

/// A method of one run. It is a row of a table or a curve of a chart.
struct Series {
  size_t run = 0;
  std::string method;  ///< canonical text of the method
  /// The shortest unique name. It consists of the method's name and of the options in which the
  /// series of this method differ. If several runs have the method, the name of the run follows.
  std::string label;
  bool control = false;
};

/// A task, either with or without the first words of the answer at the end of the prompt.
struct TaskVariant {
  std::string task;
  bool opening = false;
  Metric metric;
  std::string label;  ///< such as "needle" or "needle, opened"
  std::string summary, rule, source;
};

/// Medians over the answers. 0 means unknown.
struct Cost {
  double first_token_seconds = 0;
  double decode_tokens_per_second = 0;  ///< median over replies of at least two tokens
  double kv_bytes = 0;
  double pairs_share = 0;
};
Cost cost_of(const std::vector<const Record*>& records);

struct Cell {
  Estimate score;
  int64_t answers = 0;  ///< number of samples, including those that failed
  /// Number of failed samples. They have the score 0, but are excluded for nll and for baselines.
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

/// All results in the order of display. Methods are in the order of run.json (dense attention
/// first), and baselines are last. Tasks are in the order of run.json. Lengths ascend. Length 0
/// represents samples with lengths of their own.
class Results {
 public:
  /// Stores pointers into `runs`, which must outlive this object.
  explicit Results(std::span<const RunFolder> runs);

  std::span<const RunFolder> runs() const { return runs_; }
  const std::vector<Series>& series() const { return series_; }
  const std::vector<TaskVariant>& variants() const { return variants_; }
  const std::vector<int64_t>& lengths() const { return lengths_; }
  /// Returns the lengths for which the variant has a record.
  std::vector<int64_t> lengths_of(size_t variant) const;
  /// Returns a cell, or null if there is none.
  const Cell* cell(size_t variant, int64_t length, size_t series) const;
  const std::map<CellKey, Cell>& cells() const { return cells_; }
  /// Returns whether a run was stopped or is still running, or whether a method lacks samples that
  /// another method has.
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

/// Returns one score per sample. With metric nll, a text has several records, one for each range of
/// positions ("emma@512", "emma@1024", ...). They are not independent, so they count as one sample
/// with their token-weighted mean. A missing answer counts as 0. With nll, or if `drop_failed` is
/// true, it is excluded.
std::map<std::string, double> scores_by_sample(std::span<const Record* const> records,
                                               bool drop_failed);

}  // namespace longhaul
