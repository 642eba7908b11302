// Reads TOML and reports every error with its line. Nothing outside src/lanes includes toml++.
#pragma once

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <toml++/toml.h>
#include <vector>

#include "allm/json.hpp"

namespace allm {

// The errors of a file, each with its line.
class TomlErrors {
 public:
  explicit TomlErrors(std::string file) : file_(std::move(file)) {}
  void add(const toml::source_region& where, const std::string& error);
  bool empty() const { return count_ == 0; }
  // One line each; after the first twenty, only their number.
  std::string text() const;

 private:
  std::string file_;
  std::string text_;
  std::size_t count_ = 0;
};

// A table with a fixed set of keys. Reports unknown keys; each getter reports a value of the wrong kind and then
// returns nullopt or null.
class TomlTable {
 public:
  // `what` names the table in errors.
  TomlTable(const toml::table& table, std::string what, std::initializer_list<std::string_view> keys,
            TomlErrors& errors);

  std::optional<std::string> text(const char* key) const;
  std::optional<bool> boolean(const char* key) const;
  std::optional<std::int64_t> integer(const char* key) const;
  std::optional<std::vector<std::string>> texts(const char* key) const;
  std::optional<std::vector<int>> integers(const char* key) const;
  // "250ms", "10s", "2m", "1h".
  std::optional<std::chrono::milliseconds> duration(const char* key) const;
  // A number of bytes, or "512 KiB", "1 MiB", "4 GiB".
  std::optional<std::uint64_t> bytes(const char* key) const;
  const toml::table* table(const char* key) const;
  const toml::node* find(const char* key) const { return table_.get(key); }

  void report(const char* key, const std::string& error) const;
  void report(const std::string& error) const { errors_.add(table_.source(), what_ + error); }

 private:
  const toml::table& table_;
  const std::string what_;
  TomlErrors& errors_;
};

// A TOML value as JSON; dates and times as texts.
Json json_of(const toml::node& node);

}  // namespace allm
