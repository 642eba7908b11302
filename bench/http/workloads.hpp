// The workloads, each printing its part of the table, and what they share.
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

// An engine that finds its model at `url`. Without a runtime it uses the process's.
Engine engine_at(const std::string& url, const std::string& ca_file, std::vector<Tool> tools = {},
                 std::shared_ptr<Runtime> runtime = nullptr);

// The requests that `use` makes with the engine it is given, to be sent without allm. `path` says what is answered;
// their URLs are to be set.
std::vector<BareRequest> requests_of(const std::string& path, std::vector<Tool> tools,
                                     const std::function<void(const Engine&)>& use);

[[noreturn]] void give_up(const std::string& problem);

}  // namespace allm::bench
