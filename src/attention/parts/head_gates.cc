#include "attention/parts/head_gates.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

#include "attention/parts/option_file.h"
#include "base/error.h"
#include "base/mapped_file.h"
#include "base/parse_number.h"

namespace longhaul {
namespace {

constexpr std::string_view kBlank = " \t\r";
constexpr size_t kShown = 24;  // characters of a faulty field

std::vector<double> read_line(std::string_view line, const std::string& file, size_t number) {
  std::vector<double> gates;
  for (size_t at = line.find_first_not_of(kBlank); at != std::string_view::npos;) {
    const size_t end = std::min(line.find_first_of(kBlank, at), line.size());
    const std::string_view field = line.substr(at, end - at);
    double gate = 0;
    if (!parse_number(field, gate) || !std::isfinite(gate)) {
      std::string shown(field.substr(0, kShown));
      std::replace_if(
          shown.begin(), shown.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
      user_error("{}: line {}: '{}' is no gate; a gate file has a row of numbers per layer", file,
                 number, shown);
    }
    gates.push_back(std::clamp(gate, 0.0, 1.0));
    at = line.find_first_not_of(kBlank, end);
  }
  return gates;
}

HeadGates read_table(const std::filesystem::path& path, std::span<const int> kv_heads) {
  const MappedFile mapped(path);
  const std::string file = path.string();
  std::string_view rest(reinterpret_cast<const char*>(mapped.bytes().data()),
                        mapped.bytes().size());
  HeadGates gates;
  size_t rows = 0;
  for (size_t number = 1; !rest.empty(); ++number) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.find_first_not_of(kBlank) == std::string_view::npos) continue;
    if (++rows > kv_heads.size()) continue;  // only counted
    gates.push_back(read_line(line, file, number));
    const size_t expected = static_cast<size_t>(kv_heads[rows - 1]);
    if (gates.back().size() != expected) {
      user_error("{}: line {} has {} columns, layer {} of the model has {} KV heads", file, number,
                 gates.back().size(), rows - 1, expected);
    }
  }
  if (rows != kv_heads.size()) {
    user_error("{}: has {} rows, the model has {} layers", file, rows, kv_heads.size());
  }
  return gates;
}

}  // namespace

HeadGates read_gates(const std::filesystem::path& file, std::span<const int> kv_heads) {
  return read_option_file("duo", "gates", [&] { return read_table(file, kv_heads); });
}

FullHeads full_by_sparsity(const HeadGates& gates, double sparsity) {
  struct Place {
    double gate;
    size_t layer, head;
  };
  std::vector<Place> places;
  FullHeads full;
  for (size_t layer = 0; layer < gates.size(); ++layer) {
    full.emplace_back(gates[layer].size(), uint8_t{0});
    for (size_t head = 0; head < gates[layer].size(); ++head) {
      places.push_back({gates[layer][head], layer, head});
    }
  }
  std::stable_sort(places.begin(), places.end(),
                   [](const Place& a, const Place& b) { return a.gate > b.gate; });
  size_t count = places.size();
  if (sparsity >= 1) count = 0;
  if (count > 0 && sparsity > 0) {
    // Gates below the quantile at rank sparsity * (n - 1); 1e-9 forgives the product's rounding.
    const double rank = sparsity * static_cast<double>(count - 1);
    count -= static_cast<size_t>(std::ceil(rank - 1e-9));
  }
  for (size_t i = 0; i < count; ++i) full[places[i].layer][places[i].head] = 1;
  return full;
}

FullHeads full_by_threshold(const HeadGates& gates, double threshold) {
  FullHeads full;
  for (const auto& layer : gates) {
    full.emplace_back();
    for (const double gate : layer) full.back().push_back(gate >= threshold ? 1 : 0);
  }
  return full;
}

FullHeads all_heads(std::span<const int> kv_heads, bool full) {
  FullHeads heads;
  for (const int count : kv_heads) heads.emplace_back(static_cast<size_t>(count), full ? 1 : 0);
  return heads;
}

}  // namespace longhaul
