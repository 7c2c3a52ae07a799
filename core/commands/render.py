"""The options of 'render', checked into one request; the drawing itself needs Qt and is in gui.export."""

from __future__ import annotations

import argparse
import re
from dataclasses import dataclass
from pathlib import Path

from core.commands.sources import RequestError
from core.export.sizes import PRESETS, preset_words

VIEWS = ("surface", "vectors", "ledger", "timeline", "fit", "inspector", "pipeline", "runs", "tape", "log")
"""Views that can be drawn without a display (the surface in three dimensions needs one)."""
FORMATS = (".png", ".svg", ".pdf", ".tiff", ".tif")
THEMES = ("light", "dark")
WIDTH, HEIGHT, SCALE, DPI = 900, 600, 1.0, 300


@dataclass(frozen=True)
class FigureRequest:
    """``paper`` is the size in mm, drawn at ``dpi``; None: ``width`` x ``height`` pixels times ``scale``."""

    views: tuple[str, ...]
    outs: tuple[Path, ...]
    paper: tuple[float, float] | None = None
    dpi: float = DPI
    width: int = WIDTH
    height: int = HEIGHT
    scale: float = SCALE
    theme: str = "light"
    transparent: bool = False


def add_figure_options(parser: argparse.ArgumentParser) -> None:
    """Which views of which step, how large, into which files."""
    parser.add_argument("source", nargs="?", help="an experiment or a trace")
    parser.add_argument(
        "--view", required=True, metavar="NAME[,NAME...]",
        help=f"several stand in a grid with panel letters: {', '.join(VIEWS)}",
    )  # fmt: skip
    parser.add_argument("--step", type=int, default=None, help="default: the last one, or 50")
    parser.add_argument(
        "-o", "--out", required=True, action="append", metavar="plot.png|.svg|.pdf|.tiff",
        help="may be given several times",
    )  # fmt: skip
    parser.add_argument("--preset", metavar="NAME", help=f"a size on paper: {', '.join(preset_words())}")
    parser.add_argument("--size", metavar="WxH", help="a size on paper in mm, for example 89x65")
    parser.add_argument("--dpi", type=float, help=f"dots an inch of a PNG or TIFF with a size on paper ({DPI})")
    parser.add_argument("--width", type=int, help=f"pixels ({WIDTH})")
    parser.add_argument("--height", type=int, help=f"pixels ({HEIGHT})")
    parser.add_argument("--scale", type=float, help=f"pixel density of a PNG or TIFF with a size in pixels ({SCALE:g})")
    parser.add_argument("--theme", choices=THEMES, default="light")
    parser.add_argument("--transparent", action="store_true", help="no ground behind the plots")


def figure_request(arguments: argparse.Namespace) -> FigureRequest:
    """The options as one request; RequestError says which of them cannot be used, and what can."""
    outs = tuple(Path(out) for out in arguments.out)
    for out in outs:
        if out.suffix.lower() not in FORMATS:
            raise RequestError(f"--out {out}: a figure ends in .png, .svg, .pdf or .tiff")
        if not out.parent.is_dir():
            raise RequestError(f"--out {out}: the folder {out.parent} does not exist")
    paper = _paper(arguments)
    in_pixels = {key: getattr(arguments, key) for key in ("width", "height", "scale")}
    given = [f"--{key}" for key, value in in_pixels.items() if value is not None]
    if paper is not None and given:
        raise RequestError(f"{given[0]} counts pixels and --preset and --size are sizes on paper: give one of the two")
    if paper is None and arguments.dpi is not None:
        raise RequestError("--dpi goes with a size on paper: give --preset or --size too (or --scale with pixels)")
    width, height = arguments.width or WIDTH, arguments.height or HEIGHT
    scale = SCALE if arguments.scale is None else arguments.scale
    dpi = DPI if arguments.dpi is None else arguments.dpi
    if 0 in (arguments.width, arguments.height) or not (100 <= width <= 20_000 and 100 <= height <= 20_000):
        raise RequestError("--width and --height are 100 to 20000 pixels")
    if not 0 < scale <= 16:
        raise RequestError(f"--scale {scale:g}: above 0 and at most 16")
    if not 20 <= dpi <= 2400:
        raise RequestError(f"--dpi {dpi:g}: from 20 to 2400")
    return FigureRequest(
        view_names(arguments.view, VIEWS), outs, paper, dpi, width, height, scale, arguments.theme,
        arguments.transparent,
    )  # fmt: skip


def view_names(text: str, known: tuple[str, ...]) -> tuple[str, ...]:
    """The views named in ``text``, separated by commas; RequestError for others."""
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    unknown = [name for name in names if name not in known]
    if unknown or not names:
        what = f"no view {unknown[0]!r}" if unknown else "no view is named"
        raise RequestError(f"--view {text!r}: {what}; give one or more of {', '.join(known)}, separated by commas")
    return names


def _paper(arguments: argparse.Namespace) -> tuple[float, float] | None:
    if arguments.preset is not None and arguments.size is not None:
        raise RequestError("--preset and --size: give one of the two")
    if arguments.preset is not None:
        name = preset_words().get(arguments.preset, arguments.preset)
        if name not in PRESETS:
            raise RequestError(f"--preset {arguments.preset!r}: there are {', '.join(preset_words())}")
        return PRESETS[name]
    if arguments.size is None:
        return None
    parts = re.fullmatch(r"\s*([\d.]+)\s*[x×X,]\s*([\d.]+)\s*(?:mm)?\s*", arguments.size)
    try:
        size = (float(parts[1]), float(parts[2])) if parts else (0.0, 0.0)
    except ValueError:
        size = (0.0, 0.0)
    if not all(20 <= length <= 2000 for length in size):
        raise RequestError(f"--size {arguments.size!r}: width x height in mm, each from 20 to 2000, for example 89x65")
    return size
