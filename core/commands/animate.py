"""The options of 'animate'; the drawing itself needs Qt and is in gui.export."""

from __future__ import annotations

import argparse

VIEWS = ("surface", "vectors", "ledger", "timeline", "fit", "inspector")


def add_animation_options(parser: argparse.ArgumentParser) -> None:
    """Which steps, which views, which size."""
    parser.add_argument("source", nargs="?", help="an experiment or a trace")
    parser.add_argument("-o", "--out", required=True, metavar="run.mp4|.gif|.png|.webp")
    parser.add_argument("--view", default="surface", help=f"views, separated by commas: {', '.join(VIEWS)}")
    parser.add_argument("--from", dest="first", type=int, default=0, metavar="STEP")
    parser.add_argument("--to", dest="last", type=int, default=99, metavar="STEP")
    parser.add_argument("--every", type=int, default=1, metavar="K", help="only every K-th step")
    parser.add_argument("--fps", type=float, default=20.0, help="frames a second")
    parser.add_argument("--width", type=int, default=960, help="pixels")
    parser.add_argument("--height", type=int, default=640, help="pixels")
    parser.add_argument("--theme", choices=("light", "dark"), default="light")
