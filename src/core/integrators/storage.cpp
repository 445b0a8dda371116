#include "storage.hpp"

#include <algorithm>

namespace linkwork {

namespace {

// Makes room for more entries, in pieces of at least a megabyte, so that the steps themselves seldom allocate.
template <class T> void grow(std::vector<T>& values, std::size_t more) {
    constexpr std::size_t piece = (std::size_t{1} << 20) / sizeof(T);
    if (values.size() + more > values.capacity())
        values.reserve(std::max({piece, 2 * values.capacity(), values.size() + more}));
}

void put(std::vector<double>& values, const double* row, int count) {
    grow(values, static_cast<std::size_t>(count));
    values.insert(values.end(), row, row + count);
}

} // namespace

void Storage::append(Records& records, double t, const Motion& motion) {
    put(records.t, &t, 1);
    put(records.q, motion.q, nq_);
    put(records.v, motion.v, nv_);
    put(records.a, motion.a, nv_);
    put(records.lambda, motion.lambda, rows_);
}

void Storage::store_state(double t, const Motion& motion) {
    append(kept.steps, t, motion);
    for (; next_ < wanted_.size() && sign_ * (wanted_[next_] - t) <= 0; ++next_)
        append(kept.output, wanted_[next_], motion);
}

void Storage::store_output(const Motion& motion) { append(kept.output, wanted_[next_++], motion); }

void Storage::store_event(int event, double t, const Motion& motion) {
    grow(kept.events, 1);
    kept.events.push_back({event, t});
    put(kept.event_q, motion.q, nq_);
    put(kept.event_v, motion.v, nv_);
}

void Storage::rewind(const Marks& marks) {
    const auto cut = [](std::vector<double>& values, std::size_t rows, int count) {
        values.resize(rows * static_cast<std::size_t>(count));
    };
    const auto cut_records = [&](Records& r, std::size_t rows) {
        cut(r.t, rows, 1), cut(r.q, rows, nq_), cut(r.v, rows, nv_), cut(r.a, rows, nv_), cut(r.lambda, rows, rows_);
    };
    next_ -= kept.output.t.size() - marks.output;
    cut_records(kept.steps, marks.steps);
    cut_records(kept.output, marks.output);
    kept.events.erase(kept.events.begin() + static_cast<std::ptrdiff_t>(marks.events), kept.events.end());
    cut(kept.event_q, marks.events, nq_), cut(kept.event_v, marks.events, nv_);
}

} // namespace linkwork
