// Tangent-plane parametrization: x = (y, y') with y coordinates in the plane tangent to the constraint manifold at a
// base point q0 [negrut 1, potra-rheinboldt].
//
// Around q0 the bodies are described by displacement coordinates xi: r - r0 and, for rigid bodies, 2 G(p0) p, whose
// inverse on the unit sphere is p = sqrt(1 - |xi|^2/4) p0 + 1/2 G(p0)^T xi. With V an M-orthonormal basis of the null
// space of J0 = J(q0), y = V^T M xi. Lifting y means finding mu with xi = V S^-1 y + M^-1 J0^T mu on the constraints;
// one simplified Newton step is the project's linear question with the factorization of the base point,
//     [M J0^T; J0 0][d; mu] = [M V S^-1 (y - S V^T M xi); -Phi(xi)].
// Rates: xi' = B v with B = I for translations and B = G(p0) G(p)^T for rotations, so v solves J v = target,
// S V^T M B v = y', by the same iteration. xi'' = B v' - 1/2 |w|^2 G(p0) p for rotations.
//
// The chart is left (a new base point is taken) when the iterations contract more slowly than 1/4 or a rotation exceeds
// 0.8: the plane's own measure of the growth that partitioning watches by its condition number.
#include <Eigen/Dense>

#include "chart.hpp"
#include "formulations.hpp"

namespace linkwork {

namespace {

class TangentPlane final : public ChartFormulation {
public:
    TangentPlane(const Tables& tables, const FormulationOptions& options)
        : ChartFormulation(tables, options), base(tables.nq), jacobian(tables.jacobian_size),
          solver(build_linear_solver(options.linear, engine.pattern)), xi(tables.nv), d(tables.nv), f(tables.nv),
          g(tables.rows_count) {}

private:
    const LinearSolver* chart_solver() const override { return solver.get(); }

    Status open_chart(double, double* x) override {
        if (count > 0) ++engine.facts.repartitions;
        base = q;
        jacobian = engine.w.jacobian;
        if (!solver->analyse(jacobian.data(), engine.w.active.data())) return Status::singular_position;
        build_basis();
        std::fill(xi.begin(), xi.end(), 0.0);
        std::fill_n(x, count, 0.0);
        project_rates(v.data(), x + count); // at the base xi' = v
        worst_contraction = 0;
        return Status::success;
    }

    bool refresh_chart(double) override {
        double rotation = 0;
        for (const Body& b : tables.bodies)
            if (b.kind == body_rigid)
                for (int i = 3; i < 6; ++i) rotation = std::max(rotation, std::abs(xi[b.v + i]));
        const bool good = worst_contraction < 0.25 && rotation < 0.8;
        engine.facts.condition = worst_contraction;
        worst_contraction = 0;
        return good;
    }

    Status recover_position(double t, const double* y) override {
        Contraction contraction;
        for (;;) {
            if (!place()) return Status::position_lost;
            set_position(tables, q.data(), engine.w);
            calc_constraints(tables, t, engine.w);
            for (int i = 0; i < tables.rows_count; ++i) g[i] = -engine.w.phi[i];
            fill_tangent_side(y, xi.data());
            ++engine.facts.position_iterations;
            solve();
            double largest = 0;
            for (const double s : d) largest = std::max(largest, std::abs(s));
            const auto verdict = contraction.next(largest, options.position_tolerance);
            if (verdict == Contraction::lost || (verdict != Contraction::done && diverges(contraction)))
                return Status::position_lost;
            if (contraction.iteration > 1 && largest > 1e-10)
                worst_contraction = std::max(worst_contraction, contraction.theta);
            for (int i = 0; i < tables.nv; ++i) xi[i] += d[i];
            if (verdict == Contraction::done) break;
        }
        if (!place()) return Status::position_lost;
        set_position(tables, q.data(), engine.w);
        calc_jacobian(tables, engine.w);
        return Status::success;
    }

