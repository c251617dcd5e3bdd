// longhaul models: available models.

#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/units.h"
#include "cli/catalogue.h"
#include "cli/command.h"
#include "cli/json_output.h"
#include "cli/table.h"
#include "engine/known_profiles.h"
#include "engine/model_names.h"
#include "format/checkpoint.h"
#include "model/lora_file.h"

namespace longhaul {
namespace {

struct ListedModel {
  NamedModel model;
  size_t bytes = 0;
  std::string problem;  ///< why it cannot be read; empty if it can
  std::string advice;   ///< how to get its missing part
};

std::vector<ListedModel> list_models() {
  std::vector<ListedModel> list;
  const std::vector<NamedModel> all = models_at_hand();
  for (const NamedModel& model : all) {
    ListedModel listed{model, 0, "", ""};
    try {
      if (lacks_base(model, all)) {
        listed.advice = fmt::format("fetch it with 'longhaul pull {}'", model.name);
        list.push_back(std::move(listed));
        continue;
      }
      const ModelSource source = find_model_source(model.path.string());
      listed.bytes = open_checkpoint(source.path).total_bytes();
      for (const AdapterSource& a : source.adapters) listed.bytes += LoraFile::open(a.path).bytes();
    } catch (const UserError& error) {
      listed.problem = error.what();
    } catch (const std::filesystem::filesystem_error& error) {
      listed.problem = error.code().message();
    }
    list.push_back(std::move(listed));
  }
  return list;
}

bool holds(const std::vector<ListedModel>& list, const std::string& name) {
  for (const ListedModel& m : list) {
    if (m.model.name == name) return true;
  }
  return false;
}

void print_models(const std::vector<ListedModel>& list) {
  Table table({Table::Align::kLeft, Table::Align::kRight});
  for (const ListedModel& m : list) {
    if (!m.advice.empty()) {
      table.add({m.model.name, "-", m.advice});
      continue;
    }
    table.add({m.model.name, m.problem.empty() ? format_bytes(m.bytes) : "unreadable",
               m.problem.empty() ? m.model.path.string() : m.problem});
  }
  if (!holds(list, "smollm2")) table.add({"smollm2", "-", "fetch it with 'longhaul pull smollm2'"});
  std::fputs(table.text().c_str(), stdout);
  std::string places;
  for (const auto& folder : model_folders()) places += "\n  " + folder.string();
  fmt::print(
      "\nNames are looked up in:{}\nand in the folders of ollama, LM Studio, llama.cpp and the "
      "hub's cache.\n"
      "Set LONGHAUL_MODELS to add a folder.\n",
      places);
}

/// Prints the catalogue and which of its models are available.
void print_catalogue(const std::vector<ListedModel>& list) {
  Table table({Table::Align::kLeft, Table::Align::kRight, Table::Align::kRight, Table::Align::kLeft,
               Table::Align::kLeft, Table::Align::kLeft});
  table.add({"name", "bytes", "tokens", "licence", "languages", "good for"});
  for (const CatalogueEntry& e : read_catalogue()) {
    table.add({e.name, format_bytes(static_cast<size_t>(e.bytes)), with_commas(e.context),
               e.licence, e.languages, (holds(list, e.name) ? "(here) " : "") + e.good_for});
  }
  fmt::print("\n'longhaul pull NAME' fetches these, 'longhaul pull hf:OWNER/REPO' any other:\n\n{}",
             table.text());
}

void print_models_json(const std::vector<ListedModel>& list, bool all) {
  auto json = nlohmann::ordered_json::array();
  for (const ListedModel& m : list) {
    json.push_back({{"name", m.model.name}, {"path", m.model.path.string()}, {"bytes", m.bytes}});
    if (!m.problem.empty()) json.back()["problem"] = m.problem;
    if (!m.advice.empty()) json.back()["advice"] = m.advice;
  }
  for (const CatalogueEntry& e : all ? read_catalogue() : std::vector<CatalogueEntry>()) {
    if (holds(list, e.name)) continue;
    json.push_back({{"name", e.name},
                    {"repository", e.repository},
                    {"file", e.file},
                    {"bytes", e.bytes},
                    {"context", e.context},
                    {"languages", e.languages},
                    {"licence", e.licence},
                    {"good_for", e.good_for},
                    {"advice", fmt::format("fetch it with 'longhaul pull {}'", e.name)}});
  }
  print_json(json);
}

void print_profiles(bool json) {
  const std::vector<KnownProfiles> known = known_profiles();
  if (json) {
    auto list = nlohmann::ordered_json::array();
    for (const KnownProfiles& p : known) {
      list.push_back({{"name", p.name}, {"methods", p.methods}, {"path", p.folder.string()}});
    }
    return print_json(list);
  }
  Table table;
  table.add({"--profiles", "has settings of"});
  for (const KnownProfiles& p : known) {
    table.add({p.name, fmt::format("{}", fmt::join(p.methods, ", "))});
  }
  std::fputs(table.text().c_str(), stdout);
}

}  // namespace

Command add_models_command(CLI::App& program) {
  CLI::App* app = program.add_subcommand("models", "List the models that have a name here");
  auto json = std::make_shared<bool>(false), all = std::make_shared<bool>(false);
  auto profiles = std::make_shared<bool>(false);
  app->add_flag("--all", *all, "Also list recommended models to fetch");
  app->add_flag("--profiles", *profiles,
                "List the models with published settings for --profiles instead")
      ->excludes("--all");
  app->add_flag("--json", *json, "A JSON array on standard output");
  app->footer("Example:\n  longhaul models --all");
  return {app, [json, all, profiles] {
            if (*profiles) {
              print_profiles(*json);
              return kExitOk;
            }
            const auto list = list_models();
            if (*json) {
              print_models_json(list, *all);
            } else {
              print_models(list);
              if (*all) print_catalogue(list);
            }
            return kExitOk;
          }};
}

}  // namespace longhaul
