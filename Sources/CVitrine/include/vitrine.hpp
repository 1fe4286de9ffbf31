// vitrine.hpp: the interface of vitrine.h for C++17, as classes that own their handles.
//
// Errors are exceptions (vitrine::Error): C++17 has no std::expected, a constructor can report an error in no other
// way, and errors are rare here. A miss is not an error: get returns an empty Value, and other calls return false.
// Programs without exceptions use vitrine.h. Costs, errors, threads and lifetimes are those of the functions of
// vitrine.h that a member names.
//
// Objects can be moved and not copied. A moved-from object is empty: members without noexcept throw ERROR_BAD_HANDLE.
#ifndef VITRINE_HPP
#define VITRINE_HPP

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "vitrine.h"

namespace vitrine {

/// An error of a call. what() is its text.
class Error : public std::runtime_error {
public:
  explicit Error(const vitrine_error &error)
      : std::runtime_error(error.text), status_(error.status), system_code_(error.system_code),
        process_id_(error.process_id) {}
  explicit Error(vitrine_status status) : std::runtime_error(vitrine_status_text(status)), status_(status) {}

  /// VITRINE_ERROR_...
  vitrine_status status() const noexcept { return status_; }
  /// The errno of the failed system call, or 0.
  int system_code() const noexcept { return system_code_; }
  /// The process that holds the lock, or 0.
  int process_id() const noexcept { return process_id_; }

private:
  vitrine_status status_;
  std::int32_t system_code_ = 0;
  std::int32_t process_id_ = 0;
};

/// A run of bytes that another object owns: a std::string_view, or a pointer with a length.
struct Bytes {
  const void *data = nullptr;
  std::size_t size = 0;

  Bytes() = default;
  Bytes(const void *data, std::size_t size) : data(data), size(size) {}
  Bytes(std::string_view text) : data(text.data()), size(text.size()) {}
  Bytes(const std::string &text) : Bytes(std::string_view(text)) {}
  Bytes(const char *text) : Bytes(std::string_view(text)) {}
  template <typename Byte, typename = std::enable_if_t<sizeof(Byte) == 1>>
  Bytes(const std::vector<Byte> &bytes) : data(bytes.data()), size(bytes.size()) {}

  std::string_view text() const { return {static_cast<const char *>(data), size}; }
};

/// A URL and a style. Owns neither text.
struct Key {
  std::string_view url;
  std::string_view style = "original";

  Key(std::string_view url, std::string_view style = "original") : url(url), style(style) {}
  Key(const char *url) : url(url) {}
  Key(const std::string &url) : url(url) {}
};

namespace detail {

/// Calls `function` with an error struct. Throws if the status is an error, otherwise returns it.
template <typename Function> vitrine_status call(Function function) {
  vitrine_error error;
  const vitrine_status status = function(&error);
  if (status < 0) throw Error(error);
  return status;
}

/// Throws the error of a call that has no error struct.
inline vitrine_status checked(vitrine_status status) {
  if (status < 0) throw Error(status);
  return status;
}

template <auto release> struct Release {
  template <typename Handle> void operator()(Handle *handle) const noexcept { release(handle); }
};

} // namespace detail

/// Options of an opening, with `size` set. Zero in a field means the default.
struct Options : vitrine_options {
  Options() : vitrine_options() { size = sizeof(vitrine_options); }
};

/// Options of a put, with `size` set.
struct PutOptions : vitrine_put_options {
  PutOptions() : vitrine_put_options() { size = sizeof(vitrine_put_options); }
};

/// The condition of a put, with `size` set.
struct Condition : vitrine_condition {
  /// VITRINE_IF_ABSENT or VITRINE_IF_PRESENT.
  explicit Condition(int kind) : vitrine_condition() {
    size = sizeof(vitrine_condition);
    this->kind = kind;
  }
  /// The bytes of the entry have this digest, as vitrine_value_info has it.
  Condition(std::uint64_t high, std::uint64_t low) : Condition(VITRINE_IF_DIGEST) {
    digest_high = high;
    digest_low = low;
  }
};

/// A value. Its bytes stay valid as long as the object: also after removal, eviction, and the end of its Store.
class Value {
public:
  Value() = default;

  /// Whether there is a value; false after a miss.
  explicit operator bool() const noexcept { return handle_ != nullptr; }
  const void *data() const noexcept { return vitrine_value_bytes(handle_.get()); }
  std::size_t size() const noexcept { return vitrine_value_size(handle_.get()); }
  std::string_view text() const noexcept { return {static_cast<const char *>(data()), size()}; }

