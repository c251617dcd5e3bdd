#include "report/results.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>
#include <utility>

#include "base/median.h"
#include "eval/record.h"
#include "report/method_text.h"

namespace longhaul {
namespace {

using nlohmann::ordered_json;

/// Methods of a run in the order of run.json, then in order of appearance.
std::vector<std::string> methods_of(const RunFolder& run) {
  std::vector<std::string> listed, found;
  if (const auto it = run.info.find("methods"); it != run.info.end() && it->is_array()) {
    for (const ordered_json& item : *it) {
      if (item.is_string()) listed.push_back(item.get<std::string>());
    }
  }
  for (const Record& r : run.records) listed.push_back(r.method);
  std::set<std::string> answered, seen;
  for (const Record& r : run.records) answered.insert(r.method);
  for (const std::string& method : listed) {
    if (answered.contains(method) && seen.insert(method).second) found.push_back(method);
  }
  std::stable_sort(found.begin(), found.end(), [](const std::string& a, const std::string& b) {
    const auto rank = [](const std::string& m) { return of_control(m) ? 2 : m == "dense" ? 0 : 1; };
    return rank(a) < rank(b);
  });
  return found;
}

std::string text_at(const ordered_json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : "";
}

/// The task's entry in run.json, and its position there.
std::pair<size_t, const ordered_json*> task_entry(std::span<const RunFolder> runs,
                                                  const std::string& task) {
  size_t place = 0;
  for (const RunFolder& run : runs) {
    const auto tasks = run.info.find("tasks");
    if (tasks == run.info.end() || !tasks->is_array()) continue;
    for (const ordered_json& entry : *tasks) {
      if (entry.is_object() && text_at(entry, "name") == task) return {place, &entry};
      ++place;
    }
  }
  return {place, nullptr};
}

double median_over(const std::vector<const Record*>& records, double (*value)(const Record&)) {
  std::vector<double> values;
  for (const Record* r : records) {
    if (r->error.empty() && value(*r) > 0) values.push_back(value(*r));
  }
  return median_of(values);
}

}  // namespace

Cost cost_of(const std::vector<const Record*>& records) {
  Cost cost;
  cost.first_token_seconds =
      median_over(records, [](const Record& r) { return r.first_token_seconds; });
  cost.decode_tokens_per_second = median_over(records, [](const Record& r) {
    return r.reply_tokens >= 2 ? r.decode_tokens_per_second : 0;
  });
  cost.kv_bytes = median_over(records, [](const Record& r) { return double(r.kv_bytes); });
  cost.pairs_share = median_over(records, [](const Record& r) { return r.pairs_share; });
  return cost;
}

Cell cell_of(std::vector<const Record*> records, bool control) {
  Cell cell;
  cell.records = std::move(records);
  bool share = true;
  for (const Record* r : cell.records) {
    share = share && r->metric == "score";
    if (!r->begins_answer()) continue;
    ++cell.answers;
    cell.failed += r->error.empty() ? 0 : 1;
  }
  std::vector<double> scores;
  for (const auto& [id, score] : scores_by_sample(cell.records, control)) scores.push_back(score);
  cell.score = estimate_mean(scores, share);
  cell.cost = cost_of(cell.records);
  return cell;
}

std::map<std::string, double> scores_by_sample(std::span<const Record* const> records,
                                               bool drop_failed) {
  std::map<std::string, std::pair<double, double>> sums;  // (weight, weighted scores)
  for (const Record* r : records) {
    const bool nll = r->metric == "nll";
    if (!r->error.empty() && (nll || drop_failed)) continue;
    const double weight = nll && r->position ? static_cast<double>(r->reply_tokens) : 1;
    if (weight == 0) continue;
    auto& [weights, sum] = sums[r->sample_id()];
    weights += weight;
    sum += weight * (r->error.empty() ? r->score : 0);
  }
  std::map<std::string, double> scores;
  for (const auto& [sample, sum] : sums) scores[sample] = sum.second / sum.first;
  return scores;
}

Results::Results(std::span<const RunFolder> runs) : runs_(runs) {
  find_series();
  find_variants();
  fill_cells();
}

void Results::find_series() {
  for (size_t run = 0; run < runs_.size(); ++run) {
    for (const std::string& method : methods_of(runs_[run])) {
      series_.push_back({run, method, method, of_control(method)});
    }
  }
  std::stable_sort(series_.begin(), series_.end(),
                   [](const Series& a, const Series& b) { return a.control < b.control; });
  std::vector<std::string> methods;
  for (const Series& s : series_) methods.push_back(s.method);
  for (Series& s : series_) s.label = short_method(s.method, methods);
  for (Series& s : series_) {
    const auto elsewhere = [&](const Series& o) { return o.method == s.method && o.run != s.run; };
    if (std::any_of(series_.begin(), series_.end(), elsewhere)) {
      s.label += fmt::format(" ({})", runs_[s.run].name);
    }
  }
}

void Results::find_variants() {
  // position in run.json, order of appearance
  std::vector<std::tuple<size_t, size_t, TaskVariant>> found;
  std::set<std::pair<std::string, bool>> seen;
  std::set<int64_t> lengths;
  for (const RunFolder& run : runs_) {
    for (const Record& r : run.records) {
      lengths.insert(r.length);
      if (!seen.emplace(r.task, r.opening).second) continue;
      const auto [place, entry] = task_entry(runs_, r.task);
      TaskVariant v{r.task, r.opening, {r.metric}, r.task + (r.opening ? ", opened" : ""),
                    "",     "",        ""};
      if (entry != nullptr) {
        v.summary = text_at(*entry, "summary");
        v.rule = text_at(*entry, "rule");
        v.source = text_at(*entry, "source");
      }
      found.emplace_back(place, found.size(), std::move(v));
    }
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
    const auto key = [](const auto& f) {
      return std::tuple(std::get<0>(f), std::get<2>(f).task, std::get<2>(f).opening);
    };
    return key(a) < key(b);
  });
  for (auto& [place, appearance, variant] : found) variants_.push_back(std::move(variant));
  lengths_.assign(lengths.begin(), lengths.end());
}

