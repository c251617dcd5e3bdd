// A training that goes on later: DuoTrainer's state as a file.

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/durable_file.h"
#include "base/error.h"
#include "calibrate/duo_gates.h"
#include "text/json_file.h"

namespace longhaul {
namespace {

using nlohmann::json;

/// A list of `count` finite numbers (any number of them for -1).
std::vector<double> numbers(const json& document, const char* key, int64_t count,
                            const std::filesystem::path& file) {
  const auto found = document.find(key);
  if (found == document.end() || !found->is_array() ||
      (count >= 0 && found->size() != static_cast<size_t>(count))) {
    user_error("{}: key \"{}\": is no list{}", file.string(), key,
               count >= 0 ? fmt::format(" of {} numbers", count) : "");
  }
  std::vector<double> list;
  for (const json& value : *found) {
    if (!value.is_number() || !std::isfinite(value.get<double>())) {
      user_error("{}: key \"{}\": holds what is no number", file.string(), key);
    }
    list.push_back(value.get<double>());
  }
  return list;
}

std::vector<double> flat(const Gates& gates) {
  std::vector<double> all;
  for (const auto& layer : gates) all.insert(all.end(), layer.begin(), layer.end());
  return all;
}

void fill(const std::vector<double>& from, Gates& gates) {
  size_t at = 0;
  for (auto& layer : gates) {
    for (float& gate : layer) gate = std::clamp(static_cast<float>(from[at++]), 0.0f, 1.0f);
  }
}

}  // namespace

void DuoTrainer::save(const std::filesystem::path& file) const {
  json document = {
      {"training", "duo"},     {"settings", settings_text()}, {"done", done_},
      {"gates", flat(gates_)}, {"best", flat(best_)},         {"least", least_},
      {"losses", losses_},     {"mean", adam_.mean()},        {"square", adam_.square()}};
  replace_file(file, document.dump(1) + "\n");
}

void DuoTrainer::restore(const std::filesystem::path& file) {
  const json document = read_json_file(file);
  const auto text = [&](const char* key) {
    const auto found = document.find(key);
    return found != document.end() && found->is_string() ? found->get<std::string>() : "";
  };
  if (text("training") != "duo") {
    user_error("{}: is no state of 'longhaul calibrate duo'", file.string());
  }
  if (text("settings") != settings_text()) {
    user_error("{}: is of another model or other settings; name another file for these",
               file.string());
  }
  const auto count = static_cast<int64_t>(flat(gates_).size());
  const std::vector<double> gates = numbers(document, "gates", count, file);
  const std::vector<double> mean = numbers(document, "mean", count, file);
  const std::vector<double> square = numbers(document, "square", count, file);
  const std::vector<double> best = numbers(document, "best", -1, file);
  const std::vector<double> losses = numbers(document, "losses", -1, file);
  const auto done = static_cast<int64_t>(losses.size());
  const auto least = document.find("least");
  if (done > settings_.steps || least == document.end() || !least->is_number() ||
      (!best.empty() && best.size() != gates.size())) {
    user_error("{}: is damaged", file.string());
  }
  fill(gates, gates_);
  if (!best.empty()) {
    best_ = gates_;
    fill(best, best_);
  }
  least_ = least->get<double>();
  losses_ = losses;
  adam_ = Adam(mean, square, done);
  done_ = done;
}

}  // namespace longhaul
