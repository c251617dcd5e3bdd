#include "eval/tasks/jsonl.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <xxhash.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "base/error.h"
#include "base/nearest_name.h"
#include "base/units.h"
#include "eval/data.h"
#include "eval/scorers.h"
#include "text/json_text.h"
#include "text/utf8.h"

namespace longhaul {
namespace {

using nlohmann::json;

constexpr std::string_view kJsonlKeys[] = {
    "id",    "prompt",     "messages", "context", "question", "answers", "answer",
    "match", "max_tokens", "group",    "system",  "opening",  "stop",    "depth"};
constexpr struct {
  std::string_view name, rule;  ///< the user's name and the name in score_rules()
} kMatches[] = {{"contains", "contains-any"},
                {"contains_all", "contains-all"},
                {"exact", "exact"},
                {"regex", "regex"},
                {"f1", "f1"},
                {"rouge", "rouge-l"},
                {"rouge1", "rouge-1"},
                {"rouge2", "rouge-2"},
                {"edit", "edit"},
                {"number", "number"}};
constexpr int64_t kMostReplyTokens = 1 << 16;
constexpr size_t kLongestId = 256;
constexpr int kDeepest = 8;  // nesting of a line

std::string shown(const json& value) {
  std::string text = value.dump(-1, ' ', true, json::error_handler_t::replace);
  return text.size() > 40 ? text.substr(0, 37) + "..." : text;
}

const std::string& text_of(const json& object, const char* key) {
  const json& value = object.at(key);
  if (!value.is_string()) user_error("key '{}' must be a text: found {}", key, shown(value));
  return value.get_ref<const std::string&>();
}

void read_text(const json& object, const char* key, std::string& into) {
  if (object.contains(key)) into = text_of(object, key);
}

std::vector<std::string> texts_of(const json& object, const char* key) {
  const json& value = object.at(key);
  if (value.is_string()) return {value.get<std::string>()};
  if (!value.is_array()) user_error("key '{}' must be a text or an array of texts", key);
  std::vector<std::string> texts;
  for (const json& item : value) {
    if (!item.is_string() || item.get_ref<const std::string&>().empty()) {
      user_error("key '{}' must hold texts that are not empty: found {}", key, shown(item));
    }
    texts.push_back(item.get<std::string>());
  }
  return texts;
}

void check_keys(const json& object) {
  for (const auto& [key, value] : object.items()) {
    if (std::find(std::begin(kJsonlKeys), std::end(kJsonlKeys), key) != std::end(kJsonlKeys))
      continue;
    user_error("key {} is not known{}", shown(key), nearest_name_hint(key, kJsonlKeys));
  }
}

bool plain(const std::string& text) {
  return std::none_of(text.begin(), text.end(),
                      [](char c) { return static_cast<unsigned char>(c) < 32; });
}

/// Without an id the line's number.
std::string id_of(const json& object, size_t line) {
  if (!object.contains("id")) return std::to_string(line);
  const json& id = object["id"];
  if (id.is_number_integer()) return id.dump();
  const std::string& text = text_of(object, "id");
  if (text.empty() || text.size() > kLongestId || !plain(text)) {
    user_error("key 'id' must be 1 to {} characters without control characters: found {}",
               kLongestId, shown(id));
  }
  return text;
}

void read_messages(const json& object, Sample& sample) {
  const json& messages = object["messages"];
  if (!messages.is_array() || messages.empty()) {
    user_error("key 'messages' must be an array of messages");
  }
  for (size_t i = 0; i < messages.size(); ++i) {
    const json& message = messages[i];
    if (!message.is_object() || !message.contains("role") || !message.contains("content")) {
      user_error("message {} needs the keys 'role' and 'content'", i + 1);
    }
    const std::string& role = text_of(message, "role");
    const std::string& content = text_of(message, "content");
    if (role == "system" && i == 0 && sample.system.empty()) {
      sample.system = content;
    } else if (role == "user" && i + 1 == messages.size()) {
      sample.question = content;
    } else if (role == "user" || role == "assistant") {
      sample.turns.push_back({role == "assistant", content});
    } else {
      user_error("message {}: role {} has no place there", i + 1, shown(role));
    }
  }
  if (text_of(messages.back(), "role") != "user") {
    user_error("key 'messages' must end with the user's message");
  }
}

void read_question(const json& object, Sample& sample) {
  const bool parts = object.contains("context") || object.contains("question");
  const int ways =
      (object.contains("prompt") ? 1 : 0) + (object.contains("messages") ? 1 : 0) + (parts ? 1 : 0);
  if (ways != 1) {
    user_error("needs one of 'prompt', 'messages', or 'context' and 'question'; it has {}", ways);
  }
  if (object.contains("messages")) {
    read_messages(object, sample);
  } else if (object.contains("prompt")) {
    sample.question = text_of(object, "prompt");
  } else {
    for (const char* key : {"context", "question"}) {
      if (!object.contains(key)) user_error("key '{}' is missing", key);
    }
    sample.context = text_of(object, "context");
    sample.question = text_of(object, "question");
    sample.separator = "\n\n";
  }
  if (sample.question.empty()) user_error("nothing is asked: the question is empty");
}

void read_match(const json& object, Sample& sample) {
  const std::string match = object.contains("match") ? text_of(object, "match") : "contains";
  for (const auto& known : kMatches) {
    if (known.name != match) continue;
    sample.rule = known.rule;
    return;
  }
  std::vector<std::string_view> names;
  for (const auto& known : kMatches) names.push_back(known.name);
  user_error("key 'match' must be one of {}: found {}", fmt::join(names, ", "), shown(match));
}

Sample sample_of(const json& object, size_t line) {
  check_keys(object);
  Sample sample;
  sample.id = id_of(object, line);
  read_text(object, "system", sample.system);
  read_text(object, "group", sample.group);
  if (!plain(sample.group)) {
    user_error("key 'group' must be without control characters: found {}", shown(object["group"]));
  }
  read_text(object, "opening", sample.opening);
  read_question(object, sample);
  if (object.contains("answers") == object.contains("answer")) {
    user_error("needs 'answers', or 'answer'");
  }
  sample.answers = texts_of(object, object.contains("answers") ? "answers" : "answer");
  if (sample.answers.empty() || sample.answers.front().empty()) {
    user_error("key 'answers' holds no answer");
  }
  if (object.contains("stop")) sample.stop = texts_of(object, "stop");
  read_match(object, sample);
  if (object.contains("max_tokens")) {
    const json& most = object["max_tokens"];
    if (!most.is_number_integer() || most.get<double>() < 1 ||
        most.get<double>() > static_cast<double>(kMostReplyTokens)) {
      user_error("key 'max_tokens' must be a whole number from 1 to {}: found {}", kMostReplyTokens,
                 shown(most));
    }
    sample.max_tokens = most.get<int>();
  }
  if (object.contains("depth")) {
    const json& depth = object["depth"];
    if (!depth.is_number() || !(depth.get<double>() >= 0 && depth.get<double>() <= 1)) {
      user_error("key 'depth' must be from 0 to 1: found {}", shown(depth));
    }
    sample.depth = depth.get<double>();
  }
  check_scorable(sample);
  return sample;
}

}  // namespace

std::vector<Sample> parse_jsonl(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  std::vector<Sample> samples;
  std::unordered_map<std::string, size_t> line_of_id;
  size_t number = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    try {
      samples.push_back(sample_of(parse_json_object(line, kDeepest, JsonKeys::kOnce), number));
    } catch (const UserError& problem) {
      user_error("line {}: {}", number, problem.what());
    }
    const auto [first, is_new] = line_of_id.emplace(samples.back().id, number);
    if (!is_new) {
      user_error("line {}: id {} is that of line {}", number, shown(samples.back().id),
                 first->second);
    }
  }
  for (size_t i = 1; i < samples.size(); ++i) {
    if (samples[i].context.empty() || samples[i].context != samples[i - 1].context) continue;
    samples[i].shares_context = samples[i - 1].shares_context = true;
  }
  return samples;
}

PlannedTask jsonl_task(const std::filesystem::path& file) {
  const std::string text = read_packed_file(file);
  auto samples = std::make_shared<std::vector<Sample>>();
  try {
    *samples = parse_jsonl(text);
  } catch (const UserError& problem) {
    user_error("{} {}", file.string(), problem.what());
  }
  if (samples->empty()) user_error("{}: holds no cases", file.string());
  PlannedTask task;
  std::string storage;
  task.name += "jsonl:";
  task.name += repair_utf8(file.filename().replace_extension("").string(), storage, nullptr);
  task.summary = counted(std::ssize(*samples), "case") + " of the user's own";
  task.rule = "as each case says";
  task.source = file.string();
  task.contents = fmt::format("{:016x}", XXH3_64bits(text.data(), text.size()));
  task.scales = false;
  task.make = [samples](const TaskRequest&) { return *samples; };
  return task;
}

}  // namespace longhaul