  /// vitrine_value_get_info
  vitrine_value_info info() const {
    vitrine_value_info info{};
    info.size = sizeof info;
    detail::checked(vitrine_value_get_info(handle_.get(), &info));
    return info;
  }

  /// The metadata, valid as long as the object.
  std::string_view metadata() const {
    const vitrine_value_info known = info();
    return {static_cast<const char *>(known.metadata), known.metadata_length};
  }

  /// vitrine_value_is_damaged
  bool is_damaged() const { return detail::checked(vitrine_value_is_damaged(handle_.get())) != 0; }

private:
  friend class Store;
  explicit Value(vitrine_value *handle) : handle_(handle) {}
  std::unique_ptr<vitrine_value, detail::Release<vitrine_value_release>> handle_;
};

/// Changes that a Store makes together. Not for two threads at once.
class Batch {
public:
  Batch() {
    vitrine_batch *batch = nullptr;
    detail::call([&](vitrine_error *error) { return vitrine_batch_create(&batch, error); });
    handle_.reset(batch);
  }

  /// vitrine_batch_put
  void put(const Key &key, Bytes bytes, const vitrine_put_options &options = PutOptions()) {
    detail::call([&](vitrine_error *error) {
      return vitrine_batch_put(
        handle_.get(), key.url.data(), key.url.size(), key.style.data(), key.style.size(), bytes.data, bytes.size, &options,
        error);
    });
  }

  /// vitrine_batch_remove
  void remove(const Key &key) {
    detail::call([&](vitrine_error *error) {
      return vitrine_batch_remove(
        handle_.get(), key.url.data(), key.url.size(), key.style.data(), key.style.size(), error);
    });
  }

  std::size_t count() const noexcept { return vitrine_batch_count(handle_.get()); }
  void clear() { detail::checked(vitrine_batch_clear(handle_.get())); }

private:
  friend class Store;
  std::unique_ptr<vitrine_batch, detail::Release<vitrine_batch_release>> handle_;
};

/// The entries of a Store at the time of the cursor's creation. Not for two threads at once.
class Cursor {
public:
  /// Returns the next entry; nothing at the end. Its pointers are valid as long as the cursor.
  std::optional<vitrine_entry> next() {
    vitrine_entry entry{};
    entry.size = sizeof entry;
    if (detail::checked(vitrine_cursor_next(handle_.get(), &entry)) == VITRINE_END) return std::nullopt;
    return entry;
  }

  std::size_t remaining() const noexcept { return vitrine_cursor_remaining(handle_.get()); }

private:
  friend class Store;
  explicit Cursor(vitrine_cursor *handle) : handle_(handle) {}
  std::unique_ptr<vitrine_cursor, detail::Release<vitrine_cursor_release>> handle_;
};

/// A store. Any thread may call it. The destructor closes the store and loses the errors of that close. Call close()
/// first to get them.
class Store {
public:
  /// vitrine_open
  explicit Store(const std::string &path, const vitrine_options &options = Options()) {
    vitrine_store *store = nullptr;
    detail::call([&](vitrine_error *error) { return vitrine_open(path.c_str(), &options, &store, error); });
    handle_.reset(store);
  }

  /// vitrine_close
  void close() {
    detail::call([&](vitrine_error *error) { return vitrine_close(handle_.get(), error); });
  }

  /// vitrine_put
  void put(const Key &key, Bytes bytes, const vitrine_put_options &options = PutOptions()) {
    detail::call([&](vitrine_error *error) {
      return vitrine_put(
        handle_.get(), key.url.data(), key.url.size(), key.style.data(), key.style.size(), bytes.data, bytes.size, &options,
        error);
    });
  }

  /// Stores bytes if the entry of the key meets a condition. Returns whether it did (vitrine_put_if).
  bool put_if(
    const Key &key, Bytes bytes, const Condition &condition, const vitrine_put_options &options = PutOptions()) {
    return detail::call([&](vitrine_error *error) {
             return vitrine_put_if(
               handle_.get(), key.url.data(), key.url.size(), key.style.data(), key.style.size(), bytes.data, bytes.size,
               &condition, &options, error);
           }) == VITRINE_OK;
  }

