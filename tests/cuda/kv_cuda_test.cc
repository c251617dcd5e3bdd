// Rows of KV pages compared with KvStore's conversions and with plain loops over a model of the
// pages.

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "on_device.h"
#include "ops/attention/kv.h"
#include "ops/attention/rope.gpu.h"
#include "ops/attention/stored_key.h"

namespace longhaul::cuda {
namespace {

struct Form {
  KvType type;
  int head_dim, page_rows;
};

/// A row of the form, of keys or values, as the host stores it and as it is read back.
std::vector<std::byte> stored(const Form& f, bool value, const float* x) {
  const DType type = value ? f.type.v : f.type.k;
  std::vector<std::byte> row(bytes_of(type, f.head_dim));
  write_row(type, !value, x, f.head_dim, row.data());
  return row;
}
std::vector<float> read_back(const Form& f, bool value, const std::byte* row) {
  std::vector<float> x(static_cast<size_t>(f.head_dim));
  read_row(value ? f.type.v : f.type.k, !value, row, f.head_dim, x.data());
  return x;
}

/// Pages of several lists in one piece of device memory, in shuffled order.
class Pages {
 public:
  Pages(const Form& form, int lists, int pages_per_list)
      : form_(form),
        key_bytes_(bytes_of(form.type.k, form.head_dim)),
        value_bytes_(bytes_of(form.type.v, form.head_dim)),
        page_bytes_((rows_of_page() * (key_bytes_ + value_bytes_) + 63) / 64 * 64),
        per_list_(pages_per_list),
        memory_(page_bytes_ * static_cast<size_t>(lists * pages_per_list)),
        table_(table(lists)) {}

  KvForm form() const { return {form_.type, form_.head_dim, form_.page_rows}; }
  PageTable list(int i) const { return table_.data() + i * per_list_; }
  std::vector<std::byte> get() const { return memory_.get(); }
  void set(const std::vector<std::byte>& bytes) { memory_.set(bytes); }
  /// Offset of a row in get().
  size_t at(int list, int64_t row, bool value) const {
    const int64_t page = row / form_.page_rows, in_page = row % form_.page_rows;
    return page_at(list, page) + (value ? rows_of_page() * key_bytes_ : 0) +
           static_cast<size_t>(in_page) * row_bytes(value);
  }
  size_t row_bytes(bool value) const { return value ? value_bytes_ : key_bytes_; }

 private:
  size_t rows_of_page() const { return static_cast<size_t>(form_.page_rows); }
  size_t page_at(int list, int64_t page) const {
    // A step without a common factor gives every page a place of its own.
    const size_t count = memory_count();
    size_t step = 7;
    while (std::gcd(step, count) != 1) ++step;
    return (static_cast<size_t>(list * per_list_ + page) * step + 3) % count * page_bytes_;
  }
  size_t memory_count() const {
    return static_cast<size_t>(lists_) * static_cast<size_t>(per_list_);
  }
  std::vector<std::byte*> table(int lists) {
    lists_ = lists;
    std::vector<std::byte*> pages;
    for (int l = 0; l < lists; ++l) {
      for (int p = 0; p < per_list_; ++p) pages.push_back(memory_.data() + page_at(l, p));
    }
    return pages;
  }

