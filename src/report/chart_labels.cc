#include "report/chart_labels.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "report/method_text.h"
#include "report/text.h"

namespace longhaul {
namespace {

/// Groups of indices with equal labels.
std::vector<std::vector<size_t>> alike(const std::vector<std::string>& labels) {
  std::map<std::string, std::vector<size_t>> by_label;
  for (size_t i = 0; i < labels.size(); ++i) by_label[labels[i]].push_back(i);
  std::vector<std::vector<size_t>> groups;
  for (auto& [label, group] : by_label) {
    if (group.size() > 1) groups.push_back(std::move(group));
  }
  return groups;
}

/// A label with the options that not all of `methods` have; if they are all the same method, with
/// the end of the run's name.
std::string apart(const Results& results, const Series& series,
                  const std::vector<std::string>& methods, size_t most) {
  const bool one_method = std::ranges::count(methods, methods.front()) == std::ssize(methods);
  if (!one_method) return shortened(short_method(series.method, methods), most);
  const std::string method = shortened(method_name(series.method), most / 2);
  const std::string& run = results.runs()[series.run].name;
  const size_t room = most > method.size() + 4 ? most - method.size() - 4 : 1;  // " (…)"
  const bool whole = run.size() <= room;
  return fmt::format("{} ({}{})", method, whole ? "" : "\xE2\x80\xA6",
                     whole ? run : run.substr(run.size() - room));
}

}  // namespace

std::vector<std::string> chart_labels(const Results& results, size_t most) {
  const std::vector<Series>& series = results.series();
  std::vector<std::string> labels;
  for (const Series& s : series) labels.push_back(shortened(s.label, most));
  for (const std::vector<size_t>& group : alike(labels)) {
    std::vector<std::string> methods;
    for (const size_t i : group) methods.push_back(series[i].method);
    for (const size_t i : group) labels[i] = apart(results, series[i], methods, most);
  }
  for (const std::vector<size_t>& group : alike(labels)) {
    for (size_t i = 0; i < group.size(); ++i) {
      const std::string number = fmt::format(" [{}]", i + 1);
      labels[group[i]] = shortened(labels[group[i]], most - number.size()) + number;
    }
  }
  return labels;
}

}  // namespace longhaul
