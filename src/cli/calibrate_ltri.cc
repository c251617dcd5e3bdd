// longhaul calibrate ltri: retrieval heads, and the thresholds of its published form.

#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "attention/profile.h"
#include "base/error.h"
#include "calibrate/ltri_search.h"
#include "cli/calibration_part.h"
#include "cli/profile_file.h"
#include "cli/table.h"

namespace longhaul {
namespace {

constexpr std::string_view kLtriTasks = "fact,magic,key-value,variables";
constexpr int kLtriPrompts = 3;  // per task and length

LtriSearchSettings ltri_settings(const CalibrationInput& input) {
  const CalibrateFlags& flags = input.flags;
  LtriSearchSettings s;
  s.tasks = tasks_or(flags, kLtriTasks);
  s.lengths = lengths_or(flags.lengths, *input.engine, {1024, 2048, 4096});
  s.samples = flags.prompts > 0 ? flags.prompts : kLtriPrompts;
  s.seed = flags.seed;
  s.session = session_of(flags);
  s.chat = flags.chat(*input.engine);
  s.spans = {flags.trials, flags.spans, flags.vectors,
             flags.ratio == "row"   ? SpanNeighbours::kRow
             : flags.ratio == "col" ? SpanNeighbours::kColumn
                                    : SpanNeighbours::kBoth,
             flags.seed};
  s.init = flags.init;
  s.block = flags.block;
  s.compression = flags.compression;
  s.least = flags.least;
  s.form = flags.form_of_ltri;
  return s;
}

class LtriPart final : public CalibrationPart {
 public:
  explicit LtriPart(const CalibrationInput& input)
      : flags_(input.flags),
        engine_(input.engine),
        search_(input.engine, input.data, ltri_settings(input)) {}

  std::string_view method() const override { return "ltri"; }
  std::string_view unit() const override { return "prompts"; }
  Calibration& search() override { return search_; }

  bool has_result() const override {
    if (search_.done() == 0) return false;
    if (!search_.retrieval().empty()) return true;
    const FoundHeads found = search_.found();
    user_error(
        "{}: no head scores {} or more: {} of {} replies contained the answer; see "
        "--least, --prompts, --tasks",
        engine_->checkpoint().path().string(), flags_.least, found.counted, found.asked);
  }

  void print() const override {
    using enum Table::Align;
    Table table({kRight, kLeft, kRight, kRight, kRight, kRight, kRight, kRight});
    table.add({"layer", "head", "score", "theta", "phi", "F1", "usual", "lambda"});
    const std::vector<RetrievalHead> heads = search_.retrieval();
    for (int layer = 0; layer < engine_->model().shape.layers; ++layer) {
      const auto head = std::ranges::find(heads, layer, &RetrievalHead::layer);
      const bool any = head != heads.end();
      const ThresholdSearch::Found found = search_.spans().best(layer);
      table.add({std::to_string(layer), any ? fmt::format("{}.{}", layer, head->head) : "",
                 any ? fmt::format("{:.2f}", head->score) : "",
                 fmt::format("{:.3f}", found.trial.theta), fmt::format("{:.3f}", found.trial.phi),
                 fmt::format("{:.2f}", found.f1), fmt::format("{:.2f}", found.usual),
                 fmt::format("{}", search_.lambda(layer))});
    }
    std::fputs(table.text().c_str(), stdout);
    const FoundHeads found = search_.found();
    fmt::print(
        "\n{} retrieval heads; {} of {} replies counted; F1 of the best span over {} blocks with "
        "evidence (usual: theta 0.9, phi 0.1)\n--attention ltri:{}\n",
        heads.size(), found.counted, found.asked, search_.spans().best(0).blocks,
        option_text(search_.options()));
  }

  nlohmann::ordered_json json() const override {
    nlohmann::ordered_json heads = nlohmann::ordered_json::array(), layers = heads;
    for (const RetrievalHead& h : search_.retrieval()) {
      heads.push_back({{"layer", h.layer}, {"head", h.head}, {"score", h.score}});
    }
    for (int layer = 0; layer < engine_->model().shape.layers; ++layer) {
      const ThresholdSearch::Found found = search_.spans().best(layer);
      const double lambda = search_.lambda(layer);
      layers.push_back({{"theta", found.trial.theta},
                        {"phi", found.trial.phi},
                        {"f1", found.f1},
                        {"usual_f1", found.usual},
                        {"blocks", found.blocks},
                        {"lambda", lambda},
                        {"compression", search_.spans().compression(layer, lambda)}});
    }
    const FoundHeads found = search_.found();
    return {{"asked", found.asked},   {"counted", found.counted}, {"retrieval_heads", heads},
            {"scores", found.scores}, {"layers", layers},         {"options", search_.options()}};
  }

  CalibrationSection section() const override {
    const std::vector<RetrievalHead> heads = search_.retrieval();
    CalibrationSection section{"ltri", "ltri: retrieval heads and spans", "", {}, {}, ""};
    std::string best;
    for (size_t i = 0; i < std::min<size_t>(8, heads.size()); ++i) {
      best += fmt::format("{}{}.{} ({:.2f})", i == 0 ? "" : ", ", heads[i].layer, heads[i].head,
                          heads[i].score);
    }
    section.found =
        fmt::format("{} query heads (LAYER.HEAD) attend to the words that replies copy: {}{}.",
                    heads.size(), best, heads.size() > 8 ? ", ..." : "");
    section.charts.push_back(draw(map_of_heads("Retrieval scores, in per cent", "query head", "", 2,
                                               search_.found().scores)));
    section.tables.push_back(layer_table());
    section.note =
        "theta and phi are the best of a random search: F1 of the best span against the sentence "
        "that was asked for, beside that of the usual 0.9 and 0.1. lambda is the smallest with so "
        "few index vectors. form=paper goes by them; form=longhaul looks up by all keys.";
    return section;
  }

  std::vector<std::filesystem::path> files(const std::string& prefix) const override {
    return {profile_path(prefix, "ltri")};
  }
  void write(const std::string& prefix) const override {
    const nlohmann::ordered_json options = search_.options();
    write_profile(files(prefix)[0], "ltri", "longhaul calibrate ltri", options,
                  {{"decode", "form=" + options["form"].get<std::string>()}});
  }

 private:
  ReportTable layer_table() const {
    ReportTable table{
        {{"layer"}, {"theta"}, {"phi"}, {"F1"}, {"usual F1"}, {"lambda"}, {"tokens a vector"}}, {}};
    for (int layer = 0; layer < engine_->model().shape.layers; ++layer) {
      const ThresholdSearch::Found found = search_.spans().best(layer);
      const double lambda = search_.lambda(layer);
      TableRow row{std::to_string(layer)};
      for (const std::string& text :
           {fmt::format("{:.3f}", found.trial.theta), fmt::format("{:.3f}", found.trial.phi),
            fmt::format("{:.2f}", found.f1), fmt::format("{:.2f}", found.usual),
            fmt::format("{}", lambda),
            fmt::format("{:.1f}", search_.spans().compression(layer, lambda))}) {
        row.cells.push_back({text});
      }
      table.rows.push_back(std::move(row));
    }
    return table;
  }

  const CalibrateFlags& flags_;
  std::shared_ptr<const Engine> engine_;
  LtriSearch search_;
};

}  // namespace

std::unique_ptr<CalibrationPart> ltri_part(const CalibrationInput& input) {
  return std::make_unique<LtriPart>(input);
}

}  // namespace longhaul
