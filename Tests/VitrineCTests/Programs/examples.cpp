// The example of Docs/C.md for C++, word for word. usage: examples FOLDER
#include <iostream>
#include <string>
#include <vitrine.hpp>

static bool run(const std::string &folder, const std::string &jpeg) {
  vitrine::Options options;
  options.byte_budget = 512 << 20;
  vitrine::Store store(folder, options);

  store.put("https://example.org/cat.jpg", jpeg);
  vitrine::Value value = store.get("https://example.org/cat.jpg");
  if (value) std::cout << value.size() << " bytes, without a copy\n";

  vitrine::Batch batch;
  batch.put({"https://example.org/cat.jpg", "square-60@2x"}, "pixels");
  batch.remove("https://example.org/dog.jpg");
  store.write(batch, VITRINE_SYNCED);

  try {
    store.put({"https://example.org/cat.jpg", "a style with spaces"}, "pixels");
  } catch (const vitrine::Error &error) {
    std::cerr << error.what() << '\n';  // error.status() is VITRINE_ERROR_INVALID_ARGUMENT
  }
  store.close();
  return value.text() == jpeg;
}

int main(int count, char **arguments) { return count == 2 && run(arguments[1], "jpeg") ? 0 : 1; }