  /// Returns the value of a key; an empty one on a miss (vitrine_get).
  Value get(const Key &key) const {
    vitrine_value *value = nullptr;
    detail::call([&](vitrine_error *error) {
      return vitrine_get(
        handle_.get(), key.url.data(), key.url.size(), key.style.data(), key.style.size(), &value, error);
    });
    return Value(value);
  }

  /// Returns the values of many keys, in their order; empty ones for misses (vitrine_get_many).
  std::vector<Value> get_many(const std::vector<Key> &keys) const {
    std::vector<vitrine_key> plain;
    plain.reserve(keys.size());
    for (const Key &key : keys) {
      plain.push_back({key.url.data(), key.url.size(), key.style.data(), key.style.size()});
    }
    std::vector<Value> values(keys.size());
    std::vector<vitrine_value *> handles(keys.size());
    detail::call([&](vitrine_error *error) {
      return vitrine_get_many(handle_.get(), plain.data(), plain.size(), handles.data(), error);
    });
    for (std::size_t index = 0; index < handles.size(); ++index) values[index] = Value(handles[index]);
    return values;
  }

  /// Calls `function(const void *bytes, std::size_t byte_count)` with the bytes of an entry, without an allocation.
  /// Returns false on a miss. If `function` throws, the borrow ends and rethrows the exception (vitrine_borrow).
  template <typename Function> bool borrow(const Key &key, Function &&function) const {
    struct Call {
      Function &function;
      std::exception_ptr thrown;
    } call{function, nullptr};
    const vitrine_status status = vitrine_borrow(
      handle_.get(), key.url.data(), key.url.size(), key.style.data(), key.style.size(),
      [](void *context, const void *bytes, std::size_t byte_count) {
        Call &call = *static_cast<Call *>(context);
        try {
          call.function(bytes, byte_count);
        } catch (...) {
          call.thrown = std::current_exception();
        }
      },
      &call);
    if (call.thrown) std::rethrow_exception(call.thrown);
    return detail::checked(status) == VITRINE_OK;
  }

  /// Copies a value to a file. Returns whether there is one (vitrine_copy_to).
  bool copy_to(const Key &key, const std::string &path) const {
    return detail::call([&](vitrine_error *error) {
             return vitrine_copy_to(
               handle_.get(), key.url.data(), key.url.size(), key.style.data(), key.style.size(), path.c_str(), error);
           }) == VITRINE_OK;
  }

  /// Copies a range of a value. Returns the number of bytes copied; nothing on a miss (vitrine_read).
  std::optional<std::size_t> read(const Key &key, std::uint64_t offset, void *buffer, std::size_t length) const {
    std::size_t copied = 0;
    const vitrine_status status = detail::call([&](vitrine_error *error) {
      return vitrine_read(
        handle_.get(), key.url.data(), key.url.size(), key.style.data(), key.style.size(), offset, buffer, length, &copied,
        nullptr, error);
    });
    if (status != VITRINE_OK) return std::nullopt;
    return copied;
  }

  /// vitrine_contains
  bool contains(const Key &key) const {
    return detail::call([&](vitrine_error *error) {
             return vitrine_contains(
               handle_.get(), key.url.data(), key.url.size(), key.style.data(), key.style.size(), error);
           }) == VITRINE_OK;
  }

  /// Removes an entry. Returns whether there was one (vitrine_remove).
  bool remove(const Key &key, int durability = 0) {
    return detail::call([&](vitrine_error *error) {
             return vitrine_remove(
               handle_.get(), key.url.data(), key.url.size(), key.style.data(), key.style.size(), durability, error);
           }) == VITRINE_OK;
  }

  /// vitrine_remove_url
  std::uint64_t remove_url(std::string_view url, int durability = 0) {
    std::uint64_t removed = 0;
    detail::call([&](vitrine_error *error) {
      return vitrine_remove_url(handle_.get(), url.data(), url.size(), durability, &removed, error);
    });
    return removed;
  }

  /// vitrine_remove_style
  std::uint64_t remove_style(std::string_view style, int durability = 0) {
    std::uint64_t removed = 0;
    detail::call([&](vitrine_error *error) {
      return vitrine_remove_style(handle_.get(), style.data(), style.size(), durability, &removed, error);
    });
    return removed;
  }

