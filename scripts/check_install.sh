#!/bin/sh
# Installs a build into a temporary folder, and builds small programs with find_package against it, as a user does: with
# g++ -O3 -Wall -Wextra -Werror. Any warning in a public header is an error.
#
#   scripts/check_install.sh BUILD          uses the build in the folder BUILD
#   scripts/check_install.sh --shared       makes a build with shared libraries in build-shared first, and runs its tests
set -eu
cd "$(dirname "$0")/.."

build=${1:?the folder of a build, or --shared}
if [ "$build" = --shared ]; then
  build=build-shared
  cmake -G Ninja -B "$build" -DBUILD_SHARED_LIBS=ON -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE="-O1 -DNDEBUG" \
    -DALLM_BENCH=OFF -DALLM_EXAMPLES=OFF >/dev/null
  cmake --build "$build" -j "${JOBS:-$(nproc)}"
  ctest --test-dir "$build" -j "${JOBS:-$(nproc)}" --output-on-failure
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$build" --prefix "$work/prefix" >/dev/null

mkdir "$work/consumer"
cat >"$work/consumer/CMakeLists.txt" <<'EOF'
cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES CXX)
find_package(allm 0.2 REQUIRED COMPONENTS stores testing)
add_compile_options(-O3 -Wall -Wextra -Werror)
add_executable(program program.cpp)
target_link_libraries(program PRIVATE allm::allm)
add_executable(tests tests.cpp)
target_link_libraries(tests PRIVATE allm::testing)
add_executable(stores stores.cpp)
target_link_libraries(stores PRIVATE allm::stores)
add_library(plugin MODULE program.cpp)
target_link_libraries(plugin PRIVATE allm::allm)
EOF
cat >"$work/consumer/program.cpp" <<'EOF'
// Production code and plugins link only allm::allm.
#include <iostream>

#include "allm/allm.hpp"

struct Place {
  std::string city;
  std::optional<int> days;
  static allm::Fields<Place> describe() {
    return {allm::field("city", &Place::city, "Name of the city."), allm::field("days", &Place::days).minimum(1)};
  }
};

int main() {
  const allm::Tool weather = allm::tool<Place>({
      .name = "weather",
      .description = "The weather.",
      .handler = [](const Place& place) { return allm::ok({{"city", place.city}, {"days", place.days.value_or(1)}}); },
  });
  const auto batch = allm::run_tool_calls(
      {{.id = "c", .name = "weather", .arguments = {{"city", "Rome"}}}}, {weather});
  if (!batch) return 1;
  std::cout << batch->messages.at(0).text() << '\n';
  allm::Session session{.id = "s"};
  const auto text = allm::to_json(session);
  return text && allm::from_json<allm::Session>(*text) ? 0 : 1;
}
EOF
cat >"$work/consumer/stores.cpp" <<'EOF'
#include <iostream>

#include "allm/allm.hpp"
#include "allm/work_queue.hpp"

int main() {
  const auto store = allm::open_store("sqlite:consumer.db");
  if (!store) {
    std::cerr << store.error().message() << '\n';
    return 1;
  }
  const auto created = (*store)->create({.session = {.thread = {allm::user("Hello")}}});
  return created && (*store)->load(*created->session.id) ? 0 : 1;
}
EOF
cat >"$work/consumer/tests.cpp" <<'EOF'
#include <iostream>

#include "allm/allm.hpp"
#include "allm/testing.hpp"

int main() {
  const auto model = allm::fake([](const allm::Request& request) -> allm::FakeCallScript {
    return {allm::fake_text(request.messages.back().text()), allm::fake_finish(allm::FinishReason::stop)};
  });
  const auto result = allm::chat(allm::Engine({.adapter = model}), {allm::user("echo")});
  if (!result || result->text() != "echo") return 1;
  for (const allm::Event& event : allm::stream(allm::Engine({.adapter = model}), {allm::user("echo")})) {
    if (const auto* text = event.get_if<allm::TextDelta>()) std::cout << text->delta << '\n';
  }
  return 0;
}
EOF
cmake -G Ninja -S "$work/consumer" -B "$work/built" -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_CXX_COMPILER="${CXX:-g++}" \
  >/dev/null
cmake --build "$work/built" -j "${JOBS:-2}"
"$work/built/program" >/dev/null
"$work/built/tests" >/dev/null
(cd "$work" && built/stores)
if [ -x "$work/prefix/bin/allm" ]; then
  # In a folder that was moved, so that no path of the build is used.
  mv "$work/prefix" "$work/moved"
  "$work/moved/bin/allm" --version >/dev/null
  "$work/moved/bin/allm" help >/dev/null
  for file in man/man1/allm.1 man/man1/allm-ask.1 bash-completion/completions/allm zsh/site-functions/_allm \
    fish/vendor_completions.d/allm.fish; do
    [ -s "$work/moved/share/$file" ] || { echo "share/$file is not installed" >&2; exit 1; }
  done
  mv "$work/moved" "$work/prefix"
fi
if nm -C --defined-only "$work"/prefix/lib*/liballm.* 2>/dev/null | grep -q 'allm::FakeAdapter'; then
  echo "allm::allm contains parts of allm::testing" >&2
  exit 1
fi
echo "installed: find_package, -O3 -Wall -Wextra -Werror and a plugin work"
