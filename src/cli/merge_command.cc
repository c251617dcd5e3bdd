// longhaul merge: a model with its adapters folded into the weights, for engines that read no
// adapters, or none with these angles.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
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
#include "cli/sandbox_flags.h"
#include "engine/open_adapters.h"
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

void check_space(const fs::path& out, size_t bytes) {
  std::error_code unknown;
  const fs::space_info space = fs::space(folder_of(out), unknown);
  if (unknown || space.available >= bytes) return;
  user_error("{}: needs {}, of which {} are free", out.string(), format_bytes(bytes),
             format_bytes(space.available));
}

void write(const MergedModel& merged, const fs::path& out, bool quiet) {
  std::optional<PartFile> part = PartFile::create(out);
  if (!part) refuse_write(out);
  ProgressBar bar("writing", !quiet, "MiB");
  size_t done = 0;
  merged.write([&](std::span<const std::byte> bytes) {
    write_all(part->get(), {reinterpret_cast<const char*>(bytes.data()), bytes.size()}, out);
    done += bytes.size();
    bar.update(static_cast<int64_t>(done >> 20), static_cast<int64_t>(merged.bytes() >> 20));
  });
  bar.clear();
  sync_file(part->get(), out);
  if (!part->put_in_place(out)) refuse_write(out);
  sync_folder(out.parent_path());
}

void print_result(const MergedModel& merged, const Flags& flags) {
  if (flags.json) {
    auto changed = nlohmann::ordered_json::array();
    for (const auto& [types, count] : merged.changed()) {
      changed.push_back(
          {{"from", name_of(types.first)}, {"to", name_of(types.second)}, {"matrices", count}});
    }
    print_json({{"path", flags.out},
                {"bytes", merged.bytes()},
                {"tensors", merged.tensors()},
                {"changed", changed}});
    return;
  }
  fmt::print("{}: {} tensors, {}\n", flags.out, merged.tensors(), format_bytes(merged.bytes()));
  for (const auto& [types, count] : merged.changed()) {
    const auto& [from, to] = types;
    fmt::print("{} {} with the adapter in them{}\n", count, count == 1 ? "matrix" : "matrices",
               from == to ? fmt::format(", {} as they were", name_of(from))
                          : fmt::format(": {}, which were {}", name_of(to), name_of(from)));
  }
}

int merge(const Flags& flags) {
  const fs::path out = flags.out;
  check_target(out);
  const ModelSource source = flags.model.source();
  if (source.adapters.empty()) {
    user_error("{} has no adapters: name one with --lora FILE", flags.model.model);
  }
  flags.sandbox.enter({folder_of(out)}, flags.json || flags.quiet);
  const Checkpoint checkpoint = open_checkpoint(source.path);
  const auto adapters = open_adapters(source.adapters);
  std::optional<DType> type;
  if (flags.type != "keep") type = dtype_from_name(flags.type);
  const MergedModel merged(checkpoint, adapters, type);
  check_space(out, merged.bytes());
  write(merged, out, flags.quiet);
  if (!flags.quiet || flags.json) print_result(merged, flags);
  return kExitOk;
}

}  // namespace

Command add_merge_command(CLI::App& program) {
  CLI::App* app =
      program.add_subcommand("merge", "Write a model with its adapters in the weights, as GGUF");
  auto flags = std::make_shared<Flags>();
  flags->type = "keep";
  app->add_option("OUT", flags->out, "The file to write")->required()->type_name("OUT.gguf");
  flags->model.add_model_to(*app);
  add_choice(*app, "--type", flags->type, {"keep", "f32", "f16", "bf16", "q8_0"},
             "Of the matrices that change; keep: their own, or q8_0 where that is another");
  app->add_flag("--json", flags->json, "One JSON object on standard output");
  app->add_flag("-q,--quiet", flags->quiet, "No progress bar, no report");
  flags->sandbox.add_to(*app);
  app->footer(
      "Examples:\n"
      "  longhaul merge -m model.gguf --lora adapter.gguf merged.gguf\n"
      "  longhaul merge -m smollm2-32k smollm2-32k.gguf");
  return {app, [flags] { return merge(*flags); }};
}

}  // namespace longhaul
