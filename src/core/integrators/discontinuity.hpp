// Places where f jumps or has a kink that nobody announced, found from steps that fail there.
//
// [gear-osterby] C. W. Gear, O. Osterby, Solving ordinary differential equations with discontinuities, ACM Trans. Math.
// Softw. 10 (1984) 23-44. [enright] W. H. Enright, K. R. Jackson, S. P. Norsett, P. G. Thomsen, Effective solution of
// discontinuous IVPs using a Runge-Kutta formula pair with interpolants, Appl. Math. Comput. 27 (1988) 313-335.
//
// Error estimates of order p fall like h^(p+1) where f is smooth, like h^2 over a kink and like h over a jump. A second
// step that fails at the same place with an error that did not fall so is a suspicion. A step that ends before the
// place succeeds; its continuous extension u, continued beyond its end, is what the motion would be without the
// discontinuity, and g(s) = f(t + s, u(t + s)) shows it: over five points that close in on the largest second
// difference d of g by halves, d falls to a quarter each time where f is smooth, to a half at a kink, and stays at a
// jump. The bracket [a, b] left at the end may be crossed on u: what is missing there is at most (b - a) d.
#pragma once

#include <vector>

#include "contract.hpp"

namespace linkwork {

class DiscontinuityFinder {
public:
    enum class Finding {
        nothing, // no discontinuity is to be seen
        ahead,   // too far beyond the step for its continuous extension: one more step, of this size, leads near it
        here,    // this far beyond the end of the step the integrator can begin anew
    };

    explicit DiscontinuityFinder(std::size_t most_entries)
        : most_(most_entries), rates_(points * most_entries), point_(most_entries), difference_(most_entries) {}

    // The integrator began anew: its first steps are guesses, which may fail.
    void begin();
    // Attempts that were rejected and steps that were accepted; error: nan where an iteration did not converge.
    void note_rejection(const Integrator& integrator, double h, double error);
    void note_acceptance(double t, double h);
    bool suspects() const { return failures_ >= 2 && violated_ && searches_ < most_searches; }

    // Looks beyond the candidate of the step [t, t + h], before it is accepted.
    Status find(Implicit& ode, Integrator& integrator, const Tolerances& tolerances, double t, double h,
                Finding& finding, double& distance);
    // Where the discontinuity was found last.
    double place() const { return found_; }
    double before() const { return before_; } // the end of what is smooth

private:
    static constexpr int points = 5, most_searches = 4;

    struct Search {
        Implicit& ode;
        Integrator& integrator;
        const Tolerances& tolerances;
        double end, h; // of the step
    };

    Status calc_rate_at(const Search& search, double distance, double* rate);
    double calc_size(const Tolerances& tolerances, const double* a, const double* b, const double* c);
    double* rate(int i) { return rates_.data() + static_cast<std::size_t>(order_[i]) * most_; }
    Status close_in(const Search& search, double reach, Finding& finding, double& distance);
    Status halve(const Search& search, double left, double spacing, Finding& finding, double& distance);
    double calc_largest_share(const Tolerances& tolerances);
    bool conclude(double a, double b, double size, double end, double h, Finding& finding, double& distance);

    const std::size_t most_;
    std::vector<double> rates_; // g at five points
    int order_[points] = {0, 1, 2, 3, 4};
    std::vector<double> point_, difference_;
    // the run of failures: how many, the last of them, where the shortest of them ended
    int failures_ = 0, searches_ = 0, steps_ = 0;
    double last_step_ = 0, last_error_ = 0, largest_error_ = 0, end_ = 0;
    int misses_ = 0, skips_ = 0, skipped_ = 0; // searches in vain; suspicions not to be looked into, not looked into
    bool violated_ = false;                    // an error did not fall as the order says
    double found_ = 0, before_ = 0;
};

} // namespace linkwork
