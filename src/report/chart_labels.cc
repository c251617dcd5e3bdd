#include "report/chart_labels.h"

#include <fmt/format.h>

#include <map>

#include "report/method_text.h"
#include "report/text.h"

namespace longhaul {
namespace {

/// Indices of the labels that are alike.
std::vector<std::vector<size_t>> alike(const std::vector<std::string>& labels) {
  std::map<std::string, std::vector<size_t>> by_label;
  for (size_t i = 0; i < labels.size(); ++i) by_label[labels[i]].push_back(i);
  std::vector<std::vector<size_t>> groups;
  for (auto& [label, group] : by_label) {
    if (group.size() > 1) groups.push_back(std::move(group));
  }
  return groups;
}

}  // namespace

std::vector<std::string> chart_labels(const Results& results, size_t most) {
  const std::vector<Series>& series = results.series();
  std::vector<std::string> labels;
  for (const Series& s : series) labels.push_back(shortened(s.label, most));
  for (const std::vector<size_t>& group : alike(labels)) {
    std::vector<std::string> methods;
    for (const size_t i : group) methods.push_back(series[i].method);
    for (const size_t i : group) {
      labels[i] = shortened(short_method(series[i].method, methods), most);
    }
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
