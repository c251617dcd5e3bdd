// A folder of 'longhaul eval': run.json and, after a zero byte, samples.jsonl. Every form of the
// report must work for accepted input. Continuing the run starts or is refused.

#include <cstring>
#include <nlohmann/json.hpp>

#include "attempt.h"
#include "eval/run_settings.h"
#include "input_file.h"
#include "input_parts.h"
#include "report/charts.h"
#include "report/html_page.h"
#include "report/text_formats.h"

namespace {

using namespace longhaul;
using fuzzing::attempt;
using fuzzing::check;

void put(const char* name, std::string_view text) {
  fuzzing::write_file(name, reinterpret_cast<const uint8_t*>(text.data()), text.size());
}

void report() {
  const std::vector<RunFolder> runs = read_runs({fuzzing::folder()});
  const Results results(runs);
  const std::string page = html_report(results);
  check(page.find("<script") == page.rfind("<script"));  // the page has only its own script
  markdown_report(results);
  csv_report(results);
  json_report(results).dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  for (const NamedChart& chart : all_charts(results)) check(!chart.svg.file().empty());
  const Comparison comparison = compare_series(results, pairs_against(results, "dense"));
  markdown_comparison(results, comparison, "all");
  json_comparison(results, comparison);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto texts = fuzzing::parts(data, size, 2);
  put("run.json", texts[0]);
  put("samples.jsonl", texts[1]);
  attempt(report);
  static const nlohmann::ordered_json now = {
      {"version", "0.1.0"},
      {"tasks", {{{"name", "needle"}, {"summary", "finds it"}}}},
      {"methods", {"dense", "snapkv"}},
      {"settings", {{"dense", "0"}}},
      {"lengths", {4096}},
      {"samples", 20},
      {"openings", "both"},
      {"conditions", {{"seed", 7}}}};
  attempt([&] { write_run(fuzzing::folder(), continued_run(fuzzing::folder(), now)); });
  return 0;
}
