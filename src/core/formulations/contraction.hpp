// When an iteration that converges linearly has come close enough.
#pragma once

#include <cmath>

namespace linkwork {

// Watches a simplified Newton iteration. Corrections d_k shrink like theta = d_k / d_{k-1}; the error left after d_k is
// about theta / (1 - theta) d_k [hairer-wanner IV.8].
struct Contraction {
    double last = 0, theta = 0;
    int iteration = 0, since = 0; // in all, and since the last factorization
    enum Verdict { going, done, slow, lost };
    Verdict next(double size, double tolerance) {
        if (!std::isfinite(size)) return lost;
        ++iteration, ++since;
        theta = since > 1 && last > 0 ? size / last : 0.0;
        const double left = since > 1 && theta < 1 ? theta / (1 - theta) * size : size;
        const bool at_roundoff = iteration > 2 && size < 1e3 * tolerance && theta > 0.3;
        last = size;
        if (size <= tolerance || left <= tolerance || at_roundoff) return done;
        if (iteration > 40) return lost;
        // three more sweeps cost as much as a new factorization
        return since > 1 && theta * theta * theta * size > tolerance ? slow : going;
    }
    // After a new factorization: the next correction says nothing about contraction.
    void restart() { since = 0, last = 0; }
};

} // namespace linkwork
