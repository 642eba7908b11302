#include "engine/budget_chain.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

namespace allm {
namespace {

void append_links(const std::shared_ptr<BudgetLedger>& ledger, std::vector<BudgetChain::Link>& links) {
  if (!ledger) return;
  const auto add = [&](const BudgetChain::Link& link) {
    if (std::ranges::find(links, link.ledger, &BudgetChain::Link::ledger) == links.end()) links.push_back(link);
  };
  if (const auto* chain = dynamic_cast<const BudgetChain*>(ledger.get())) {
    std::ranges::for_each(chain->links(), add);
  } else {
    add({ledger});
  }
}

void lower(std::optional<std::int64_t>& least, const std::optional<std::int64_t>& amount) {
  if (amount) least = least ? std::min(*least, *amount) : *amount;
}

}  // namespace

Result<Reserved> BudgetChain::reserve(const Spend& worst_case) {
  std::vector<ReservationId> made;
  // A reservation that cannot be released stays and counts as spent, which exceeds nothing.
  const auto take_back = [&] {
    for (std::size_t i = 0; i < made.size(); ++i) {
      [[maybe_unused]] const Status released = links_[i].ledger->release(made[i]);
    }
  };
  for (const Link& link : links_) {
    Result<Reserved> reserved = link.ledger->reserve(worst_case);
    if (reserved && std::holds_alternative<ReservationId>(*reserved)) {
      made.push_back(std::get<ReservationId>(*reserved));
      continue;
    }
    take_back();
    if (reserved && link.of_run) std::get<BudgetRefusal>(*reserved).of_run = true;
    return reserved;
  }
  const std::lock_guard lock(mutex_);
  parts_.emplace(++last_id_, std::move(made));
  return last_id_;
}

Status BudgetChain::settle(ReservationId id, const Spend& actual) {
  std::unordered_map<ReservationId, std::vector<ReservationId>>::node_type part;
  {
    const std::lock_guard lock(mutex_);
    part = parts_.extract(id);
  }
  if (part.empty()) {
    return std::unexpected(validation_error(ValidationError::Reason::invalid_option, {std::string("id")},
                                            "unknown_reservation",
                                            "the budget has no reservation " + std::to_string(id)));
  }
  Status first_error;
  for (std::size_t i = 0; i < links_.size(); ++i) {
    Status settled = links_[i].ledger->settle(part.mapped()[i], actual);
    if (!settled && first_error) first_error = std::move(settled);
  }
  return first_error;
}

Result<Spend> BudgetChain::left() {
  Spend least;
  for (const Link& link : links_) {
    const Result<Spend> left = link.ledger->left();
    if (!left) return left;
    lower(least.tokens, left->tokens);
    lower(least.nanos, left->nanos);
  }
  return least;
}

bool BudgetChain::may_block() const {
  return std::ranges::any_of(links_, [](const Link& link) { return link.ledger->may_block(); });
}

std::shared_ptr<BudgetLedger> joined(const std::shared_ptr<BudgetLedger>& first,
                                     const std::shared_ptr<BudgetLedger>& second) {
  if (!first || !second) return first ? first : second;
  std::vector<BudgetChain::Link> links;
  append_links(first, links);
  append_links(second, links);
  return std::make_shared<BudgetChain>(std::move(links));
}

std::shared_ptr<BudgetLedger> run_budget(std::optional<std::int64_t> max_total_tokens, std::optional<double> max_cost,
                                         bool strict) {
  if (!max_total_tokens && !max_cost) return nullptr;
  const BudgetOptions options{.max_cost = max_cost, .max_tokens = max_total_tokens, .strict = strict};
  return std::make_shared<BudgetChain>(
      std::vector<BudgetChain::Link>{{.ledger = std::make_shared<Budget>(options), .of_run = true}});
}

void count_recorded(BudgetLedger* budget, const Spend& spent) {
  const auto* chain = dynamic_cast<BudgetChain*>(budget);
  if (chain == nullptr) return;
  for (const BudgetChain::Link& link : chain->links()) {
    if (!link.of_run) continue;
    const Result<Reserved> reserved = link.ledger->reserve({.tokens = 0, .nanos = 0});
    const auto* id = reserved ? std::get_if<ReservationId>(&*reserved) : nullptr;
    if (id == nullptr) continue;
    [[maybe_unused]] const Status settled = link.ledger->settle(*id, spent);
  }
}

}  // namespace allm
