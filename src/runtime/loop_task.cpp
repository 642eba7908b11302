#include "runtime/loop_task.hpp"

namespace allm {

void TaskQueue::arm(std::shared_ptr<LoopTask> task, TimePoint deadline) {
  task->deadline_ = deadline;
  heap_.push_back(nullptr);
  place(heap_.size() - 1, std::move(task));
  sift_up(heap_.size() - 1);
}

std::shared_ptr<LoopTask> TaskQueue::cancel(LoopTask& task) {
  return task.heap_index_ == LoopTask::kNotArmed ? nullptr : remove(task.heap_index_);
}

bool TaskQueue::is_timer_due() const {
  return !heap_.empty() && heap_.front()->deadline_ <= std::chrono::steady_clock::now();
}

std::shared_ptr<LoopTask> TaskQueue::take_due() {
  // Tasks can be posted without end, so a timer that is due goes first now and then.
  constexpr int kPostedInARow = 16;
  if (posted_.empty()) return remove(0);
  if (++posted_in_a_row_ > kPostedInARow) {
    posted_in_a_row_ = 0;
    if (is_timer_due()) return remove(0);
  }
  std::shared_ptr<LoopTask> first = std::move(posted_.front());
  posted_.pop_front();
  return first;
}

TaskQueue TaskQueue::take_all() {
  for (auto& task : heap_) task->heap_index_ = LoopTask::kNotArmed;
  TaskQueue taken;
  taken.heap_.swap(heap_);
  taken.posted_.swap(posted_);
  return taken;
}

std::shared_ptr<LoopTask> TaskQueue::remove(std::size_t index) {
  std::shared_ptr<LoopTask> task = std::move(heap_[index]);
  task->heap_index_ = LoopTask::kNotArmed;
  std::shared_ptr<LoopTask> last = std::move(heap_.back());
  heap_.pop_back();
  if (index < heap_.size()) {
    place(index, std::move(last));
    sift_up(index);
    sift_down(index);
  }
  return task;
}

void TaskQueue::place(std::size_t index, std::shared_ptr<LoopTask> task) {
  task->heap_index_ = index;
  heap_[index] = std::move(task);
}

void TaskQueue::sift_up(std::size_t index) {
  while (index > 0) {
    const std::size_t parent = (index - 1) / 2;
    if (heap_[parent]->deadline_ <= heap_[index]->deadline_) return;
    std::swap(heap_[parent]->heap_index_, heap_[index]->heap_index_);
    heap_[parent].swap(heap_[index]);
    index = parent;
  }
}

void TaskQueue::sift_down(std::size_t index) {
  while (true) {
    std::size_t least = index;
    for (std::size_t child = 2 * index + 1; child <= 2 * index + 2 && child < heap_.size(); ++child) {
      if (heap_[child]->deadline_ < heap_[least]->deadline_) least = child;
    }
    if (least == index) return;
    std::swap(heap_[least]->heap_index_, heap_[index]->heap_index_);
    heap_[least].swap(heap_[index]);
    index = least;
  }
}

}  // namespace allm
