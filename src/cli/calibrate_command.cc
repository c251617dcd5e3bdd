// longhaul calibrate: settings of a method that only the model itself can tell.

#include "cli/calibrate_command.h"

#include <memory>

#include "base/error.h"
#include "cli/command.h"
#include "cli/flags.h"

namespace longhaul {
namespace {

constexpr const char* kDuo = "duo";
constexpr const char* kTriangle = "trianglemix";
constexpr int64_t kMostTokens = int64_t{1} << 20;

void add_duo_flags(CLI::App& app, CalibrateFlags& f) {
  add_number(app, "--steps", f.steps, 1, 1 << 20, "Prompts to learn from, one a step")->group(kDuo);
  add_number_list(
      app, "--lengths", f.lengths, 64, kMostTokens,
      "Tokens of the shortest and the longest prompt (1000 and 2000, or what the passkeys "
      "take)")
      ->group(kDuo);
  add_text(app, "--tasks", f.tasks, "NAME,...",
           "Prompts, in turn: passkeys (ten in a book), tasks of 'longhaul eval'")
      ->group(kDuo);
  add_number(app, "--words", f.words, 1, 1000, "Words of a passkey")->group(kDuo);
  add_choice(app, "--full", f.full, {"stream", "model"},
             "Whose keys full attention reads in training: those of the text as it is read with "
             "gates, or the model's")
      ->group(kDuo);
  add_number<int64_t>(app, "--sink", f.sink, 0, kMostTokens, "First tokens that streaming sees")
      ->group(kDuo);
  add_number<int64_t>(app, "--recent", f.recent, 1, kMostTokens, "Last tokens that streaming sees")
      ->group(kDuo);
  add_number(app, "--rate", f.rate, 1e-6, 1.0, "Highest learning rate")->group(kDuo);
  add_number(app, "--penalty", f.penalty, 0.0, 1e6, "Of the mean gate")->group(kDuo);
  add_number(app, "--sparsity", f.sparsity, 0.0, 1.0,
             "Share of KV heads that stream, for the profile")
      ->group(kDuo);
  add_path(app, "--state", f.state, "FILE", "Goes on where it ended there, and writes where it is")
      ->group(kDuo);
  add_path(app, "--gates", f.gates, "FILE", "Write the gates there")->group(kDuo);
}

void add_triangle_flags(CLI::App& app, CalibrateFlags& f) {
  add_number(app, "--prompts", f.prompts, 1, 1 << 20, "Prompts to probe with")->group(kTriangle);
  add_number<int64_t>(app, "--tokens", f.tokens, 300, kMostTokens, "Tokens of each, about")
      ->group(kTriangle);
  add_number(app, "--triangle-layers", f.triangle_layers, 0, 1 << 16,
             "Layers to choose; 0: half of them")
      ->group(kTriangle);
  add_choice(app, "--rank", f.rank, {"signed", "magnitude"},
             "Rank layers by the mean of their gradients, as published, or of its magnitude")
      ->group(kTriangle);
}

/// A flag of the other method would have no effect.
void check(const CLI::App& app, const CalibrateFlags& flags) {
  if (flags.method != kDuo && flags.method != kTriangle) {
    user_error("METHOD: '{}' is neither {} nor {}", flags.method, kDuo, kTriangle);
  }
  for (const CLI::Option* option : app.get_options()) {
    const std::string& group = option->get_group();
    if (option->count() > 0 && (group == kDuo || group == kTriangle) && group != flags.method) {
      user_error("{}: is a flag of 'calibrate {}'", option->get_name(), group);
    }
  }
  flags.form.check();
}

}  // namespace

Command add_calibrate_command(CLI::App& program) {
  CLI::App* app = program.add_subcommand(
      "calibrate", "Find what duo or trianglemix must know of a model, by gradients");
  auto flags = std::make_shared<CalibrateFlags>();
  app->add_option("METHOD", flags->method, "duo (gates) or trianglemix (layers)")
      ->type_name("")
      ->required();
  flags->model.add_to(*app);
  add_number<uint64_t>(*app, "--seed", flags->seed, 0, int64_t{1} << 53, "Other prompts");
  add_text(*app, "--data", flags->data, "DIR", "Folder with the texts of benchmarks");
  add_choice(*app, "--compute", flags->compute, {"best", "f32"}, "Products of weights");
  app->add_flag("--save", flags->save, "Write the method's profile beside the model");
  app->add_flag("--json", flags->json, "One JSON object on standard output");
  app->add_flag("-q,--quiet", flags->quiet, "No progress bar");
  flags->form.add_to(*app);
  add_duo_flags(*app, *flags);
  add_triangle_flags(*app, *flags);
  app->footer(
      "Reads prompts whose replies are known, forward and backward, the weights as they are.\n"
      "Ctrl-C ends a training with the best gates so far.\n"
      "Examples:\n"
      "  longhaul calibrate duo -m model.gguf --state duo.state --save\n"
      "  longhaul calibrate trianglemix -m model.gguf --save");
  return {app, [app, flags] {
            check(*app, *flags);
            return flags->method == kDuo ? calibrate_duo(*flags) : calibrate_trianglemix(*flags);
          }};
}

}  // namespace longhaul