    Status recover_velocity(double t, const double* rates) override {
        calc_velocity_target(tables, t, engine.w);
        Contraction contraction;
        double scale = 1;
        for (const double s : v) scale = std::max(scale, std::abs(s));
        for (;;) {
            std::fill(g.begin(), g.end(), 0.0);
            add_jacobian_times(tables, engine.w.jacobian.data(), v.data(), g.data());
            for (int i = 0; i < tables.rows_count; ++i) g[i] = engine.w.target[i] - g[i];
            calc_displacement_rate(v.data(), rate_xi());
            fill_tangent_side(rates, rate_xi());
            solve();
            double largest = 0;
            for (const double s : d) largest = std::max(largest, std::abs(s));
            const auto verdict = contraction.next(largest, options.position_tolerance * scale);
            if (verdict == Contraction::lost || (verdict != Contraction::done && diverges(contraction)))
                return Status::position_lost;
            // the iteration is linear: a slow one here, at an accepted state, would fail for any step from there
            if (contraction.iteration > 1 && largest > 1e-10)
                worst_contraction = std::max(worst_contraction, contraction.theta);
            add_velocity_correction();
            if (verdict == Contraction::done) return Status::success;
        }
    }

    void calc_chart_acceleration(double* out) override {
        double* second = rate_xi();
        calc_displacement_rate(engine.w.a.data(), second);
        for (std::size_t b = 0; b < tables.bodies.size(); ++b) {
            const Body& body = tables.bodies[b];
            if (body.kind != body_rigid) continue;
            const Vec& w = engine.w.twist[b].w;
            const double factor = -0.25 * dot(w, w); // 2 G0 p'' = B w' - 1/4 |w|^2 2 G0 p
            for (int i = 3; i < 6; ++i) second[body.v + i] += factor * xi[body.v + i];
        }
        project_rates(second, out);
    }

    // The prediction of q, read back as displacement coordinates.
    void predict(double t) override {
        ChartFormulation::predict(t);
        for (const Body& b : tables.bodies) {
            const double *x = q.data() + b.q, *x0 = base.data() + b.q;
            double* u = xi.data() + b.v;
            for (int i = 0; i < std::min(b.nv, 3); ++i) u[i] = x[i] - x0[i];
            if (b.kind != body_rigid) continue;
            const Vec turn = calc_spin(x0 + 3, x + 3);
            for (int i = 0; i < 3; ++i) u[3 + i] = turn[i];
        }
    }

    // Tangents at the state: the basis V projected onto the null space of J(q) by the acceleration system, then
    // combined so that S V^T M B d_j = e_j.
    Status calc_tangents(double* columns) override {
        const int n = tables.nv;
        projected.resize(n, count);
        turned.resize(count, count);
        for (int j = 0; j < count; ++j) {
            std::fill(d.begin(), d.end(), 0.0);
            std::fill(g.begin(), g.end(), 0.0);
            add_mass_times(tables, basis.data() + static_cast<std::size_t>(j) * n, d.data());
            engine.solve(d.data(), g.data());
            for (int i = 0; i < n; ++i) projected(i, j) = d[i];
            calc_chart_rate(d.data(), turned.col(j).data());
        }
        // columns times the inverse of `turned`: its transpose is solved with
        transposed.compute(turned.transpose());
        wide.resize(count, n);
        for (int i = 0; i < count; ++i) wide.row(transposed.permutationP().indices()[i]) = projected.col(i).transpose();
        transposed.matrixLU().triangularView<Eigen::UnitLower>().solveInPlace(wide);
        transposed.matrixLU().triangularView<Eigen::Upper>().solveInPlace(wide);
        tangents = wide.transpose();
        std::copy_n(tangents.data(), tangents.size(), columns);
        return tangents.allFinite() ? Status::success : Status::singular_position;
    }
    void solve_velocity(const double* rows, const double* rates, double* u) override {
        for (int k = 0; k < count; ++k, rows += tables.rows_count, rates += count, u += tables.nv) {
            std::fill_n(u, tables.nv, 0.0);
            std::copy(rows, rows + tables.rows_count, g.begin());
            engine.solve(u, g.data());
            calc_chart_rate(u, chart_rate.data());
            for (int j = 0; j < count; ++j)
                for (int i = 0; i < tables.nv; ++i) u[i] += tangents(i, j) * (rates[j] - chart_rate[j]);
        }
    }
    // (B v)_q d: for rotations G0 G(dp)^T w with dp = 1/2 G(p)^T d
    void calc_rate_slope(const double* displacement, double* out) override {
        double* slope = rate_xi();
        std::fill_n(slope, tables.nv, 0.0);
        for (std::size_t b = 0; b < tables.bodies.size(); ++b)
            if (tables.bodies[b].kind == body_rigid) add_turned(b, displacement, engine.w.twist[b].w, slope);
        project_rates(slope, out);
    }
    // xi'' = B v' - 1/4 |w|^2 xi for rotations
    void calc_acceleration_slope(const double* displacement, const double* u, const double* b, double* out) override {
        double* slope = rate_xi();
        calc_displacement_rate(b, slope);
        calc_displacement_rate(displacement, moved_xi.data());
        for (std::size_t k = 0; k < tables.bodies.size(); ++k) {
            const Body& body = tables.bodies[k];
            if (body.kind != body_rigid) continue;
            const double* a = engine.w.a.data() + body.v + 3;
            add_turned(k, displacement, Vec{a[0], a[1], a[2]}, slope);
            const Vec& w = engine.w.twist[k].w;
            const double along = 0.5 * dot(w, Vec{u[body.v + 3], u[body.v + 4], u[body.v + 5]}),
                         square = 0.25 * dot(w, w);
            for (int i = 3; i < 6; ++i) slope[body.v + i] -= along * xi[body.v + i] + square * moved_xi[body.v + i];
        }
        project_rates(slope, out);
    }
    void add_turned(std::size_t index, const double* displacement, const Vec& w, double* out) const {
        const Body& body = tables.bodies[index];
        const double* e = displacement + body.v + 3;
        double step[4], turn[4];
        calc_parameter_rate(q.data() + body.q + 3, Vec{e[0], e[1], e[2]}, step);
        calc_parameter_rate(step, w, turn);
        const Vec spin = calc_spin(base.data() + body.q + 3, turn);
        for (int i = 0; i < 3; ++i) out[body.v + 3 + i] += spin[i];
    }
    // S V^T M B u
    void calc_chart_rate(const double* u, double* out) {
        calc_displacement_rate(u, rate_xi());
        project_rates(rate_xi(), out);
    }

