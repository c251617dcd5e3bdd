#include "eval/record.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "text/json_text.h"

namespace longhaul {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

// limit for seconds, rates and losses, far beyond real values
constexpr double kLargestFigure = 1e12;
constexpr int64_t kMostCount = int64_t{1} << 60;
constexpr char kPart = '\x1f';  // a control character, which names do not contain

double finite(double value) { return std::isfinite(value) ? value : 0; }

/// Typed access to the keys of one line; every error names the key.
class Fields {
 public:
  explicit Fields(const json& object) : object_(object) {}

  void text(const char* key, std::string& value, bool required = false) const {
    if (const json* found = find(key, required)) {
      if (!found->is_string()) refuse(key, "must be a text", *found);
      value = found->get<std::string>();
      if (required && value.empty()) user_error("key '{}' is empty", key);
    }
  }

  void one_of(const char* key, std::string& value,
              std::initializer_list<const char*> choices) const {
    text(key, value);
    for (const char* choice : choices) {
      if (value == choice) return;
    }
    refuse(key, fmt::format("must be one of {}", fmt::join(choices, ", ")), value);
  }

  void flag(const char* key, bool& value) const {
    if (const json* found = find(key, false)) {
      if (!found->is_boolean()) refuse(key, "must be true or false", *found);
      value = found->get<bool>();
    }
  }

  void count(const char* key, int64_t& value, bool required = false) const {
    if (const json* found = find(key, required)) {
      const bool too_large =
          found->is_number_unsigned() && found->get<uint64_t>() > static_cast<uint64_t>(kMostCount);
      if (!found->is_number_integer() || too_large || found->get<int64_t>() < 0) {
        refuse(key, "must be a whole number from 0 to 2^60", *found);
      }
      value = found->get<int64_t>();
    }
  }

  void real(const char* key, double& value, double least, double most,
            bool required = false) const {
    if (const json* found = find(key, required)) {
      if (!found->is_number()) refuse(key, "must be a number", *found);
      value = found->get<double>();
      if (!(value >= least && value <= most)) {
        refuse(key, fmt::format("must be from {:g} to {:g}", least, most), *found);
      }
    }
  }

  void texts(const char* key, std::vector<std::string>& values) const {
    if (const json* found = find(key, false)) {
      if (!found->is_array()) refuse(key, "must be an array of texts", *found);
      for (const json& item : *found) {
        if (!item.is_string()) refuse(key, "must be an array of texts", item);
        values.push_back(item.get<std::string>());
      }
    }
  }

  void shares(const char* key, std::vector<double>& values) const {
    if (const json* found = find(key, false)) {
      if (!found->is_array()) refuse(key, "must be an array of numbers from 0 to 1", *found);
      for (const json& item : *found) {
        const double value = item.is_number() ? item.get<double>() : -1;
        if (!(value >= 0 && value <= 1)) {
          refuse(key, "must be an array of numbers from 0 to 1", item);
        }
        values.push_back(value);
      }
    }
  }

  bool has(const char* key) const { return object_.contains(key); }

 private:
  const json* find(const char* key, bool required) const {
    const auto it = object_.find(key);
    if (it != object_.end()) return &*it;
    if (required) user_error("key '{}' is missing", key);
    return nullptr;
  }

  [[noreturn]] static void refuse(const char* key, const std::string& wanted, const json& found) {
    std::string text = found.dump(-1, ' ', true, json::error_handler_t::replace);
    if (text.size() > 40) text = text.substr(0, 37) + "...";
    user_error("key '{}' {}: found {}", key, wanted, text);
  }

  const json& object_;
};

}  // namespace

std::string Record::prompt_key() const {
  return task + kPart + (opening ? '1' : '0') + kPart + std::to_string(length) + kPart + id;
}

std::string Record::sample_id() const { return position ? id.substr(0, id.rfind('@')) : id; }

std::string Record::key() const { return prompt_key() + kPart + method; }

int64_t count_answers(std::span<const Record> records) {
  return std::ranges::count_if(records, [](const Record& r) { return r.begins_answer(); });
}

