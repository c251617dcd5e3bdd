// longhaul calibrate all: every profile that can be found for a model, and a page with the results.

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/durable_file.h"
#include "base/error.h"
#include "base/paths.h"
#include "base/units.h"
#include "calibrate/asked_sample.h"
#include "cli/calibration_part.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "cli/json_output.h"
#include "cli/profile_file.h"
#include "cli/table.h"

namespace longhaul {
namespace {

/// Display name of the model: the name of its folder or file.
std::string name_of_model(const Engine& engine) {
  const std::filesystem::path path = engine.checkpoint().path().lexically_normal();
  return (path.has_filename() ? path : path.parent_path()).filename().string();
}

/// Measured tokens per second of a short prompt.
double reading_speed(const CalibrationInput& input) {
  constexpr int64_t kTokens = 512;
  const PromptComposer composer(input.engine->tokenizer(), input.flags.chat(*input.engine));
  const Sample sample =
      numbered_sample(eval_task("fact"), 0, kTokens, input.flags.seed, composer, input.data);
  const ComposedPrompt prompt = composer.compose(sample, true);
  double best = 0;
  for (int i = 0; i < 2; ++i) {  // the first run loads the weights
    Session session(input.engine, session_of(input, kTokens));
    const Stopwatch watch;
    session.prefill(prompt.tokens);
    best = std::max(best, static_cast<double>(prompt.tokens.size()) / watch.seconds());
  }
  return best;
}

class AllMethods {
 public:
  AllMethods(const CalibrateFlags& flags, const CalibrationInput& input)
      : flags_(flags),
        input_(input),
        folder_(flags.out.empty() ? input.engine->model().shape.profile_prefix + "calibration"
                                  : flags.out) {
    for (const CalibratedMethod* method : wanted()) make(*method);
    if (parts_.empty()) {
      user_error("calibrate all: nothing can be found for this model: {}", left_out_.front());
    }
    if (flags.save) {
      for (const auto& part : parts_) refuse_to_replace(part->files(beside()));
    }
    make_folder();
    for (const auto& part : parts_) {
      const std::string state = state_of(*part);
      if (is_there(state)) part->search().restore(state);
    }
  }

  std::string page() const { return folder_ + "/calibration.html"; }

  /// Prints the estimated durations, based on the present reading speed.
  void say_plan() const {
    const double speed = reading_speed(input_);
    using enum Table::Align;
    Table table({kLeft, kLeft, kRight, kRight});
    table.add({"method", "finds", "left", "about"});
    double total = 0;
    for (const auto& part : parts_) {
      const Calibration& search = part->search();
      const double seconds = search.tokens_left() / speed;
      total += seconds;
      const auto known =
          std::ranges::find(calibrated_methods(), part->method(), &CalibratedMethod::name);
      table.add(
          {std::string(part->method()), std::string(known->what),
           fmt::format("{} of {} {}", search.total() - search.done(), search.total(), part->unit()),
           format_seconds(seconds)});
    }
    table.add({"", "all together", "", format_seconds(total)});
    std::FILE* const out = flags_.json ? stderr : stdout;
    std::fputs(table.text().c_str(), out);
    for (const std::string& why : left_out_) {
      std::fputs(fmt::format("left out: {}\n", why).c_str(), out);
    }
    std::fputs(
        fmt::format("Prefill of 512 tokens: {:.0f} tokens/s. Results go to {}/\n\n", speed, folder_)
            .c_str(),
        out);
    std::fflush(out);
  }

  /// Returns false if Ctrl-C ended it.
  bool run() {
    for (const auto& part : parts_) {
      const bool known = part->search().finished();
      const bool finished = known || run_part(*part, flags_, state_of(*part));
      write(*part);
      if (!finished) return false;
    }
    return true;
  }

  void save() const {
    for (const auto& part : parts_) {
      if (!shows(*part)) continue;
      part->write(beside());
      std::fputs(fmt::format("written: {}\n", part->files(beside()).front().string()).c_str(),
                 stderr);
    }
  }

  nlohmann::ordered_json json() const {
    nlohmann::ordered_json methods = nlohmann::ordered_json::object();
    for (const auto& part : parts_) {
      if (shows(*part)) methods[std::string(part->method())] = part->json();
    }
    return {{"page", page()}, {"left_out", left_out_}, {"methods", methods}};
  }

