// The workloads and their helpers. Each workload prints its part of the table.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "allm/allm.hpp"

#include "bench/http/bare_client.hpp"
#include "bench/http/server_process.hpp"

namespace allm::bench {

void stream_workload(const ServerUrls& urls);
void tool_loop_workload(const ServerUrls& urls);
void memory_workload(const ServerUrls& urls);
void flood_workload();

// An engine whose model is at `url`. Without a runtime it uses that of the process.
Engine engine_at(const std::string& url, const std::string& ca_file, std::vector<Tool> tools = {},
                 std::shared_ptr<Runtime> runtime = nullptr);

// Records the requests that `use` makes with its engine, so that they can be sent without allm. `path` selects the
// answer. The caller sets the URLs.
std::vector<BareRequest> requests_of(const std::string& path, std::vector<Tool> tools,
                                     const std::function<void(const Engine&)>& use);

[[noreturn]] void give_up(const std::string& message);

}  // namespace allm::bench