  Form form_;
  size_t key_bytes_, value_bytes_, page_bytes_;
  int per_list_, lists_ = 0;
  OnDevice<std::byte> memory_;
  OnDevice<std::byte*> table_;
};

class CudaKv : public testing::TestWithParam<Form> {};

TEST_P(CudaKv, AppendsRowsAsTheStoreConvertsThem) {
  const Form f = GetParam();
  const int kv_heads = 3, rows = 150, stride = kv_heads * f.head_dim + 8;
  Pages pages(f, 4, (200 + f.page_rows) / f.page_rows + 1);
  std::vector<std::byte> expected = pages.get();
  std::vector<float> k = random_floats(static_cast<size_t>(rows * stride), 1);
  const std::vector<float> v = random_floats(k.size(), 2, 100);
  std::fill(k.begin(), k.begin() + f.head_dim, 0.0f);
  k[static_cast<size_t>(stride)] = 1e-7f;
  const OnDevice<float> k_there(k), v_there(v);
  const std::vector<AppendList> lists = {
      {pages.list(0), 0, 2}, {pages.list(1), 37, 0}, {pages.list(2), 64, 0}, {pages.list(3), 1, 1}};
  NewRows added;
  added.rows = rows;
  added.k = k_there.data();
  added.v = v_there.data();
  added.k_stride = added.v_stride = stride;
  append_rows(nullptr, pages.form(), added, lists);
  for (int l = 0; l < 4; ++l) {
    for (int r = 0; r < rows; ++r) {
      const AppendList& list = lists[static_cast<size_t>(l)];
      const int64_t from = static_cast<int64_t>(r) * stride + list.kv_head * f.head_dim;
      for (const bool value : {false, true}) {
        const auto row = stored(f, value, (value ? v : k).data() + from);
        std::copy(row.begin(), row.end(),
                  expected.begin() + static_cast<int64_t>(pages.at(l, list.first + r, value)));
      }
    }
  }
  EXPECT_EQ(pages.get(), expected);
}

/// One launch for several sequences, whose lists, numbers of rows and rotations differ.
TEST_P(CudaKv, AppendsRowsOfManySequencesAsOneByOne) {
  const Form f = GetParam();
  const int kv_heads = 2, heads = 6, sequences = 70, half = f.head_dim / 4 / 4 * 4;
  Pages together(f, sequences * kv_heads, 3), alone(f, sequences * kv_heads, 3);
  const auto floats = [&](int64_t per_row) { return static_cast<size_t>(3 * sequences * per_row); };
  const OnDevice<float> k(random_floats(floats(kv_heads * f.head_dim), 1));
  const OnDevice<float> v(random_floats(floats(kv_heads * f.head_dim), 2));
  const OnDevice<float> q(random_floats(floats(heads * f.head_dim), 3));
  const OnDevice<float> c(random_floats(floats(half + 1), 4)),
      s(random_floats(floats(half + 1), 5));
  const OnDevice<float> turned(floats(heads * f.head_dim)),
      turned_alone(floats(heads * f.head_dim));
  std::vector<NewRows> sources;
  std::vector<AppendList> lists;
  for (int i = 0; i < sequences; ++i) {
    NewRows rows;
    rows.rows = 1 + i % 3;
    rows.k = k.data() + 3 * i * kv_heads * f.head_dim;
    rows.v = v.data() + 3 * i * kv_heads * f.head_dim;
    rows.k_stride = rows.v_stride = kv_heads * f.head_dim;
    if (half > 0 && i % 4 != 0) {
      rows.cosine = c.data() + 3 * i * half;
      rows.sine = s.data() + 3 * i * half;
      rows.rotary_dim = 2 * half;
      rows.q = q.data() + 3 * i * heads * f.head_dim;
      rows.rotated_q = turned.data() + 3 * i * heads * f.head_dim;
      rows.query_heads = heads;
    }
    sources.push_back(rows);
    std::vector<AppendList> own;
    for (int h = 0; h < kv_heads; ++h) {
      const int64_t first = (i * 7 + h) % (2 * f.page_rows);
      lists.push_back({together.list(i * kv_heads + h), first, h, i});
      own.push_back({alone.list(i * kv_heads + h), first, h});
    }
    if (rows.rotated_q != nullptr) {
      rows.rotated_q = turned_alone.data() + 3 * i * heads * f.head_dim;
    }
    append_rows(nullptr, alone.form(), rows, own);
  }
  append_rows(nullptr, together.form(), sources, lists);
  EXPECT_EQ(together.get(), alone.get());
  const std::vector<float> a = turned.get(), b = turned_alone.get();
  EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size() * sizeof(float)), 0);
}

