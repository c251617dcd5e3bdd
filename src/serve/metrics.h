#pragma once
// Collects counters and histograms, and writes them in Prometheus' text format. They never contain
// texts of users.

#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace longhaul::serve {

class Metrics {
 public:
  /// Adds to a counter. `labels` is a string such as "path=\"/v1/models\",code=\"200\"", or empty.
  void add(std::string_view name, const std::string& labels, double value = 1);
  void set(std::string_view name, const std::string& labels, double value);
  /// Adds an observation to a histogram. The buckets are suitable for seconds, or for numbers of
  /// sequences in a batch (rows) if the name ends in _rows.
  void observe(std::string_view name, double value);

  double value(std::string_view name, const std::string& labels = "") const;
  /// Returns all metrics in Prometheus' text format. If `vllm` or `llamacpp` is true, metrics are
  /// also listed under the names that vLLM or llama.cpp's server use.
  std::string text(bool vllm, bool llamacpp) const;

 private:
  struct Family {
    std::string type;
    std::map<std::string, double> values;  ///< values by the text of their labels
  };
  struct Histogram {
    std::vector<double> counts;
    double sum = 0, count = 0;
  };

  Family& family_of(std::string_view name, std::string_view type);

  mutable std::mutex mutex_;
  std::map<std::string, Family, std::less<>> families_;
  std::map<std::string, Histogram, std::less<>> histograms_;
};

}  // namespace longhaul::serve
