#pragma once
// Records grouped into cells, the data for every format of the report.

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
  /// Shortest unique name: the method's name and the options in which its settings differ, followed
  /// by the run's name if several runs have it.
  std::string label;
  bool control = false;
};

/// A task in one form: with the answer's opening words at the prompt's end, or without.
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

/// Everything in display order: methods as in run.json (dense first), baselines last; tasks as in
/// run.json; lengths ascending, 0 (the samples' own) first.
class Results {
 public:
  /// Keeps pointers into `runs`, which must outlive it.
  explicit Results(std::span<const RunFolder> runs);

  std::span<const RunFolder> runs() const { return runs_; }
  const std::vector<Series>& series() const { return series_; }
  const std::vector<TaskVariant>& variants() const { return variants_; }
  const std::vector<int64_t>& lengths() const { return lengths_; }
  /// Lengths for which the variant has a record.
  std::vector<int64_t> lengths_of(size_t variant) const;
  const Cell* cell(size_t variant, int64_t length, size_t series) const;  ///< null: none
  const std::map<CellKey, Cell>& cells() const { return cells_; }
  /// Whether a run was stopped or is running, or some method lacks samples that another one has.
  bool unfinished() const;
  int64_t answers() const { return answers_; }  ///< including failed ones
  /// Dense attention of the run; none if not requested.
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

/// One number per sample. Stretches of one text (metric nll: "emma@512", "emma@1024", ...) form one
/// sample with their token-weighted mean, because they are not independent. A missing answer is 0;
/// with nll, and with `drop_failed`, it is excluded.
std::map<std::string, double> scores_by_sample(std::span<const Record* const> records,
                                               bool drop_failed);

}  // namespace longhaul
