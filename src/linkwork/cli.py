"""The command `linkwork`: list, run and check models, list methods, print benchmarks.

Exit status 0: success. 1: a simulation failed. 2: the input was bad; one line on standard error says what and the cure.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import json
import pkgutil
import runpy
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from . import models as gallery
from .errors import AssemblyError, LinkworkError, suggest
from .methods import FORMULATIONS, INTEGRATORS, LINEAR, method_table
from .status import MissingExtra
from .version import VERSION

app = typer.Typer(
    add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None,
    help="Dynamics of constrained mechanical systems.",
)  # fmt: skip

Target = Annotated[str, typer.Argument(help="a name of the gallery (linkwork models), or a Python file")]
Json = Annotated[bool, typer.Option("--json", help="print JSON, for scripts")]
Set = Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="builder parameter; repeatable")]


class BadInput(LinkworkError):
    """Something on the command line cannot be used."""


@app.callback(invoke_without_command=True)
def show_root(
    context: typer.Context, version: Annotated[bool, typer.Option("--version", help="print the version")] = False
) -> None:
    """Dynamics of constrained mechanical systems."""
    if version:
        typer.echo(f"linkwork {VERSION}")
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command("models")
def list_models(as_json: Json = False) -> None:
    """List the machines of the gallery."""
    rows = [
        {
            "name": machine.name,
            "description": machine.description,
            "settings": machine.settings,
            "parameters": describe_parameters(machine.build),
        }
        for machine in gallery.list_models()
    ]
    if as_json:
        typer.echo(json.dumps(rows, indent=2, default=str))
        return
    width = max(len(str(row["name"])) for row in rows)
    for row in rows:
        typer.echo(f"{row['name']:<{width}}  {row['description']}")


@app.command("methods")
def list_methods(as_json: Json = False) -> None:
    """List formulations, integrators and linear solvers, and which go together."""
    rows = method_table()
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
        return
    for title, known in (("formulations", FORMULATIONS), ("integrators", INTEGRATORS), ("linear=", LINEAR)):
        typer.echo(title)
        width = max(len(name) for name in known)
        for name, text in known.items():
            typer.echo(f"  {name:<{width}}  {text}")
    typer.echo("legal pairs (* is 'auto')")
    for row in rows:
        typer.echo(f"  {row['method']}{' *' if row['default'] else ''}")


@app.command()
def run(
    target: Target,
    method: Annotated[str | None, typer.Option(help="formulation/integrator, or auto")] = None,
    rtol: Annotated[float | None, typer.Option(help="relative tolerance")] = None,
    atol: Annotated[float | None, typer.Option(help="absolute tolerance, m and rad")] = None,
    t_end: Annotated[float | None, typer.Option("--t-end", help="end of the run, s")] = None,
    step: Annotated[float | None, typer.Option(help="fixed step, s")] = None,
    linear: Annotated[str | None, typer.Option(help="linear solver")] = None,
    out: Annotated[Path | None, typer.Option(help="write the channels to this CSV file")] = None,
    plot: Annotated[list[str] | None, typer.Option(help="channel to plot, such as arm.position.y; repeatable")] = None,
    figure: Annotated[Path | None, typer.Option(help="save the plot here instead of showing it")] = None,
    parameters: Set = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="no progress bar")] = False,
) -> None:
    """Simulate a machine of the gallery or the `model` of a Python file, and print the summary."""
    model, settings, channels = load_target(target, parameters or [])
    given = {"method": method, "rtol": rtol, "atol": atol, "t_end": t_end, "step": step, "linear": linear}
    settings.update({name: value for name, value in given.items() if value is not None})
    wanted = list(plot or (channels if figure is not None else []))
    refuse_bad_outputs(model, wanted, out, figure)
    result = model.simulate(**settings, progress=False if quiet else None)
    typer.echo(f"model           {model.name}")
    typer.echo(str(result))
    if out is not None:
        result.to_csv(out, wanted or channels)
        typer.echo(f"written         {out}")
    if wanted:
        result.plot(*wanted, title=model.name, path=figure, show=figure is None)
    if not result.status.success:
        raise typer.Exit(1)


@app.command()
def check(target: Target, parameters: Set = None) -> None:
    """Report residuals, rank, degrees of freedom, redundant rows and every problem of a model."""
    model, _, _ = load_target(target, parameters or [])
    report = model.check()
    typer.echo(str(report))
    if not report.ok:
        raise BadInput(f"model '{model.name}': {len(report.problems)} problem(s), listed above")


@app.command()
def bench(
    name: Annotated[str | None, typer.Argument(help="which benchmark; all of them when left out")] = None,
    as_json: Json = False,
) -> None:
    """Run benchmarks and print their tables."""
    benches = find_benches()
    if name is not None and name not in benches:
        raise BadInput(f"there is no benchmark '{name}'; {suggest(name, benches, 'benchmarks')}")
    chosen = [name] if name is not None else list(benches)
    figures = {}
    for one in chosen:
        if not as_json:
            typer.echo(f"{one}: {benches[one].DESCRIPTION}")
        figures[one] = benches[one].run(json=as_json)
    if as_json:
        typer.echo(json.dumps(figures, indent=2, default=float))


def refuse_bad_outputs(model: Any, wanted: list[str], out: Path | None, figure: Path | None) -> None:
    """Finds before the run what would otherwise spoil its end: folders, matplotlib, channels."""
    for option, path in (("--out", out), ("--figure", figure)):
        if path is not None and not path.parent.is_dir():
            raise BadInput(f"{option} {path}: there is no folder {path.parent}; create it or choose another")
    if figure is not None and not wanted:
        raise BadInput("--figure needs a channel to draw: add --plot, such as --plot arm.position.y")
    if not wanted:
        return
    if importlib.util.find_spec("matplotlib") is None:
        raise MissingExtra("matplotlib", "plot", "plotting")
    from .compile import compile_model
    from .hooks import build_state

    compiled = compile_model(model)
    start = build_state(compiled, 0.0, compiled.q, compiled.v, compiled.memory)
    for text in wanted:
        start.channel(text)


# ---------------------------------------------------------------------------------------------------------------
# From words on the command line to models
# ---------------------------------------------------------------------------------------------------------------
def find_benches() -> dict[str, Any]:
    """The modules of linkwork.bench that describe a benchmark, by name."""
    try:
        package = importlib.import_module("linkwork.bench")
    except ModuleNotFoundError:
        return {}
    names = [info.name for info in pkgutil.iter_modules(package.__path__)]
    modules = [importlib.import_module(f"linkwork.bench.{name}") for name in names]
    return {module.NAME: module for module in modules if hasattr(module, "NAME")}


def describe_parameters(build: Any) -> dict[str, Any]:
    """Keyword parameters of a builder with their defaults."""
    return {
        name: parameter.default if isinstance(parameter.default, (str, int, float, bool)) else str(parameter.default)
        for name, parameter in inspect.signature(build).parameters.items()
    }


def load_target(target: str, parameters: list[str]) -> tuple[Any, dict[str, Any], list[str]]:
    """Model, settings for simulate and usual channels of a gallery name or a Python file."""
    given = dict(read_parameter(text) for text in parameters)
    if target.endswith(".py"):
        return load_file(Path(target), given)
    machines = gallery.machines
    if target not in machines:
        raise BadInput(f"there is no machine '{target}' in the gallery; {suggest(target, machines, 'machines')}")
    machine = machines[target]
    known = inspect.signature(machine.build).parameters
    for name in given:
        if name not in known:
            raise BadInput(f"--set {name}: '{target}' has no such parameter; {suggest(name, known, 'parameters')}")
        refuse_other_kind(name, given[name], known[name].default)
    return call_builder(machine.build, given, target), dict(machine.settings), list(machine.channels)


def refuse_other_kind(name: str, value: Any, default: Any) -> None:
    """A value must be of the kind of the builder's default: "maybe" would count as true, and 2.5 is no count."""
    kinds: tuple[tuple[type, Any, str], ...] = (
        (bool, bool, "true or false"), (int, int, "a whole number"), (float, (int, float), "a number"),
    )  # fmt: skip
    for kind, allowed, words in kinds:
        if type(default) is kind and (not isinstance(value, allowed) or (kind is not bool and isinstance(value, bool))):
            raise BadInput(f"--set {name}={value}: give {words}, such as --set {name}={json.dumps(default)}")


