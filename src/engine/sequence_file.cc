// Session files: a sequence on disk, with the settings that it depends on. A file contains, in this
// order: magic number, version, fingerprint of the model, method and its fingerprint, KV type,
// tokens, context length of the RoPE angles, logits, state of the method, KV store, state of
// recurrent layers if the model has some, and a hash of the file. A sequence on several devices
// (base/communicator.h) has another version, which is followed by the number of devices. Its file
// contains a method state and a KV store for each device. Version 11 has the number of devices and
// facts about the contents (session_about.h) after the version.

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>

#include "base/byte_stream.h"
#include "base/error.h"
#include "base/paths.h"
#include "engine/sequence_state.h"
#include "engine/session_about.h"
#include "engine/session_file.h"
#include "text/printable.h"
#include "text/shell_word.h"

namespace longhaul {
namespace {

constexpr uint64_t kMagic = 0x4b564c5548474e4cULL;  // "LNGHULVK"
constexpr int64_t kMostTokens = int64_t{1} << 40;
// Version 10 is for files with a parent (SessionParent). It contains the number of devices. The
// chunk, the resume group, and the number of tokens and name of the parent follow the KV type. The
// KV stores do not contain the rows of the parent's tokens.
constexpr uint32_t kVersion = 8, kVersionOfSeveralDevices = 9, kVersionWithParent = 10;

/// Throws UserError if the file is not a session file. This is checked before the hash, which other
/// files do not have.
void check_magic(const std::filesystem::path& file) {
  if (!is_file(file)) return;  // ByteReader reports the error
  std::ifstream in(file, std::ios::binary);
  std::array<char, sizeof kMagic> begin{};
  if (!in.read(begin.data(), begin.size())) return;
  if (std::memcmp(begin.data(), &kMagic, begin.size()) == 0) return;
  user_error("{}: not a session file of longhaul", file.string());
}

uint32_t check_version(ByteReader& in, int devices, const std::string& name) {
  const auto version = in.number<uint32_t>();
  if (version < kVersion || version > kVersionWithAbout) {
    user_error("{}: session file of version {}, this build reads versions {} to {}; save it anew",
               name, version, kVersion, kVersionWithAbout);
  }
  const auto saved = version == kVersion ? 1 : in.number<uint32_t>();
  if (saved == static_cast<uint32_t>(devices)) return version;
  user_error("{}: was saved on {} devices that had the heads between them, this session has {}",
             name, saved, devices);
}

/// Refuses a file of another model, and names the model if the file does.
void check_fingerprint(ByteReader& in, const Engine& engine, const std::string& name) {
  if (in.number<uint64_t>() == engine.fingerprint()) return;
  const std::string saved = read_about(in.path()).model;
  const std::string own = engine.checkpoint().path().string();
  if (saved.empty()) {
    user_error("{}: was saved with another model than {}; name that model with -m", name, own);
  }
  user_error("{}: was saved with -m {}, another model than {}", name, shell_word(saved), own);
}

/// The facts of version 11 that `parent` contains; null: there are none.
const std::string* about_in(const SessionParent* parent) {
  const bool holds =
      parent != nullptr && parent->tokens == 0 && parent->name.starts_with(kAboutMark);
  return holds ? &parent->name : nullptr;
}

/// Reads the fields that only version 10 has.
SessionParent read_parent(ByteReader& in, int chunk, ResumeGroup group, const std::string& name) {
  const auto saved_chunk = in.number<int32_t>();
  const auto saved_group = in.number<uint8_t>();
  if (saved_chunk != chunk) {
    user_error("{}: was read in chunks of {} tokens, this session has {}", name, saved_chunk,
               chunk);
  }
  if (saved_group != static_cast<uint8_t>(group)) {
    user_error("{}: its prompts resume in another way than those of this build", name);
  }
  SessionParent parent;
  parent.tokens = in.number<int64_t>();
  parent.name = in.text();
  if (parent.tokens < 0 || parent.tokens > kMostTokens) {
    user_error("{}: continues {} tokens of another file", name, parent.tokens);
  }
  return parent;
}

/// Returns a text of the file in a form that is safe to print in error messages.
std::string shown(const std::string& text) {
  const bool plain =
      std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 127; });
  return plain ? text : printable(text);
}

/// Returns the text of a method in the canonical form of this build. Older files do not contain
/// options that were added later.
std::string said_now(const std::string& method, const ModelShape& shape) {
  try {
    return MethodSpec::parse(method).for_model(shape).text();
  } catch (const UserError&) {
    return method;  // this build does not have the method or an option
  }
}

