#include "calibrate/reattention_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace longhaul {
namespace {

constexpr int64_t kGlobal = 32, kTile = 128, kMostChunk = 512;

struct Shape {
  int64_t visible, local, span;
};

SweptSetting setting_of(const Shape& shape) {
  const int64_t clip = (shape.visible - kGlobal - shape.local) / shape.span;
  const int64_t chunk = std::min(kMostChunk, shape.local - kTile);
  const auto visible = static_cast<double>(kGlobal + clip * shape.span + shape.local);
  return {fmt::format("reattention:global={},local={},span={},clip={},chunk={}", kGlobal,
                      shape.local, shape.span, clip, chunk),
          visible};
}

int64_t whole_tiles(int64_t tokens) { return std::max<int64_t>(2 * kTile, tokens / kTile * kTile); }

}  // namespace

std::vector<SweptSetting> reattention_settings(int64_t window) {
  constexpr int64_t kLeast = 640;
  if (window < kLeast) {
    user_error("calibrate reattention: {} tokens to be seen are fewer than {}: see --lengths",
               window, kLeast);
  }
  std::vector<SweptSetting> tried;
  const auto add = [&](int64_t visible, int64_t share, int64_t span) {
    const Shape shape{visible, whole_tiles(visible / share), span};
    if (shape.visible - kGlobal - shape.local < span) return;
    const SweptSetting setting = setting_of(shape);
    const bool known = std::ranges::any_of(
        tried, [&](const SweptSetting& other) { return other.attention == setting.attention; });
    if (!known) tried.push_back(setting);
  };
  add(window, 2, 32);  // the published shape
  add(window, 4, 32);
  for (const int64_t span : {32, 16, 64}) add(window / 2, 2, span);
  add(window / 2, 4, 32);
  add(window / 4, 2, 32);
  add(window / 4, 4, 32);
  return tried;
}

nlohmann::ordered_json options_of(const std::string& attention) {
  nlohmann::ordered_json options = nlohmann::ordered_json::object();
  for (size_t at = attention.find(':'); at != std::string::npos;) {
    const size_t equals = attention.find('=', at), comma = attention.find(',', at + 1);
    const std::string key = attention.substr(at + 1, equals - at - 1);
    const std::string value = attention.substr(equals + 1, comma - equals - 1);
    options[key] = std::stoll(value);
    at = comma;
  }
  return options;
}

}  // namespace longhaul
