#include "format/gguf_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_set>

#include "base/error.h"
#include "base/seeded_hash.h"
#include "format/byte_cursor.h"
#include "format/gguf_tensor_type.h"
#include "format/gguf_writer.h"
#include "text/printable.h"

namespace longhaul {
namespace {

constexpr uint32_t kMagic = 0x46554747;  // "GGUF"
constexpr uint64_t kMostKeys = 1 << 16;
constexpr uint64_t kMostTensors = 1 << 20;
constexpr uint64_t kMostDims = 4;
constexpr int kDeepestArray = 4;

/// A tensor's entry in the file.
struct TensorInfo {
  std::string_view name;
  int rank = 0;
  std::array<int64_t, kMostDims> shape{1, 1, 1, 1};  ///< row-major
  uint32_t type = 0;
  uint64_t offset = 0;  ///< from the start of the data section
  uint64_t bytes = 0;
};

void check_magic(ByteCursor& reader, std::span<const std::byte> bytes) {
  constexpr std::string_view kLfs = "version https://git-lfs";
  const std::string_view start{reinterpret_cast<const char*>(bytes.data()),
                               std::min<size_t>(bytes.size(), kLfs.size())};
  if (start == kLfs) {
    user_error("{}: a Git LFS pointer, not the model itself: run `git lfs pull`", reader.file());
  }
  if (bytes.empty()) user_error("{}: not a GGUF file: it is empty", reader.file());
  if (bytes.size() >= 4 && reader.read<uint32_t>("magic") == kMagic) return;
  const std::string_view name = reader.file();
  const bool of_folder = name.ends_with(".json") || name.ends_with(".safetensors");
  user_error("{}: not a GGUF file: it begins with {}{}", name, printable(start.substr(0, 4)),
             of_folder ? "; of a Hugging Face model give the folder" : "");
}

void check_version(ByteCursor& reader) {
  const auto version = reader.read<uint32_t>("version");
  if (version == 2 || version == 3) return;
  if (version != 0 && (version & 0xffff) == 0) {
    user_error("{}: a big-endian GGUF file; only little-endian ones can be read", reader.file());
  }
  user_error("{}: GGUF version {}; versions 2 and 3 can be read", reader.file(), version);
}

uint64_t read_count(ByteCursor& reader, std::string_view what, uint64_t most) {
  const auto count = reader.read<uint64_t>(what);
  if (count > most) {
    user_error("{}: {} is {}: at most {} are possible", reader.file(), what, count, most);
  }
  return count;
}

GgufType read_type(ByteCursor& reader, std::string_view key) {
  const auto number = reader.read<uint32_t>("value type");
  if (number >= kGgufTypeCount) {
    user_error("{}: metadata key {} has unknown value type {}", reader.file(), printable(key),
               number);
  }
  return static_cast<GgufType>(number);
}

/// Skips an array's elements and returns their bytes.
GgufArray read_array(ByteCursor& reader, std::string_view key, int depth) {
  if (depth > kDeepestArray) {
    user_error("{}: metadata key {} nests arrays deeper than {}", reader.file(), printable(key),
               kDeepestArray);
  }
  GgufArray array;
  array.element = read_type(reader, key);
  array.count = reader.read<uint64_t>("array length");
  const size_t fixed = fixed_bytes(array.element);
  const size_t least = array.element == GgufType::kArray ? 12 : fixed > 0 ? fixed : 8;
  if (array.count > reader.remaining() / least) {
    user_error("{}: truncated: metadata key {} claims {} elements of type {}, {} bytes are left",
               reader.file(), printable(key), array.count, name_of(array.element),
               reader.remaining());
  }
  const uint64_t start = reader.position();
  if (fixed > 0) {
    reader.take(array.count * fixed, key);
  } else {
    for (uint64_t i = 0; i < array.count; ++i) {
      if (array.element == GgufType::kString) {
        reader.read_string("string in an array");
      } else {
        read_array(reader, key, depth + 1);
      }
    }
  }
  array.bytes = reader.since(start);
  return array;
}

GgufEntry read_entry(ByteCursor& reader) {
  GgufEntry entry;
  entry.key = reader.read_string("metadata key");
  entry.type = read_type(reader, entry.key);
  if (entry.type == GgufType::kArray) {
    entry.array = read_array(reader, entry.key, 1);
  } else if (entry.type == GgufType::kString) {
    const std::string_view text = reader.read_string("metadata string");
    entry.bytes = {reinterpret_cast<const std::byte*>(text.data()), text.size()};
  } else {
    entry.bytes = reader.take(fixed_bytes(entry.type), "metadata value");
  }
  return entry;
}

TensorInfo read_tensor_info(ByteCursor& reader) {
  TensorInfo info;
  info.name = reader.read_string("tensor name");
  const auto rank = reader.read<uint32_t>("tensor rank");
  if (rank == 0 || rank > kMostDims) {
    user_error("{}: tensor {} has {} dimensions: 1 to {} are possible", reader.file(),
               printable(info.name), rank, kMostDims);
  }
  info.rank = static_cast<int>(rank);
  for (uint32_t d = 0; d < rank; ++d) {
    const auto extent = reader.read<uint64_t>("tensor shape");
    if (extent == 0 || extent > static_cast<uint64_t>(INT64_MAX)) {
      user_error("{}: tensor {}: dimension {} is {}", reader.file(), printable(info.name), d,
                 extent);
    }
    // the file lists the fastest dimension first
    info.shape[rank - 1 - d] = static_cast<int64_t>(extent);
  }
  info.type = reader.read<uint32_t>("tensor type");
  info.offset = reader.read<uint64_t>("tensor offset");
  return info;
}

std::string supported_types() {
  std::string names;
  for (int i = 0; i < kDTypeCount; ++i) {
    if (i > 0) names += ' ';
    names += name_of(static_cast<DType>(i));
  }
  return names;
}

/// Bytes of the tensor; checks that rows are whole blocks and that nothing overflows.
uint64_t byte_size(const TensorInfo& info, DType type, const std::string& file) {
  const DTypeTraits& t = traits(type);
  const auto count = element_count(std::span(info.shape.data(), static_cast<size_t>(info.rank)));
  uint64_t bytes = 0;
  if (!count || __builtin_mul_overflow(static_cast<uint64_t>(*count / t.block_size),
                                       static_cast<uint64_t>(t.block_bytes), &bytes)) {
    user_error("{}: tensor {}: shape [{}] is too large", file, printable(info.name),
               fmt::join(info.shape, ", "));
  }
  const int64_t cols = info.shape[static_cast<size_t>(info.rank - 1)];
  if (cols % t.block_size != 0) {
    user_error("{}: tensor {}: rows of {} elements are no whole number of {} blocks of {}", file,
               printable(info.name), cols, t.name, t.block_size);
  }
  return bytes;
}

void check_place(const TensorInfo& info, uint64_t data_bytes, uint64_t alignment,
                 const std::string& file) {
  if (info.offset % alignment != 0) {
    user_error("{}: tensor {}: offset {} is not a multiple of the alignment {}", file,
               printable(info.name), info.offset, alignment);
  }
  if (info.offset > data_bytes || info.bytes > data_bytes - info.offset) {
    user_error("{}: tensor {}: {} bytes at offset {} reach past the file's {} bytes of data", file,
               printable(info.name), info.bytes, info.offset, data_bytes);
  }
}

void check_overlap(std::vector<TensorInfo> infos, const std::string& file) {
  std::sort(infos.begin(), infos.end(),
            [](const TensorInfo& a, const TensorInfo& b) { return a.offset < b.offset; });
  for (size_t i = 1; i < infos.size(); ++i) {
    if (infos[i - 1].offset + infos[i - 1].bytes > infos[i].offset) {
      user_error("{}: tensors {} and {} overlap", file, printable(infos[i - 1].name),
                 printable(infos[i].name));
    }
  }
}

std::vector<TensorInfo> read_tensor_infos(ByteCursor& reader, uint64_t count) {
  std::vector<TensorInfo> infos;
  std::unordered_set<std::string_view, SeededHash> names;
  for (uint64_t i = 0; i < count; ++i) {
    infos.push_back(read_tensor_info(reader));
    if (!names.insert(infos.back().name).second) {
      user_error("{}: tensor {} appears twice", reader.file(), printable(infos.back().name));
    }
  }
  return infos;
}

std::span<const std::byte> data_section(std::span<const std::byte> bytes, uint64_t header_bytes,
                                        uint64_t alignment, bool needed, const std::string& file) {
  const uint64_t start = (header_bytes + alignment - 1) / alignment * alignment;
  if (start <= bytes.size()) return bytes.subspan(start);
  if (needed) user_error("{}: truncated: its data should begin at byte {}", file, start);
  return {};
}

/// Turns the entries into views of the data, and moves plain number types to the unreadable ones.
TensorList place_tensors(std::vector<TensorInfo> infos, std::span<const std::byte> data,
                         uint64_t alignment, const std::string& file) {
  TensorList list;
  std::vector<TensorInfo> placed;
  for (TensorInfo& info : infos) {
    const auto type = dtype_from_ggml(info.type);
    if (!type) {
      const auto reason = fmt::format("has type {} ({}); supported are {}",
                                      ggml_type_name(info.type), info.type, supported_types());
      if (!is_plain_number_type(info.type)) {
        user_error("{}: tensor {} {}", file, printable(info.name), reason);
      }
      list.unreadable.push_back({std::string(info.name), file, reason});
      continue;
    }
    info.bytes = byte_size(info, *type, file);
    check_place(info, data.size(), alignment, file);
    placed.push_back(info);
    list.tensors.push_back(
        {data.data() + info.offset, *type, info.rank, info.shape, std::string(info.name)});
  }
  check_overlap(std::move(placed), file);
  return list;
}

}  // namespace

GgufFile read_gguf(std::span<const std::byte> bytes, const std::string& file) {
  ByteCursor reader(bytes, file);
  check_magic(reader, bytes);
  check_version(reader);
  const uint64_t tensor_count = read_count(reader, "tensor count", kMostTensors);
  const uint64_t key_count = read_count(reader, "metadata key count", kMostKeys);
  GgufMetadata metadata(file);
  for (uint64_t i = 0; i < key_count; ++i) metadata.add(read_entry(reader));
  const uint64_t alignment = gguf_alignment(metadata);
  std::vector<TensorInfo> infos = read_tensor_infos(reader, tensor_count);
  const auto data = data_section(bytes, reader.position(), alignment, tensor_count > 0, file);
  return {std::move(metadata), place_tensors(std::move(infos), data, alignment, file)};
}

}  // namespace longhaul