TEST_P(CudaKv, RotatesKeysOnTheWay) {
  const Form f = GetParam();
  const int rows = 70, half = f.head_dim / 4 / 4 * 4;  // a part of the head
  if (half == 0) return;
  Pages plain(f, 1, 100 / f.page_rows + 2), fused(f, 1, 100 / f.page_rows + 2);
  const std::vector<float> k = random_floats(static_cast<size_t>(rows * f.head_dim), 1);
  const OnDevice<float> k_there(k), rotated(k.size());
  const OnDevice<float> c(random_floats(static_cast<size_t>(rows * half), 3));
  const OnDevice<float> s(random_floats(static_cast<size_t>(rows * half), 4));
  const Rotations rotations{0, rows, 2 * half, c.data(), s.data()};
  apply_rope(nullptr, rotations, 0, {k_there.data(), rows, 1, f.head_dim, f.head_dim},
             rotated.data(), f.head_dim);
  NewRows added;
  added.rows = rows;
  added.k = rotated.data();
  added.v = k_there.data();
  added.k_stride = added.v_stride = f.head_dim;
  const AppendList to_plain{plain.list(0), 5, 0}, to_fused{fused.list(0), 5, 0};
  append_rows(nullptr, plain.form(), added, {&to_plain, 1});
  added.k = k_there.data();
  added.cosine = c.data();
  added.sine = s.data();
  added.rotary_dim = 2 * half;
  // Adds queries of five heads.
  const int heads = 5;
  const OnDevice<float> q(random_floats(static_cast<size_t>(rows * heads * f.head_dim), 5));
  const OnDevice<float> expected_q(q.get().size()), rotated_q(q.get().size());
  apply_rope(nullptr, rotations, 0,
             {q.data(), rows, heads, f.head_dim, int64_t{heads} * f.head_dim}, expected_q.data(),
             int64_t{heads} * f.head_dim);
  added.q = q.data();
  added.rotated_q = rotated_q.data();
  added.query_heads = heads;
  append_rows(nullptr, fused.form(), added, {&to_fused, 1});
  EXPECT_EQ(fused.get(), plain.get());
  EXPECT_EQ(rotated_q.get(), expected_q.get());
}

/// Bytes that are valid rows of the type.
std::vector<std::byte> some_rows(const Pages& pages, const Form& f, int64_t rows, int lists) {
  std::vector<std::byte> bytes = pages.get();
  const std::vector<float> x = random_floats(static_cast<size_t>(rows * 2 * lists * f.head_dim), 9);
  const float* next = x.data();
  for (int l = 0; l < lists; ++l) {
    for (int64_t r = 0; r < rows; ++r) {
      for (const bool value : {false, true}) {
        const auto row = stored(f, value, next);
        std::copy(row.begin(), row.end(),
                  bytes.begin() + static_cast<int64_t>(pages.at(l, r, value)));
        next += f.head_dim;
      }
    }
  }
  return bytes;
}

void move_on_host(const Pages& pages, std::vector<std::byte>& bytes, int to, int64_t to_row,
                  int from, int64_t from_row) {
  for (const bool value : {false, true}) {
    std::memmove(bytes.data() + pages.at(to, to_row, value),
                 bytes.data() + pages.at(from, from_row, value), pages.row_bytes(value));
  }
}

TEST_P(CudaKv, KeepsListedRowsInPlace) {
  const Form f = GetParam();
  const int64_t length = 1500;
  Pages pages(f, 2, static_cast<int>(length / f.page_rows) + 2);
  std::vector<std::byte> bytes = some_rows(pages, f, length, 2);
  pages.set(bytes);
  std::vector<int32_t> rows;
  for (int32_t r = 0; r < length; ++r) {
    if (r < 3 || r % 3 == 1 || r > 1400) rows.push_back(r);
  }
  const auto most = static_cast<int64_t>(rows.size());
  const OnDevice<int32_t> rows_there(rows);
  const OnDevice<int32_t> chosen(std::vector<int32_t>{static_cast<int32_t>(most - 100)});
  const RowMove moves[] = {
      {pages.list(0), 0, pages.list(0), 0, rows_there.data(), nullptr, most},
      {pages.list(1), 0, pages.list(1), 0, rows_there.data(), chosen.data(), most}};
  move_rows(nullptr, pages.form(), moves, false);
  for (int64_t i = 0; i < most; ++i) {
    const int64_t row = rows[static_cast<size_t>(i)];
    move_on_host(pages, bytes, 0, i, 0, row);
    if (i < most - 100) move_on_host(pages, bytes, 1, i, 1, row);
  }
  EXPECT_EQ(pages.get(), bytes);
}

