// Which columns of a wide sparse matrix of full row rank solve for the others: A = [A_d A_i] with A_d square and well
// conditioned, found by Gaussian elimination that keeps chains and trees sparse.
//
// A pivot is the entry of the open rows that makes the least fill, (entries of its row - 1)(entries of its column - 1)
// [Markowitz 1957], among those no less than `threshold` times the largest of their row. On a chain of bodies this
// begins at the tip, whose columns no other row has, and makes no fill at all; a dense factorization with the best
// column at each step conditions A_d somewhat better, at a cost that grows with the third power of the size.
#pragma once

#include <utility>
#include <vector>

namespace linkwork {

using MatrixRow = std::vector<std::pair<int, double>>; // (column, value), ascending columns

// The dependent columns, one per row; fewer where rows depend on each other.
std::vector<int> find_dependent_columns(const std::vector<MatrixRow>& rows, int columns, double threshold);

} // namespace linkwork
