#include "ops/maps/last_rows.h"

#include "ops/maps/block_mass.h"

namespace longhaul {
namespace {

constexpr int kBlock = 128;  // arbitrary: its masses are not used

}  // namespace

size_t LastRows::bytes_for(int heads, int64_t rows, int64_t keys) {
  const int64_t mass = rows * block_count(keys, kBlock);
  return static_cast<size_t>(heads * (2 * keys + mass)) * sizeof(float) +
         line_sums_bytes(heads, rows, keys);
}

void LastRows::look(AttendCall call, std::span<const AttendTask> tasks, int64_t keys) {
  Queue& queue = *call.queue;
  const AttendTask& first = tasks.front();
  rows_ = first.row_count;
  keys_ = keys;
  const View<float> columns = columns_.resize(queue, call.heads * keys);
  const View<float> diagonals = diagonals_.resize(queue, call.heads * keys);
  const int64_t each = int64_t{rows_} * first.head_count * block_count(keys, kBlock);
  const View<float> mass = mass_.resize(queue, std::ssize(tasks) * each);
  sums_.clear();
  masses_.clear();
  for (const AttendTask& task : tasks) {
    const int64_t from = task.head_begin * keys, count = task.head_count * keys;
    sums_.push_back({columns.part(from, count), diagonals.part(from, count)});
    masses_.push_back(mass.part(std::ssize(masses_) * each, each));
  }
  call.lse = lse_.resize(queue, int64_t{first.row_begin + rows_} * call.heads);
  call.lse_in = call.lse;
  block_mass(call, tasks, kBlock, masses_);  // for the softmax denominators
  line_sums(call, tasks, sums_);
}

}  // namespace longhaul
