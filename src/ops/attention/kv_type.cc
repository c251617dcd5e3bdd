#include "ops/attention/kv_type.h"

#include <algorithm>
#include <cctype>

namespace longhaul {
namespace {

constexpr DType kTypes[] = {DType::F32, DType::F16, DType::BF16, DType::Q8_0, DType::Q4_0};

std::optional<DType> row_type(std::string_view name) {
  const std::optional<DType> type = dtype_from_name(name);
  return type && is_kv_type(*type) ? type : std::nullopt;
}

}  // namespace

bool KvType::holds(int head_dim) const {
  const auto fits = [&](DType type) {
    const auto block = traits(type).block_size;
    return block == 1 || head_dim % block == 0;
  };
  return fits(k) && fits(v);
}

bool is_kv_type(DType type) { return std::ranges::find(kTypes, type) != std::end(kTypes); }

std::string kv_type_names() {
  std::string names;
  for (const DType type : kTypes) {
    if (!names.empty()) names += type == *std::rbegin(kTypes) ? " or " : ", ";
    names += flag_of(type);
  }
  return names;
}

std::string name_of(const KvType& type) {
  if (type.k == type.v) return std::string(name_of(type.k));
  return std::string("k=").append(name_of(type.k)).append(",v=").append(name_of(type.v));
}

std::string flag_of(const KvType& type) {
  std::string text = name_of(type);
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

std::optional<KvType> kv_type_from_name(std::string_view name) {
  KvType type;
  if (name.find('=') == std::string_view::npos) {
    const std::optional<DType> both = row_type(name);
    return both ? std::optional<KvType>(*both) : std::nullopt;
  }
  bool given_k = false, given_v = false;
  while (!name.empty()) {
    const size_t end = std::min(name.find(','), name.size());
    const std::string_view side = name.substr(0, std::min<size_t>(end, 2));
    const std::optional<DType> of = row_type(name.substr(side.size(), end - side.size()));
    bool& given = side == "k=" ? given_k : given_v;
    if ((side != "k=" && side != "v=") || !of || given) return std::nullopt;
    (side == "k=" ? type.k : type.v) = *of;
    given = true;
    name.remove_prefix(std::min(end + 1, name.size()));
  }
  return type;
}

}  // namespace longhaul