void Results::fill_cells() {
  std::map<std::pair<std::string, bool>, size_t> variant_of;
  for (size_t i = 0; i < variants_.size(); ++i) {
    variant_of[{variants_[i].task, variants_[i].opening}] = i;
  }
  std::map<std::pair<size_t, std::string>, size_t> series_of;
  for (size_t i = 0; i < series_.size(); ++i) series_of[{series_[i].run, series_[i].method}] = i;
  for (size_t run = 0; run < runs_.size(); ++run) {
    for (const Record& r : runs_[run].records) {
      const CellKey key{variant_of.at({r.task, r.opening}), r.length,
                        series_of.at({run, r.method})};
      cells_[key].records.push_back(&r);
      answers_ += r.begins_answer() ? 1 : 0;
    }
  }
  for (auto& [key, cell] : cells_) {
    cell = cell_of(std::move(cell.records), series_[key.series].control);
  }
}

std::vector<int64_t> Results::lengths_of(size_t variant) const {
  std::vector<int64_t> found;
  for (const auto& [key, cell] : cells_) {
    if (key.variant == variant && (found.empty() || found.back() != key.length)) {
      found.push_back(key.length);
    }
  }
  return found;
}

bool Results::unfinished() const {
  const auto stopped = [](const RunFolder& run) { return run.info.contains("unfinished"); };
  return std::ranges::any_of(runs_, stopped) || uneven();
}

bool Results::uneven() const {
  // key: run, variant, length
  std::map<std::tuple<size_t, size_t, int64_t>, std::set<int64_t>> sizes;
  for (size_t variant = 0; variant < variants_.size(); ++variant) {
    for (const int64_t length : lengths_of(variant)) {
      for (size_t i = 0; i < series_.size(); ++i) {
        const Cell* found = cell(variant, length, i);
        if (found == nullptr || series_[i].control) continue;
        sizes[{series_[i].run, variant, length}].insert(found->answers);
      }
    }
  }
  return std::ranges::any_of(sizes, [](const auto& entry) { return entry.second.size() > 1; });
}

const Cell* Results::cell(size_t variant, int64_t length, size_t series) const {
  const auto it = cells_.find({variant, length, series});
  return it == cells_.end() ? nullptr : &it->second;
}

std::optional<size_t> Results::dense_of(size_t run) const {
  for (size_t i = 0; i < series_.size(); ++i) {
    if (series_[i].run == run && series_[i].method == "dense") return i;
  }
  return std::nullopt;
}

}  // namespace longhaul