TEST_P(CudaKv, ShiftsAndCopiesBetweenLists) {
  const Form f = GetParam();
  const int64_t length = 700;
  Pages pages(f, 3, static_cast<int>(length / f.page_rows) + 2);
  std::vector<std::byte> bytes = some_rows(pages, f, length, 3);
  pages.set(bytes);
  const RowMove shift{pages.list(0), 11, pages.list(0), 12, nullptr, nullptr, length - 12};
  move_rows(nullptr, pages.form(), {&shift, 1}, false);
  for (int64_t i = 0; i < length - 12; ++i) move_on_host(pages, bytes, 0, 11 + i, 0, 12 + i);
  const RowMove copies[] = {{pages.list(1), 0, pages.list(0), 40, nullptr, nullptr, 650},
                            {pages.list(2), 650, pages.list(0), 1, nullptr, nullptr, 33}};
  move_rows(nullptr, pages.form(), copies, true);
  for (int64_t i = 0; i < 650; ++i) move_on_host(pages, bytes, 1, i, 0, 40 + i);
  for (int64_t i = 0; i < 33; ++i) move_on_host(pages, bytes, 2, 650 + i, 0, 1 + i);
  EXPECT_EQ(pages.get(), bytes);
}

TEST_P(CudaKv, ReadsRows) {
  const Form f = GetParam();
  Pages pages(f, 2, 200 / f.page_rows + 2);
  const std::vector<std::byte> bytes = some_rows(pages, f, 200, 2);
  pages.set(bytes);
  const std::vector<int32_t> rows = {199, 0, 64, 63, 7};
  const OnDevice<int32_t> rows_there(rows);
  const size_t numbers = rows.size() * static_cast<size_t>(f.head_dim);
  const OnDevice<float> k0(numbers), v0(numbers), k1(numbers), v1(numbers);
  const OnDevice<ReadList> lists(
      std::vector<ReadList>{{pages.list(0), 0, rows_there.data(), k0.data(), v0.data()},
                            {pages.list(1), 61, nullptr, k1.data(), v1.data()}});
  read_rows(nullptr, pages.form(), lists.data(), 2, std::ssize(rows));
  for (int l = 0; l < 2; ++l) {
    const auto k = (l == 0 ? k0 : k1).get(), v = (l == 0 ? v0 : v1).get();
    for (size_t i = 0; i < rows.size(); ++i) {
      const int64_t row = l == 0 ? rows[i] : 61 + static_cast<int64_t>(i);
      for (const bool value : {false, true}) {
        const auto x = read_back(f, value, bytes.data() + pages.at(l, row, value));
        const auto begin = (value ? v : k).begin() + static_cast<int64_t>(i) * f.head_dim;
        EXPECT_TRUE(std::equal(x.begin(), x.end(), begin)) << l << ' ' << row;
      }
    }
  }
}

