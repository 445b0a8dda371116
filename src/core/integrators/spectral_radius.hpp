// The largest eigenvalue of f_x in size, from evaluations of f alone.
#pragma once

#include <vector>

#include "../formulations/contract.hpp"

namespace linkwork {

struct Spectrum {
    double radius = 0;   // |lambda| of the eigenvalue that is largest in size [1/s]; 0: not found
    bool decays = false; // that eigenvalue is real and negative: what belongs to it dies out
};

// The power method on differences of f. The direction found is kept for the next question, which then takes three
// evaluations; the first one takes up to ten.
class SpectralRadius {
public:
    // Room for this many entries of x.
    explicit SpectralRadius(std::size_t most)
        : rate_(most), direction_(most), first_(most), image_(most), moved_(most) {}
    // x has another meaning, or the motion goes on from elsewhere.
    void forget() { known_ = false; }
    // user_error: a function of the user raised. Where f has no value nearby nothing is found.
    Status find(Ode& ode, double t, const double* x, Spectrum& spectrum);

private:
    Status multiply(Ode& ode, double t, const double* x);

    std::vector<double> rate_, direction_, first_, image_, moved_; // f; v now and at first; J v; x moved along v
    double size_of_x_ = 0;
    bool known_ = false;
};

} // namespace linkwork
