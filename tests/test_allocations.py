"""No heap allocation in a step: a run of four times as many steps allocates as often, but for pieces of the record.

A small library counts the calls of malloc and its kin in a separate process that runs the core without hooks.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from linkwork.methods import EMBEDDED, LEGAL

COUNTER = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

static long calls = 0;
static char early[1 << 16]; /* served before the real functions are known */
static size_t used = 0;

long count_allocations(void) { return calls; }

static void *find(const char *name) { return dlsym(RTLD_NEXT, name); }
static void *give_early(size_t n) {
    void *p = early + used;
    used += (n + 31) / 16 * 16;
    return p;
}
static int is_early(const void *p) { return (const char *)p >= early && (const char *)p < early + sizeof early; }

void *malloc(size_t n) {
    static void *(*real)(size_t) = NULL;
    if (!real) real = (void *(*)(size_t))find("malloc");
    ++calls;
    return real(n);
}
void *calloc(size_t n, size_t m) {
    static void *(*real)(size_t, size_t) = NULL;
    static int asking = 0;
    if (!real) {
        if (asking) return give_early(n * m); /* dlsym itself asks for memory */
        asking = 1;
        real = (void *(*)(size_t, size_t))find("calloc");
        asking = 0;
    }
    ++calls;
    return real(n, m);
}
void *realloc(void *p, size_t n) {
    static void *(*real)(void *, size_t) = NULL;
    if (!real) real = (void *(*)(void *, size_t))find("realloc");
    ++calls;
    if (is_early(p)) return memcpy(malloc(n), p, n);
    return real(p, n);
}
void free(void *p) {
    static void (*real)(void *) = NULL;
    if (!real) real = (void (*)(void *))find("free");
    if (!is_early(p)) real(p);
}
void *aligned_alloc(size_t a, size_t n) {
    static void *(*real)(size_t, size_t) = NULL;
    if (!real) real = (void *(*)(size_t, size_t))find("aligned_alloc");
    ++calls;
    return real(a, n);
}
int posix_memalign(void **p, size_t a, size_t n) {
    static int (*real)(void **, size_t, size_t) = NULL;
    if (!real) real = (int (*)(void **, size_t, size_t))find("posix_memalign");
    ++calls;
    return real(p, a, n);
}
"""

# Runs every method with N and 4 N fixed steps over the same short time; prints allocations and what may explain them.
RUNNER = r"""
import ctypes, json, sys
import linkwork as lw
from linkwork import _core
from linkwork.compile import compile_model
from linkwork.methods import Method

count = ctypes.CDLL(None).count_allocations
count.restype = ctypes.c_long
models = {
    "hmmwv": (lambda: lw.models.hmmwv(), 0.004),
    "four_bar-spatial": (lambda: lw.models.four_bar(form="spatial"), 0.05),
    "double_pendulum": (lambda: lw.models.double_pendulum(form="planar"), 0.0002),
}
build, t_end = models[sys.argv[1]]
compiled = compile_model(build())
system, out = compiled.system, {}
for method in sys.argv[2:]:
    chosen = Method.parse(method)
    answers = []
    for steps in (50, 50, 200):  # the first run fills caches of the process
        driver = {"t_start": 0.0, "t_end": t_end, "fixed_step": t_end / steps}
        arguments = (chosen.formulation_options, driver, 1e-6, 1e-6, 1e-6, compiled.q, compiled.v, compiled.memory, {})
        before = count()
        raw = _core.run(system, chosen.formulation, chosen.integrator, *arguments)
        after = count()
        facts = raw["statistics"]
        answers.append((after - before, facts["steps"], facts["repartitions"], facts["analyses"], raw["status"]))
    out[method] = answers
print(json.dumps(out))
"""

PAIRS = [f"{formulation}/{integrator}" for formulation, pairs in LEGAL.items() for integrator in pairs
         if integrator not in EMBEDDED]  # fmt: skip
# The five arrays of the record grow in pieces of a megabyte or by doubling (driver.cpp, grow); 200 states of the
# vehicle fit into the first pieces.
RECORD = 10


@pytest.fixture(scope="module")
def counter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not sys.platform.startswith("linux"):
        pytest.skip("counting allocations by preloading a library needs Linux")
    compiler = shutil.which("gcc") or shutil.which("cc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("counting allocations needs a C compiler")
    folder = tmp_path_factory.mktemp("counter")
    source, library = folder / "counter.c", folder / "counter.so"
    source.write_text(COUNTER)
    command = [compiler, "-O1", "-fPIC", "-shared", "-fno-builtin", str(source), "-o", str(library), "-ldl"]
    made = subprocess.run(command, capture_output=True, text=True)
    if made.returncode != 0:
        pytest.skip(f"the compiler cannot build the counter: {made.stderr[:200]}")
    return library


@pytest.mark.parametrize("machine", ("four_bar-spatial", "hmmwv", "double_pendulum"))
def test_steps_do_not_allocate(counter: Path, machine: str) -> None:
    environment = {**os.environ, "LD_PRELOAD": str(counter)}
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    command = [sys.executable, "-c", RUNNER, machine, *PAIRS]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
    assert done.returncode == 0, done.stderr
    grown = {}
    for method, (_, short, long) in json.loads(done.stdout).items():
        assert short[0] > 0, "the counter does not count"
        assert short[4] == long[4] == 0 and long[1] == 4 * short[1], (method, short, long)
        # a new chart or a new elimination order allocates; the runs are chosen so short that there is none
        if (short[2], short[3]) != (long[2], long[3]):
            continue
        if long[0] - short[0] > RECORD:
            grown[method] = (short, long)
    assert not grown, f"{machine}: allocations, steps, repartitions, analyses, status of short and long run: {grown}"
