#include <xxhash.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "attention/option_value.h"
#include "attention/profile.h"
#include "attention/registry.h"
#include "base/error.h"
#include "base/mapped_file.h"
#include "base/nearest_name.h"

namespace longhaul {
namespace {

std::string joined(std::span<const std::string_view> names) {
  std::string text;
  for (const std::string_view name : names)
    text += fmt::format("{}{}", text.empty() ? "" : ", ", name);
  return text;
}

std::string did_you_mean(std::string_view name, std::span<const std::string_view> known) {
  const std::string_view nearest = nearest_name(name, known);
  return nearest.empty() ? std::string() : fmt::format(" (did you mean '{}'?)", nearest);
}

const MethodInfo& find_method(std::string_view name, std::span<const MethodInfo> methods) {
  std::vector<std::string_view> names;
  for (const MethodInfo& method : methods) {
    if (method.name == name) return method;
    names.push_back(method.name);
  }
  user_error("--attention: unknown method '{}'{}; methods: {}", name, did_you_mean(name, names),
             joined(names));
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
  user_error("--attention {}: unknown option '{}'{}; options: {}", method.name, key,
             did_you_mean(key, keys), joined(keys));
}

}  // namespace

const std::string& MethodOptions::text(std::string_view key) const {
  const auto found = values_.find(key);
  LH_ASSERT(found != values_.end());
  return found->second;
}

int64_t MethodOptions::integer(std::string_view key) const {
  const std::string& value = text(key);
  int64_t number = 0;
  const auto result = std::from_chars(value.data(), value.data() + value.size(), number);
  LH_ASSERT(result.ec == std::errc() && result.ptr == value.data() + value.size());
  return number;
}

double MethodOptions::real(std::string_view key) const {
  const std::string& value = text(key);
  double number = 0;
  const auto result = std::from_chars(value.data(), value.data() + value.size(), number);
  LH_ASSERT(result.ec == std::errc() && result.ptr == value.data() + value.size());
  return number;
}

bool MethodOptions::flag(std::string_view key) const {
  const std::string& value = text(key);
  LH_ASSERT(value == "true" || value == "false");
  return value == "true";
}

MethodSpec MethodSpec::parse(std::string_view text, std::span<const MethodInfo> methods) {
  MethodSpec spec;
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
  return spec;
}

void MethodSpec::set_default(std::string_view key, std::string_view value) {
  LH_ASSERT(!profile_prefix_);
  if (std::find(given_.begin(), given_.end(), key) != given_.end()) return;
  options_.values_.find(key)->second =
      canonical_value(info_->name, find_option(key, *info_), value);
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
    if (value == usual) continue;
    text += fmt::format("{}{}={}", before, key, value);
    before = ',';
  }
  return text;
}

MethodSpec MethodSpec::for_model(const ModelShape& shape) const {
  if (profile_prefix_ == shape.profile_prefix) return *this;  // every session asks
  MethodSpec spec = *this;
  spec.profile_prefix_ = shape.profile_prefix;
  for (const auto& [key, text] : read_profile(shape.profile_prefix, info_->name)) {
    try {
      const OptionInfo& option = find_option(key, *info_);
      const std::string value = canonical_value(info_->name, option, text);
      if (option.writes || value.find("save=") != std::string::npos) {
        user_error("options.{}: a profile makes no method write files", key);
      }
      spec.profile_[key] = value;
      const bool given = std::find(given_.begin(), given_.end(), key) != given_.end();
      if (!given) spec.options_.values_[key] = value;
    } catch (const UserError& error) {
      user_error("{}{}.json: {}", shape.profile_prefix, info_->name, error.what());
    }
  }
  return spec;
}

uint64_t MethodSpec::fingerprint() const {
  std::string text(info_->name);
  for (const OptionInfo& option : info_->options) {
    const std::string& value = options_.text(option.key);
    text += fmt::format("\n{}={}", option.key, value);
    std::error_code ignored;
    if (option.kind != OptionKind::kFile || !std::filesystem::is_regular_file(value, ignored)) {
      continue;
    }
    const MappedFile file(value);
    text += fmt::format(" {:016x}", XXH3_64bits(file.bytes().data(), file.bytes().size()));
  }
  return XXH3_64bits(text.data(), text.size());
}

std::unique_ptr<AttentionMethod> MethodSpec::make(const ModelShape& shape) const {
  return info_->make(for_model(shape).options_, shape);
}

}  // namespace longhaul
