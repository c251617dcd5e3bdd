// longhaul calibrate: settings of a method that depend on the model.

#include "cli/calibrate_command.h"

#include <fmt/ranges.h>

#include <memory>

#include "base/error.h"
#include "cli/calibration_part.h"
#include "cli/command.h"
#include "cli/flags.h"

namespace longhaul {
namespace {

constexpr int64_t kMostTokens = int64_t{1} << 20;

// Methods that accept each group of flags.
constexpr const char* kDuo = "duo";
constexpr const char* kTriangle = "trianglemix";
constexpr const char* kLtri = "ltri";
constexpr const char* kAllMethods = "all";
constexpr const char* kWithTasks = "duo, ltri, reattention, minference";
constexpr const char* kWithPrompts = "trianglemix, ltri, reattention, minference";
constexpr const char* kOneMethod = "duo, trianglemix, ltri, reattention, minference";

void add_shared_flags(CLI::App& app, CalibrateFlags& f) {
  add_number_list(
      app, "--lengths", f.lengths, 64, kMostTokens,
      "Tokens of a prompt; duo: shortest and longest (1000 and 2000, or the length of the "
      "passkeys); ltri: 1024,2048,4096; reattention: 8192,16384; minference: 8192. All but "
      "reattention's second stay within the trained length")
      ->group(kWithTasks);
  add_text(app, "--tasks", f.tasks, "NAME,...",
           "Prompts, in turn: tasks of 'longhaul eval'; duo's passkeys (ten in a book)")
      ->group(kWithTasks);
  add_number(app, "--prompts", f.prompts, 0, 1 << 20,
             "Prompts to read; trianglemix: 100; ltri: 3 of every task and length; reattention: 6 "
             "a round; minference: 3")
      ->group(kWithPrompts);
  add_path(app, "--state", f.state, "FILE", "Continue from this file, and write progress to it")
      ->group(kOneMethod);
}

void add_duo_flags(CLI::App& app, CalibrateFlags& f) {
  add_number(app, "--steps", f.steps, 1, 1 << 20, "Training steps, one prompt each")->group(kDuo);
  add_number(app, "--words", f.words, 1, 1000, "Words of a passkey")->group(kDuo);
  add_choice(app, "--full", f.full, {"stream", "model"},
             "Keys that full attention reads in training: those computed with gates, or the "
             "model's")
      ->group(kDuo);
  add_number<int64_t>(app, "--sink", f.sink, 0, kMostTokens,
                      "First tokens that streaming heads see")
      ->group(kDuo);
  add_number<int64_t>(app, "--recent", f.recent, 1, kMostTokens,
                      "Last tokens that streaming heads see")
      ->group(kDuo);
  add_number(app, "--rate", f.rate, 1e-6, 1.0, "Highest learning rate")->group(kDuo);
  add_number(app, "--penalty", f.penalty, 0.0, 1e6, "Weight of the mean gate in the loss")
      ->group(kDuo);
  add_number(app, "--sparsity", f.sparsity, 0.0, 1.0,
             "Share of KV heads that stream, for the profile")
      ->group(kDuo);
  add_path(app, "--gates", f.gates, "FILE", "Write the gates there")->group(kDuo);
}

void add_triangle_flags(CLI::App& app, CalibrateFlags& f) {
  add_number<int64_t>(app, "--tokens", f.tokens, 300, kMostTokens, "Tokens of a prompt, about")
      ->group(kTriangle);
  add_number(app, "--triangle-layers", f.triangle_layers, 0, 1 << 16,
             "Layers to choose; 0: half of them")
      ->group(kTriangle);
  add_choice(app, "--rank", f.rank, {"signed", "magnitude"},
             "Rank layers by the mean of the gradients' magnitudes, or by their signed mean")
      ->group(kTriangle);
}

void add_ltri_flags(CLI::App& app, CalibrateFlags& f) {
  add_number(app, "--trials", f.trials, 1, 1 << 16, "Pairs of theta and phi to try in a layer")
      ->group(kLtri);
  add_choice(app, "--form", f.form_of_ltri, {"paper", "longhaul"},
             "Form that the profile names: paper uses theta, phi and lambda; longhaul looks up by "
             "all keys")
      ->group(kLtri);
  add_number(app, "--least", f.least, 0.001, 1.0, "Least score of a retrieval head")->group(kLtri);
  add_number<int64_t>(app, "--block", f.block, 8, 512, "ltri's block, in tokens")->group(kLtri);
  add_number<int64_t>(app, "--n-init", f.init, 0, kMostTokens, "ltri's n_init, in tokens")
      ->group(kLtri);
  add_number(app, "--spans", f.spans, 1, 512, "Spans of a block, at most")->group(kLtri);
  add_number(app, "--vectors", f.vectors, 1, 512, "Index vectors of a block, at most")
      ->group(kLtri);
  add_number(app, "--compression", f.compression, 1.0, 1e6,
             "Least tokens of an index vector; decides lambda")
      ->group(kLtri);
  add_choice(app, "--ratio", f.ratio, {"row", "col", "rowcol"}, "ltri's ratio")->group(kLtri);
}

void add_all_flags(CLI::App& app, CalibrateFlags& f) {
  add_text(app, "--methods", f.methods, "NAME,...", "Methods to calibrate, in this order (all)")
      ->group(kAllMethods);
  add_path(app, "-o,--out", f.out, "DIR",
           "Folder for states, profiles and the page ('calibration' beside the model); the same "
           "command continues there")
      ->group(kAllMethods);
}

std::vector<std::string> method_names() {
  std::vector<std::string> names;
  for (const CalibratedMethod& method : calibrated_methods()) names.emplace_back(method.name);
  return names;
}

bool of_method(const std::string& group, const std::string& method) {
  for (const std::string& name : split_commas(group)) {
    if (name == method || name == " " + method) return true;
  }
  return false;
}

/// Refuses flags of other methods, which would have no effect. "all" accepts the flags that every
/// method accepts.
void check(const CLI::App& app, const CalibrateFlags& flags) {
  const std::vector<std::string> names = method_names();
  const bool all = flags.method == kAllMethods;
  if (!all && std::ranges::find(names, flags.method) == names.end()) {
    user_error("METHOD: '{}' is none of {}, all", flags.method, fmt::join(names, ", "));
  }
  for (const CLI::Option* option : app.get_options()) {
    const std::string& group = option->get_group();
    const bool of_some = of_method(group, kAllMethods) ||
                         std::ranges::any_of(names, [&](auto& n) { return of_method(group, n); });
    if (option->count() == 0 || !of_some || of_method(group, flags.method)) continue;
    const bool file = group == kOneMethod || option->get_name() == "--gates";
    if (all && !file) continue;
    user_error("{}: is a flag of 'calibrate {}'", option->get_name(), group);
  }
  flags.form.check();
}

}  // namespace

Command add_calibrate_command(CLI::App& program) {
  CLI::App* app =
      program.add_subcommand("calibrate", "Find the settings of attention methods for a model");
  auto flags = std::make_shared<CalibrateFlags>();
  app->add_option("METHOD", flags->method,
                  "duo (gates), trianglemix (layers), ltri (heads and thresholds), reattention "
                  "(visible tokens), minference (patterns), or all")
      ->type_name("")
      ->required();
  flags->model.add_to(*app);
  add_number<uint64_t>(*app, "--seed", flags->seed, 0, int64_t{1} << 53, "Other prompts");
  add_text(*app, "--data", flags->data, "DIR", "Folder with the texts of benchmarks");
  add_choice(*app, "--compute", flags->compute, {"best", "f32"}, "Products of weights");
  add_text(*app, "--device", flags->device, "auto|cpu|cuda[:N]",
           "Where the model runs ('longhaul devices' lists the GPUs); auto: a GPU that has room, "
           "else the CPU. ltri runs on the CPU");
  app->add_flag("--save", flags->save, "Write the method's profile beside the model");
  app->add_flag("--json", flags->json, "One JSON object on standard output");
  app->add_flag("-q,--quiet", flags->quiet, "No progress bar");
  add_prompt_form(*app, flags->form);
  add_shared_flags(*app, *flags);
  add_duo_flags(*app, *flags);
  add_triangle_flags(*app, *flags);
  add_ltri_flags(*app, *flags);
  add_all_flags(*app, *flags);
  app->footer(
      "Reads prompts with known replies; the weights do not change. Ctrl-C ends with the best\n"
      "result so far.\n"
      "Examples:\n"
      "  longhaul calibrate duo -m model.gguf --state duo.state --save\n"
      "  longhaul calibrate trianglemix -m model.gguf --save\n"
      "  longhaul calibrate all -m model.gguf --save");
  return {app, [app, flags] {
            check(*app, *flags);
            return flags->method == kAllMethods ? calibrate_all(*flags) : calibrate_one(*flags);
          }};
}

}  // namespace longhaul
