// Checks vitrine.hpp. usage: promises FOLDER. The status is 0 if all checks pass.
#include <cstdio>
#include <cstring>
#include <string>
#include <vitrine.hpp>

#include "check.h"

static_assert(std::is_nothrow_move_constructible_v<vitrine::Store> && !std::is_copy_constructible_v<vitrine::Store>);
static_assert(std::is_nothrow_move_constructible_v<vitrine::Value> && !std::is_copy_constructible_v<vitrine::Value>);
static_assert(std::is_nothrow_move_constructible_v<vitrine::Batch> && !std::is_copy_constructible_v<vitrine::Batch>);

template <typename Function> static vitrine_status status_of(Function function) {
  try {
    function();
  } catch (const vitrine::Error &error) {
    CHECK(std::strlen(error.what()) > 0);
    return error.status();
  }
  return VITRINE_OK;
}

static vitrine::Value value_that_outlives_its_store(const std::string &folder) {
  vitrine::Options options;
  options.byte_budget = 16 << 20;
  vitrine::Store store(folder, options);
  vitrine::PutOptions put;
  put.metadata = "note";
  put.metadata_length = 4;
  store.put("a", "bytes of a", put);
  store.put({"a", "small"}, std::vector<std::uint8_t>{1, 2, 3});
  CHECK(store.get({"a", "small"}).size() == 3 && !store.get("b") && store.contains("a") && !store.contains("b"));

  std::size_t seen = 0;
  CHECK(store.borrow("a", [&](const void *, std::size_t byte_count) { seen += byte_count; }) && seen == 10);
  CHECK(!store.borrow("b", [&](const void *, std::size_t byte_count) { seen += byte_count; }) && seen == 10);
  bool is_caught = false;
  try {
    store.borrow("a", [](const void *, std::size_t) { throw std::string("thrown by the function"); });
  } catch (const std::string &) {
    is_caught = true;
  }
  CHECK(is_caught);

  char buffer[4];
  CHECK(store.read("a", 6, buffer, 4) == 4u && !std::memcmp(buffer, "of a", 4) && !store.read("b", 0, buffer, 4));

  CHECK(!store.put_if("a", "x", vitrine::Condition(VITRINE_IF_ABSENT)) && store.get("a").text() == "bytes of a");
  CHECK(store.put_if("i", "1", vitrine::Condition(VITRINE_IF_ABSENT)));
  const vitrine_value_info first = store.get("i").info();
  CHECK(store.put_if("i", "2", vitrine::Condition(first.digest_high, first.digest_low)));
  CHECK(!store.put_if("i", "3", vitrine::Condition(first.digest_high, first.digest_low)));
  CHECK(store.copy_to("i", folder + ".copy") && !store.copy_to("absent", folder + ".copy"));
  CHECK(!std::remove((folder + ".copy").c_str()));
  CHECK(store.flush("i") && !store.flush("absent") && store.remove_expired() == 0 && !store.is_read_only());
  store.suspend();
  CHECK(!store.contains("i"));
  store.resume();
  CHECK(store.get("i").text() == "2" && store.remove("i"));

  vitrine::Batch batch;
  batch.put({"c", "small"}, "c");
  batch.put("d", "d");
  batch.remove("d");
  CHECK(batch.count() == 3);
  store.write(batch, VITRINE_SYNCED);
  CHECK(store.contains({"c", "small"}) && !store.contains("d"));

  const std::vector<vitrine::Value> values = store.get_many({"a", "absent", {"c", "small"}});
  CHECK(values.size() == 3 && values[0] && !values[1] && values[2].text() == "c");

  vitrine::Cursor cursor = store.entries({}, "small", true);
  std::string urls;
  while (const std::optional<vitrine_entry> entry = cursor.next()) urls.append(entry->url, entry->url_length);
  CHECK(urls == "ac" && cursor.remaining() == 0);

  CHECK(store.set_pinned("a", true) && store.set_pinned("a", false) && !store.set_pinned("absent", true));
  store.flush();
  CHECK(store.compact().is_erased && store.verify().damaged == 0 && store.stat().entries == 3);
  CHECK(store.stat_json().front() == '{');
  CHECK(store.remove({"c", "small"}) && !store.remove("c") && store.remove_style("small") == 1);
  CHECK(store.remove_prefix("zz") == 0);

  vitrine::Store moved = std::move(store);
  CHECK(status_of([&] { store.flush(); }) == VITRINE_ERROR_BAD_HANDLE);
  CHECK(status_of([&] { vitrine::Store second(folder); }) == VITRINE_ERROR_LOCKED);
  CHECK(status_of([&] { moved.put({"a", "no style"}, "x"); }) == VITRINE_ERROR_INVALID_ARGUMENT);
  vitrine::Value value = moved.get("a");
  CHECK(moved.remove_url("a") == 1);
  moved.remove_all();
  moved.close();
  CHECK(status_of([&] { moved.get("a"); }) == VITRINE_ERROR_CLOSED);
  return value;
}

int main(int count, char **arguments) {
  CHECK(count == 2);
  const vitrine::Value value = value_that_outlives_its_store(arguments[1]);
  CHECK(value.text() == "bytes of a" && value.metadata() == "note" && !value.is_damaged());
  CHECK(status_of([] { vitrine::Value().info(); }) == VITRINE_ERROR_BAD_HANDLE);
  std::puts("all promises kept");
  return 0;
}
