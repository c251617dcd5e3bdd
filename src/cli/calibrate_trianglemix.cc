// longhaul calibrate trianglemix: layers chosen by their gradients.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "attention/profile.h"
#include "base/error.h"
#include "calibrate/triangle_probe.h"
#include "cli/calibrate_command.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/json_output.h"
#include "cli/profile_file.h"
#include "cli/progress_bar.h"
#include "cli/table.h"

namespace longhaul {
namespace {

constexpr double kMillionths = 1e6;

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
      "\nMean gradient of a pair, in millionths. The likeliest token was the value's in {} of {} "
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

TriangleProbe probe_of(const CalibrateFlags& flags, const Engine& engine) {
  TriangleProbe probe;
  probe.prompts = flags.prompts;
  probe.tokens = flags.tokens;
  probe.seed = flags.seed;
  probe.compute = flags.compute_type();
  if (!flags.form.chat_template.empty()) probe.chat = flags.chat(engine);
  return probe;
}

}  // namespace

int calibrate_trianglemix(const CalibrateFlags& flags) {
  const auto engine = flags.model.open();
  const ModelShape& shape = engine->model().shape;
  const std::filesystem::path profile = profile_path(shape.profile_prefix, "trianglemix");
  if (flags.save) refuse_to_replace(std::array{profile});
  if (flags.triangle_layers > shape.layers) {
    user_error("--triangle-layers {}: the model has {} layers", flags.triangle_layers,
               shape.layers);
  }
  Interrupt interrupt;
  ProgressBar bar("probing", !flags.quiet && !flags.json, "prompts");
  TriangleProbe probe = probe_of(flags, *engine);
  probe.cancel = &interrupt.flag();
  probe.progress = [&bar](int done, int total) { bar.update(done, total); };
  const ProbedLayers found = probe_layers(engine, probe);
  bar.clear();
  if (found.asked == 0) return kExitCancelled;

  const std::vector<int> order = rank_layers(found, shape, flags.rank == "magnitude");
  const auto wanted =
      static_cast<size_t>(flags.triangle_layers > 0 ? flags.triangle_layers : shape.layers / 2);
  const size_t count = std::min(wanted, order.size());
  const std::string ranking = fmt::format("{}", fmt::join(order, "/"));
  if (flags.json) {
    print_json({{"asked", found.asked},
                {"right", found.right},
                {"tokens", found.tokens},
                {"rank", flags.rank},
                {"ranking", order},
                {"triangle_layers", count},
                {"layers", layers_json(found)}});
  } else {
    print_layers(found);
    fmt::print("--attention trianglemix:ranking={},triangle_layers={}\n", ranking, count);
  }
  if (flags.save) {
    write_profile(profile, "trianglemix", "longhaul calibrate trianglemix --rank " + flags.rank,
                  {{"ranking", ranking}, {"triangle_layers", count}});
    std::fputs(fmt::format("written: {}\n", profile.string()).c_str(), stderr);
  }
  return found.asked == flags.prompts ? kExitOk : kExitCancelled;
}

}  // namespace longhaul
