// Krylov subspace solution of A x = b from products A v alone: the one solver behind solver = "krylov".
//
// Arnoldi builds V = (v_1 .. v_m) with A M^-1 V_m = V_{m+1} H from v_1 = b / |b|; with incomplete orthogonalization
// (`orthogonal` = p > 0) v_{m+1} is made orthogonal to the last p vectors only, which makes H a band. Rotations turn H
// into R, upper triangular, column by column; with g the rotated right side |b| e_1,
//     x_m = M^-1 V_m R^-1 g,      |b - A x_m| = |g_{m+1}|,
// so that the residual is known before x_m is formed [aboubakr (11)-(16)]. The paper eliminates without pivots, H = L
// U, which divides by u_mm; rotations cost the same, never divide by zero and make the residual the least one. With p
// vectors the basis is not orthogonal and |g_{m+1}| sqrt(m - p + 1) bounds the residual [saad 6.5.6].
//
// Norms: vectors are scaled by 1 / w_i before anything else, |v| = sqrt(mean((v_i / w_i)^2)), which is the same as
// solving with D^-1 A D [aboubakr (18), brown-hindmarsh].
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <type_traits>
#include <vector>

namespace linkwork {

struct KrylovRule {
    int vectors = 30;       // before a restart
    int restarts = 4;       // at most
    int orthogonal = 0;     // p of incomplete orthogonalization; 0: full
    double relative = 1e-8; // the residual wanted, relative to b,
    double absolute = 0;    // or in the weighted norm, whichever is larger
};

template <class Scalar> class Krylov {
public:
    void resize(int size, int vectors) {
        size_ = size;
        most_ = std::min(size, vectors);
        basis_.resize(static_cast<std::size_t>(most_ + 1) * size);
        R_.resize(static_cast<std::size_t>(most_ + 1) * most_);
        cosine_.resize(most_), sine_.resize(most_), g_.resize(most_ + 1);
        x_.resize(size), residual_.resize(size), image_.resize(size);
    }

    // r := A^-1 r. product(v, out): out = A v; precondition(v): v := M^-1 v; inverse: 1 / w_i. Returns the vectors
    // made.
    template <class Product, class Precondition> int solve(const KrylovRule& rule, const double* inverse,
                                                           Product&& product, Precondition&& precondition, Scalar* r) {
        int made = 0;
        std::copy_n(r, size_, residual_.begin());
        std::fill(x_.begin(), x_.end(), Scalar(0));
        for (int i = 0; i < size_; ++i) residual_[i] *= inverse[i];
        double size = calc_norm(residual_.data());
        const double wanted = std::max(rule.relative * size, rule.absolute);
        for (int restart = 0; restart <= rule.restarts && size > wanted; ++restart) {
            double left = size;
            const int used = build_basis(rule, inverse, product, precondition, size, wanted, left);
            made += used;
            add_combination(used, inverse, precondition);
            // with the whole space the estimate is the residual; otherwise it is looked at before going on
            if (used == 0 || left <= wanted || restart == rule.restarts) break;
            product(x_.data(), image_.data());
            ++made;
            for (int i = 0; i < size_; ++i) residual_[i] = (r[i] - image_[i]) * inverse[i];
            size = calc_norm(residual_.data());
        }
        std::copy(x_.begin(), x_.end(), r);
        return made;
    }

private:
    Scalar* v(int j) { return basis_.data() + static_cast<std::size_t>(j) * size_; }
    Scalar& R(int i, int j) { return R_[static_cast<std::size_t>(j) * (most_ + 1) + i]; }
    static double conjugate(double s) { return s; }
    static std::complex<double> conjugate(std::complex<double> s) { return std::conj(s); }

    double calc_norm(const Scalar* a) const {
        double sum = 0;
        for (int i = 0; i < size_; ++i) sum += std::norm(a[i]);
        return std::sqrt(sum / std::max(size_, 1));
    }

    // From the residual of this size until the estimate is within what is wanted; returns how many vectors serve.
    template <class Product, class Precondition> int build_basis(const KrylovRule& rule, const double* inverse,
                                                                 Product& product, Precondition& precondition,
                                                                 double size, double wanted, double& left) {
        std::fill(g_.begin(), g_.end(), Scalar(0));
        g_[0] = size;
        for (int i = 0; i < size_; ++i) v(0)[i] = residual_[i] / size;
        for (int j = 0; j < most_; ++j) {
            for (int i = 0; i < size_; ++i) image_[i] = v(j)[i] / inverse[i];
            precondition(image_.data());
            product(image_.data(), v(j + 1));
            Scalar* next = v(j + 1);
            for (int i = 0; i < size_; ++i) next[i] *= inverse[i];
            const double norm = orthogonalize(j, rule.orthogonal);
            if (!std::isfinite(norm)) {
                R(j, j) = NAN; // the answer is to be seen as none
                return j + 1;
            }
            rotate(j, norm);
            const int beyond = rule.orthogonal > 0 ? std::max(1, j + 2 - rule.orthogonal) : 1;
            left = std::abs(g_[j + 1]) * std::sqrt(static_cast<double>(beyond));
            if (left <= wanted || norm == 0) return j + 1;
            for (int i = 0; i < size_; ++i) next[i] /= norm;
        }
        return most_;
    }

    // Takes the earlier directions out of v_{j+1}; column j of H stands in R.
    double orthogonalize(int j, int last) {
        Scalar* next = v(j + 1);
        const int first = last > 0 ? std::max(0, j + 1 - last) : 0;
        for (int i = 0; i < first; ++i) R(i, j) = 0;
        for (int i = first; i <= j; ++i) {
            const Scalar* with = v(i);
            Scalar sum = 0;
            for (int k = 0; k < size_; ++k) sum += conjugate(with[k]) * next[k];
            R(i, j) = sum / static_cast<double>(std::max(size_, 1));
            for (int k = 0; k < size_; ++k) next[k] -= R(i, j) * with[k];
        }
        return calc_norm(next);
    }

    // The earlier rotations on column j of H, then one more that makes it upper triangular.
    void rotate(int j, double norm) {
        for (int i = 0; i < j; ++i) {
            const Scalar upper = R(i, j), lower = R(i + 1, j);
            R(i, j) = cosine_[i] * upper + sine_[i] * lower;
            R(i + 1, j) = -conjugate(sine_[i]) * upper + cosine_[i] * lower;
        }
        const double length = std::hypot(std::abs(R(j, j)), norm);
        const double pivot = std::abs(R(j, j));
        const Scalar phase = pivot > 0 ? R(j, j) / pivot : Scalar(1);
        cosine_[j] = length > 0 ? pivot / length : 1;
        sine_[j] = length > 0 ? phase * (norm / length) : Scalar(0);
        R(j, j) = phase * length;
        g_[j + 1] = -conjugate(sine_[j]) * g_[j];
        g_[j] *= cosine_[j];
    }

    // x += M^-1 V R^-1 g
    template <class Precondition> void add_combination(int used, const double* inverse, Precondition& precondition) {
        std::fill(image_.begin(), image_.end(), Scalar(0));
        for (int j = used - 1; j >= 0; --j) {
            if (R(j, j) == Scalar(0))
                g_[j] = 0; // A is singular on what was seen of it
            else
                g_[j] /= R(j, j);
            for (int i = 0; i < j; ++i) g_[i] -= R(i, j) * g_[j];
            for (int i = 0; i < size_; ++i) image_[i] += g_[j] * v(j)[i];
        }
        for (int i = 0; i < size_; ++i) image_[i] /= inverse[i];
        precondition(image_.data());
        for (int i = 0; i < size_; ++i) x_[i] += image_[i];
    }

    int size_ = 0, most_ = 0;
    std::vector<Scalar> basis_;    // [(most + 1) * size]
    std::vector<Scalar> R_;        // [(most + 1) * most], columns
    std::vector<double> cosine_;   // of the rotations
    std::vector<Scalar> sine_, g_; // and the rotated right side
    std::vector<Scalar> x_, residual_, image_;
};

} // namespace linkwork
