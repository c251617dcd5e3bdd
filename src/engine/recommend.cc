#include "engine/recommend.h"

#include "attention/method_spec.h"
#include "base/error.h"

namespace longhaul {
namespace {

struct Choice {
  const char* attention;
  bool smaller_type;       ///< whether it is recommended with --kv-type q8_0
  const char* of_profile;  ///< method whose profile must exist; empty: none
  const char* why;
};

constexpr Choice kOrder[] = {
    {"dense", false, "", "the text fits the trained length and the memory"},
    {"dense", true, "", "keys and values fit in 8 bits, with a small loss of precision"},
    {"reattention", false, "", "it goes beyond the trained length and keeps all of the text"},
    {"reattention", true, "", "the same with keys and values in 8 bits, in half of the memory"},
    {"ltri", false, "ltri",
     "blocks that are not in use lie on disk and are looked up by the model's retrieval heads: "
     "good for single facts"},
    {"ntk", false, "", "it goes beyond the trained length and keeps all of the text"},
    {"infllm:repr_mode=max,repr_topk=16", false, "",
     "blocks that are not in use lie on disk and are looked up: good for single facts"},
};

bool takes_more_than_q8_0(const std::string& kv_type) {
  const KvType type = kv_type_from_name(kv_type).value_or(DType::Q8_0);
  return bytes_of(type.k, 32) + bytes_of(type.v, 32) > 2 * bytes_of(DType::Q8_0, 32);
}

}  // namespace

bool stays_within_training(const AttentionDriver& method, const ModelShape& shape, int64_t tokens,
                           int chunk) {
  return shape.trained_context == 0 ||
         method.reach(tokens, chunk_of(chunk, method)) <= shape.trained_context;
}

bool has_profile(const ModelShape& shape, std::string_view method) {
  return !shape.profile_prefix.empty() && !read_profile(shape.profile_prefix, method).empty();
}

std::vector<Recommendation> recommendations(const ModelShape& shape, int64_t tokens, int chunk,
                                            const std::string& kv_type, const FitsInMemory& fits,
                                            size_t most) {
  std::vector<Recommendation> found;
  for (const Choice& choice : kOrder) {
    if (found.size() == most) break;
    const std::string profile = choice.of_profile;
    if (!profile.empty() && !has_profile(shape, profile)) continue;
    const std::string type = choice.smaller_type ? "q8_0" : kv_type;
    if (choice.smaller_type && !takes_more_than_q8_0(kv_type)) continue;
    try {
      const auto method = MethodSpec::parse(choice.attention).make(shape);
      if (!stays_within_training(*method, shape, tokens, chunk)) continue;
      if (!fits(choice.attention, type)) continue;
      found.push_back({choice.attention, type, choice.why});
    } catch (const UserError&) {  // the method needs options or does not support the model
    }
  }
  return found;
}

std::optional<Recommendation> recommend(const ModelShape& shape, int64_t tokens, int chunk,
                                        const std::string& kv_type, const FitsInMemory& fits) {
  std::vector<Recommendation> found = recommendations(shape, tokens, chunk, kv_type, fits, 1);
  return found.empty() ? std::nullopt : std::optional(std::move(found.front()));
}

}  // namespace longhaul
