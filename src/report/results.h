#pragma once
// Records put into cells: what every format of the report shows.

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

/// One line of a table, one curve of a chart: a method of one run.
struct Series {
  size_t run = 0;
  std::string method;  ///< canonical text
  /// As short as it can be told apart: the name and those options that its settings do not share,
  /// with the run's name behind it where several runs have it.
  std::string label;
  bool control = false;
};

/// A task asked in one way: with the answer's opening words at the prompt's end, or without.
struct TaskVariant {
  std::string task;
  bool opening = false;
  Metric metric;
  std::string label;  ///< "needle", "needle, opened"
  std::string summary, rule, source;
};

/// Medians of what was answered; 0: unknown.
struct Cost {
  double first_token_seconds = 0;
  double decode_tokens_per_second = 0;  ///< of replies of two tokens or more
  double kv_bytes = 0;
  double pairs_share = 0;
};
Cost cost_of(const std::vector<const Record*>& records);

struct Cell {
  Estimate score;
  int64_t answers = 0;  ///< samples asked, the failed ones among them
  int64_t failed = 0;   ///< records without an answer: scored 0; left out of nll and of controls
  Cost cost;
  std::vector<const Record*> records;
};
Cell cell_of(std::vector<const Record*> records, bool control);

struct CellKey {
  size_t variant = 0;
  int64_t length = 0;
  size_t series = 0;
  // clang-tidy 14 takes the 0 that the compiler compares with for a pointer.
  auto operator<=>(const CellKey&) const = default;  // NOLINT(modernize-use-nullptr)
};

/// Everything in the order in which it is shown: methods as run.json lists them (dense first),
/// controls last; tasks as run.json lists them; lengths ascending, 0 (the samples' own) first.
class Results {
 public:
  /// Keeps pointers into `runs`, which must outlive it.
  explicit Results(std::span<const RunFolder> runs);

  std::span<const RunFolder> runs() const { return runs_; }
  const std::vector<Series>& series() const { return series_; }
  const std::vector<TaskVariant>& variants() const { return variants_; }
  const std::vector<int64_t>& lengths() const { return lengths_; }
  /// Lengths at which the variant has a record.
  std::vector<int64_t> lengths_of(size_t variant) const;
  const Cell* cell(size_t variant, int64_t length, size_t series) const;  ///< null: none
  const std::map<CellKey, Cell>& cells() const { return cells_; }
  /// A run was stopped or is under way, or some method of it lacks samples that another one has.
  bool unfinished() const;
  int64_t answers() const { return answers_; }  ///< those that failed among them
  /// Dense attention of the run; none where it was not asked.
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

/// One number per sample. Stretches of one text (metric nll: "emma@512", "emma@1024", ...) are one
/// sample, their mean weighted by tokens: they are not independent of each other. An answer that
/// was never given is 0; with nll, and where `drop_failed` says so, it is left out.
std::map<std::string, double> scores_by_sample(std::span<const Record* const> records,
                                               bool drop_failed);

}  // namespace longhaul
