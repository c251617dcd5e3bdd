#include "attention/method_spec.h"

#include <fmt/ranges.h>
#include <xxhash.h>

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "base/mapped_file.h"
#include "base/nearest_name.h"
#include "base/paths.h"

namespace longhaul {
namespace {

/// The option that text() contains even if it has its default value. It selects the form of a
/// method, which published results must name.
constexpr std::string_view kNamed = "form";
constexpr std::string_view kNoWriting = "a profile makes no method write files";
constexpr std::string_view kBeside =
    "a profile names files beside it only, as {\"file\": NAME}, and none for a part";

const MethodInfo& find_method(std::string_view name, std::span<const MethodInfo> methods) {
  std::vector<std::string_view> names;
  for (const MethodInfo& method : methods) {
    if (method.name == name) return method;
    names.push_back(method.name);
  }
  if (name.empty())
    user_error("--attention: the method's name is missing (methods: {})", fmt::join(names, ", "));
  user_error("--attention: unknown method '{}'{} (methods: {})", name,
             nearest_name_hint(name, names), fmt::join(names, ", "));
}

}  // namespace

std::string MethodSpec::flag() const { return fmt::format("--attention {}", info_->name); }

const Option& MethodSpec::option(std::string_view key) const {
  if (const Option* found = options_.list.find(key)) return *found;
  if (options_.list.options().empty()) {
    user_error("{}: unknown option '{}'; this method has none", flag(), key);
  }
  std::vector<std::string_view> keys;
  for (const Option& option : options_.list.options()) keys.push_back(option.key);
  user_error("{}: unknown option '{}'{} (options: {})", flag(), key, nearest_name_hint(key, keys),
             fmt::join(keys, ", "));
}

MethodSpec MethodSpec::parse(std::string_view text, std::span<const MethodInfo> methods) {
  MethodSpec spec;
  spec.methods_ = methods;
  const size_t colon = text.find(':');
  spec.info_ = &find_method(text.substr(0, colon), methods);
  spec.options_ = spec.info_->describe();
  for (size_t at = colon; at != std::string_view::npos;) {  // `at` is the index of a ':' or ','
    const size_t comma = text.find(',', at + 1);
    const std::string_view item = text.substr(at + 1, comma - at - 1);
    at = comma;
    const size_t equals = item.find('=');
    const std::string_view key = item.substr(0, equals);
    const Option& option = spec.option(key);
    if (equals == std::string_view::npos) {
      user_error("{}: option '{}' has no value: write {}=VALUE", spec.flag(), key, key);
    }
    if (!spec.values_.emplace(key, option.canonical(spec.flag(), item.substr(equals + 1))).second) {
      user_error("{}: option '{}' is given twice", spec.flag(), key);
    }
    spec.given_.emplace_back(key);
  }
  for (const Option& option : spec.options_.list.options()) {
    spec.values_.emplace(option.key, option.fallback);
  }
  spec.refuse_idle(true);
  return spec;
}

MethodSpec MethodSpec::parse_part(std::string_view name, std::string_view options,
                                  std::span<const MethodInfo> methods) {
  std::string text(name);
  if (!options.empty()) text += fmt::format(":{}", options);
  std::replace(text.begin(), text.end(), '+', ',');
  return parse(text, methods);
}

void MethodSpec::set_default(std::string_view key, std::string_view value) {
  LH_ASSERT(!profile_prefix_);
  if (!is_given(key)) values_.find(key)->second = option(key).canonical(flag(), value);
}

bool MethodSpec::is_given(std::string_view key) const {
  return std::find(given_.begin(), given_.end(), key) != given_.end();
}

OptionSet MethodSpec::filled() const {
  OptionSet set = info_->describe();
  set.list.set(values_);
  return set;
}

/// With `given_only`, checks only options whose effect depends on options in the text. A profile
/// may set the other options.
void MethodSpec::refuse_idle(bool given_only) const {
  const OptionSet set = filled();
  for (const std::string& key : given_) {
    const Option& option = *set.list.find(key);
    if (given_only && !option.decided_by(given_)) continue;
    const auto why = option.idle(values_);
    if (why) user_error("{}: {} has no effect {}", flag(), key, *why);
  }
}

std::optional<MethodSpec> MethodSpec::part(const OptionSet& set, const Option& option) const {
  if (option.kind != OptionKind::kPartOptions || set.list.find(option.key)->idle(values_)) {
    return std::nullopt;
  }
  return parse_part(values_.find(option.part_key)->second, values_.find(option.key)->second,
                    methods_);
}

bool MethodSpec::writes() const {
  const OptionSet set = filled();
  return std::any_of(given_.begin(), given_.end(), [&](const std::string& key) {
    const auto inner = part(set, option(key));
    return option(key).kind == OptionKind::kOutputFile || (inner && inner->writes());
  });
}

bool MethodSpec::names_files() const {
  const OptionSet set = filled();
  return std::any_of(given_.begin(), given_.end(), [&](const std::string& key) {
    const auto inner = part(set, option(key));
    return option(key).names_file(values_.find(key)->second) || (inner && inner->names_files());
  });
}

std::string MethodSpec::text() const {
  const OptionSet set = filled();
  std::string text(info_->name);
  char before = ':';
  for (const auto& [key, value] : values_) {
    const auto found = profile_.find(key);
    const std::string& usual = found != profile_.end() ? found->second : option(key).fallback;
    const bool counts = is_given(key) || !set.list.find(key)->idle(values_);
    if ((value == usual && key != kNamed) || !counts) continue;
    text += fmt::format("{}{}={}", before, key, value);
    before = ',';
  }
  return text;
}

MethodSpec MethodSpec::for_model(const ModelShape& shape) const {
  // The common case, because every session calls this function.
  if (profile_prefix_ == shape.profile_prefix) return *this;
  return for_profile(shape.profile_prefix);
}

MethodSpec MethodSpec::for_profile(const std::string& prefix) const {
  MethodSpec spec = *this;
  spec.profile_prefix_ = prefix;
  const auto profile = read_profile(prefix, info_->name);
  // The options of only_with conditions have no conditions themselves.
  for (const bool conditional : {false, true}) {
    for (const auto& [key, read] : profile) {
      if (read.only_with.empty() == conditional) continue;
      if (!conditional || spec.has(read.only_with)) spec.take_from_profile(key, read);
    }
  }
  spec.refuse_idle(false);
  const OptionSet set = spec.filled();
  for (const Option& each : set.list.options()) spec.check_part(set, each);
  return spec;
}

bool MethodSpec::has(const std::string& setting) const {
  const size_t split = setting.find('=');
  const auto value = values_.find(setting.substr(0, split));
  return value != values_.end() && value->second == setting.substr(split + 1);
}

void MethodSpec::take_from_profile(const std::string& key, const JsonOption& read) {
  try {
    if (option(key).kind == OptionKind::kOutputFile) user_error("options.{}: {}", key, kNoWriting);
    if (option(key).names_file(read.text) && !read.is_file) {
      user_error("options.{}: {}", key, kBeside);
    }
    const std::string value = option(key).canonical(flag(), read.text);
    profile_[key] = value;
    if (!is_given(key)) values_[key] = value;
  } catch (const UserError& error) {
    user_error("{}{}.json: {}", *profile_prefix_, info_->name, error.what());
  }
}

std::string MethodSpec::profile_text() const {
  const OptionSet set = filled();
  std::string text;
  for (const auto& [key, value] : profile_) {
    if (is_given(key) || set.list.find(key)->idle(values_)) continue;
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", key, value);
  }
  return text;
}

void MethodSpec::check_part(const OptionSet& set, const Option& option) const {
  const bool by_profile = !is_given(option.key) && profile_.count(option.key) > 0;
  try {
    const auto inner = part(set, option);
    if (!inner) return;
    if (by_profile && inner->writes()) user_error("options.{}: {}", option.key, kNoWriting);
    if (by_profile && inner->names_files()) {
      user_error("options.{}: {}", option.key, kBeside);
    }
    inner->for_profile(*profile_prefix_);
  } catch (const UserError& error) {
    if (!by_profile) throw;
    user_error("{}: {}", profile_path(*profile_prefix_, info_->name).string(), error.what());
  }
}

uint64_t MethodSpec::fingerprint() const {
  const OptionSet set = filled();
  std::string text(info_->name);
  for (const Option& option : set.list.options()) {
    if (!is_given(option.key) && option.idle(values_)) continue;
    const std::string& value = values_.find(option.key)->second;
    if (option.later && value == option.fallback) continue;
    text += fmt::format("\n{}={}", option.key, value);
    if (const auto inner = part(set, option)) {
      const MethodSpec known = profile_prefix_ ? inner->for_profile(*profile_prefix_) : *inner;
      text += fmt::format(" {:016x}", known.fingerprint());
    }
    if (option.kind != OptionKind::kFile || !is_file(value)) continue;
    const MappedFile file(value);
    text += fmt::format(" {:016x}", XXH3_64bits(file.bytes().data(), file.bytes().size()));
  }
  return XXH3_64bits(text.data(), text.size());
}

std::unique_ptr<Method> MethodSpec::make_method(const ModelShape& shape) const {
  const MethodSpec spec = for_model(shape);
  OptionSet set = spec.filled();
  if (!set.list.has_what_it_needs()) {
    user_error(
        "{0}: needs {1}; 'longhaul calibrate {2} --save' finds them for this model, --profiles "
        "NAME "
        "has those of known models, 'longhaul methods {2}' explains",
        flag(), set.list.needed(), info_->name);
  }
  if (info_->uncapped && shape.cap != 0) {
    user_error(
        "--attention {}: this model caps its attention logits at {}; the method reckons "
        "with logits without a cap",
        info_->name, shape.cap);
  }
  if (info_->uncapped && !shape.query_weights.empty()) {
    user_error(
        "--attention {}: this model weighs its queries after their rotation; the method reckons "
        "with queries without weights",
        info_->name);
  }
  OptionValues used = spec.values_;  // options without effect stay at their defaults
  for (const Option& option : set.list.options()) {
    if (option.idle(spec.values_)) used[std::string(option.key)] = option.fallback;
  }
  set.list.set(used);
  auto method = info_->make(set, shape);
  // With query weights, attention depends on absolute positions and not only on distances. Methods
  // with begins_together do not keep absolute positions: they count positions from the first window
  // of the group of passes.
  if (method->whole.begins_together && !shape.query_weights.empty()) {
    user_error(
        "--attention {}: this model weighs its queries after their rotation, so that attention "
        "depends on positions; the method keeps distances only",
        info_->name);
  }
  if (shape.chunked && !method->whole.stays_in_text()) {
    user_error(
        "--attention {}: this model attends within chunks of its text; the method gives keys "
        "other positions or drops them while it reads",
        info_->name);
  }
  const Keep keep = method->plan(0, 0, kNoBound).keep;
  expect_room(info_->name, keep.budget, keep.sink, keep.recent,
              set.list.find("budget") != nullptr ? "budget" : "capacity");
  return method;
}

std::unique_ptr<AttentionDriver> MethodSpec::make(const ModelShape& shape) const {
  return std::make_unique<AttentionDriver>(make_method(shape), shape);
}

void check_method(const MethodSpec& method, const ModelShape& shape, const KvType& kv_type,
                  PromptFacts prompt) {
  const std::unique_ptr<AttentionDriver> made = method.make(shape);
  made->layout(shape, kv_type);
  if (prompt.chunk == 0) {  // no method rejects a prompt because of the chunk
    constexpr int64_t kMost = std::numeric_limits<int>::max();
    prompt.chunk = static_cast<int>(std::clamp<int64_t>(prompt.tokens, 1, kMost));
  }
  made->prepare(prompt);
}

}  // namespace longhaul
