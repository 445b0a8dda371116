"""A plain text table."""

from __future__ import annotations

from collections.abc import Sequence


def show_table(title: str, header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print a title, a header and rows in aligned columns; numbers are set to three significant digits."""
    text = [[_format(cell) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in [list(header), *text]) for i in range(len(header))]
    print(f"\n{title}")
    print("  ".join(name.ljust(width) for name, width in zip(header, widths, strict=True)))
    for row in text:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)))


def _format(cell: object) -> str:
    return f"{cell:.4g}" if isinstance(cell, float) else str(cell)
