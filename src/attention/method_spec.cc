#include "attention/method_spec.h"

#include <fmt/ranges.h>
#include <xxhash.h>

#include <algorithm>
#include <filesystem>

#include "attention/option_condition.h"
#include "attention/option_value.h"
#include "attention/profile.h"
#include "base/error.h"
#include "base/mapped_file.h"
#include "base/nearest_name.h"
#include "base/paths.h"

namespace longhaul {
namespace {

constexpr std::string_view kNoWriting = "a profile makes no method write files";

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

const OptionInfo& find_option(std::string_view key, const MethodInfo& method) {
  if (method.options.empty()) {
    user_error("--attention {}: unknown option '{}'; this method has none", method.name, key);
  }
  std::vector<std::string_view> keys;
  for (const OptionInfo& option : method.options) {
    if (option.key == key) return option;
    keys.push_back(option.key);
  }
  user_error("--attention {}: unknown option '{}'{} (options: {})", method.name, key,
             nearest_name_hint(key, keys), fmt::join(keys, ", "));
}

}  // namespace

MethodSpec MethodSpec::parse(std::string_view text, std::span<const MethodInfo> methods) {
  MethodSpec spec;
  spec.methods_ = methods;
  const size_t colon = text.find(':');
  spec.info_ = &find_method(text.substr(0, colon), methods);
  const MethodInfo& info = *spec.info_;
  auto& values = spec.options_.values_;
  for (size_t at = colon; at != std::string_view::npos;) {  // at a ':' or ','
    const size_t comma = text.find(',', at + 1);
    const std::string_view item = text.substr(at + 1, comma - at - 1);
    at = comma;
    const size_t equals = item.find('=');
    const std::string_view key = item.substr(0, equals);
    const OptionInfo& option = find_option(key, info);
    if (equals == std::string_view::npos) {
      user_error("--attention {}: option '{}' has no value: write {}=VALUE", info.name, key, key);
    }
    std::string value = canonical_value(info.name, option, item.substr(equals + 1));
    if (!values.emplace(key, std::move(value)).second) {
      user_error("--attention {}: option '{}' is given twice", info.name, key);
    }
    spec.given_.emplace_back(key);
  }
  for (const OptionInfo& option : info.options) {
    values.emplace(option.key, canonical_value(info.name, option, option.fallback));
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
  if (is_given(key)) return;
  options_.values_.find(key)->second =
      canonical_value(info_->name, find_option(key, *info_), value);
}

bool MethodSpec::is_given(std::string_view key) const {
  return std::find(given_.begin(), given_.end(), key) != given_.end();
}

std::optional<std::string> MethodSpec::idle(const OptionInfo& option, bool given_only) const {
  return unmet(option, [&](std::string_view key) -> std::optional<std::string_view> {
    if (given_only && !is_given(key)) return std::nullopt;
    return options_.text(key);
  });
}

void MethodSpec::refuse_idle(bool given_only) const {
  for (const std::string& key : given_) {
    const auto why = idle(find_option(key, *info_), given_only);
    if (why) user_error("--attention {}: {} has no effect {}", info_->name, key, *why);
  }
}

void MethodSpec::refuse_lacking() const {
  OptionInfo whole{};  // the method, as if it were an option
  whole.only_with = info_->needs;
  if (!idle(whole)) return;
  user_error("--attention {}: needs {}; 'longhaul methods {}' explains", info_->name, info_->needs,
             info_->name);
}

std::optional<MethodSpec> MethodSpec::part(const OptionInfo& option) const {
  if (option.kind != OptionKind::kMethodOptions || idle(option)) return std::nullopt;
  return parse_part(options_.text(option.method_key), options_.text(option.key), methods_);
}

bool MethodSpec::writes() const {
  return std::any_of(given_.begin(), given_.end(), [&](const std::string& key) {
    const OptionInfo& option = find_option(key, *info_);
    const auto inner = part(option);
    return option.kind == OptionKind::kOutputFile || (inner && inner->writes());
  });
}

std::string MethodSpec::text() const {
  std::string text(info_->name);
  char before = ':';
  for (const auto& [key, value] : options_.values_) {
    const OptionInfo& option = find_option(key, *info_);
    const auto found = profile_.find(key);
    const std::string usual = found != profile_.end()
                                  ? found->second
                                  : canonical_value(info_->name, option, option.fallback);
    if (value == usual || !counts(option)) continue;
    text += fmt::format("{}{}={}", before, key, value);
    before = ',';
  }
  return text;
}

MethodSpec MethodSpec::for_model(const ModelShape& shape) const {
  if (profile_prefix_ == shape.profile_prefix) return *this;  // every session asks
  return for_profile(shape.profile_prefix);
}

MethodSpec MethodSpec::for_profile(const std::string& prefix) const {
  MethodSpec spec = *this;
  spec.profile_prefix_ = prefix;
  for (const auto& [key, text] : read_profile(prefix, info_->name)) {
    try {
      const OptionInfo& option = find_option(key, *info_);
      if (option.kind == OptionKind::kOutputFile) user_error("options.{}: {}", key, kNoWriting);
      const std::string value = canonical_value(info_->name, option, text);
      spec.profile_[key] = value;
      if (!is_given(key)) spec.options_.values_[key] = value;
    } catch (const UserError& error) {
      user_error("{}{}.json: {}", prefix, info_->name, error.what());
    }
  }
  spec.refuse_idle(false);
  for (const OptionInfo& option : info_->options) spec.check_part(option);
  return spec;
}

void MethodSpec::check_part(const OptionInfo& option) const {
  const bool by_profile = !is_given(option.key) && profile_.count(option.key) > 0;
  try {
    const auto inner = part(option);
    if (!inner) return;
    if (by_profile && inner->writes()) user_error("options.{}: {}", option.key, kNoWriting);
    inner->for_profile(*profile_prefix_);
  } catch (const UserError& error) {
    if (!by_profile) throw;
    user_error("{}: {}", profile_path(*profile_prefix_, info_->name).string(), error.what());
  }
}

uint64_t MethodSpec::fingerprint() const {
  std::string text(info_->name);
  for (const OptionInfo& option : info_->options) {
    if (!counts(option)) continue;
    const std::string& value = options_.text(option.key);
    text += fmt::format("\n{}={}", option.key, value);
    if (const auto inner = part(option)) {
      const MethodSpec known = profile_prefix_ ? inner->for_profile(*profile_prefix_) : *inner;
      text += fmt::format(" {:016x}", known.fingerprint());
    }
    if (option.kind != OptionKind::kFile || !is_file(value)) continue;
    const MappedFile file(value);
    text += fmt::format(" {:016x}", XXH3_64bits(file.bytes().data(), file.bytes().size()));
  }
  return XXH3_64bits(text.data(), text.size());
}

std::unique_ptr<AttentionMethod> MethodSpec::make(const ModelShape& shape) const {
  const MethodSpec spec = for_model(shape);
  spec.refuse_lacking();
  MethodOptions used = spec.options_;
  for (const OptionInfo& option : info_->options) {
    if (!spec.idle(option)) continue;
    used.values_[std::string(option.key)] = canonical_value(info_->name, option, option.fallback);
  }
  return info_->make(used, shape);
}

}  // namespace longhaul
