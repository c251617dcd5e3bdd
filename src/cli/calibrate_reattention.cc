// longhaul calibrate reattention: the size of the visible list and its division.

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "attention/profile.h"
#include "base/units.h"
#include "calibrate/reattention_settings.h"
#include "cli/calibration_part.h"
#include "cli/profile_file.h"
#include "cli/table.h"

namespace longhaul {
namespace {

constexpr std::string_view kSweepTasks = "magic,key-value,variables";
constexpr int64_t kSweepLength = 8192;  // default; twice this length is used too
constexpr int kSweepPrompts = 6;        // per round: every task and length once

SweepSettings sweep_settings(const CalibrationInput& input) {
  const CalibrateFlags& flags = input.flags;
  const int64_t trained = input.engine->model().config.trained_context;
  SweepSettings s;
  s.method = "reattention";
  s.lengths = flags.lengths;
  if (s.lengths.empty())
    s.lengths = {std::min(trained, kSweepLength), 2 * std::min(trained, kSweepLength)};
  s.tried = reattention_settings(std::min(trained, std::ranges::max(s.lengths) / 2));
  s.tasks = tasks_or(flags, kSweepTasks);
  s.prompts = flags.prompts > 0 ? flags.prompts : kSweepPrompts;
  s.seed = flags.seed;
  s.session = session_of(input, std::ranges::max(s.lengths));
  s.chat = flags.chat(*input.engine);
  return s;
}

class ReattentionPart final : public CalibrationPart {
 public:
  explicit ReattentionPart(const CalibrationInput& input)
      : sweep_(input.engine, input.data, sweep_settings(input)) {}

  std::string_view method() const override { return "reattention"; }
  std::string_view unit() const override { return "answers"; }
  Calibration& search() override { return sweep_; }
  bool has_result() const override { return sweep_.done() > 0; }

  void print() const override {
    using enum Table::Align;
    Table table({kLeft, kRight, kRight, kRight});
    table.add({"setting", "visible", "asked", "score"});
    for (const SettingsSweep::Scored* s : by_score()) {
      table.add({text_of(*s), with_commas(static_cast<int64_t>(s->setting.cost)),
                 std::to_string(s->asked), fmt::format("{:.1f} %", 100 * s->mean())});
    }
    std::fputs(table.text().c_str(), stdout);
    fmt::print("\n--attention {}\n", best().setting.attention);
  }

  nlohmann::ordered_json json() const override {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const SettingsSweep::Scored& s : sweep_.scored()) {
      list.push_back({{"attention", s.setting.attention},
                      {"visible", s.setting.cost},
                      {"asked", s.asked},
                      {"score", s.mean()}});
    }
    return {{"settings", list}, {"options", options_of(best().setting.attention)}};
  }

  CalibrationSection section() const override {
    CalibrationSection section{"reattention", "reattention: visible tokens", "", {}, {}, ""};
    section.found = fmt::format(
        "The best is {}: at most {} tokens visible, {:.0f} % of {} answers "
        "right.",
        text_of(best()), with_commas(static_cast<int64_t>(best().setting.cost)),
        100 * best().mean(), best().asked);
    ReportTable table{{{"setting"}, {"visible"}, {"asked"}, {"score, %"}}, {}};
    for (const SettingsSweep::Scored* s : by_score()) {
      table.rows.push_back({text_of(*s),
                            s->setting.attention,
                            false,
                            {{with_commas(static_cast<int64_t>(s->setting.cost))},
                             {std::to_string(s->asked)},
                             {fmt::format("{:.1f}", 100 * s->mean())}}});
    }
    section.tables.push_back(table);
    section.note =
        "All settings get the same prompts. After each round the better half continues, so "
        "settings with more prompts were better before. Of equal settings the one that shows the "
        "fewest tokens wins.";
    return section;
  }

  std::vector<std::filesystem::path> files(const std::string& prefix) const override {
    return {profile_path(prefix, "reattention")};
  }
  void write(const std::string& prefix) const override {
    write_profile(files(prefix)[0], "reattention", "longhaul calibrate reattention",
                  options_of(best().setting.attention));
  }

 private:
  const SettingsSweep::Scored& best() const { return sweep_.scored()[sweep_.best()]; }
  static std::string text_of(const SettingsSweep::Scored& s) {
    return s.setting.attention.substr(s.setting.attention.find(':') + 1);
  }
  /// The best first, then by number of prompts and of correct answers.
  std::vector<const SettingsSweep::Scored*> by_score() const {
    std::vector<const SettingsSweep::Scored*> list;
    for (const SettingsSweep::Scored& s : sweep_.scored()) list.push_back(&s);
    std::ranges::stable_sort(list, [&](const auto* a, const auto* b) {
      if (a == &best() || b == &best()) return a == &best() && b != &best();
      return std::pair(a->asked, a->sum) > std::pair(b->asked, b->sum);
    });
    return list;
  }

  SettingsSweep sweep_;
};

}  // namespace

std::unique_ptr<CalibrationPart> reattention_part(const CalibrationInput& input) {
  return std::make_unique<ReattentionPart>(input);
}

}  // namespace longhaul
