// longhaul inspect: contents of a model file. Only headers are read.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/units.h"
#include "cli/command.h"
#include "cli/find_or_pull.h"
#include "cli/json_output.h"
#include "cli/model_summary.h"
#include "cli/sandbox_flags.h"
#include "cli/table.h"
#include "engine/model_names.h"
#include "format/checkpoint.h"
#include "text/printable.h"

namespace longhaul {
namespace {

using nlohmann::ordered_json;

struct TypeTotal {
  size_t tensors = 0;
  int64_t elements = 0;
  size_t bytes = 0;
};

std::map<std::string, TypeTotal> totals_by_type(const Checkpoint& checkpoint) {
  std::map<std::string, TypeTotal> totals;
  for (const TensorView& t : checkpoint.tensors()) {
    TypeTotal& total = totals[std::string(name_of(t.type))];
    ++total.tensors;
    total.elements += t.elements();
    total.bytes += t.bytes();
  }
  return totals;
}

/// Names come from the file; only plain ones are shown unquoted.
std::string shown_name(const std::string& name) {
  const std::string quoted = printable(name);
  return quoted == "'" + name + "'" ? name : quoted;
}

std::string shape_text(const TensorView& t) {
  return fmt::format("{}", fmt::join(t.shape.begin(), t.shape.begin() + t.rank, " x "));
}

/// (key, value as text) for the metadata of both formats.
std::vector<std::pair<std::string, std::string>> metadata(const Checkpoint& checkpoint) {
  std::vector<std::pair<std::string, std::string>> entries;
  if (checkpoint.format() == CheckpointFormat::kGguf) {
    for (const GgufEntry& entry : checkpoint.gguf().entries()) {
      entries.emplace_back(shown_name(std::string(entry.key)), checkpoint.gguf().describe(entry));
    }
    return entries;
  }
  const HfDocuments& hf = checkpoint.hf();
  for (const auto& [file, document] : {std::pair{"config.json", &hf.config},
                                       {"generation_config.json", &hf.generation_config},
                                       {"tokenizer_config.json", &hf.tokenizer_config}}) {
    if (!document->is_object()) continue;
    for (const auto& [key, value] : document->items()) {
      const auto replace = nlohmann::json::error_handler_t::replace;
      entries.emplace_back(fmt::format("{}: {}", file, shown_name(key)),
                           value.dump(-1, ' ', true, replace));
    }
  }
  return entries;
}

std::string cut(const std::string& text) {
  constexpr size_t kLongest = 100;
  return text.size() <= kLongest ? text : text.substr(0, kLongest) + " ...";
}

void print_text(const Checkpoint& checkpoint, const ModelSummary& summary, bool brief) {
  const bool gguf = checkpoint.format() == CheckpointFormat::kGguf;
  fmt::print("{}: {}, {} file{}, {} tensors, {} parameters, {}\n{}\n", checkpoint.path().string(),
             gguf ? "GGUF" : "Hugging Face folder", checkpoint.files().size(),
             checkpoint.files().size() == 1 ? "" : "s", checkpoint.tensors().size(),
             with_commas(checkpoint.parameters()), format_bytes(checkpoint.total_bytes()),
             text_of(summary));
  using enum Table::Align;
  Table types({kLeft, kRight, kRight, kRight, kRight});
  types.add({"type", "tensors", "elements", "bytes", "bits each"});
  for (const auto& [name, total] : totals_by_type(checkpoint)) {
    const double bits = 8.0 * static_cast<double>(total.bytes) /
                        static_cast<double>(std::max<int64_t>(1, total.elements));
    types.add({name, std::to_string(total.tensors), with_commas(total.elements),
               format_bytes(total.bytes), fmt::format("{:.2f}", bits)});
  }
  std::fputs(types.text().c_str(), stdout);
  for (const UnreadableTensor& t : checkpoint.unreadable()) {
    fmt::print("not readable: {} {}\n", shown_name(t.name), t.reason);
  }
  if (checkpoint.left_out() > 0) {
    fmt::print("text model of a larger model: {} tensors of its other parts are ignored\n",
               checkpoint.left_out());
  }
  Table entries;
  for (const auto& [key, value] : metadata(checkpoint)) entries.add({key, cut(value)});
  std::fputs(("\n" + entries.text()).c_str(), stdout);
  if (brief) return;
  Table tensors({kLeft, kLeft, kRight, kRight});
  for (const TensorView& t : checkpoint.tensors()) {
    tensors.add(
        {shown_name(t.name), std::string(name_of(t.type)), shape_text(t), format_bytes(t.bytes())});
  }
  std::fputs(("\n" + tensors.text()).c_str(), stdout);
}

ordered_json json_of(const Checkpoint& checkpoint, const ModelSummary& summary, bool brief) {
  ordered_json types = ordered_json::object(), entries = types, tensors = ordered_json::array(),
               unreadable = tensors;
  for (const auto& [name, total] : totals_by_type(checkpoint)) {
    types[name] = {
        {"tensors", total.tensors}, {"elements", total.elements}, {"bytes", total.bytes}};
  }
  for (const auto& [key, value] : metadata(checkpoint)) entries[key] = value;
  for (const TensorView& t : checkpoint.tensors()) {
    const std::vector<int64_t> shape(t.shape.begin(), t.shape.begin() + t.rank);
    tensors.push_back(
        {{"name", t.name}, {"type", name_of(t.type)}, {"shape", shape}, {"bytes", t.bytes()}});
  }
  for (const UnreadableTensor& t : checkpoint.unreadable()) {
    unreadable.push_back({{"name", t.name}, {"reason", t.reason}});
  }
  ordered_json json = {
      {"path", checkpoint.path().string()},
      {"format", checkpoint.format() == CheckpointFormat::kGguf ? "gguf" : "huggingface"},
      {"files", checkpoint.files().size()},
      {"parameters", checkpoint.parameters()},
      {"bytes", checkpoint.total_bytes()},
      {"summary", json_of(summary)},
      {"types", types},
      {"unreadable", unreadable},
      {"left_out", checkpoint.left_out()},
      {"metadata", entries}};
  if (!brief) json["tensors"] = tensors;
  return json;
}

}  // namespace

Command add_inspect_command(CLI::App& program) {
  CLI::App* app = program.add_subcommand("inspect", "Metadata, tensors and sizes of a model");
  struct Flags {
    std::string model;
    SandboxFlags sandbox;
    bool brief = false;
    bool json = false;
  };
  auto flags = std::make_shared<Flags>();
  app->add_option("model", flags->model,
                  "GGUF file, Hugging Face folder, name or hf:OWNER/REPO[:TYPE]")
      ->required()
      ->type_name("MODEL");
  app->add_flag("--brief", flags->brief, "Omit the list of tensors");
  app->add_flag("--json", flags->json, "One JSON object on standard output");
  flags->sandbox.add_to(*app);
  app->footer("Example:\n  longhaul inspect smollm2 --brief");
  return {app, [flags] {
            const ModelSource source = find_or_pull(flags->model);
            flags->sandbox.enter({}, true);
            const Checkpoint checkpoint = open_checkpoint(source.path);
            const ModelSummary summary = summary_of(checkpoint, source, flags->model);
            if (flags->json) {
              print_json(json_of(checkpoint, summary, flags->brief));
            } else {
              print_text(checkpoint, summary, flags->brief);
            }
            return kExitOk;
          }};
}

}  // namespace longhaul
