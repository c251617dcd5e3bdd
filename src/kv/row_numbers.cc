#include "kv/row_numbers.h"

#include "base/assert.h"

namespace longhaul {
namespace {

float* numbers_at(const DeviceBuffer& memory, int64_t first) {
  return static_cast<float*>(memory.data()) + first;
}

size_t float_bytes(int64_t count) { return static_cast<size_t>(count) * sizeof(float); }

}  // namespace

RowNumbers::RowNumbers(Queue queue, std::vector<float> numbers) : queue_(std::move(queue)) {
  const int64_t count = std::ssize(numbers);
  if (queue_.on_host()) {
    values_ = std::move(numbers);
    size_ = count;
  } else {
    write(numbers, count);
  }
}

RowNumbers RowNumbers::undefined(const Queue& queue, int64_t size) {
  if (queue.on_host()) return {queue, std::vector<float>(static_cast<size_t>(size))};
  RowNumbers made(queue, {});
  made.device_.resize(queue.shared_device(), float_bytes(size));
  made.size_ = size;
  made.used_ = made.room_there();
  return made;
}

RowNumbers::RowNumbers(const RowNumbers& other)
    : queue_(other.queue_), values_(other.values_), size_(other.size_) {
  if (queue_.on_host() || size_ == 0) return;
  device_.resize(queue_.shared_device(), float_bytes(size_));
  queue_.device().copy(other.device_.data(), device_.data(), float_bytes(size_));
  used_ = room_there();
}

RowNumbers& RowNumbers::operator=(const RowNumbers& other) { return *this = RowNumbers(other); }

View<float> RowNumbers::view() {
  if (queue_.on_host()) return std::span<float>(values_);
  return {numbers_at(device_, 0), size_, queue_.place()};
}

std::vector<float> RowNumbers::read() const {
  if (queue_.on_host()) return values_;
  std::vector<float> numbers(static_cast<size_t>(size_));
  if (size_ > 0) queue_.device().download(device_.data(), numbers.data(), float_bytes(size_));
  return numbers;
}

/// Replaces the elements of a column on a device.
void RowNumbers::write(std::span<const float> numbers, int64_t room) {
  size_ = std::ssize(numbers);
  device_.resize(queue_.shared_device(), float_bytes(std::max(room, size_)));
  if (size_ > 0) queue_.device().upload(numbers.data(), device_.data(), numbers.size_bytes());
  used_ = room_there();
}

void RowNumbers::resize(int64_t size, int64_t room) {
  const int64_t before = std::exchange(size_, size);
  if (queue_.on_host()) {
    set_room(values_, room);
    values_.resize(static_cast<size_t>(size));
    return;
  }
  DeviceQueue& device = queue_.device();
  if (float_bytes(size) > device_.capacity()) {
    DeviceBuffer grown;
    grown.resize(queue_.shared_device(), float_bytes(room));
    if (before > 0) device.copy(device_.data(), grown.data(), float_bytes(before));
    device_ = std::move(grown);
    used_ = room_there();
  }
  // All remaining room is cleared at once. A list grows row by row during decode, and otherwise
  // each row would need a kernel launch.
  if (size > before && before < used_) {
    device.clear(numbers_at(device_, before), float_bytes(room_there() - before));
    used_ = before;
  }
  used_ = std::max(used_, size);
}

void RowNumbers::shrunk(int64_t size) {
  LH_ASSERT(size <= size_);
  if (used_ <= size_) used_ = size;
  size_ = size;
}

void RowNumbers::keep(std::span<const int32_t> rows, size_t first, int64_t room) {
  std::vector<float> read_back;
  if (!queue_.on_host()) read_back = read();
  std::vector<float>& values = queue_.on_host() ? values_ : read_back;
  for (size_t i = first; i < rows.size(); ++i) values[i] = values[static_cast<size_t>(rows[i])];
  values.resize(rows.size());
  size_ = std::ssize(rows);
  if (queue_.on_host()) return set_room(values_, room);
  write(values, room);
}

void RowNumbers::drop(int64_t begin, int64_t end, int64_t room) {
  std::vector<float> read_back;
  if (!queue_.on_host()) read_back = read();
  std::vector<float>& values = queue_.on_host() ? values_ : read_back;
  values.erase(values.begin() + begin, values.begin() + end);
  size_ = std::ssize(values);
  if (queue_.on_host()) return set_room(values_, room);
  write(values, room);
}

}  // namespace longhaul
