#include "cli/run_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/parallel.h"
#include "base/system_info.h"
#include "base/units.h"
#include "cli/calibration_part.h"
#include "cli/model_flags.h"
#include "cli/table.h"
#include "ops/core/isa/isa.h"
#include "text/printable.h"

namespace longhaul {
namespace {

std::string prompt_line(const PromptReading& r) {
  std::string line = with_commas(r.tokens) + " tokens";
  if (r.finished && r.read == 0) return line + ", all of them reused";
  if (r.reused > 0) line += fmt::format(", {} reused", with_commas(r.reused));
  const std::string read = with_commas(r.read), time = format_seconds(r.seconds);
  line += r.finished ? fmt::format(", {} prefilled in {}", read, time)
                     : fmt::format(", {} of {} prefilled, cancelled after {}", read,
                                   with_commas(r.tokens - r.reused), time);
  return line + fmt::format(" ({} tokens/s)", with_commas(std::llround(r.tokens_per_second())));
}

std::string reply_line(const RunFacts& facts) {
  std::string reason(name_of(facts.reply.stop));
  for (char& c : reason) c = c == '_' ? ' ' : c;
  const auto count = static_cast<int64_t>(facts.reply.tokens.size());
  const std::string speed =  // the first token belongs to the prefill
      count > 1 ? fmt::format("decode at {:.1f} tokens/s, ", facts.reply.tokens_per_second()) : "";
  return fmt::format("{}, {}{}", counted(count, "token"), speed, reason);
}

std::string kv_line(const Session& session) {
  const SessionReport report = session.report();
  const ModelConfig& config = session.engine().model().config;
  const int attentive = config.attention_layers();
  const std::string layers = attentive == config.layers
                                 ? ""
                                 : fmt::format(" in {} of {} layers", attentive, config.layers);
  return fmt::format("{} for {} tokens, {}, {} attention{}{}", format_bytes(report.kv_bytes),
                     with_commas(report.tokens), name_of(session.options().kv_type),
                     session.options().attention.text(), layers,
                     report.pairs_share < 0.9995
                         ? fmt::format(", {:.1f} % of dense pairs", 100 * report.pairs_share)
                         : "");
}

/// The command that makes a profile of the method for the model, if it runs without one and without
/// options.
std::string profile_note(const Session& session) {
  const MethodSpec& method = session.options().attention;
  const std::string name(method.info().name);
  const std::string text = method.text();  // names the form of ltri in any case
  const bool plain = (text == name || text == "ltri:form=paper") && method.profile_text().empty();
  const auto known = std::ranges::find(calibrated_methods(), name, &CalibratedMethod::name);
  if (!plain || known == calibrated_methods().end()) return "";
  return fmt::format(
      "{0} runs without a profile for this model: 'longhaul calibrate {0} --save' makes one{1}",
      name, name == "ltri" ? ", 'longhaul heads --save' one in a minute" : "");
}

/// Several texts are summarised in one line.
void add_texts(const std::vector<TextFacts>& texts, Table& table) {
  constexpr size_t kMostLines = 4;
  if (texts.size() <= kMostLines) {
    for (const TextFacts& text : texts) {
      table.add({"text", fmt::format("{}, {}", one_line(text.name), text.description)});
    }
    return;
  }
  size_t bytes = 0;
  for (const TextFacts& text : texts) bytes += text.bytes;
  table.add({"texts",
             fmt::format("{}, {} bytes", texts.size(), with_commas(static_cast<int64_t>(bytes)))});
}

}  // namespace

std::vector<TextFacts> text_facts(const std::vector<Document>& documents) {
  std::vector<TextFacts> facts;
  for (const Document& document : documents) {
    if (document.text.empty()) continue;
    const std::string bytes = with_commas(static_cast<int64_t>(document.text.size())) + " bytes";
    facts.push_back({document.name,
                     document.made.empty() ? bytes : fmt::format("{}, {}", bytes, document.made),
                     document.text.size()});
  }
  return facts;
}

std::string run_report(const RunFacts& facts, const Session& session) {
  Table table;
  table.add({"model", one_line(facts.model)});
  add_texts(facts.texts, table);
  if (facts.loaded_tokens > 0) {
    table.add({"session file", fmt::format("{} tokens loaded in {}",
                                           with_commas(static_cast<int64_t>(facts.loaded_tokens)),
                                           format_seconds(facts.session_load_seconds))});
  }
  table.add({"prompt", prompt_line(facts.reading)});
  if (facts.replied) {
    table.add({"first token", format_seconds(facts.first_token_seconds)});
    table.add({"reply", reply_line(facts)});
    if (facts.seed) table.add({"seed", std::to_string(*facts.seed)});
  } else if (facts.reading.finished && facts.cancelled()) {
    table.add({"reply", "none, cancelled"});
  }
  table.add({"KV", kv_line(session)});
  table.add({"memory", fmt::format("{} at most, weights ({}, mapped) included",
                                   format_bytes(peak_resident_bytes()),
                                   format_bytes(session.engine().weight_bytes()))});
  table.add({"model load", format_seconds(session.engine().load_seconds())});
  table.add({"kernels", kernels_line(session.options())});
  const std::string& note = session.engine().note();
  if (facts.replied && !note.empty()) table.add({"note", note});
  const std::string profile = profile_note(session);
  if (!profile.empty()) table.add({"note", profile});
  return table.text();
}

std::string turn_report(const RunFacts& facts, const Session& session) {
  std::string line = fmt::format("[{} of {} tokens prefilled, ", with_commas(facts.reading.read),
                                 with_commas(facts.reading.tokens));
  if (facts.replied) {
    line += fmt::format("first token {}, decode at {:.1f} tokens/s, ",
                        format_seconds(facts.first_token_seconds), facts.reply.tokens_per_second());
    if (facts.seed) line += fmt::format("seed {}, ", *facts.seed);
  } else if (facts.cancelled()) {
    line += "cancelled, ";
  }
  return line + fmt::format("KV {}]\n", format_bytes(session.report().kv_bytes));
}

nlohmann::ordered_json run_json(const RunFacts& facts, const Session& session) {
  const SessionReport report = session.report();
  nlohmann::ordered_json json = {
      {"text", facts.reply.text},
      {"tokens", facts.reply.tokens},
      {"stop_reason",
       facts.cancelled() ? "cancelled" : (facts.replied ? name_of(facts.reply.stop) : "none")},
      {"model", facts.model},
      {"prompt_tokens", facts.reading.tokens},
      {"reused_tokens", facts.reading.reused},
      {"prefill_tokens", facts.reading.read},
      {"read_tokens", facts.reading.read},  // the name of older versions
      {"loaded_tokens", facts.loaded_tokens},
      {"prefill_seconds", facts.reading.seconds},
      {"prefill_tokens_per_second", facts.reading.tokens_per_second()},
      {"first_token_seconds", facts.first_token_seconds},
      {"decode_tokens_per_second", facts.reply.tokens_per_second()},
      {"context_tokens", report.tokens},
      {"kv_bytes", report.kv_bytes},
      {"kv_type", name_of(session.options().kv_type)},
      {"attention", session.options().attention.text()},
      {"pairs_share", report.pairs_share},
      {"peak_rss_bytes", peak_resident_bytes()},
      {"forecast_bytes",
       {{"total", report.forecast.total()},
        {"weights", report.forecast.weights},
        {"kv", report.forecast.kv},
        {"working", report.forecast.working},
        {"process", report.forecast.process}}},
      {"weight_bytes", session.engine().weight_bytes()},
      {"load_seconds", session.engine().load_seconds()},
      {"device", place_name(session.options())},
      {"isa", name_of(current_isa())},
      {"products", products_of(session.options())},
      {"threads", thread_count()},
  };
  if (!facts.texts.empty()) {
    json["texts"] = nlohmann::ordered_json::array();
    for (const TextFacts& text : facts.texts) {
      json["texts"].push_back({{"name", text.name}, {"bytes", text.bytes}});
    }
  }
  if (facts.loaded_tokens > 0) json["session_load_seconds"] = facts.session_load_seconds;
  if (facts.seed) json["seed"] = *facts.seed;
  if (!session.engine().note().empty()) json["note"] = session.engine().note();
  return json;
}

}  // namespace longhaul
