#include "serve/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

namespace longhaul::serve {
namespace {

constexpr std::array kSeconds = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,  0.25,
                                 0.5,   1.0,    2.5,   5.0,  10.0,  30.0, 60.0, 300.0};
constexpr std::array kRows = {1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0};

std::span<const double> bounds_of(std::string_view name) {
  if (name.ends_with("_rows")) return kRows;
  return kSeconds;
}

std::string line(std::string_view name, const std::string& labels, double value) {
  return labels.empty() ? fmt::format("{} {}\n", name, value)
                        : fmt::format("{}{{{}}} {}\n", name, labels, value);
}

/// The name by which other servers count something; a counter where it ends in _total.
struct OtherName {
  const char *name, *own, *labels = nullptr;
};
constexpr OtherName kVllm[] = {{"vllm:num_requests_running", "longhaul_running"},
                               {"vllm:num_requests_waiting", "longhaul_waiting"},
                               {"vllm:kv_cache_usage_perc", "longhaul_kv_usage"}};
constexpr OtherName kLlamaCpp[] = {
    {"llamacpp:requests_processing", "longhaul_running"},
    {"llamacpp:requests_deferred", "longhaul_waiting"},
    {"llamacpp:kv_cache_usage_ratio", "longhaul_kv_usage"},
    {"llamacpp:prompt_tokens_total", "longhaul_prompt_tokens_total", "source=\"read\""},
    {"llamacpp:prompt_tokens_cached_total", "longhaul_prompt_tokens_total", "source=\"memory\""},
    {"llamacpp:tokens_predicted_total", "longhaul_reply_tokens_total"}};

}  // namespace

Metrics::Family& Metrics::family_of(std::string_view name, std::string_view type) {
  auto found = families_.find(name);
  if (found == families_.end()) found = families_.emplace(name, Family()).first;
  found->second.type = type;
  return found->second;
}

void Metrics::add(std::string_view name, const std::string& labels, double value) {
  const std::lock_guard lock(mutex_);
  family_of(name, "counter").values[labels] += value;
}

void Metrics::set(std::string_view name, const std::string& labels, double value) {
  const std::lock_guard lock(mutex_);
  family_of(name, "gauge").values[labels] = value;
}

void Metrics::observe(std::string_view name, double value) {
  const std::lock_guard lock(mutex_);
  auto found = histograms_.find(name);
  if (found == histograms_.end()) found = histograms_.emplace(name, Histogram()).first;
  Histogram& histogram = found->second;
  const std::span<const double> bounds = bounds_of(name);
  histogram.counts.resize(bounds.size());
  for (size_t i = 0; i < bounds.size(); ++i) {
    if (value <= bounds[i]) ++histogram.counts[i];
  }
  histogram.sum += value;
  ++histogram.count;
}

double Metrics::value(std::string_view name, const std::string& labels) const {
  const std::lock_guard lock(mutex_);
  const auto family = families_.find(name);
  if (family == families_.end()) return 0;
  const auto found = family->second.values.find(labels);
  return found == family->second.values.end() ? 0 : found->second;
}

std::string Metrics::text(bool vllm, bool llamacpp) const {
  const std::lock_guard lock(mutex_);
  std::string text;
  for (const auto& [name, family] : families_) {
    text += fmt::format("# TYPE {} {}\n", name, family.type);
    for (const auto& [labels, value] : family.values) text += line(name, labels, value);
  }
  for (const auto& [name, histogram] : histograms_) {
    text += fmt::format("# TYPE {} histogram\n", name);
    const std::span<const double> bounds = bounds_of(name);
    for (size_t i = 0; i < bounds.size(); ++i) {
      text += line(name + "_bucket", fmt::format("le=\"{}\"", bounds[i]), histogram.counts[i]);
    }
    text += line(name + "_bucket", "le=\"+Inf\"", histogram.count);
    text += line(name + "_sum", "", histogram.sum) + line(name + "_count", "", histogram.count);
  }
  const auto add_other = [&](const OtherName& other) {
    double sum = 0;
    if (const auto family = families_.find(other.own); family != families_.end()) {
      for (const auto& [labels, value] : family->second.values) {
        if (other.labels == nullptr || labels == other.labels) sum += value;
      }
    }
    const bool counts = std::string_view(other.name).ends_with("_total");
    text += fmt::format("# HELP {} as {}\n# TYPE {} {}\n", other.name, other.own, other.name,
                        counts ? "counter" : "gauge");
    text += line(other.name, "", sum);
  };
  if (vllm) std::for_each(std::begin(kVllm), std::end(kVllm), add_other);
  if (llamacpp) std::for_each(std::begin(kLlamaCpp), std::end(kLlamaCpp), add_other);
  return text;
}

}  // namespace longhaul::serve