/// Checks that the parts of a file are consistent.
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

/// Returns the peak memory of the KV store and the method's state while the rest of a file is
/// restored. Without the unused ends of pages, it does not exceed their size in the file. If rows
/// are offloaded, one whole list is in memory at a time, in addition to the rows that the method
/// keeps in memory.
size_t most_bytes_restored(const AttentionDriver& method, const KvLayout& layout, int64_t tokens,
                           int chunk, uint64_t in_file) {
  const auto lists = static_cast<size_t>(layout.all_heads());
  const size_t as_in_file = static_cast<size_t>(in_file) + lists * layout.page_bytes();
  // The file does not say how many rows belong to replies.
  if (method.keeps_replies()) return as_in_file;
  return std::min(as_in_file,
                  method.most_kv_bytes(layout, tokens, chunk) + layout.bytes_for(tokens) / lists);
}

}  // namespace

bool is_session_file(const std::filesystem::path& file) {
  if (!is_file(file)) return false;  // pipes and other special files are not session files
  uint64_t magic = 0;
  std::ifstream in(file, std::ios::binary);
  in.read(reinterpret_cast<char*>(&magic), sizeof magic);
  return in.gcount() == sizeof magic && magic == kMagic;
}

void Sequence::save(const std::filesystem::path& file) const { state_->save(file, nullptr); }

void Sequence::save_after(const std::filesystem::path& file, const SessionParent& parent) const {
  LH_ASSERT(parent.tokens == 0 || can_leave_out());
  state_->save(file, &parent);
}

bool Sequence::can_leave_out() const {
  bool plain = state_->method->can_rewind();
  state_->for_each([&](const State& each) { plain = plain && each.store().is_plain(); });
  return plain;
}

void Sequence::load(const std::filesystem::path& file) { state_->load(file, nullptr); }

void Sequence::load_after(const std::filesystem::path& file, const Sequence& parent) {
  state_->load(file, parent.state_.get());
}

void Sequence::State::save(const std::filesystem::path& file, const SessionParent* parent) const {
  const State& s = *this;
  if (s.tokens.empty())
    user_error("{}: nothing to save: the session has read no tokens", file.string());
  ByteWriter out(file);
  const auto devices = static_cast<uint32_t>(s.options.queue.ranks());
  out.number(kMagic);
  const std::string* about = about_in(parent);
  if (about != nullptr) parent = nullptr;
  const uint32_t version = about != nullptr    ? kVersionWithAbout
                           : parent != nullptr ? kVersionWithParent
                           : devices == 1      ? kVersion
                                               : kVersionOfSeveralDevices;
  out.number(version);
  if (version != kVersion) out.number(devices);
  if (about != nullptr) out.text(about->substr(kAboutMark.size()));
  out.number(s.engine->fingerprint());
  out.text(s.options.attention.text());
  out.number(s.options.attention.fingerprint());
  out.text(name_of(s.options.kv_type));
  if (parent != nullptr) {
    out.number(static_cast<int32_t>(s.chunk));
    out.number(static_cast<uint8_t>(s.method->resume_rule(s.chunk).group));
    out.number(parent->tokens);
    out.text(parent->name);
  }
  out.array(std::span<const int32_t>(s.tokens));
  out.number(s.angles_length);
  out.array(std::span<const float>(s.logits));
  s.for_each([&](const State& each) {
    each.method->save(out);
    each.store().save(out, parent != nullptr ? parent->tokens : 0);
    each.recurrent.save(out);
  });
  out.finish();
}