std::string to_json(const Record& r) {
  const bool scored = std::isfinite(r.score);
  ordered_json line = {
      {"task", r.task}, {"opening", r.opening}, {"length", r.length}, {"id", r.id}};
  if (!r.group.empty()) line["group"] = r.group;
  if (r.depth) line["depth"] = finite(*r.depth);
  line["method"] = r.method;
  if (!r.sample_hash.empty()) line["sample_hash"] = r.sample_hash;
  line["prompt_hash"] = r.prompt_hash;
  line["prompt_tokens"] = r.prompt_tokens;
  if (r.cut_tokens > 0) {
    line["cut_tokens"] = r.cut_tokens;
    line["cut_to"] = r.cut_to;
  }
  line["reply"] = r.reply;
  line["expected"] = r.expected;
  line["score"] = finite(r.score);
  line["metric"] = r.metric;
  if (r.position) line["position"] = *r.position;
  line["reply_tokens"] = r.reply_tokens;
  line["first_token_seconds"] = finite(r.first_token_seconds);
  line["prefill_seconds"] = finite(r.prefill_seconds);
  line["decode_tokens_per_second"] = finite(r.decode_tokens_per_second);
  line["kv_bytes"] = r.kv_bytes;
  line["pairs_share"] = finite(r.pairs_share);
  line["attention_seconds"] = finite(r.attention_seconds);
  if (!r.recall.empty()) {
    ordered_json& layers = line["recall"] = ordered_json::array();
    for (const double share : r.recall) layers.push_back(std::round(finite(share) * 1e3) / 1e3);
  }
  if (r.source_rank) line["source_rank"] = *r.source_rank;
  if (r.source_share) line["source_share"] = std::round(finite(*r.source_share) * 1e4) / 1e4;
  if (!r.error.empty()) {
    line["error"] = r.error;
  } else if (!scored) {
    line["error"] = "the score is no finite number";
  }
  return line.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

Record record_from_json(const std::string& line) {
  constexpr int kDeepest = 4;
  const json object = parse_json_object(line, kDeepest);
  const Fields fields(object);
  Record r;
  fields.text("task", r.task, true);
  fields.flag("opening", r.opening);
  fields.count("length", r.length, true);
  fields.text("id", r.id, true);
  fields.text("group", r.group);
  if (fields.has("depth")) {
    r.depth = 0;
    fields.real("depth", *r.depth, 0, 1);
  }
  fields.text("method", r.method, true);
  fields.text("sample_hash", r.sample_hash);
  fields.text("prompt_hash", r.prompt_hash);
  fields.count("prompt_tokens", r.prompt_tokens);
  fields.count("cut_tokens", r.cut_tokens);
  fields.count("cut_to", r.cut_to);
  fields.text("reply", r.reply);
  fields.texts("expected", r.expected);
  fields.one_of("metric", r.metric, {"score", "nll"});
  fields.real("score", r.score, 0, r.metric == "score" ? 1 : kLargestFigure, true);
  if (fields.has("position")) {
    r.position = 0;
    fields.count("position", *r.position);
  }
  fields.count("reply_tokens", r.reply_tokens);
  fields.real("first_token_seconds", r.first_token_seconds, 0, kLargestFigure);
  fields.real("prefill_seconds", r.prefill_seconds, 0, kLargestFigure);
  fields.real("decode_tokens_per_second", r.decode_tokens_per_second, 0, kLargestFigure);
  fields.count("kv_bytes", r.kv_bytes);
  fields.real("pairs_share", r.pairs_share, 0, kLargestFigure);
  fields.real("attention_seconds", r.attention_seconds, 0, kLargestFigure);
  fields.shares("recall", r.recall);
  if (fields.has("source_rank")) {
    r.source_rank = 0;
    fields.count("source_rank", *r.source_rank);
  }
  if (fields.has("source_share")) {
    r.source_share = 0;
    fields.real("source_share", *r.source_share, 0, 1);
  }
  fields.text("error", r.error);
  return r;
}

}  // namespace longhaul
