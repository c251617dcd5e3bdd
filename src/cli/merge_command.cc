// longhaul merge: a model with its adapters folded into the weights, for engines that do not
// support adapters, or not with these angles.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/durable_file.h"
#include "base/error.h"
#include "base/part_file.h"
#include "base/paths.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "cli/json_output.h"
#include "cli/model_flags.h"
#include "cli/progress_bar.h"
#include "cli/pull_folder.h"
#include "cli/sandbox_flags.h"
#include "engine/open_adapters.h"
#include "model/merged_folder.h"
#include "model/merged_model.h"

namespace longhaul {
namespace {

namespace fs = std::filesystem;

struct Flags {
  ModelFlags model;
  SandboxFlags sandbox;
  std::string out, type;
  bool json = false;
  bool quiet = false;
};

fs::path folder_of(const fs::path& file) {
  return file.has_parent_path() ? file.parent_path() : fs::path(".");
}

void check_target(const fs::path& out) {
  expect_writable(out);
  if (is_there(out)) user_error("{}: is there already: remove it, or name another", out.string());
}

/// Counts the bytes of one result over all its files.
class Written {
 public:
  Written(size_t bytes, bool quiet) : bytes_(bytes), bar_("writing", !quiet, "MiB") {}
  ~Written() { bar_.clear(); }

  void add(size_t bytes) {
    done_ += bytes;
    bar_.update(static_cast<int64_t>(done_ >> 20), static_cast<int64_t>(bytes_ >> 20));
  }

 private:
  size_t bytes_, done_ = 0;
  ProgressBar bar_;
};

/// `source` passes the file's bytes to its argument.
void write_file(const fs::path& path, Written& progress,
                const std::function<void(const ByteSink&)>& source) {
  std::optional<PartFile> part = PartFile::create(path);
  if (!part) refuse_write(path);
  source([&](std::span<const std::byte> bytes) {
    write_all(part->get(), {reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path);
    progress.add(bytes.size());
  });
  sync_file(part->get(), path);
  if (!part->put_in_place(path)) refuse_write(path);
  sync_folder(path.parent_path());
}

void write(const MergedModel& merged, const fs::path& out, bool quiet) {
  Written progress(merged.bytes(), quiet);
  write_file(out, progress, [&](const ByteSink& to) { merged.write(to); });
}

void write(const MergedFolder& merged, const fs::path& out, bool quiet) {
  Written progress(merged.bytes(), quiet);
  std::optional<PartFolder> folder = PartFolder::create(out);
  if (!folder) refuse_write(out);
  for (const std::string& file : merged.files()) {
    write_file(folder->path() / file, progress,
               [&](const ByteSink& to) { merged.write(file, to); });
  }
  if (!folder->put_in_place(out)) refuse_write(out);
  sync_folder(out.parent_path());
}

void print_result(size_t tensors, size_t bytes, const ChangedTypes& changes, const Flags& flags) {
  if (flags.json) {
    auto changed = nlohmann::ordered_json::array();
    for (const auto& [types, count] : changes) {
      changed.push_back(
          {{"from", name_of(types.first)}, {"to", name_of(types.second)}, {"matrices", count}});
    }
    print_json({{"path", flags.out}, {"bytes", bytes}, {"tensors", tensors}, {"changed", changed}});
    return;
  }
  fmt::print("{}: {} tensors, {}\n", flags.out, tensors, format_bytes(bytes));
  for (const auto& [types, count] : changes) {
    const auto& [from, to] = types;
    fmt::print("{} {} with the adapter in them{}\n", count, count == 1 ? "matrix" : "matrices",
               from == to ? fmt::format(", {} as they were", name_of(from))
                          : fmt::format(": {}, which were {}", name_of(to), name_of(from)));
  }
}

template <class Merged>
void put(const Merged& merged, const Flags& flags) {
  check_space(folder_of(flags.out), merged.bytes());
  write(merged, flags.out, flags.quiet);
  if (flags.quiet && !flags.json) return;
  print_result(merged.tensors(), merged.bytes(), merged.changed(), flags);
}

void put_folder(const Checkpoint& checkpoint, std::span<const WeightedLora> adapters,
                const Flags& flags) {
  if (flags.type != "keep") {
    user_error(
        "--type {}: for GGUF files only; the matrices of a Hugging Face folder keep their type",
        flags.type);
  }
  if (fs::path(flags.out).extension() == ".gguf") {
    user_error("{}: {} is a Hugging Face folder, and so is the result: name a folder", flags.out,
               checkpoint.path().string());
  }
  put(MergedFolder(checkpoint, adapters), flags);
}

int merge(Flags flags) {
  while (flags.out.size() > 1 && flags.out.ends_with('/')) flags.out.pop_back();
  const fs::path out = flags.out;
  check_target(out);
  const ModelSource source = flags.model.source();
  if (source.adapters.empty()) {
    user_error("{} has no adapters: name one with --lora FILE", flags.model.model);
  }
  flags.sandbox.enter({folder_of(out)}, flags.json || flags.quiet);
  const Checkpoint checkpoint = open_checkpoint(source.path);
  const auto adapters = open_adapters(source.adapters);
  if (checkpoint.format() == CheckpointFormat::kHuggingFace) {
    put_folder(checkpoint, adapters, flags);
  } else {
    std::optional<DType> type;
    if (flags.type != "keep") type = dtype_from_name(flags.type);
    put(MergedModel(checkpoint, adapters, type), flags);
  }
  return kExitOk;
}

}  // namespace

Command add_merge_command(CLI::App& program) {
  CLI::App* app = program.add_subcommand("merge", "Write a model with its adapters in the weights");
  auto flags = std::make_shared<Flags>();
  flags->type = "keep";
  app->add_option("OUT", flags->out,
                  "The GGUF file to write, or the folder for a model in a folder")
      ->required()
      ->type_name("OUT");
  flags->model.add_model_to(*app);
  add_choice(*app, "--type", flags->type, {"keep", "f32", "f16", "bf16", "q8_0"},
             "Type of changed matrices of a GGUF file; keep: f32, f16, bf16, q8_0 as they are, "
             "others q8_0");
  app->add_flag("--json", flags->json, "One JSON object on standard output");
  app->add_flag("-q,--quiet", flags->quiet, "No progress bar, no report");
  flags->sandbox.add_to(*app);
  app->footer(
      "Examples:\n"
      "  longhaul merge -m model.gguf --lora adapter.gguf merged.gguf\n"
      "  longhaul merge -m smollm2-32k smollm2-32k.gguf\n"
      "  longhaul merge -m ./Qwen2.5-1.5B --lora ./peft-adapter ./Qwen2.5-1.5B-merged");
  return {app, [flags] { return merge(*flags); }};
}

}  // namespace longhaul