void Sequence::State::load(const std::filesystem::path& file, const State* parent) {
  State& s = *this;
  check_magic(file);
  ByteReader in(file);
  const std::string name = file.string();
  if (in.remaining() < sizeof kMagic || in.number<uint64_t>() != kMagic) {
    user_error("{}: not a session file of longhaul", name);
  }
  const uint32_t version = check_version(in, s.options.queue.ranks(), name);
  if (version == kVersionWithAbout) in.text();
  check_fingerprint(in, *s.engine, name);
  const std::string saved_method = in.text();
  const std::string own = s.options.attention.text();
  if (saved_method != own && said_now(saved_method, s.shape) != own) {
    user_error("{}: was saved with --attention {}, this session uses {}", name, shown(saved_method),
               own);
  }
  if (in.number<uint64_t>() != s.options.attention.fingerprint()) {
    user_error(
        "{}: was saved with other settings of {}: the model's profile or a file that it names has "
        "changed",
        name, saved_method);
  }
  const std::string type = in.text();
  if (type != name_of(s.options.kv_type)) {
    user_error("{}: was saved with --kv-type {}, this session uses {}", name, shown(type),
               flag_of(s.options.kv_type));
  }
  SessionParent before;
  if (version == kVersionWithParent) {
    before = read_parent(in, s.chunk, s.method->resume_rule(s.chunk).group, name);
  }
  if (before.tokens == 0) parent = nullptr;
  if (before.tokens > 0 && parent == nullptr) {
    user_error("{}: has only the rows after the first {} tokens, which are in {}", name,
               before.tokens, shown(before.name));
  }
  std::vector<int32_t> text = in.array<int32_t>();
  if (parent != nullptr &&
      (before.tokens > std::ssize(text) || before.tokens > std::ssize(parent->tokens) ||
       !std::equal(text.begin(), text.begin() + before.tokens, parent->tokens.begin()))) {
    user_error("{}: does not continue the tokens of {}", name, shown(before.name));
  }
  if (parent != nullptr && !(parent->can_rewind() && parent->store().is_plain())) {
    user_error("{}: {} has not all rows of its tokens", name, shown(before.name));
  }
  const auto length = in.number<int64_t>();
  std::vector<float> read_logits = in.array<float>();
  for (const int32_t token : text) {
    if (token < 0 || token >= s.engine->model().config.vocab) {
      user_error("{}: holds token {}, which the model does not have", name, token);
    }
  }
  if (!read_logits.empty() &&
      read_logits.size() != static_cast<size_t>(s.engine->model().config.vocab)) {
    user_error("{}: holds {} logits, the model has {} tokens", name, read_logits.size(),
               s.engine->model().config.vocab);
  }
  if (length < 0 || length > kMostTokens) {
    user_error("{}: says that it was read as a context of {} tokens", name, length);
  }
  const auto of_parent = [&](const State& each) {
    return parent == nullptr ? nullptr : &parent->of_member(each.options.queue.rank());
  };
  // The whole file is read before this sequence changes.
  std::vector<State::RestoredPart> parts;
  s.for_each([&](const State& each) {
    parts.push_back(each.restore_part(in, std::ssize(text), name, of_parent(each), before.tokens));
  });
  if (in.remaining() != 0) user_error("{}: {} bytes too many", name, in.remaining());
  s.take(std::move(parts.front()), text, length);
  for (size_t i = 0; i < s.peers.size(); ++i) {
    s.peers[i]->take(std::move(parts[i + 1]), text, length);
    s.peers[i]->logits.assign(read_logits.size(), 0);
  }
  s.logits = std::move(read_logits);
}

/// Reads the state of the method and the KV store of one device.
Sequence::State::RestoredPart Sequence::State::restore_part(ByteReader& in, int64_t of_tokens,
                                                            const std::string& name,
                                                            const State* parent,
                                                            int64_t parent_tokens) const {
  std::unique_ptr<AttentionDriver> made = options.attention.make(shape);
  KvStore before = parent != nullptr ? parent->store().fork() : make_store(*made);
  RestoredPart part{std::move(made), std::move(before), make_recurrent()};
  const auto devices = static_cast<uint64_t>(options.queue.ranks());
  MemoryForecast need;
  need.weights = engine->weight_bytes() / devices;
  if (options.queue.on_host()) need.process = engine->process_bytes();
  need.kv = store().bytes() + most_bytes_restored(*part.method, part.store.layout(), of_tokens,
                                                  chunk, in.remaining());
  need.kv += recurrent.bytes() + part.recurrent.most_bytes_of(of_tokens);
  check_memory(need, fmt::format("{}: its {} tokens", name, of_tokens),
               "a file saved with --kv-type q8_0 or an attention method that keeps less");
  part.method->restore(in);
  part.store.restore(in, parent_tokens);
  part.recurrent.restore(in, of_tokens);
  check_parts(*part.method, part.store, of_tokens, name);
  return part;
}

void Sequence::State::take(RestoredPart part, std::span<const int32_t> text, int64_t length) {
  set_angles(length);
  method = std::move(part.method);
  to_be_reset = false;
  store() = std::move(part.store);
  recurrent = std::move(part.recurrent);
  tokens.assign(text.begin(), text.end());
}

}  // namespace longhaul
