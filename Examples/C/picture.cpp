// Stores a picture, gets it, lists the store, and prints its statistics.
// usage: picture FOLDER [FILE]    without a file, a picture of 64 x 64 pixels is drawn
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vitrine.hpp>

static std::string read_file(const char *path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// Draws a picture in the format PPM.
static std::string draw() {
  std::string picture = "P6 64 64 255\n";
  for (int y = 0; y < 64; ++y) {
    for (int x = 0; x < 64; ++x) {
      for (int channel : {x * 4, y * 4, (x ^ y) * 4}) picture.push_back(static_cast<char>(channel));
    }
  }
  return picture;
}

int main(int count, char **arguments) try {
  if (count < 2) {
    std::cerr << "usage: picture FOLDER [FILE]\n";
    return 2;
  }
  const std::string picture = count > 2 ? read_file(arguments[2]) : draw();
  const std::string type = "image/x-portable-pixmap";

  vitrine::Options options;
  options.byte_budget = 64 << 20;
  vitrine::Store store(arguments[1], options);

  vitrine::PutOptions put;
  put.metadata = type.data();
  put.metadata_length = type.size();
  store.put("https://example.org/picture.ppm", picture, put);

  const vitrine::Value value = store.get("https://example.org/picture.ppm");
  const bool is_equal = value && value.text() == picture;
  std::cout << "got " << value.size() << " bytes, " << (is_equal ? "equal to those put" : "not those put") << '\n';

  vitrine::Cursor cursor = store.entries({}, {}, true);
  while (const std::optional<vitrine_entry> entry = cursor.next()) {
    std::cout << std::string_view(entry->url, entry->url_length) << ' '
              << std::string_view(entry->style, entry->style_length) << ' ' << entry->byte_count << " bytes, "
              << std::string_view(static_cast<const char *>(entry->metadata), entry->metadata_length) << '\n';
  }

  std::cout << store.stat_json() << '\n';
  store.close();
  return is_equal ? 0 : 1;
} catch (const vitrine::Error &error) {
  std::cerr << "picture: " << error.what() << '\n';
  return 1;
}
