// The linearized equations of motion at one state, by derivatives and by grouped differences, and groups of columns.
#include "../system/grouped_slopes.hpp"
#include "system.hpp"

#include <nanobind/stl/vector.h>

namespace linkwork {

namespace {

nb::dict calc_slopes(System& s, double t, const Array& q, const Array& v, const Array& memory, const Array& a,
                     const Array& lambda, bool differences) {
    s.set(t, q, v, memory);
    check_size(a, s.tables.nv, "a");
    check_size(lambda, s.tables.rows_count, "lambda");
    Workspace& w = *s.workspace;
    std::copy_n(a.data(), s.tables.nv, w.a.begin());
    std::copy_n(lambda.data(), s.tables.rows_count, w.lambda.begin());
    Slopes slopes(s.tables);
    nb::dict out;
    if (differences) {
        GroupedSlopes grouped(s.tables);
        grouped.calc(s.tables, t, w, slopes);
        out["evaluations"] = grouped.evaluations();
        out["groups"] = grouped.groups();
    } else {
        slopes.calc(s.tables, t, w);
    }
    s.raise_user_error();
    const std::size_t nv = s.tables.nv;
    std::vector<double> K(nv * nv), C(nv * nv);
    slopes.for_each_entry([&](int row, int column, double stiffness, double damping) {
        K[row * nv + column] += stiffness, C[row * nv + column] += damping;
    });
    out["K"] = to_rows(std::move(K), nv, nv);
    out["C"] = to_rows(std::move(C), nv, nv);
    out["Jv_q"] = s.to_dense(slopes.Jv_q);
    out["G"] = s.to_dense(slopes.G);
    out["H"] = s.to_dense(slopes.H);
    return out;
}

std::vector<int> group_columns(int columns, const std::vector<std::vector<int>>& rows, const std::string& order) {
    const std::vector<std::string> names{"natural", "largest_first", "smallest_last", "incidence"};
    if (order == "best") return find_groups(columns, rows).group_of;
    const auto found = std::find(names.begin(), names.end(), order);
    if (found == names.end()) throw nb::value_error("order: natural, largest_first, smallest_last, incidence or best");
    return find_groups(columns, rows, static_cast<ColumnOrder>(found - names.begin())).group_of;
}

} // namespace

void bind_slopes(nb::module_& m) {
    m.def("slopes", &calc_slopes, "system"_a, "t"_a, "q"_a, "v"_a, "memory"_a, "a"_a, "lambda_"_a,
          "differences"_a = false,
          "K = f_q - (J^T lambda)_q, C = f_v, Jv_q, G = gamma_q - (J a)_q and H = gamma_v, dense; by differences also "
          "the groups of bodies and the evaluations they took.");
    m.def("group_columns", &group_columns, "columns"_a, "rows"_a, "order"_a = "best",
          "The group of every column, no two columns of a row in one; rows: the columns each depends on.");
}

} // namespace linkwork
