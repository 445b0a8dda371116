// The linearized equations of motion of slopes.hpp by grouped differences instead of derivatives.
//
// The residual is a sum over elements (joints, forces, gyroscopic torques), each of which sees the one or two bodies it
// acts between. Asked for element by element, before the sum is formed, its Jacobian has one block row per element and
// one block column per body: bodies that share no element can be moved together, and two or three groups do for
// vehicles as for chains. In the summed residual all neighbours of one body exclude each other as well: the chassis of
// a vehicle alone would need as many groups as there are bodies around it. One evaluation is one sweep over all
// elements with one coordinate, a displacement or a velocity, moved in every body of a group.
#pragma once

#include "grouping.hpp"
#include "slopes.hpp"

namespace linkwork {

class GroupedSlopes {
public:
    // grouped: false moves one body at a time and looks at all elements, as a code does that knows nothing of them.
    explicit GroupedSlopes(const Tables& tables, bool grouped = true);

    // What Slopes::calc fills, at the pose, twist, a and lambda of the workspace. A callable of the user that raises
    // sets w.user_failed.
    void calc(const Tables& tables, double t, Workspace& w, Slopes& slopes);
    // Sweeps that one calc takes.
    int evaluations() const { return evaluations_; }
    int groups() const { return grouping_.groups; }

private:
    enum Kind { constraint, coordinate_force, bushing, load, tire, user_force, gyroscopic };
    struct Element {
        Kind kind;
        int index;        // in its table; of the body for gyroscopic
        int first, count; // its bodies
    };
    struct Values {                            // of all elements
        std::vector<Wrench<double>> wrench;    // per element and body, -J^T lambda of constraints included
        std::vector<double> rate, second_rate; // per constraint row: J v, J v' - gamma
    };
    struct State;

    void add_element(const Tables& tables, Kind kind, int index, std::vector<int> bodies);
    void sweep(const State& state, Values& values);
    void add_differences(const Tables& tables, bool velocity, const Values& moved, Slopes& slopes) const;

    std::vector<Element> elements_;
    std::vector<int> bodies_;            // of the elements
    std::vector<std::vector<int>> rows_; // the same per element, as find_groups wants them
    bool grouped_;
    Grouping grouping_;
    int evaluations_ = 0;
    Values base_, moved_;
    std::vector<Pose<double>> pose_;
    std::vector<Twist<double>> twist_, acceleration_;
    std::vector<int> column_;     // per body: the own coordinate that is moved, -1 none
    std::vector<double> inverse_; // per body: 1 / its step
};

} // namespace linkwork
