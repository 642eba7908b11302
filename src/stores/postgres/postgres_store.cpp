#include "stores/postgres/postgres_store.hpp"

#include "stores/postgres/schema.hpp"

namespace allm {

Result<std::shared_ptr<Store>> open_postgres_store(const std::string& url) {
  const Result<postgres::Address> address = postgres::parse_address(url);
  if (!address) return std::unexpected(address.error());
  auto connection = postgres::Connection::open(*address);
  if (!connection) return std::unexpected(connection.error().error);
  if (Status prepared = postgres::prepare_schema(*connection); !prepared) return std::unexpected(prepared.error());
  return std::make_shared<PostgresStore>(*address, *std::move(connection));
}

}  // namespace allm
