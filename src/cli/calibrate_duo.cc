// longhaul calibrate duo: gates trained by gradient.

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "attention/methods/duo/gated_heads.h"
#include "attention/profile.h"
#include "base/durable_file.h"
#include "base/error.h"
#include "calibrate/duo_gates.h"
#include "cli/calibration_part.h"
#include "cli/profile_file.h"
#include "cli/table.h"
#include "text/number_lines.h"

namespace longhaul {
namespace {

constexpr std::string_view kDuoTasks = "passkeys,variables,key-value,magic";

/// Default for --lengths: from 1,000 tokens, or the length of ten passkeys, up to the trained
/// context.
void set_lengths(const CalibrationInput& input, DuoTraining& t) {
  const CalibrateFlags& flags = input.flags;
  if (flags.lengths.empty()) {
    PromptRequest request;
    request.tokenizer = &input.engine->tokenizer();
    request.chat = flags.chat(*input.engine);
    request.data = &input.data;
    t.shortest = std::max(t.shortest, least_passkey_tokens(request, flags.words));
    t.longest = std::max(t.longest, t.shortest + 500);
    const int64_t trained = input.engine->model().config.trained_context;
    t.longest = std::min(t.longest, trained);
    t.shortest = std::min(t.shortest, trained);
    return;
  }
  if (flags.lengths.size() > 2) {
    user_error("--lengths: one number, or the shortest and the longest");
  }
  t.shortest = flags.lengths.front();
  t.longest = flags.lengths.back();
  if (t.shortest > t.longest) {
    user_error("--lengths {},{}: the shortest comes first", t.shortest, t.longest);
  }
}

DuoTraining training_of(const CalibrationInput& input) {
  const CalibrateFlags& flags = input.flags;
  DuoTraining t;
  t.steps = flags.steps;
  t.rate = flags.rate;
  t.penalty = flags.penalty;
  t.sight = {flags.sink, flags.recent};
  t.full = flags.full == "model" ? GatedAttention::Full::kOfModel : GatedAttention::Full::kOfStream;
  t.tasks = tasks_or(flags, kDuoTasks);
  t.words = flags.words;
  t.seed = flags.seed;
  t.compute = flags.compute_type();
  set_lengths(input, t);
  t.queue = training_queue(input, t.longest, t.full == GatedAttention::Full::kOfModel);
  return t;
}

HeadGates head_gates(const Gates& gates) {
  HeadGates found;
  for (const auto& layer : gates) found.emplace_back(layer.begin(), layer.end());
  return found;
}

class DuoPart final : public CalibrationPart {
 public:
  explicit DuoPart(const CalibrationInput& input)
      : flags_(input.flags),
        trainer_(input.engine, input.data, input.flags.chat(*input.engine), training_of(input)) {
    if (!flags_.gates.empty()) expect_writable(flags_.gates);
  }

  std::string_view method() const override { return "duo"; }
  std::string_view unit() const override { return "steps"; }
  Calibration& search() override { return trainer_; }
  bool has_result() const override { return true; }

  void print() const override {
    Table table({Table::Align::kLeft, Table::Align::kLeft});
    table.add({"layer", "gates of its KV heads"});
    for (size_t layer = 0; layer < gates().size(); ++layer) {
      std::string row;
      for (const float gate : gates()[layer]) {
        row += fmt::format("{}{:.2f}", row.empty() ? "" : "  ", gate);
      }
      table.add({std::to_string(layer), row});
    }
    std::fputs(table.text().c_str(), stdout);
    if (!moved()) {
      fmt::print(
          "No gate is below {}: {} steps at --rate {} are too few to tell the heads apart. Give "
          "more --steps or a larger --rate.\n",
          kMoved, trainer_.done(), flags_.rate);
    }
  }

  nlohmann::ordered_json json() const override {
    return {{"steps", trainer_.done()}, {"gates", gates()}};
  }

  CalibrationSection section() const override {
    const FullHeads full = full_by_sparsity(head_gates(gates()), flags_.sparsity);
    std::string kept;
    for (size_t layer = 0; layer < full.size(); ++layer) {
      for (size_t head = 0; head < full[layer].size(); ++head) {
        if (full[layer][head] == 0) continue;
        kept += fmt::format("{}{}.{}", kept.empty() ? "" : " ", layer, head);
      }
    }
    CalibrationSection section{"duo", "duo: which KV heads keep every key", "", {}, {}, ""};
    section.found = fmt::format(
        "At sparsity {} these stay full (LAYER.HEAD): {}. The others stream: {} first "
        "tokens and the last {}.",
        flags_.sparsity, kept.empty() ? "none" : kept, flags_.sink, flags_.recent);
    section.charts.push_back(
        draw(map_of_heads("Gates, in per cent", "KV head", "gate ", 3, head_gates(gates()))));
    section.note = fmt::format(
        "{} of {} steps. A gate near 1 means that the answers' last hidden states change if the "
        "head evicts the middle of the text; near 0, that they do not.",
        trainer_.done(), trainer_.total());
    return section;
  }

  std::vector<std::filesystem::path> files(const std::string& prefix) const override {
    return {profile_path(prefix, "duo"), prefix + "duo_gates.tsv"};
  }
  void write(const std::string& prefix) const override {
    const auto to = files(prefix);
    replace_file(to[1], number_lines_text(head_gates(gates())));
    write_profile(
        to[0], "duo", "longhaul calibrate duo",
        {{"gates", {{"file", to[1].filename().string()}}}, {"sparsity", flags_.sparsity}});
  }
  void write_named() const override {
    if (flags_.gates.empty()) return;
    replace_file(flags_.gates, number_lines_text(head_gates(gates())));
  }

 private:
  static constexpr float kMoved = 0.5f;  ///< training begins with gates of 1
  bool moved() const {
    return std::ranges::any_of(gates(), [](const std::vector<float>& layer) {
      return std::ranges::any_of(layer, [](float gate) { return gate < kMoved; });
    });
  }

  const Gates& gates() const { return trainer_.finished() ? trainer_.gates() : trainer_.best(); }

  const CalibrateFlags& flags_;
  DuoTrainer trainer_;
};

}  // namespace

std::unique_ptr<CalibrationPart> duo_part(const CalibrationInput& input) {
  return std::make_unique<DuoPart>(input);
}

}  // namespace longhaul
