// A session on disk: the KV store after a prompt, keyed by what it was made with. Layout: magic,
// version, model fingerprint, method and its fingerprint, KV type, tokens, length of the angles,
// logits, method state, store, hash.

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>

#include "base/byte_stream.h"
#include "base/error.h"
#include "base/paths.h"
#include "engine/session_state.h"
#include "text/printable.h"

namespace longhaul {
namespace {

constexpr uint64_t kMagic = 0x4b564c5548474e4cULL;  // "LNGHULVK"
constexpr int64_t kMostTokens = int64_t{1} << 40;
constexpr uint32_t kVersion = 8;

/// Of another kind of file the checksum says nothing.
void check_magic(const std::filesystem::path& file) {
  if (!is_file(file)) return;  // the reader says what is wrong
  std::ifstream in(file, std::ios::binary);
  std::array<char, sizeof kMagic> begin{};
  if (!in.read(begin.data(), begin.size())) return;
  if (std::memcmp(begin.data(), &kMagic, begin.size()) == 0) return;
  user_error("{}: not a session file of longhaul", file.string());
}

/// A text of the file as a message may hold it.
std::string shown(const std::string& text) {
  const bool plain =
      std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 127; });
  return plain ? text : printable(text);
}

/// A method's text as this build says it: an older file leaves out options that came later.
std::string said_now(const std::string& method, const ModelShape& shape) {
  try {
    return MethodSpec::parse(method).for_model(shape).text();
  } catch (const UserError&) {
    return method;  // no method of this build
  }
}

/// What the parts of a file say of each other.
void check_parts(const AttentionDriver& method, const KvStore& store, int64_t tokens,
                 const std::string& file) {
  try {
    for (int layer = 0; layer < store.layout().layers(); ++layer) {
      for (int head = 0; head < store.layout().heads[static_cast<size_t>(layer)]; ++head) {
        if (store.appended(layer, head) == tokens) continue;
        user_error("layer {} has seen {} tokens in list {}, the context has {}", layer,
                   store.appended(layer, head), head, tokens);
      }
    }
    method.check_restored(store, tokens);
  } catch (const UserError& error) {
    user_error("{}: damaged: {}", file, error.what());
  }
}

/// What the store and the method's state can take while the rest of a file is read: never more
/// than they take in the file, but for the unused ends of pages; and where rows go to the slower
/// tier, one list in memory beside what the method holds.
size_t most_bytes_restored(const AttentionDriver& method, const KvLayout& layout, int64_t tokens,
                           int chunk, uint64_t in_file) {
  const auto lists = static_cast<size_t>(layout.all_heads());
  const size_t as_in_file = static_cast<size_t>(in_file) + lists * layout.page_bytes();
  if (method.keeps_replies()) return as_in_file;  // how many of the tokens are replies is not known
  return std::min(as_in_file,
                  method.most_kv_bytes(layout, tokens, chunk) + layout.bytes_for(tokens) / lists);
}

}  // namespace

bool is_session_file(const std::filesystem::path& file) {
  if (!is_file(file)) return false;  // a pipe would not tell without being read
  uint64_t magic = 0;
  std::ifstream in(file, std::ios::binary);
  in.read(reinterpret_cast<char*>(&magic), sizeof magic);
  return in.gcount() == sizeof magic && magic == kMagic;
}

void Session::save(const std::filesystem::path& file) const {
  const State& s = *state_;
  if (s.tokens.empty())
    user_error("{}: nothing to save: the session has read no tokens", file.string());
  ByteWriter out(file);
  out.number(kMagic);
  out.number(kVersion);
  out.number(s.engine->fingerprint());
  out.text(s.options.attention.text());
  out.number(s.options.attention.fingerprint());
  out.text(name_of(s.options.kv_type));
  out.array(std::span<const int32_t>(s.tokens));
  out.number(s.angles_length);
  out.array(std::span<const float>(s.logits));
  s.method->save(out);
  s.store().save(out);
  out.finish();
}

void Session::load(const std::filesystem::path& file) {
  State& s = *state_;
  check_magic(file);
  ByteReader in(file);
  const std::string name = file.string();
  if (in.remaining() < sizeof kMagic || in.number<uint64_t>() != kMagic) {
    user_error("{}: not a session file of longhaul", name);
  }
  const auto version = in.number<uint32_t>();
  if (version != kVersion) {
    user_error("{}: session file of version {}, this build reads version {}; save it anew", name,
               version, kVersion);
  }
  if (in.number<uint64_t>() != s.engine->fingerprint()) {
    user_error("{}: was saved with another model than {}", name,
               s.engine->checkpoint().path().string());
  }
  const std::string method = in.text();
  const std::string own = s.options.attention.text();
  if (method != own && said_now(method, s.decoder.shape()) != own) {
    user_error("{}: was saved with --attention {}, this session uses {}", name, shown(method), own);
  }
  if (in.number<uint64_t>() != s.options.attention.fingerprint()) {
    user_error(
        "{}: was saved with other settings of {}: the model's profile or a file that it names has "
        "changed",
        name, method);
  }
  const std::string type = in.text();
  if (type != name_of(s.options.kv_type)) {
    user_error("{}: was saved with --kv-type {}, this session uses {}", name, shown(type),
               flag_of(s.options.kv_type));
  }
  std::vector<int32_t> tokens = in.array<int32_t>();
  const auto angles_length = in.number<int64_t>();
  std::vector<float> logits = in.array<float>();
  for (const int32_t token : tokens) {
    if (token < 0 || token >= s.engine->model().config.vocab) {
      user_error("{}: holds token {}, which the model does not have", name, token);
    }
  }
  if (!logits.empty() && logits.size() != static_cast<size_t>(s.engine->model().config.vocab)) {
    user_error("{}: holds {} logits, the model has {} tokens", name, logits.size(),
               s.engine->model().config.vocab);
  }
  if (angles_length < 0 || angles_length > kMostTokens) {
    user_error("{}: says that it was read as a context of {} tokens", name, angles_length);
  }
  // Everything is read before anything of this session changes.
  std::unique_ptr<AttentionDriver> restored = s.options.attention.make(s.decoder.shape());
  KvStore store = s.make_store(*restored);
  MemoryForecast need;
  need.weights = s.engine->weight_bytes();
  if (s.options.queue.on_host()) need.process = s.engine->process_bytes();
  need.kv = s.store().bytes() + most_bytes_restored(*restored, store.layout(), std::ssize(tokens),
                                                    s.chunk, in.remaining());
  s.check_memory(need, fmt::format("{}: its {} tokens", name, tokens.size()),
                 "a file saved with --kv-type q8_0 or an attention method that keeps less");
  restored->restore(in);
  store.restore(in);
  if (in.remaining() != 0) user_error("{}: {} bytes too many", name, in.remaining());
  check_parts(*restored, store, static_cast<int64_t>(tokens.size()), name);
  s.set_angles(angles_length);
  s.method = std::move(restored);
  s.to_be_reset = false;
  s.store() = std::move(store);
  s.tokens = std::move(tokens);
  s.logits = std::move(logits);
}

}  // namespace longhaul
