// longhaul report: results of 'longhaul eval' runs.

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>

#include "base/error.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "cli/json_output.h"
#include "report/charts.h"
#include "report/html_page.h"
#include "report/merge_shards.h"
#include "report/text_formats.h"

namespace longhaul {
namespace {

namespace fs = std::filesystem;

struct ReportFlags {
  std::vector<std::string> folders;
  std::vector<std::string> compare;
  std::string against, output, format, pictures, merge;
  bool json = false;
};

void write_text(const fs::path& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << text;
  out.flush();
  if (!out) user_error("{}: cannot be written", path.string());
}

void write_pictures(const fs::path& folder, const Results& results) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) user_error("--pictures {}: cannot be made: {}", folder.string(), error.message());
  for (const NamedChart& chart : all_charts(results)) {
    write_text(folder / (chart.name + ".svg"), chart.svg.file());
  }
}

/// The value of --format, or the extension of -o, or Markdown for the terminal.
std::string chosen_format(const ReportFlags& flags) {
  if (!flags.format.empty()) return flags.format;
  const std::string ending = fs::path(flags.output).extension().string();
  if (flags.output.empty() || ending == ".md") return "md";
  if (ending == ".html" || ending == ".htm") return "html";
  if (ending == ".csv") return "csv";
  user_error("-o {}: unknown format: end it in .html, .md or .csv, or give --format or --json",
             flags.output);
}

void put(const ReportFlags& flags, const std::string& text) {
  if (flags.output.empty()) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    return;
  }
  write_text(flags.output, text);
  if (flags.json) return;
  std::fprintf(stderr, "%s: %zu KB\n", flags.output.c_str(), (text.size() + 999) / 1000);
}

void put_comparison(const ReportFlags& flags, const Results& results,
                    const std::vector<std::pair<size_t, size_t>>& pairs, const std::string& what) {
  const Comparison comparison = compare_series(results, pairs);
  if (flags.json) {
    put(flags, json_text({{"what", what},
                          {"notes", comparison_notes(comparison)},
                          {"differences", json_comparison(results, comparison)}}));
  } else {
    if (chosen_format(flags) != "md")
      user_error("a comparison is written as Markdown or with --json");
    put(flags, markdown_comparison(results, comparison, what));
  }
}

int run(const ReportFlags& flags) {
  const bool compares = !flags.compare.empty();
  if (compares && !flags.against.empty()) user_error("--compare and --against exclude each other");
  if (flags.json && !flags.format.empty())
    user_error("--format {}: does not go with --json, which is another format", flags.format);
  const bool runs_compared = compares && flags.folders.empty();
  const std::vector<std::string>& given = runs_compared ? flags.compare : flags.folders;
  if (given.empty()) user_error("no folder of 'longhaul eval' is given");
  std::vector<RunFolder> runs = read_runs({given.begin(), given.end()});
  // Shards of one run are one column of a report, unless they are compared with each other.
  const bool shards = std::ranges::any_of(runs, is_shard) && !runs_compared;
  if (shards || !flags.merge.empty()) runs = {merge_shards(std::move(runs))};
  if (!flags.merge.empty()) {
    write_run_folder(runs.front(), flags.merge);
    if (!flags.json) {
      std::fprintf(stderr, "%s: %zu records of %zu shards\n", flags.merge.c_str(),
                   runs.front().records.size(), given.size());
    }
  }
  const Results results(runs);
  if (!flags.pictures.empty()) write_pictures(flags.pictures, results);
  if (compares) {
    const std::string &a = flags.compare[0], &b = flags.compare[1];
    const auto pairs = runs_compared ? pairs_of_runs(results) : pairs_of_methods(results, a, b);
    put_comparison(flags, results, pairs, b + " against " + a);
  } else if (!flags.against.empty()) {
    put_comparison(flags, results, pairs_against(results, flags.against),
                   "All methods against " + flags.against);
  } else if (flags.json) {
    put(flags, json_text(json_report(results)));
  } else {
    const std::string format = chosen_format(flags);
    put(flags, format == "html"  ? html_report(results)
               : format == "csv" ? csv_report(results)
                                 : markdown_report(results));
  }
  return kExitOk;
}

}  // namespace

Command add_report_command(CLI::App& program) {
  CLI::App* app = program.add_subcommand("report", "Tables and charts of 'longhaul eval'");
  auto flags = std::make_shared<ReportFlags>();
  app->add_option("DIR", flags->folders, "Folders of 'longhaul eval'")->type_name("");
  add_path(*app, "-o,--output", flags->output, "FILE",
           "Write there (.html, .md or .csv; JSON with --json); else to standard output");
  add_choice(*app, "--format", flags->format, {"html", "md", "csv"},
             "Format; by default that of the file's ending, else md");
  app->add_option("--compare", flags->compare,
                  "Test which differences are real between two folders, or two methods of DIR")
      ->type_name("A B")
      ->expected(2);
  add_text(*app, "--against", flags->against, "METHOD",
           "Test which differences of all methods of DIR from this one are real");
  add_path(*app, "--merge", flags->merge, "FOLDER",
           "Write the shards of a run ('eval --shard') there as one run too");
  add_path(*app, "--pictures", flags->pictures, "FOLDER",
           "Write every chart there as an SVG file too");
  app->add_flag("--json", flags->json, "One JSON object, on standard output or in FILE");
  app->footer(
      "Examples:\n"
      "  longhaul report results -o report.html\n"
      "  longhaul report results --against dense\n"
      "  longhaul report --compare results_before results_after");
  return {app, [flags] { return run(*flags); }};
}

}  // namespace longhaul
