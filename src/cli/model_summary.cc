#include "cli/model_summary.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/units.h"
#include "cli/pull_record.h"
#include "cli/table.h"
#include "engine/model_names.h"
#include "model/config.h"
#include "model/lora_file.h"
#include "text/printable.h"

namespace longhaul {
namespace {

/// Empty without a record, and without a home folder to look in.
std::string recorded_licence(const std::string& name) {
  try {
    const auto record = read_record(model_cache_folder(), name);
    return record ? record->licence : "";
  } catch (const UserError&) {
    return "";
  }
}

std::string licence_of(const Checkpoint& checkpoint, const std::string& name) {
  if (checkpoint.format() == CheckpointFormat::kGguf) {
    if (const auto text = checkpoint.gguf().find_string("general.license")) {
      return std::string(*text);
    }
  }
  return recorded_licence(name);
}

/// A text from a file, quoted unless it is short and plain.
std::string plain_or_quoted(const std::string& text) {
  const std::string quoted = printable(text);
  return quoted == "'" + text + "'" ? text : quoted;
}

}  // namespace

ModelSummary summary_of(const Checkpoint& checkpoint, const ModelSource& source,
                        const std::string& name) {
  ModelSummary summary;
  try {
    const ModelConfig config = read_config(checkpoint);
    summary.family = config.architecture;
    summary.context = config.trained_context;
  } catch (const UserError& error) {
    summary.unsupported = error.what();
  }
  for (const AdapterSource& adapter : source.adapters) {
    const LoraFile file = LoraFile::open(adapter.path);
    summary.adapters.push_back(adapter.path.string());
    if (file.context()) summary.adapted = file.context();
  }
  summary.licence = licence_of(checkpoint, name);
  return summary;
}

std::string text_of(const ModelSummary& summary) {
  Table lines;
  if (!summary.unsupported.empty()) lines.add({"cannot be run", summary.unsupported});
  if (!summary.family.empty()) lines.add({"family", plain_or_quoted(summary.family)});
  if (const auto context = summary.adapted ? summary.adapted : summary.context) {
    std::string tokens = with_commas(*context) + " tokens";
    if (summary.adapted && summary.context) {
      tokens += fmt::format(" ({} without the adapter)", with_commas(*summary.context));
    }
    lines.add({"context", tokens});
  }
  for (const std::string& adapter : summary.adapters) lines.add({"adapter", adapter});
  if (!summary.licence.empty()) lines.add({"licence", plain_or_quoted(summary.licence)});
  return lines.text();
}

nlohmann::ordered_json json_of(const ModelSummary& summary) {
  nlohmann::ordered_json json = {{"family", summary.family}};
  if (!summary.unsupported.empty()) json["unsupported"] = summary.unsupported;
  const std::optional<int64_t> context = summary.adapted ? summary.adapted : summary.context;
  if (context) json["context"] = *context;
  if (summary.adapted && summary.context) json["context_without_adapters"] = *summary.context;
  json["adapters"] = summary.adapters;
  json["licence"] = summary.licence;
  return json;
}

}  // namespace longhaul
