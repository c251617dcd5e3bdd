#include "format/gguf_metadata.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "format/byte_cursor.h"
#include "format/gguf_value.h"
#include "text/printable.h"

namespace longhaul {
namespace {

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string type_text(const GgufEntry& entry) {
  if (entry.type != GgufType::kArray) return std::string(name_of(entry.type));
  return fmt::format("array of {} {}", entry.array.count, name_of(entry.array.element));
}

}  // namespace

void GgufMetadata::add(const GgufEntry& entry) {
  if (!index_.emplace(entry.key, entries_.size()).second) {
    user_error("{}: metadata key {} appears twice", file_, printable(entry.key));
  }
  entries_.push_back(entry);
}

const GgufEntry* GgufMetadata::find(std::string_view key) const {
  const auto found = index_.find(key);
  return found == index_.end() ? nullptr : &entries_[found->second];
}

void GgufMetadata::missing(std::string_view key) const {
  user_error("{}: metadata key {} is missing", file_, printable(key));
}

void GgufMetadata::wrong_type(const GgufEntry& entry, std::string_view wanted) const {
  user_error("{}: metadata key {} is of type {}, not {}", file_, printable(entry.key),
             type_text(entry), wanted);
}

std::optional<uint64_t> GgufMetadata::find_u64(std::string_view key) const {
  const GgufEntry* entry = find(key);
  if (entry == nullptr) return std::nullopt;
  if (!is_integer(entry->type)) wrong_type(*entry, "an integer");
  const GgufInteger v = load_integer(entry->type, entry->bytes.data());
  if (v.negative) {
    user_error("{}: metadata key {} is {}: it must not be negative", file_, printable(key),
               static_cast<int64_t>(v.bits));
  }
  return v.bits;
}

std::optional<int64_t> GgufMetadata::find_i64(std::string_view key) const {
  const GgufEntry* entry = find(key);
  if (entry == nullptr) return std::nullopt;
  if (!is_integer(entry->type)) wrong_type(*entry, "an integer");
  const GgufInteger v = load_integer(entry->type, entry->bytes.data());
  if (!v.negative && v.bits > static_cast<uint64_t>(INT64_MAX)) {
    user_error("{}: metadata key {} is {}: too large", file_, printable(key), v.bits);
  }
  return static_cast<int64_t>(v.bits);
}

std::optional<double> GgufMetadata::find_f64(std::string_view key) const {
  const GgufEntry* entry = find(key);
  if (entry == nullptr) return std::nullopt;
  if (!is_number(entry->type)) wrong_type(*entry, "a number");
  return load_number(entry->type, entry->bytes.data());
}

std::optional<bool> GgufMetadata::find_bool(std::string_view key) const {
  const GgufEntry* entry = find(key);
  if (entry == nullptr) return std::nullopt;
  if (entry->type != GgufType::kBool) wrong_type(*entry, "bool");
  return std::to_integer<int>(entry->bytes[0]) != 0;
}

std::optional<std::string_view> GgufMetadata::find_string(std::string_view key) const {
  const GgufEntry* entry = find(key);
  if (entry == nullptr) return std::nullopt;
  if (entry->type != GgufType::kString) wrong_type(*entry, "string");
  return text_of(entry->bytes);
}

std::optional<GgufArray> GgufMetadata::find_array(std::string_view key) const {
  const GgufEntry* entry = find(key);
  if (entry == nullptr) return std::nullopt;
  if (entry->type != GgufType::kArray) wrong_type(*entry, "an array");
  return entry->array;
}

uint64_t GgufMetadata::get_u64(std::string_view key) const {
  if (const auto v = find_u64(key)) return *v;
  missing(key);
}
int64_t GgufMetadata::get_i64(std::string_view key) const {
  if (const auto v = find_i64(key)) return *v;
  missing(key);
}
double GgufMetadata::get_f64(std::string_view key) const {
  if (const auto v = find_f64(key)) return *v;
  missing(key);
}
bool GgufMetadata::get_bool(std::string_view key) const {
  if (const auto v = find_bool(key)) return *v;
  missing(key);
}
std::string_view GgufMetadata::get_string(std::string_view key) const {
  if (const auto v = find_string(key)) return *v;
  missing(key);
}
GgufArray GgufMetadata::get_array(std::string_view key) const {
  if (const auto v = find_array(key)) return *v;
  missing(key);
}

std::optional<std::vector<std::string_view>> GgufMetadata::find_strings(
    std::string_view key) const {
  const auto array = find_array(key);
  if (!array) return std::nullopt;
  if (array->element != GgufType::kString) wrong_type(*find(key), "an array of strings");
  std::vector<std::string_view> strings;
  strings.reserve(array->count);  // each takes at least 8 bytes of the file
  ByteCursor reader(array->bytes, file_);
  for (uint64_t i = 0; i < array->count; ++i) strings.push_back(reader.read_string(key));
  return strings;
}

std::optional<std::vector<int64_t>> GgufMetadata::find_integers(std::string_view key) const {
  const auto array = find_array(key);
  if (!array) return std::nullopt;
  if (!is_integer(array->element)) wrong_type(*find(key), "an array of integers");
  std::vector<int64_t> values;
  values.reserve(array->count);
  const size_t stride = fixed_bytes(array->element);
  for (uint64_t i = 0; i < array->count; ++i) {
    const GgufInteger v = load_integer(array->element, array->bytes.data() + i * stride);
    if (!v.negative && v.bits > static_cast<uint64_t>(INT64_MAX)) {
      user_error("{}: metadata key {}: element {} is {}: too large", file_, printable(key), i,
                 v.bits);
    }
    values.push_back(static_cast<int64_t>(v.bits));
  }
  return values;
}

std::optional<std::vector<float>> GgufMetadata::find_floats(std::string_view key) const {
  const auto array = find_array(key);
  if (!array) return std::nullopt;
  if (!is_number(array->element)) wrong_type(*find(key), "an array of numbers");
  std::vector<float> values;
  values.reserve(array->count);
  const size_t stride = fixed_bytes(array->element);
  for (uint64_t i = 0; i < array->count; ++i) {
    values.push_back(
        static_cast<float>(load_number(array->element, array->bytes.data() + i * stride)));
  }
  return values;
}

std::optional<std::vector<uint64_t>> GgufMetadata::find_u64_per_layer(std::string_view key,
                                                                      uint64_t layers) const {
  constexpr uint64_t kMostLayers = 1 << 16;  // so that no number in a file determines an allocation
  const GgufEntry* entry = find(key);
  if (entry == nullptr) return std::nullopt;
  if (layers > kMostLayers) {
    user_error("{}: {} layers: at most {} are possible", file_, layers, kMostLayers);
  }
  if (entry->type != GgufType::kArray) return std::vector<uint64_t>(layers, get_u64(key));
  if (entry->array.count != layers) {
    user_error("{}: metadata key {} has {} elements for {} layers", file_, printable(key),
               entry->array.count, layers);
  }
  std::vector<uint64_t> values;
  const auto integers = *find_integers(key);
  for (const int64_t v : integers) {
    if (v < 0) {
      user_error("{}: metadata key {}: element {} is {}: it must not be negative", file_,
                 printable(key), values.size(), v);
    }
    values.push_back(static_cast<uint64_t>(v));
  }
  return values;
}

std::string GgufMetadata::describe(const GgufEntry& entry) const {
  if (entry.type != GgufType::kArray) return describe_scalar(entry.type, entry.bytes);
  constexpr uint64_t kShown = 4;
  const GgufArray& array = entry.array;
  std::string out = fmt::format("{} {} [", array.count, name_of(array.element));
  ByteCursor reader(array.bytes, file_);
  for (uint64_t i = 0; i < std::min(array.count, kShown); ++i) {
    if (i > 0) out += ", ";
    if (array.element == GgufType::kString) {
      out += printable(reader.read_string(entry.key));
    } else if (array.element == GgufType::kArray) {
      out += "...";
    } else {
      out += describe_scalar(array.element, reader.take(fixed_bytes(array.element), entry.key));
    }
  }
  return out + (array.count > kShown ? ", ...]" : "]");
}

}  // namespace longhaul