    // The chart does not reach this far; a shorter step or a new chart will do.
    static bool diverges(const Contraction& c) { return c.iteration > 3 && c.theta > 0.7; }

    // q from xi; false when a rotation has left the half sphere of the chart
    bool place() {
        for (const Body& b : tables.bodies) {
            double* x = q.data() + b.q;
            const double *x0 = base.data() + b.q, *u = xi.data() + b.v;
            for (int i = 0; i < std::min(b.nv, 3); ++i) x[i] = x0[i] + u[i];
            if (b.kind != body_rigid) continue;
            const double square = 1 - 0.25 * (u[3] * u[3] + u[4] * u[4] + u[5] * u[5]);
            if (!(square > 0.05)) return false;
            double step[4];
            calc_parameter_rate(x0 + 3, Vec{u[3], u[4], u[5]}, step);
            for (int i = 0; i < 4; ++i) x[3 + i] = std::sqrt(square) * x0[3 + i] + step[i];
        }
        return true;
    }

    // xi' = B v
    void calc_displacement_rate(const double* u, double* out) {
        linkwork::calc_position_rate(tables, q.data(), u, rate.data());
        for (const Body& b : tables.bodies) {
            for (int i = 0; i < std::min(b.nv, 3); ++i) out[b.v + i] = u[b.v + i];
            if (b.kind != body_rigid) continue;
            const Vec spin = calc_spin(base.data() + b.q + 3, rate.data() + b.q + 3);
            for (int i = 0; i < 3; ++i) out[b.v + 3 + i] = spin[i];
        }
    }

    // v += B^-1 d. For p = c p0 + 1/2 G0^T xi, B = c I + tilde(k) with k = xi / 2, and
    // B^-1 = (c I - tilde(k) + k k^T / c) / (c^2 + k.k).
    void add_velocity_correction() {
        for (const Body& b : tables.bodies) {
            const double* u = d.data() + b.v;
            double* out = v.data() + b.v;
            for (int i = 0; i < std::min(b.nv, 3); ++i) out[i] += u[i];
            if (b.kind != body_rigid) continue;
            const double *p0 = base.data() + b.q + 3, *p = q.data() + b.q + 3;
            const double c = p0[0] * p[0] + p0[1] * p[1] + p0[2] * p[2] + p0[3] * p[3];
            const Vec k = 0.5 * Vec{xi[b.v + 3], xi[b.v + 4], xi[b.v + 5]}, e = {u[3], u[4], u[5]};
            const Vec s = (1 / (c * c + dot(k, k))) * (c * e - cross(k, e) + (dot(k, e) / c) * k);
            for (int i = 0; i < 3; ++i) out[3 + i] += s[i];
        }
    }

