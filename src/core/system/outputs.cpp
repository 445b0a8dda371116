// Quantities asked for outside the step: coordinates of joints, energies, the memory of angles and curves.
#include "../kernels/forces.hpp"
#include "equations.hpp"

namespace linkwork {

namespace {

// Calls visit with the primitive's type and its features, and returns what it returns.
template <class Visit> double visit_primitive(const Tables&, const Primitive& p, const Workspace& w, Visit&& visit) {
    double result = 0;
    for_each_primitive(ScalarPrimitives{}, [&]<class P>(P) {
        if (P::kind != p.kind) return;
        Features<double> X;
        calc_features<P>(p, w.pose[p.body_a], w.pose[p.body_b], X);
        result = visit(P{}, X, p.memory >= 0 ? w.memory[p.memory] : 0.0);
    });
    return result;
}

} // namespace

double calc_coordinate(const Tables& tables, const Primitive& p, const Workspace& w) {
    return visit_primitive(tables, p, w, [&]<class P>(P, const Features<double>& X, double memory) {
        return P::value(tables, p, X, memory);
    });
}

double calc_coordinate_rate(const Tables& tables, const Primitive& p, const Workspace& w) {
    return visit_primitive(tables, p, w, [&]<class P>(P, const Features<double>& X, double memory) {
        Features<double> g;
        SpatialRow<double> a, b;
        P::gradient(tables, p, X, memory, g);
        calc_rows<P>(p, w.pose[p.body_a], w.pose[p.body_b], g, a, b);
        return calc_power(a, w.twist[p.body_a]) + calc_power(b, w.twist[p.body_b]);
    });
}

void update_memory(const Tables& tables, Workspace& w) {
    if (tables.memory_size == 0) return;
    const auto update = [&](const Primitive& p) {
        if (p.memory < 0) return;
        w.memory[p.memory] = visit_primitive(tables, p, w, [&]<class P>(P, const Features<double>& X, double memory) {
            if constexpr (P::kind == primitive_curve) {
                double parameter = memory;
                P::find_foot(tables, p, X, memory, &parameter);
                return parameter;
            } else
                return P::value(tables, p, X, memory);
        });
    };
    for (const Primitive& p : tables.primitives) update(p);
    for (const CoordinateForce& f : tables.coordinate_forces) update(f.coordinate);
}

void calc_coordinate_forces(const Tables& tables, double t, const Workspace& w, double* out) {
    for (std::size_t i = 0; i < tables.coordinate_forces.size(); ++i) {
        const CoordinateForce& f = tables.coordinate_forces[i];
        out[3 * i] = calc_coordinate(tables, f.coordinate, w);
        out[3 * i + 1] = calc_coordinate_rate(tables, f.coordinate, w);
        out[3 * i + 2] = calc_coordinate_law(tables, f, t, out[3 * i], out[3 * i + 1]);
    }
}

void calc_kinks(const Tables& tables, const Workspace& w, double* values) {
    for (const Kink& kink : tables.kinks) *values++ = calc_point(w.pose[kink.body], kink.s).x - kink.at;
}

Energy calc_energy(const Tables& tables, const double* v, const Workspace& w) {
    Energy energy{0, 0};
    for (std::size_t i = 0; i < tables.bodies.size(); ++i) {
        const Body& body = tables.bodies[i];
        for (int r = 0; r < body.nv; ++r)
            for (int c = 0; c < body.nv; ++c)
                energy.kinetic += 0.5 * v[body.v + r] * calc_mass_entry(body, r, c) * v[body.v + c];
        energy.potential -= body.mass * dot(tables.gravity, w.pose[i].r);
    }
    for (const CoordinateForce& f : tables.coordinate_forces) {
        const double s = calc_coordinate(tables, f.coordinate, w) - f.free;
        energy.potential += 0.5 * f.stiffness * s * s;
    }
    for (const Bushing& f : tables.bushings) {
        const auto s = calc_bushing_state(f, w.pose[f.body_a], w.pose[f.body_b]);
        for (int i = 0; i < 3; ++i)
            energy.potential += 0.5 * f.stiffness[i] * s.d[i] * s.d[i] + 2 * f.stiffness[i + 3] * s.e[i] * s.e[i];
    }
    for (const Tire& f : tables.tires) {
        Wrench<double> unused{};
        const double deflection = calc_tire(tables, f, w.pose[f.body], w.twist[f.body], unused);
        if (!f.unilateral || deflection > 0) energy.potential += 0.5 * f.stiffness * deflection * deflection;
    }
    return energy;
}

} // namespace linkwork
