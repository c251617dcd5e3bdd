#include "base/byte_stream.h"

#include <fcntl.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/part_file.h"
#include "base/regular_file.h"

namespace longhaul {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 20;
constexpr size_t kHashBytes = sizeof(XXH64_hash_t);

struct FreeHash {
  void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
};
std::unique_ptr<XXH3_state_t, FreeHash> new_hash() {
  std::unique_ptr<XXH3_state_t, FreeHash> hash(XXH3_createState());
  LH_ASSERT(hash != nullptr && XXH3_64bits_reset(hash.get()) == XXH_OK);
  return hash;
}

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

}  // namespace

struct ByteWriter::State {
  std::filesystem::path path;  // empty: in memory
  std::vector<std::byte> memory;
  std::optional<PartFile> part;
  std::FILE* file = nullptr;  // opened from a copy of the part's descriptor
  std::unique_ptr<XXH3_state_t, FreeHash> hash;

  [[noreturn]] void fail() const {
    user_error("{}: cannot write: {}", path.string(), std::strerror(errno));
  }
  void write(const void* data, size_t size) {
    if (std::fwrite(data, 1, size, file) != size) fail();
  }
};

ByteWriter::ByteWriter() : state_(std::make_unique<State>()) {}

ByteWriter::ByteWriter(const std::filesystem::path& path) : state_(std::make_unique<State>()) {
  // Renaming over a device or a pipe would remove it for all programs.
  std::error_code ignored;
  const auto there = std::filesystem::status(path, ignored).type();
  using std::filesystem::file_type;
  if (there == file_type::character || there == file_type::block || there == file_type::fifo ||
      there == file_type::socket) {
    user_error("{}: cannot write: not a regular file", path.string());
  }
  state_->path = path;
  state_->hash = new_hash();
  if (auto part = PartFile::create(path)) state_->part.emplace(std::move(*part));
  if (!state_->part) state_->fail();
  const int copy = fcntl(state_->part->get(), F_DUPFD_CLOEXEC, 0);
  state_->file = copy < 0 ? nullptr : fdopen(copy, "wb");
  if (state_->file == nullptr) state_->fail();
  std::setvbuf(state_->file, nullptr, _IOFBF, kBufferBytes);
}

ByteWriter::~ByteWriter() {
  if (state_->file != nullptr) std::fclose(state_->file);
}

void ByteWriter::bytes(const void* data, size_t size) {
  if (size == 0) return;
  if (state_->path.empty()) {
    const auto* begin = static_cast<const std::byte*>(data);
    state_->memory.insert(state_->memory.end(), begin, begin + size);
    return;
  }
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
  if (std::fflush(state_->file) != 0 || fsync(fileno(state_->file)) != 0) state_->fail();
  std::FILE* file = std::exchange(state_->file, nullptr);
  if (std::fclose(file) != 0) state_->fail();
  if (!state_->part->put_in_place(state_->path)) state_->fail();
}

std::vector<std::byte> ByteWriter::take() { return std::exchange(state_->memory, {}); }

struct ByteReader::State {
  std::filesystem::path path;
  std::vector<std::byte> memory;  // read instead of a file
  std::unique_ptr<std::FILE, CloseFile> file;
  uint64_t remaining = 0;

  [[noreturn]] void fail(const char* what) const {
    user_error("{}: cannot {}: {}", path.string(), what, std::strerror(errno));
  }
  /// Returns less than `size` only if the file has become shorter.
  size_t read(void* data, size_t size) {
    if (file == nullptr) {
      std::memcpy(data, memory.data() + (memory.size() - remaining), size);
      return size;
    }
    const size_t got = std::fread(data, 1, size, file.get());
    if (got < size && std::ferror(file.get()) != 0) fail("read");
    return got;
  }
  bool checksum_matches();
};

/// Reads the whole file. It is not mapped, because files have many gigabytes and a mapping would
/// count as memory.
bool ByteReader::State::checksum_matches() {
  const std::unique_ptr<XXH3_state_t, FreeHash> hash = new_hash();
  std::vector<std::byte> buffer(kBufferBytes);
  for (uint64_t left = remaining; left > 0;) {
    const size_t got = read(buffer.data(), std::min<uint64_t>(left, buffer.size()));
    if (got == 0) return false;
    XXH3_64bits_update(hash.get(), buffer.data(), got);
    left -= got;
  }
  XXH64_hash_t stored = 0;
  return read(&stored, sizeof stored) == sizeof stored && XXH3_64bits_digest(hash.get()) == stored;
}

ByteReader::ByteReader(const std::filesystem::path& path) : state_(std::make_unique<State>()) {
  state_->path = path;
  size_t bytes = 0;
  const int file = open_regular_file(path, &bytes);
  state_->file.reset(fdopen(file, "rb"));
  if (state_->file == nullptr) {
    close(file);
    state_->fail("open");
  }
  std::setvbuf(state_->file.get(), nullptr, _IOFBF, kBufferBytes);
  if (bytes < kHashBytes) too_short();
  state_->remaining = bytes - kHashBytes;
  if (!state_->checksum_matches()) {
    user_error("{}: damaged: checksum does not match", path.string());
  }
  std::rewind(state_->file.get());
}

ByteReader::ByteReader(std::vector<std::byte> contents) : state_(std::make_unique<State>()) {
  state_->path = "a copy in memory";
  state_->remaining = contents.size();
  state_->memory = std::move(contents);
}

ByteReader::~ByteReader() = default;

void ByteReader::bytes(void* data, size_t size) {
  if (size == 0) return;
  if (size > remaining() || state_->read(data, size) != size) too_short();
  state_->remaining -= size;
}

std::string ByteReader::text() {
  const uint64_t size = number<uint64_t>();
  if (size > remaining()) too_short();
  std::string value(size, '\0');
  bytes(value.data(), size);
  return value;
}

uint64_t ByteReader::remaining() const { return state_->remaining; }

const std::filesystem::path& ByteReader::path() const { return state_->path; }

void ByteReader::too_short() const {
  user_error("{}: damaged: ends too early", state_->path.string());
}

}  // namespace longhaul
