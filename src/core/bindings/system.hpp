// The compiled model as Python sees it, and the conversions between arrays and records.
//
// The files of this folder are the only ones that know Python: tables in, arrays out. The GIL is released during runs
// and taken by callbacks.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <cstring>
#include <deque>
#include <optional>

#include "../formulations/contract.hpp"
#include "../system/equations.hpp"
#include "../system/linear.hpp"

namespace linkwork {

namespace nb = nanobind;
using namespace nb::literals;

using Array = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Output = nb::ndarray<nb::numpy, double>;

inline Output to_array(std::vector<double> values, std::vector<std::size_t> shape) {
    auto* owner = new std::vector<double>(std::move(values));
    nb::capsule capsule(owner, [](void* p) noexcept { delete static_cast<std::vector<double>*>(p); });
    return Output(owner->data(), shape.size(), shape.data(), capsule);
}
inline Output to_array(std::vector<double> values) {
    const std::size_t n = values.size();
    return to_array(std::move(values), {n});
}
inline Output to_rows(std::vector<double> values, std::size_t columns, std::size_t rows) {
    return to_array(std::move(values), {rows, columns});
}

inline void check_size(const Array& a, std::size_t n, const char* name) {
    if (a.shape(0) != n)
        throw nb::value_error(
            (std::string(name) + " has " + std::to_string(a.shape(0)) + " entries, expected " + std::to_string(n))
                .c_str());
}

// Copies a NumPy (structured) array into records after comparing item sizes.
template <class Record> std::vector<Record> read_table(const nb::dict& tables, const char* name) {
    if (!tables.contains(name)) throw nb::value_error((std::string("table '") + name + "' is missing").c_str());
    nb::object table = tables[name];
    const auto itemsize = nb::cast<std::size_t>(table.attr("itemsize"));
    if (itemsize != sizeof(Record))
        throw nb::value_error((std::string("table '") + name + "' has items of " + std::to_string(itemsize) +
                               " bytes, the core expects " + std::to_string(sizeof(Record)))
                                  .c_str());
    nb::bytes raw = nb::cast<nb::bytes>(table.attr("tobytes")());
    std::vector<Record> records(raw.size() / sizeof(Record));
    std::memcpy(static_cast<void*>(records.data()), raw.c_str(), raw.size());
    return records;
}

// A Python callable behind a Callback; keeps the first exception it raised.
struct PythonCall {
    nb::object callable;
    nb::object* exception;

    static bool call(void* context, const double* arguments, int n, double* out, int m) {
        auto& self = *static_cast<PythonCall*>(context);
        nb::gil_scoped_acquire gil;
        try {
            nb::object result = self.callable(to_array(std::vector<double>(arguments, arguments + n)));
            if (m == 1) {
                double value = 0;
                if (nb::try_cast(result, value)) {
                    out[0] = value;
                    return true;
                }
            }
            auto values = nb::cast<std::vector<double>>(result.attr("tolist")());
            if (static_cast<int>(values.size()) != m)
                throw nb::value_error(("a user function returned " + std::to_string(values.size()) +
                                       " numbers, expected " + std::to_string(m))
                                          .c_str());
            std::copy(values.begin(), values.end(), out);
            return true;
        } catch (nb::python_error& e) {
            if (!self.exception->is_valid() || self.exception->is_none()) *self.exception = nb::borrow(e.value());
        } catch (const std::exception& e) {
            if (!self.exception->is_valid() || self.exception->is_none())
                *self.exception = nb::module_::import_("builtins").attr("ValueError")(e.what());
        }
        std::fill_n(out, m, std::nan(""));
        return false;
    }
};

class System {
public:
    System(const nb::dict& dict, const nb::list& callables) {
        tables.bodies = read_table<Body>(dict, "bodies");
        tables.primitives = read_table<Primitive>(dict, "primitives");
        tables.rows = read_table<Row>(dict, "rows");
        tables.blocks = read_table<Block>(dict, "blocks");
        tables.parts = read_table<Part>(dict, "parts");
        tables.functions = read_table<Function>(dict, "functions");
        tables.code = read_table<std::int32_t>(dict, "code");
        tables.numbers = read_table<double>(dict, "numbers");
        tables.coordinate_forces = read_table<CoordinateForce>(dict, "coordinate_forces");
        tables.loads = read_table<Load>(dict, "loads");
        tables.bushings = read_table<Bushing>(dict, "bushings");
        tables.tires = read_table<Tire>(dict, "tires");
        tables.kinks = read_table<Kink>(dict, "kinks");
        tables.user_forces = read_table<UserForce>(dict, "user_forces");
        tables.user_bodies = read_table<std::int32_t>(dict, "user_bodies");
        tables.links = read_table<TreeLink>(dict, "links");
        tables.motions = read_table<TreeMotion>(dict, "motions");
        tables.closures = read_table<std::int32_t>(dict, "closures");
        const auto gravity = nb::cast<std::vector<double>>(nb::object(dict["gravity"].attr("tolist")()));
        tables.gravity = {gravity.at(0), gravity.at(1), gravity.at(2)};
        tables.memory_size = nb::cast<int>(nb::int_(nb::object(dict["memory_size"])));
        for (nb::handle h : callables) {
            calls.push_back({nb::borrow(h), &exception});
            tables.callbacks.push_back({&PythonCall::call, &calls.back()});
        }
        finish_tables(tables);
        workspace.emplace(tables);
    }

    void set(double t, const Array& q, const Array& memory) {
        check_size(q, tables.nq, "q");
        check_size(memory, tables.memory_size, "memory");
        time = t;
        std::copy_n(memory.data(), tables.memory_size, workspace->memory.begin());
        set_position(tables, q.data(), *workspace);
    }
    void set(double t, const Array& q, const Array& v, const Array& memory) {
        check_size(v, tables.nv, "v");
        set(t, q, memory);
        set_velocity(tables, v.data(), *workspace);
    }
    // Raises what a user function raised during the call before.
    void raise_user_error() {
        workspace->user_failed = false;
        if (!exception.is_valid() || exception.is_none()) return;
        nb::object raised = exception;
        exception = nb::none();
        PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(raised.ptr())), raised.ptr());
        throw nb::python_error();
    }
    // A block Jacobian (layout of Workspace::jacobian) as a dense matrix.
    Output to_dense(const std::vector<double>& parts) const {
        std::vector<double> J(static_cast<std::size_t>(tables.rows_count) * tables.nv, 0.0);
        for (const Part& part : tables.parts) {
            const Body& b = tables.bodies[part.body];
            const Block& block = tables.blocks[part.block];
            for (int r = 0; r < block.rows; ++r)
                for (int c = 0; c < b.nv; ++c)
                    J[static_cast<std::size_t>(block.row + r) * tables.nv + b.v + c] +=
                        parts[part.offset + r * b.nv + c];
        }
        return to_rows(std::move(J), tables.nv, tables.rows_count);
    }
    Output dense_jacobian() const { return to_dense(workspace->jacobian); }

    Tables tables;
    std::optional<Workspace> workspace;
    std::deque<PythonCall> calls;
    nb::object exception = nb::none();
    double time = 0;
};

FormulationOptions read_formulation_options(const nb::dict& d);
nb::dict to_dict(const FormulationFacts& facts);

void bind_system(nb::module_& m);
void bind_state_space(nb::module_& m);
void bind_run(nb::module_& m);
void bind_bench(nb::module_& m);
void bind_slopes(nb::module_& m);

} // namespace linkwork
