// longhaul calibrate trianglemix: layers selected by their gradients.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "attention/profile.h"
#include "base/error.h"
#include "base/nth.h"
#include "calibrate/triangle_probe.h"
#include "cli/calibration_part.h"
#include "cli/profile_file.h"
#include "cli/table.h"
#include "report/svg/bar_chart.h"

namespace longhaul {
namespace {

constexpr double kMillionths = 1e6;
constexpr int kProbePrompts = 100;

void print_layers(const ProbedLayers& found) {
  const auto cell = [](double x) { return fmt::format("{:.4f}", kMillionths * x); };
  using enum Table::Align;
  Table table({kRight, kRight, kRight, kRight, kRight});
  table.add({"layer", "streaming", "last", "middle", "middle, magnitude"});
  for (size_t layer = 0; layer < found.layers.size(); ++layer) {
    const LayerGradients& g = found.layers[layer];
    table.add({std::to_string(layer), cell(g.streaming.sum), cell(g.last.sum), cell(g.middle.sum),
               cell(g.middle.magnitude)});
  }
  std::fputs(table.text().c_str(), stdout);
  fmt::print(
      "\nMean gradient of a pair, in millionths. The most likely token was the value's in {} of {} "
      "prompts.\n",
      found.right, found.asked);
}

nlohmann::ordered_json layers_json(const ProbedLayers& found) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  const auto sums = [](const PairSums& s) {
    return nlohmann::ordered_json{{"mean", s.sum}, {"magnitude", s.magnitude}};
  };
  for (const LayerGradients& g : found.layers) {
    list.push_back(
        {{"streaming", sums(g.streaming)}, {"last", sums(g.last)}, {"middle", sums(g.middle)}});
  }
  return list;
}

TriangleProbe probe_of(const CalibrationInput& input) {
  const CalibrateFlags& flags = input.flags;
  TriangleProbe probe;
  probe.prompts = flags.prompts > 0 ? flags.prompts : kProbePrompts;
  probe.tokens = flags.tokens;
  probe.seed = flags.seed;
  probe.compute = flags.compute_type();
  probe.queue = training_queue(input, probe.tokens, false);
  if (!flags.form.chat_template.empty()) probe.chat = flags.chat(*input.engine);
  return probe;
}

class TrianglePart final : public CalibrationPart {
 public:
  explicit TrianglePart(const CalibrationInput& input)
      : flags_(input.flags), engine_(input.engine), search_(input.engine, probe_of(input)) {
    const ModelShape& shape = engine_->model().shape;
    if (flags_.triangle_layers > shape.layers) {
      user_error("--triangle-layers {}: the model has {} layers", flags_.triangle_layers,
                 shape.layers);
    }
  }

  std::string_view method() const override { return "trianglemix"; }
  std::string_view unit() const override { return "prompts"; }
  Calibration& search() override { return search_; }
  bool has_result() const override { return search_.done() > 0; }

  void print() const override {
    print_layers(search_.found());
    fmt::print("--attention trianglemix:{}\n", option_text(options()));
  }

  nlohmann::ordered_json json() const override {
    const ProbedLayers found = search_.found();
    return {{"asked", found.asked},        {"right", found.right}, {"tokens", found.tokens},
            {"rank", flags_.rank},         {"ranking", order()},   {"triangle_layers", count()},
            {"layers", layers_json(found)}};
  }

  CalibrationSection section() const override {
    const ProbedLayers found = search_.found();
    const std::vector<int> ranked = order();
    BarChart chart{"Gradient of the middle of a prompt, by layer",
                   fmt::format("{}, in millionths (blue: a triangle)",
                               magnitudes() ? "mean magnitude" : "magnitude of the signed mean"),
                   {}};
    for (int layer = 0; layer < engine_->model().shape.layers; ++layer) {
      const PairSums& middle = nth(found.layers, layer).middle;
      const double value = kMillionths * (magnitudes() ? middle.magnitude : std::abs(middle.sum));
      const auto place = std::ranges::find(ranked, layer) - ranked.begin();
      const bool chosen = static_cast<size_t>(place) < count();
      chart.bars.push_back(
          {std::to_string(layer), value, chosen,
           fmt::format("layer {}: mean {:.4f}, magnitude {:.4f} millionths; {}", layer,
                       kMillionths * middle.sum, kMillionths * middle.magnitude,
                       chosen ? "triangle" : "dense")});
    }
    CalibrationSection section{
        "trianglemix", "trianglemix: layers that can be triangles", "", {}, {}, ""};
    section.found = fmt::format(
        "Layers by the effect of their middle, the smallest first: {}. "
        "The first {} become triangles.",
        fmt::join(ranked, " "), count());
    section.charts.push_back(draw(chart));
    section.note = fmt::format(
        "{} of {} prompts; the most likely token was the right one in {} of them. Ranked by the "
        "{}.",
        search_.done(), search_.total(), found.right,
        magnitudes() ? "mean of magnitudes" : "signed mean, as published");
    return section;
  }

  std::vector<std::filesystem::path> files(const std::string& prefix) const override {
    return {profile_path(prefix, "trianglemix")};
  }
  void write(const std::string& prefix) const override {
    write_profile(files(prefix)[0], "trianglemix",
                  "longhaul calibrate trianglemix --rank " + flags_.rank, options());
  }

 private:
  bool magnitudes() const { return flags_.rank == "magnitude"; }
  std::vector<int> order() const {
    return rank_layers(search_.found(), engine_->model().shape, magnitudes());
  }
  size_t count() const {
    const int layers = engine_->model().shape.layers;
    const int wanted = flags_.triangle_layers > 0 ? flags_.triangle_layers : layers / 2;
    return std::min(static_cast<size_t>(wanted), order().size());
  }
  nlohmann::ordered_json options() const {
    return {{"ranking", fmt::format("{}", fmt::join(order(), "/"))}, {"triangle_layers", count()}};
  }

  const CalibrateFlags& flags_;
  std::shared_ptr<const Engine> engine_;
  TriangleSearch search_;
};

}  // namespace

std::unique_ptr<CalibrationPart> trianglemix_part(const CalibrationInput& input) {
  return std::make_unique<TrianglePart>(input);
}

}  // namespace longhaul
