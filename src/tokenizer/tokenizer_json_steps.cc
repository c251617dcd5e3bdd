#include "tokenizer/tokenizer_json_steps.h"

#include <functional>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "text/printable.h"
#include "tokenizer/load_parts.h"

namespace longhaul {

namespace {

using StepKind = NormalizeStep::Kind;

constexpr size_t kMaxSteps = 64;
constexpr size_t kMostTokensAround = 1024;  // per text; real ones have one or two
constexpr std::string_view kPunctuation =
    R"([\p{P}\x{21}-\x{2f}\x{3a}-\x{40}\x{5b}-\x{60}\x{7b}-\x{7e}])";
/// "\w+|[^\w\s]+" with combining marks counted as part of words, as in Hugging Face.
constexpr std::string_view kWordsAndSigns =
    R"([\p{L}\p{M}\p{N}\p{Pc}]+|[^\p{L}\p{M}\p{N}\p{Pc}\s]+)";

/// Visits the steps of a part: itself, or the members of a Sequence (`list_key`), which may nest
/// once.
void for_each_step(const JsonField& part, std::string_view list_key,
                   const std::function<void(const JsonField&)>& visit, int depth = 0) {
  if (part.is_null()) return;
  if (part.type() != "Sequence") return visit(part);
  const JsonField list = part[list_key];
  const size_t count = list.array_size();
  if (depth > 1 || count > kMaxSteps) {
    user_error("{}: too many or too deeply nested steps", list.where());
  }
  for (size_t i = 0; i < count; ++i) for_each_step(list.at(i), list_key, visit, depth + 1);
}

[[noreturn]] void unsupported(const JsonField& step) {
  user_error("{}: {} is not supported", step.where(), printable(step.type()));
}

std::string blanks(std::string_view text, const TokenizerJsonStyle& style) {
  return style.visible_blanks ? with_spaces(text) : std::string(text);
}

/// Whether a pattern contains "{1,3}+", a possessive count in PCRE2 but a repeated count in
/// Oniguruma.
bool repeats_a_count(std::string_view pattern) {
  for (size_t end = 0; (end = pattern.find("}+", end)) != std::string_view::npos; ++end) {
    const size_t begin = pattern.rfind('{', end);
    if (begin == std::string_view::npos || end == begin + 1) continue;
    const std::string_view inside = pattern.substr(begin + 1, end - begin - 1);
    if (inside.find_first_not_of("0123456789,") == std::string_view::npos) return true;
  }
  return false;
}

/// Patterns use Oniguruma syntax, where ^ and $ match at lines. Constructs with another meaning in
/// PCRE2, which no model of a supported family uses, are refused.
Regex pattern_of(const JsonField& pattern) {
  const JsonField regex = pattern["Regex"];
  if (!regex.is_null()) {
    const std::string text = regex.text();
    if (repeats_a_count(text) || text.find("&&") != std::string::npos) {
      user_error("{}: && and {{N}}+ in a pattern are not supported", regex.where());
    }
    return Regex("(?m)" + text, regex.where());
  }
  const JsonField literal = pattern["String"];
  return Regex(regex_literal(with_spaces(literal.text())), literal.where());
}

SplitBehaviour behaviour_of(const JsonField& step) {
  const JsonField behaviour = step["behavior"];
  const std::string name = behaviour.text_or("Isolated");
  if (name == "Removed") return SplitBehaviour::removed;
  if (name == "Isolated") return SplitBehaviour::isolated;
  if (name == "MergedWithPrevious") return SplitBehaviour::merged_with_previous;
  if (name == "MergedWithNext") return SplitBehaviour::merged_with_next;
  if (name == "Contiguous") return SplitBehaviour::contiguous;
  behaviour.wrong("Removed, Isolated, MergedWithPrevious, MergedWithNext or Contiguous");
}

void add_metaspace(TokenizerModel& model, const JsonField& step, bool is_first) {
  // Text has spaces where Hugging Face has U+2581, so only the leading space remains to be added.
  const bool old_prefix = step["add_prefix_space"].flag(true);
  const std::string scheme = step["prepend_scheme"].text_or(old_prefix ? "always" : "never");
  if (scheme != "never" && !is_first) unsupported(step);
  model.normalizer.add({StepKind::replace, std::string(kVisibleBlank), " "});
  if (scheme != "never") {
    model.normalizer.add({StepKind::prepend_unless_there, "", " ", scheme == "first"});
  }
  if (step["split"].flag(true)) {
    model.pre_tokenizer.add({Regex(" ", step.where()), SplitBehaviour::merged_with_next, false});
  }
}

void add_byte_level(TokenizerModel& model, const JsonField& step, bool is_first) {
  if (step["add_prefix_space"].flag(true)) {
    if (!is_first) unsupported(step);
    model.normalizer.add({StepKind::prepend_unless_there, "", " "});
  }
  if (step["use_regex"].flag(true)) model.pre_tokenizer.add({Regex(kGpt2Pattern, step.where())});
}

std::vector<int32_t> template_ids(const JsonField& post, const JsonField& item,
                                  const TokenizerModel& model) {
  const std::string name = item["SpecialToken"]["id"].text();
  const JsonField ids = post["special_tokens"][name]["ids"];
  std::vector<int32_t> out;
  for (size_t i = 0; i < ids.array_size(); ++i) {
    const JsonField id = ids.at(i);
    const int64_t value = id.integer();
    if (value < 0 || static_cast<size_t>(value) >= model.vocabulary.size()) {
      id.wrong("a token id");
    }
    out.push_back(static_cast<int32_t>(value));
  }
  return out;
}

void add_template(TokenizerModel& model, const JsonField& post) {
  const JsonField single = post["single"];
  bool behind_text = false;
  for (size_t i = 0; i < single.array_size(); ++i) {
    const JsonField item = single.at(i);
    if (!item["Sequence"].is_null()) {
      behind_text = true;
      continue;
    }
    const std::vector<int32_t> ids = template_ids(post, item, model);
    std::vector<int32_t>& side = behind_text ? model.suffix : model.prefix;
    if (side.size() + ids.size() > kMostTokensAround) {
      user_error("{}: puts more than {} tokens around a text", single.where(), kMostTokensAround);
    }
    side.insert(side.end(), ids.begin(), ids.end());
  }
}

}  // namespace

TokenizerJsonStyle find_style(const JsonField& root) {
  TokenizerJsonStyle style;
  const auto look = [&style](const JsonField& step) {
    const std::string type = step.type();
    if (type == "ByteLevel") style.byte_level = true;
    if (type == "Metaspace") style.visible_blanks = true;
    for (const char* key : {"prepend", "content"}) {
      const nlohmann::json& value = step[key].value();
      if (value.is_string() && value.get<std::string>().find(kVisibleBlank) != std::string::npos) {
        style.visible_blanks = true;
      }
    }
    if (type == "Replace" && step["pattern"]["String"].text_or("") == kVisibleBlank) {
      style.visible_blanks = true;
    }
  };
  for_each_step(root["normalizer"], "normalizers", look);
  for_each_step(root["pre_tokenizer"], "pretokenizers", look);
  for_each_step(root["decoder"], "decoders", look);
  return style;
}

void add_normalizer(TokenizerModel& model, const JsonField& part, const TokenizerJsonStyle& style) {
  if (style.visible_blanks) {
    model.normalizer.add({StepKind::replace, std::string(kVisibleBlank), " "});
  }
  for_each_step(part, "normalizers", [&](const JsonField& step) {
    const std::string type = step.type();
    if (type == "NFC") {
      model.normalizer.add({StepKind::nfc, "", ""});
    } else if (type == "NFD") {
      model.normalizer.add({StepKind::nfd, "", ""});
    } else if (type == "NFKC") {
      model.normalizer.add({StepKind::nfkc, "", ""});
    } else if (type == "NFKD") {
      model.normalizer.add({StepKind::nfkd, "", ""});
    } else if (type == "Prepend") {
      model.normalizer.add({StepKind::prepend, "", blanks(step["prepend"].text(), style)});
    } else if (type == "Replace") {
      const std::string from = blanks(step["pattern"]["String"].text(), style);
      const std::string to = blanks(step["content"].text(), style);
      if (from != to) model.normalizer.add({StepKind::replace, from, to});
    } else {
      unsupported(step);
    }
  });
}

void add_pre_tokenizer(TokenizerModel& model, const JsonField& part) {
  bool is_first = true;
  for_each_step(part, "pretokenizers", [&](const JsonField& step) {
    const std::string type = step.type();
    PreTokenizer& pre = model.pre_tokenizer;
    if (type == "ByteLevel") {
      add_byte_level(model, step, is_first);
    } else if (type == "Metaspace") {
      add_metaspace(model, step, is_first);
    } else if (type == "Split") {
      pre.add({pattern_of(step["pattern"]), behaviour_of(step), step["invert"].flag(false)});
    } else if (type == "Digits") {
      const bool single = step["individual_digits"].flag(false);
      pre.add({Regex(single ? R"(\p{N})" : R"(\p{N}+)", step.where())});
    } else if (type == "Punctuation") {
      pre.add({Regex(kPunctuation, step.where()), behaviour_of(step)});
    } else if (type == "WhitespaceSplit") {
      pre.add({Regex(R"(\s+)", step.where()), SplitBehaviour::removed});
    } else if (type == "Whitespace") {
      pre.add({Regex(kWordsAndSigns, step.where()), SplitBehaviour::removed, true});
    } else {
      unsupported(step);
    }
    is_first = false;
  });
}

void add_post_processor(TokenizerModel& model, const JsonField& part) {
  for_each_step(part, "processors", [&](const JsonField& step) {
    const std::string type = step.type();
    if (type == "TemplateProcessing") {
      add_template(model, step);
    } else if (type != "ByteLevel") {  // ByteLevel only trims offsets
      unsupported(step);
    }
  });
}

bool decoder_drops_first_space(const JsonField& part) {
  bool drops = false;
  for_each_step(part, "decoders", [&](const JsonField& step) {
    const std::string type = step.type();
    if (type == "Strip") {
      const JsonField start = step["start"];
      drops =
          drops || (step["content"].text_or("") == " " && !start.is_null() && start.integer() > 0);
    } else if (type == "Metaspace") {
      const bool old_prefix = step["add_prefix_space"].flag(true);
      drops = drops || step["prepend_scheme"].text_or(old_prefix ? "always" : "never") != "never";
    }
  });
  return drops;
}

}  // namespace longhaul
