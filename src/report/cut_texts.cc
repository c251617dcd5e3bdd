#include "report/cut_texts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>
#include <vector>

#include "base/units.h"

namespace longhaul {

std::string cut_text(const Results& results, size_t variant) {
  std::set<std::string> samples, cut;  // by length and id: methods and runs share them
  std::set<int64_t> lengths, taken;
  for (const auto& [key, cell] : results.cells()) {
    if (key.variant != variant) continue;
    for (const Record* r : cell.records) {
      const std::string sample = fmt::format("{} {}", r->length, r->id);
      samples.insert(sample);
      if (r->cut_tokens == 0) continue;
      cut.insert(sample);
      lengths.insert(r->cut_to);
      taken.insert(r->cut_tokens);
    }
  }
  if (cut.empty()) return "";
  std::vector<std::string> limits;
  for (const int64_t length : lengths) limits.push_back(with_commas(length));
  const std::string least = with_commas(*taken.begin()), most = with_commas(*taken.rbegin());
  return fmt::format(
      "{} of {} samples {} cut to {} tokens, reply included: the middle of the text, {} tokens, "
      "was taken out.",
      cut.size(), samples.size(), cut.size() == 1 ? "was" : "were", fmt::join(limits, " or "),
      least == most ? least : least + " to " + most);
}

}  // namespace longhaul