 private:
  std::vector<const CalibratedMethod*> wanted() const {
    std::vector<const CalibratedMethod*> list;
    if (flags_.methods.empty()) {
      for (const CalibratedMethod& method : calibrated_methods()) list.push_back(&method);
      return list;
    }
    for (const std::string& name : split_commas(flags_.methods)) {
      const auto known = std::ranges::find(calibrated_methods(), name, &CalibratedMethod::name);
      if (known == calibrated_methods().end()) {
        user_error("--methods: '{}' is none that can be calibrated", name);
      }
      list.push_back(&*known);
    }
    return list;
  }

  /// Adds a method. Methods that the model does not support are skipped; if requested by name, they
  /// are an error.
  void make(const CalibratedMethod& method) {
    try {
      // requested by name, not as one of all
      if (!flags_.methods.empty()) expect_place(flags_, method);
      parts_.push_back(method.make(placed(input_, method)));
    } catch (const UserError& why) {
      if (!flags_.methods.empty()) throw;
      left_out_.push_back(fmt::format("{}: {}", method.name, why.what()));
    }
  }

  void make_folder() const {
    std::error_code failed;
    std::filesystem::create_directories(folder_, failed);
    if (failed) user_error("{}: cannot be made: {}", folder_, failed.message());
  }

  const std::string& beside() const { return input_.engine->model().shape.profile_prefix; }
  std::string state_of(const CalibrationPart& part) const {
    return fmt::format("{}/{}.state", folder_, part.method());
  }

  /// A method that finds nothing in this model does not stop the others.
  bool shows(const CalibrationPart& part) const {
    try {
      return part.has_result();
    } catch (const UserError&) {
      return false;
    }
  }

  /// Writes profile and page with the results so far.
  void write(const CalibrationPart& part) {
    if (shows(part)) {
      part.write(folder_ + "/");
      if (!flags_.json) {
        fmt::print("{}\n", part.method());
        part.print();
        fmt::print("\n");
        std::fflush(stdout);
      }
    } else {
      try {
        part.has_result();
      } catch (const UserError& why) {
        left_out_.push_back(fmt::format("{}: {}", part.method(), why.what()));
        std::fputs(fmt::format("note: {}\n", left_out_.back()).c_str(), stderr);
      }
    }
    write_page();
  }

  void write_page() const {
    const ModelConfig& config = input_.engine->model().config;
    CalibrationPage page;
    page.title = name_of_model(*input_.engine) + ": calibration";
    page.subtitle =
        fmt::format("{} layers, {} query heads, trained for {} tokens; seed {}.", config.layers,
                    config.heads, with_commas(config.trained_context), flags_.seed);
    for (const std::string& why : left_out_) page.warnings.push_back("Left out: " + why);
    for (const auto& part : parts_) {
      const Calibration& search = part->search();
      if (!search.finished()) {
        page.warnings.push_back(fmt::format("{}: {} of {} {} so far.", part->method(),
                                            search.done(), search.total(), part->unit()));
      }
      if (search.done() > 0 && shows(*part)) page.sections.push_back(part->section());
    }
    replace_file(this->page(), html_calibration(page));
  }

  const CalibrateFlags& flags_;
  const CalibrationInput& input_;
  std::string folder_;
  std::vector<std::unique_ptr<CalibrationPart>> parts_;
  std::vector<std::string> left_out_;
};

}  // namespace

int calibrate_all(const CalibrateFlags& flags) {
  const auto engine = flags.model.open();
  const EvalData data(flags.data);
  const CalibrationInput input{flags, engine, data, flags.queue()};
  AllMethods all(flags, input);
  all.say_plan();
  const Stopwatch watch;
  const bool finished = all.run();
  if (finished && flags.save) all.save();
  if (flags.json) {
    nlohmann::ordered_json found{{"finished", finished}, {"seconds", watch.seconds()}};
    found.update(all.json());
    print_json(found);
  } else {
    fmt::print("{}{}; the page is {}\n", finished ? "all in " : "stopped after ",
               format_seconds(watch.seconds()), all.page());
    if (!finished) fmt::print("Run the same command to continue.\n");
  }
  return finished ? kExitOk : kExitCancelled;
}

}  // namespace longhaul