def load_file(path: Path, given: dict[str, Any]) -> tuple[Any, dict[str, Any], list[str]]:
    """The `model` or `build(...)` of a script, with its `settings` and `channels` if it defines them."""
    if not path.is_file():
        raise BadInput(f"there is no file '{path}'; give a Python file that defines `model` or `build()`")
    sys.path.insert(0, str(path.resolve().parent))
    try:
        names = runpy.run_path(str(path))
    except LinkworkError:
        raise
    except Exception as error:
        raise BadInput(f"{path}: {type(error).__name__}: {error}; correct the script") from error
    finally:
        sys.path.pop(0)
    model = names.get("model")
    if callable(names.get("build")) and (model is None or given):
        model = call_builder(names["build"], given, str(path))
    elif given:
        raise BadInput(f"--set needs a function build(...) in {path}")
    if not hasattr(model, "simulate"):
        raise BadInput(f"{path} defines neither `model` (a linkwork.Model) nor `build()`; add one of them")
    return model, {"t_end": 1.0, **names.get("settings", {})}, list(names.get("channels", []))


def call_builder(build: Any, given: dict[str, Any], target: str) -> Any:
    try:
        return build(**given)
    except LinkworkError:
        raise
    except (TypeError, ValueError) as error:
        text = str(error)
        owner = "" if text.startswith(f"{target}: ") else f"{target}: "
        cure = "" if target.endswith(".py") else "; `linkwork models --json` lists the parameters"
        raise BadInput(f"{owner}{text}{cure}") from error


def read_parameter(text: str) -> tuple[str, Any]:
    """ "key=value" with the value as JSON where it is JSON, else as a word."""
    key, sign, value = text.partition("=")
    if not sign or not key:
        raise BadInput(f"--set {text}: give KEY=VALUE, such as --set n=10")
    words = {"True": True, "False": False, "None": None}
    if value in words:
        return key, words[value]
    try:
        return key, json.loads(value)
    except json.JSONDecodeError:
        return key, value


def main() -> None:
    """Runs the command; errors of the input become one line and exit status 2."""
    try:
        # without its standalone mode the command line parser returns the code of typer.Exit
        code = app(standalone_mode=False)
        sys.exit(code if isinstance(code, int) else 0)
    except (LinkworkError, KeyError, ImportError) as error:
        sys.exit(report_error(error))
    except Exception as error:
        # click's own complaints about options and arguments carry a message for the user
        if not hasattr(error, "format_message"):
            raise
        sys.exit(report_error(error, error.format_message()))


def report_error(error: Exception, text: str = "") -> int:
    """Prints one line and returns the exit status."""
    problems = getattr(error, "problems", None)
    line = text or ("; ".join(problems) if problems else str(error.args[0] if error.args else error))
    model = getattr(error, "model", None)
    if problems and model:
        line = f"model '{model}': {line}"
    kind = "assembly failed: " if isinstance(error, AssemblyError) else ""
    print(f"linkwork: {kind}{' '.join(line.split())}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    main()
