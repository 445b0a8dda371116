// Times for the reduced system alone [serban table 1].
#pragma once

#include "../linear.hpp"

namespace linkwork {

struct ReducedTimes { // seconds per factorization and solution of B y = b
    double dense_lu = 0, dense_cholesky = 0, sparse_lu = 0, band_cholesky = 0;
    int bandwidth = 0, profile = 0, work = 0; // of this numbering, in blocks [serban (25)-(27)]
};

// The median of `repeats` solutions each; renumber = false keeps the given numbering of the joints.
ReducedTimes time_reduced(const Pattern& pattern, const double* jacobian, const double* active, bool renumber,
                          int repeats);

} // namespace linkwork