/// Pages of latent rows hold no values.
TEST(CudaLatentKv, WritesAndMovesKeysOnly) {
  constexpr int kDim = 576, kRows = 100;
  const KvForm form{DType::BF16, kDim, 64, true};
  const size_t row = size_t{kDim} * 2, page = 64 * row;
  const OnDevice<std::byte> memory(4 * page);
  std::vector<std::byte*> pages;
  for (const size_t p : {2, 0, 3, 1}) pages.push_back(memory.data() + p * page);
  const OnDevice<std::byte*> table(pages);
  const std::vector<float> k = random_floats(size_t{kRows} * kDim, 5);
  const OnDevice<float> k_there(k), v_there(random_floats(k.size(), 6));
  NewRows added{.rows = kRows, .k = k_there.data(), .v = v_there.data()};
  added.k_stride = added.v_stride = kDim;
  const AppendList list{table.data(), 0, 0};
  append_rows(nullptr, form, added, {&list, 1});
  std::vector<std::byte> expected = std::vector<std::byte>(4 * page, std::byte{0xff});
  const auto at = [&](size_t r) {
    return expected.data() + (r < 64 ? 2 : 0) * page + r % 64 * row;
  };
  for (size_t r = 0; r < kRows; ++r) {
    write_row(DType::BF16, true, k.data() + r * kDim, kDim, at(r));
  }
  EXPECT_EQ(memory.get(), expected);
  const OnDevice<int32_t> kept(std::vector<int32_t>{3, 50, 99});
  const RowMove move{table.data() + 2, 0, table.data(), 0, kept.data(), nullptr, 3};
  move_rows(nullptr, form, {&move, 1}, true);
  const size_t rows[] = {3, 50, 99};
  for (size_t i = 0; i < 3; ++i)
    std::copy_n(at(rows[i]), row, expected.data() + 3 * page + i * row);
  EXPECT_EQ(memory.get(), expected);
}

INSTANTIATE_TEST_SUITE_P(All, CudaKv,
                         testing::Values(Form{DType::BF16, 128, 64}, Form{DType::BF16, 64, 64},
                                         Form{DType::F16, 80, 64}, Form{DType::F32, 128, 64},
                                         Form{DType::Q8_0, 128, 64}, Form{DType::Q8_0, 32, 32},
                                         Form{DType::BF16, 5, 16}, Form{DType::F32, 7, 64},
                                         Form{DType::Q8_0, 96, 64}, Form{DType::Q4_0, 128, 64},
                                         Form{DType::Q4_0, 32, 16},
                                         Form{{DType::Q8_0, DType::Q4_0}, 96, 64},
                                         Form{{DType::Q4_0, DType::BF16}, 64, 64}),
                         [](const auto& test) {
                           const Form& f = test.param;
                           return std::string(name_of(f.type.k)) + "_" +
                                  std::string(name_of(f.type.v)) + "_" +
                                  std::to_string(f.head_dim) + "_" + std::to_string(f.page_rows);
                         });

TEST(CudaKvColumns, KeepListedNumbers) {
  const int32_t length = 30000;
  std::vector<uint32_t> values(static_cast<size_t>(length));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<uint32_t>(i * 2654435761u);
  std::vector<int32_t> rows;
  for (int32_t r = 100; r < length; ++r) {
    if (r % 5 != 2) rows.push_back(r);
  }
  const OnDevice<uint32_t> a(values), b(values), from(values), told(values);
  const OnDevice<int32_t> rows_there(rows);
  const OnDevice<int32_t> chosen(std::vector<int32_t>{12345});
  const auto most = static_cast<int64_t>(rows.size());
  std::vector<ColumnMove> moves = {
      {a.data(), length, 0, a.data(), 100, rows_there.data(), nullptr, most},
      {b.data(), length, 0, b.data(), 0, rows_there.data(), chosen.data(), most},
      {from.data(), 20000, 77, told.data(), 0, rows_there.data(), nullptr, most}};
  moves.resize(70, {nullptr, 0, 0, nullptr, 0, nullptr, nullptr, 0});  // more than one launch takes
  move_columns(nullptr, moves);
  std::vector<uint32_t> expected_a = values, expected_b = values, expected_told = values;
  for (size_t i = 0; i < rows.size(); ++i) {
    expected_a[100 + i] = values[static_cast<size_t>(rows[i])];
    if (i < 12345) expected_b[i] = values[static_cast<size_t>(rows[i])];
    expected_told[i] = rows[i] < 20000 ? values[static_cast<size_t>(rows[i])]
                                       : static_cast<uint32_t>(rows[i] + 77);
  }
  std::fill(expected_a.begin() + 100 + most, expected_a.end(), 0);
  std::fill(expected_b.begin() + 12345, expected_b.end(), 0);
  EXPECT_EQ(a.get(), expected_a);
  EXPECT_EQ(b.get(), expected_b);
  EXPECT_EQ(told.get(), expected_told);
}

}  // namespace
}  // namespace longhaul::cuda
