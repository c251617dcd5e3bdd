#include "base/byte_stream.h"

#include <xxhash.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/mapped_file.h"

namespace longhaul {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 20;
constexpr size_t kHashBytes = sizeof(XXH64_hash_t);

struct FreeHash {
  void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
};

}  // namespace

struct ByteWriter::State {
  std::filesystem::path path, part;
  std::FILE* file = nullptr;
  std::unique_ptr<XXH3_state_t, FreeHash> hash;

  [[noreturn]] void fail() const {
    user_error("{}: cannot write: {}", path.string(), std::strerror(errno));
  }
  void write(const void* data, size_t size) {
    if (std::fwrite(data, 1, size, file) != size) fail();
  }
};

ByteWriter::ByteWriter(const std::filesystem::path& path) : state_(std::make_unique<State>()) {
  // Renaming over a device or a pipe would take it away from everybody.
  std::error_code ignored;
  const auto there = std::filesystem::status(path, ignored).type();
  using std::filesystem::file_type;
  if (there == file_type::character || there == file_type::block || there == file_type::fifo ||
      there == file_type::socket) {
    user_error("{}: cannot write: not a regular file", path.string());
  }
  state_->path = path;
  state_->part = path;
  state_->part += ".part";
  state_->hash.reset(XXH3_createState());
  LH_ASSERT(state_->hash != nullptr && XXH3_64bits_reset(state_->hash.get()) == XXH_OK);
  state_->file = std::fopen(state_->part.c_str(), "wbe");
  if (state_->file == nullptr) state_->fail();
  std::setvbuf(state_->file, nullptr, _IOFBF, kBufferBytes);
}

ByteWriter::~ByteWriter() {
  if (state_->part.empty()) return;  // in place
  if (state_->file != nullptr) std::fclose(state_->file);
  std::error_code ignored;
  std::filesystem::remove(state_->part, ignored);
}

void ByteWriter::bytes(const void* data, size_t size) {
  if (size == 0) return;
  LH_ASSERT(state_->file != nullptr);
  XXH3_64bits_update(state_->hash.get(), data, size);
  state_->write(data, size);
}

void ByteWriter::text(const std::string& value) {
  number<uint64_t>(value.size());
  bytes(value.data(), value.size());
}

void ByteWriter::finish() {
  LH_ASSERT(state_->file != nullptr);
  const XXH64_hash_t hash = XXH3_64bits_digest(state_->hash.get());
  state_->write(&hash, sizeof hash);
  std::FILE* file = std::exchange(state_->file, nullptr);
  if (std::fclose(file) != 0) state_->fail();
  if (std::rename(state_->part.c_str(), state_->path.c_str()) != 0) state_->fail();
  state_->part.clear();
}

struct ByteReader::State {
  explicit State(const std::filesystem::path& path) : file(path) {}
  MappedFile file;
  const std::byte* next = nullptr;
  const std::byte* end = nullptr;
};

ByteReader::ByteReader(const std::filesystem::path& path) : state_(std::make_unique<State>(path)) {
  const std::span<const std::byte> all = state_->file.bytes();
  if (all.size() < kHashBytes) too_short();
  state_->next = all.data();
  state_->end = all.data() + all.size() - kHashBytes;
  XXH64_hash_t stored;
  std::memcpy(&stored, state_->end, sizeof stored);
  if (XXH3_64bits(all.data(), all.size() - kHashBytes) != stored) {
    user_error("{}: damaged: checksum does not match", path.string());
  }
}

ByteReader::~ByteReader() = default;

void ByteReader::bytes(void* data, size_t size) {
  if (size > remaining()) too_short();
  if (size > 0) std::memcpy(data, state_->next, size);
  state_->next += size;
}

std::string ByteReader::text() {
  const uint64_t size = number<uint64_t>();
  if (size > remaining()) too_short();
  std::string value(size, '\0');
  bytes(value.data(), size);
  return value;
}

uint64_t ByteReader::remaining() const { return static_cast<uint64_t>(state_->end - state_->next); }

const std::filesystem::path& ByteReader::path() const { return state_->file.path(); }

void ByteReader::too_short() const {
  user_error("{}: damaged: ends too early", state_->file.path().string());
}

}  // namespace longhaul