    // f = M V S^-1 (y - S V^T M xi); the right side of the constraints is already in g
    void fill_tangent_side(const double* y, const double* displacement) {
        project_rates(displacement, chart.data());
        std::fill(f.begin(), f.end(), 0.0);
        for (int j = 0; j < count; ++j) {
            const double s = (y[j] - chart[j]) / length[j];
            const double* column = basis.data() + static_cast<std::size_t>(j) * tables.nv;
            for (int i = 0; i < tables.nv; ++i) f[i] += s * column[i];
        }
        std::fill(d.begin(), d.end(), 0.0);
        add_mass_times(tables, f.data(), d.data());
    }

    // out = S V^T M u
    void project_rates(const double* u, double* out) {
        std::fill(f.begin(), f.end(), 0.0);
        add_mass_times(tables, u, f.data());
        for (int j = 0; j < count; ++j) {
            const double* column = basis.data() + static_cast<std::size_t>(j) * tables.nv;
            double s = 0;
            for (int i = 0; i < tables.nv; ++i) s += column[i] * f[i];
            out[j] = length[j] * s;
        }
    }

    void solve() {
        ++engine.facts.linear_solves;
        solver->solve(d.data(), g.data());
    }

    // V = L^-T Q2, where M = L L^T and Q2 spans the null space of J0 L^-T. Dense; called per chart.
    void build_basis() {
        const int n = tables.nv;
        Eigen::MatrixXd J = Eigen::MatrixXd::Zero(tables.rows_count, n), M = Eigen::MatrixXd::Zero(n, n);
        for (const Part& part : tables.parts) {
            const Body& b = tables.bodies[part.body];
            for (int r = 0; r < tables.blocks[part.block].rows; ++r)
                for (int c = 0; c < b.nv; ++c)
                    J(tables.blocks[part.block].row + r, b.v + c) += jacobian[part.offset + r * b.nv + c];
        }
        for (const Body& b : tables.bodies)
            for (int i = 0; i < b.nv; ++i)
                for (int j = 0; j < b.nv; ++j) M(b.v + i, b.v + j) = calc_mass_entry(b, i, j);
        for (int i = 0; i < tables.rows_count; ++i)
            if (engine.w.active[i] == 0) J.row(i).setZero();
        const Eigen::LLT<Eigen::MatrixXd> factor(M);
        count = n - engine.rank;
        Eigen::MatrixXd Q = Eigen::MatrixXd::Identity(n, n);
        if (engine.rank > 0) { // L^-1 J^T, n x rows
            const Eigen::MatrixXd scaled = factor.matrixL().solve(J.transpose());
            Q = Eigen::ColPivHouseholderQR<Eigen::MatrixXd>(scaled).householderQ() * Q;
        }
        const Eigen::MatrixXd V = factor.matrixU().solve(Q.rightCols(count));
        basis.assign(V.data(), V.data() + V.size());
        length.resize(count);
        for (int j = 0; j < count; ++j) length[j] = V.col(j).norm();
        chart.assign(count, 0.0);
        chart_rate.assign(count, 0.0);
        moved_xi.assign(n, 0.0);
        xi_rate.assign(n, 0.0);
    }
    double* rate_xi() { return xi_rate.data(); }

    std::vector<double> base;     // q0
    std::vector<double> jacobian; // J0
    std::unique_ptr<LinearSolver> solver;
    std::vector<double> basis, length; // V, column-major nv x count, and the lengths S of its columns
    std::vector<double> xi, xi_rate, d, f, g, chart;
    std::vector<double> chart_rate, moved_xi;
    Eigen::MatrixXd projected, turned, wide, tangents; // nv x count, count x count, count x nv, nv x count
    Eigen::PartialPivLU<Eigen::MatrixXd> transposed;
    double worst_contraction = 0;
};

} // namespace

std::unique_ptr<Formulation> build_tangent_plane(const Tables& tables, const FormulationOptions& options) {
    return std::make_unique<TangentPlane>(tables, options);
}

} // namespace linkwork
