// longhaul calibrate minference: a pattern for every query head.

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "attention/profile.h"
#include "base/error.h"
#include "calibrate/pattern_search.h"
#include "cli/calibration_part.h"
#include "cli/profile_file.h"
#include "cli/table.h"
#include "report/svg/class_map.h"

namespace longhaul {
namespace {

constexpr std::string_view kPatternTasks = "key-value,variables,fact";
constexpr int64_t kPatternLength = 8192;  // default length
constexpr int64_t kDenseBelow = 4096;     // minference's default
constexpr int kPatternPrompts = 3;

PatternSearchSettings pattern_settings(const CalibrationInput& input) {
  const CalibrateFlags& flags = input.flags;
  const int64_t trained = input.engine->model().config.trained_context;
  if (flags.lengths.empty() && trained <= kDenseBelow) {
    user_error(
        "calibrate minference: the model was trained for {} tokens, and minference is dense for "
        "the "
        "first {} (dense_below); --lengths searches all the same",
        trained, kDenseBelow);
  }
  PatternSearchSettings s;
  s.tasks = tasks_or(flags, kPatternTasks);
  s.lengths = flags.lengths;
  if (s.lengths.empty()) s.lengths = {std::min(trained, kPatternLength)};
  s.prompts = flags.prompts > 0 ? flags.prompts : kPatternPrompts;
  s.seed = flags.seed;
  s.session = session_of(input, std::ranges::max(s.lengths));
  s.chat = flags.chat(*input.engine);
  return s;
}

std::string kind_text(const HeadPattern& p) {
  if (p.kind == PatternKind::kAShape) {
    return fmt::format("a_shape, {} first, {} last", p.vertical, p.slash);
  }
  if (p.kind == PatternKind::kBlocks) return fmt::format("{} blocks of 64", p.vertical);
  return fmt::format("{} columns, {} diagonals", p.vertical, p.slash);
}

/// Kinds with the number of heads that have them, most frequent first.
std::vector<std::pair<std::string, int>> counted_kinds(const HeadPatterns& patterns) {
  std::vector<std::pair<std::string, int>> kinds;
  for (const auto& layer : patterns) {
    for (const HeadPattern& p : layer) {
      const std::string text = kind_text(p);
      auto known = std::ranges::find(kinds, text, &std::pair<std::string, int>::first);
      if (known == kinds.end()) known = kinds.insert(kinds.end(), {text, 0});
      ++known->second;
    }
  }
  std::ranges::stable_sort(kinds, std::greater(), &std::pair<std::string, int>::second);
  return kinds;
}

double mean_score(const HeadPatterns& patterns) {
  double sum = 0;
  size_t count = 0;
  for (const auto& layer : patterns) {
    for (const HeadPattern& p : layer) sum += p.score;
    count += layer.size();
  }
  return sum / static_cast<double>(count);
}

class MinferencePart final : public CalibrationPart {
 public:
  explicit MinferencePart(const CalibrationInput& input)
      : search_(input.engine, input.data, pattern_settings(input)) {}

  std::string_view method() const override { return "minference"; }
  std::string_view unit() const override { return "prompts"; }
  Calibration& search() override { return search_; }
  bool has_result() const override { return search_.done() > 0; }

  void print() const override {
    const HeadPatterns patterns = search_.patterns();
    Table table({Table::Align::kRight, Table::Align::kLeft});
    table.add({"heads", "pattern"});
    for (const auto& [kind, count] : counted_kinds(patterns)) {
      table.add({std::to_string(count), kind});
    }
    std::fputs(table.text().c_str(), stdout);
    fmt::print("\nThey catch {:.2f} % of the attention, the mean over the heads.\n",
               100 * mean_score(patterns));
  }

  nlohmann::ordered_json json() const override {
    const HeadPatterns patterns = search_.patterns();
    nlohmann::ordered_json layers = nlohmann::ordered_json::array();
    for (const auto& layer : patterns) {
      nlohmann::ordered_json heads = nlohmann::ordered_json::array();
      for (const HeadPattern& p : layer) {
        heads.push_back({{"pattern", kind_text(p)}, {"score", p.score}});
      }
      layers.push_back(heads);
    }
    return {{"prompts", search_.done()}, {"score", mean_score(patterns)}, {"layers", layers}};
  }

  CalibrationSection section() const override {
    const HeadPatterns patterns = search_.patterns();
    const auto kinds = counted_kinds(patterns);
    ClassMap map{"Pattern of every query head",
                 "query head",
                 "layer",
                 {},
                 numbers_to(patterns.front().size()),
                 numbers_to(patterns.size()),
                 {}};
    for (const auto& [kind, count] : kinds) {
      map.kinds.push_back(fmt::format("{} ({} heads)", kind, count));
    }
    for (size_t layer = 0; layer < patterns.size(); ++layer) {
      for (size_t head = 0; head < patterns[layer].size(); ++head) {
        const HeadPattern& p = patterns[layer][head];
        const auto kind =
            std::ranges::find(kinds, kind_text(p), &std::pair<std::string, int>::first);
        map.cells.push_back({static_cast<size_t>(kind - kinds.begin()),
                             fmt::format("layer {}, query head {}: {}, catches {:.2f} %", layer,
                                         head, kind_text(p), 100 * p.score)});
      }
    }
    CalibrationSection section{
        "minference", "minference: the pattern of every head", "", {}, {}, ""};
    section.found = fmt::format(
        "The patterns catch {:.2f} % of the attention, the mean over {} "
        "heads.",
        100 * mean_score(patterns), map.cells.size());
    section.charts.push_back(draw(map));
    section.note = fmt::format(
        "{} of {} prompts, each in one pass: the pattern of a head is "
        "the candidate that caught most of its attention.",
        search_.done(), search_.total());
    return section;
  }

  std::vector<std::filesystem::path> files(const std::string& prefix) const override {
    return {profile_path(prefix, "minference"), prefix + "minference_patterns.json"};
  }
  void write(const std::string& prefix) const override {
    const auto to = files(prefix);
    write_patterns(to[1], search_.patterns());
    write_profile(to[0], "minference", "longhaul calibrate minference",
                  {{"patterns", {{"file", to[1].filename().string()}}}});
  }

 private:
  PatternSearch search_;
};

}  // namespace

std::unique_ptr<CalibrationPart> minference_part(const CalibrationInput& input) {
  return std::make_unique<MinferencePart>(input);
}

}  // namespace longhaul