  /// vitrine_remove_prefix
  std::uint64_t remove_prefix(std::string_view prefix, int durability = 0) {
    std::uint64_t removed = 0;
    detail::call([&](vitrine_error *error) {
      return vitrine_remove_prefix(handle_.get(), prefix.data(), prefix.size(), durability, &removed, error);
    });
    return removed;
  }

  /// vitrine_remove_expired
  std::uint64_t remove_expired() {
    std::uint64_t removed = 0;
    detail::call([&](vitrine_error *error) { return vitrine_remove_expired(handle_.get(), &removed, error); });
    return removed;
  }

  /// vitrine_remove_all
  void remove_all(int durability = 0) {
    detail::call([&](vitrine_error *error) { return vitrine_remove_all(handle_.get(), durability, error); });
  }

  /// Makes the changes of a batch together (vitrine_write).
  void write(const Batch &batch, int durability = 0) {
    detail::call(
      [&](vitrine_error *error) { return vitrine_write(handle_.get(), batch.handle_.get(), durability, error); });
  }

  /// Pins an entry or ends its pin. Returns whether there is one (vitrine_set_pinned).
  bool set_pinned(const Key &key, bool pinned, int durability = 0) {
    return detail::call([&](vitrine_error *error) {
             return vitrine_set_pinned(
               handle_.get(), key.url.data(), key.url.size(), key.style.data(), key.style.size(), pinned ? 1 : 0,
               durability, error);
           }) == VITRINE_OK;
  }

  /// Returns a cursor of the entries whose URL begins with `prefix`. An empty style is any style (vitrine_cursor_open).
  Cursor entries(std::string_view prefix = {}, std::string_view style = {}, bool sorted = false) const {
    vitrine_cursor *cursor = nullptr;
    detail::call([&](vitrine_error *error) {
      return vitrine_cursor_open(
        handle_.get(), prefix.data(), prefix.size(), style.empty() ? nullptr : style.data(), style.size(),
        sorted ? VITRINE_CURSOR_SORTED : 0, &cursor, error);
    });
    return Cursor(cursor);
  }

  /// Whether the store is open for reading only (vitrine_is_read_only).
  bool is_read_only() const { return detail::checked(vitrine_is_read_only(handle_.get())) != 0; }

  /// vitrine_suspend
  void suspend() {
    detail::call([&](vitrine_error *error) { return vitrine_suspend(handle_.get(), error); });
  }

  /// vitrine_resume
  void resume() {
    detail::call([&](vitrine_error *error) { return vitrine_resume(handle_.get(), error); });
  }

  /// Makes the newest change of a key durable. Returns whether it has an entry (vitrine_flush_key).
  bool flush(const Key &key) {
    return detail::call([&](vitrine_error *error) {
             return vitrine_flush_key(
               handle_.get(), key.url.data(), key.url.size(), key.style.data(), key.style.size(), error);
           }) == VITRINE_OK;
  }

  /// vitrine_flush
  void flush() {
    detail::call([&](vitrine_error *error) { return vitrine_flush(handle_.get(), error); });
  }

  /// vitrine_compact
  vitrine_compaction compact() {
    vitrine_compaction report{};
    report.size = sizeof report;
    detail::call(
      [&](vitrine_error *error) { return vitrine_compact(handle_.get(), &report, nullptr, nullptr, error); });
    return report;
  }

  /// vitrine_verify
  vitrine_verification verify() const {
    vitrine_verification report{};
    report.size = sizeof report;
    detail::call(
      [&](vitrine_error *error) { return vitrine_verify(handle_.get(), &report, nullptr, nullptr, error); });
    return report;
  }

  /// vitrine_get_stat
  vitrine_stat stat() const {
    vitrine_stat stat{};
    stat.size = sizeof stat;
    detail::call([&](vitrine_error *error) { return vitrine_get_stat(handle_.get(), &stat, error); });
    return stat;
  }

  /// vitrine_stat_json
  std::string stat_json() const {
    char *text = nullptr;
    std::size_t length = 0;
    detail::call([&](vitrine_error *error) { return vitrine_stat_json(handle_.get(), &text, &length, error); });
    const std::unique_ptr<char, detail::Release<vitrine_text_release>> owner(text);
    return std::string(text, length);
  }

  /// The handle, for functions of vitrine.h. The object still owns it.
  vitrine_store *handle() const noexcept { return handle_.get(); }

private:
  std::unique_ptr<vitrine_store, detail::Release<vitrine_store_release>> handle_;
};

} // namespace vitrine

#endif
