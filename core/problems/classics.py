"""The classic test functions of optimization, each with its domain, a start and the known global minima.

Formulas, domains and minima as in the usual collections (Jamil and Yang 2013, 'A literature survey of benchmark
functions'; Surjanovic and Bingham, Virtual Library of Simulation Experiments).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from core.problems.functions import FunctionSpec
from core.problems.objective import Bounds, Minimum


def root(square: Any) -> Any:
    """Square root whose derivative at 0 is 0 instead of infinite, so that a kink or peak there gives no nan."""
    positive = square > 0
    return np.where(positive, np.sqrt(np.where(positive, square, 1.0)), 0.0)


def rosenbrock(x: Any, y: Any) -> Any:
    return (1 - x) ** 2 + 100 * (y - x**2) ** 2


def beale(x: Any, y: Any) -> Any:
    return (1.5 - x + x * y) ** 2 + (2.25 - x + x * y**2) ** 2 + (2.625 - x + x * y**3) ** 2


def himmelblau(x: Any, y: Any) -> Any:
    return (x**2 + y - 11) ** 2 + (x + y**2 - 7) ** 2


def booth(x: Any, y: Any) -> Any:
    return (x + 2 * y - 7) ** 2 + (2 * x + y - 5) ** 2


def matyas(x: Any, y: Any) -> Any:
    return 0.26 * (x**2 + y**2) - 0.48 * x * y


def three_hump_camel(x: Any, y: Any) -> Any:
    return 2 * x**2 - 1.05 * x**4 + x**6 / 6 + x * y + y**2


def six_hump_camel(x: Any, y: Any) -> Any:
    return (4 - 2.1 * x**2 + x**4 / 3) * x**2 + x * y + (-4 + 4 * y**2) * y**2


def rastrigin(x: Any, y: Any) -> Any:
    return 20 + x**2 - 10 * np.cos(2 * np.pi * x) + y**2 - 10 * np.cos(2 * np.pi * y)


def ackley(x: Any, y: Any) -> Any:
    bowl = -20 * np.exp(-0.2 * root(0.5 * (x**2 + y**2)))
    ripples = np.exp(0.5 * (np.cos(2 * np.pi * x) + np.cos(2 * np.pi * y)))
    return bowl - ripples + np.e + 20


def levy(x: Any, y: Any) -> Any:
    u, v = (x - 1) / 4, (y - 1) / 4
    first = np.sin(np.pi * (1 + u)) ** 2 + u**2 * (1 + 10 * np.sin(np.pi * (1 + u) + 1) ** 2)
    return first + v**2 * (1 + np.sin(2 * np.pi * (1 + v)) ** 2)


def styblinski_tang(x: Any, y: Any) -> Any:
    return 0.5 * (x**4 - 16 * x**2 + 5 * x + y**4 - 16 * y**2 + 5 * y)


def goldstein_price(x: Any, y: Any) -> Any:
    inner = 19 - 14 * x + 3 * x**2 - 14 * y + 6 * x * y + 3 * y**2
    outer = 18 - 32 * x + 12 * x**2 + 48 * y - 36 * x * y + 27 * y**2
    return (1 + (x + y + 1) ** 2 * inner) * (30 + (2 * x - 3 * y) ** 2 * outer)


def mccormick(x: Any, y: Any) -> Any:
    return np.sin(x + y) + (x - y) ** 2 - 1.5 * x + 2.5 * y + 1


def easom(x: Any, y: Any) -> Any:
    return -np.cos(x) * np.cos(y) * np.exp(-((x - np.pi) ** 2 + (y - np.pi) ** 2))


def eggholder(x: Any, y: Any) -> Any:
    first = (y + 47) * np.sin(root(np.abs(x / 2 + y + 47)))
    return -first - x * np.sin(root(np.abs(x - (y + 47))))


def griewank(x: Any, y: Any) -> Any:
    return 1 + (x**2 + y**2) / 4000 - np.cos(x) * np.cos(y / 2**0.5)


def schwefel(x: Any, y: Any) -> Any:
    return 418.9829 * 2 - x * np.sin(root(np.abs(x))) - y * np.sin(root(np.abs(y)))


def drop_wave(x: Any, y: Any) -> Any:
    square = x**2 + y**2
    return -(1 + np.cos(12 * root(square))) / (0.5 * square + 2)


def bohachevsky(x: Any, y: Any) -> Any:
    return x**2 + 2 * y**2 - 0.3 * np.cos(3 * np.pi * x) - 0.4 * np.cos(4 * np.pi * y) + 0.7


def sphere(x: Any, y: Any) -> Any:
    return x**2 + y**2


def zakharov(x: Any, y: Any) -> Any:
    slant = 0.5 * x + y
    return x**2 + y**2 + slant**2 + slant**4


def dixon_price(x: Any, y: Any) -> Any:
    return (x - 1) ** 2 + 2 * (2 * y**2 - x) ** 2


def michalewicz(x: Any, y: Any) -> Any:
    return -np.sin(x) * np.sin(x**2 / np.pi) ** 20 - np.sin(y) * np.sin(2 * y**2 / np.pi) ** 20


def _at(*places: tuple[float, float], f: float = 0.0, note: str = "") -> tuple[Minimum, ...]:
    return tuple(Minimum(np.array(place), f, note) for place in places)


def _square(half: float) -> Bounds:
    return ((-half, half), (-half, half))


_HIMMELBLAU_MINIMA = (
    (3.0, 2.0),
    (-2.805118086952745, 3.131312518250573),
    (-3.779310253377747, -3.2831859912861696),
    (3.5844283403304917, -1.8481265269644036),
)
_CAMEL = (0.08984201310031806, -0.7126564030207396)
_TANG = -2.903534027771177

CLASSICS: tuple[FunctionSpec, ...] = (
    FunctionSpec(
        "rosenbrock", "Rosenbrock's valley", "(1 - x)² + 100 (y - x²)²", rosenbrock,
        (-1.2, 1.0), ((-2, 2), (-1, 3)), _at((1, 1)),
        description="A curved valley: steep across, nearly flat along. Rosenbrock 1960.",
    ),
    FunctionSpec(
        "beale", "Beale", "(1.5 - x + x y)² + (2.25 - x + x y²)² + (2.625 - x + x y³)²", beale,
        (1.0, 1.0), _square(4.5), _at((3, 0.5)),
        description="A flat floor with steep corners: gradients differ by orders of magnitude.",
    ),
    FunctionSpec(
        "himmelblau", "Himmelblau", "(x² + y - 11)² + (x + y² - 7)²", himmelblau,
        (0.0, 0.0), _square(5), _at(*_HIMMELBLAU_MINIMA),
        description="Four equal minima: which one is reached depends on start and optimizer.",
    ),
    FunctionSpec(
        "booth", "Booth", "(x + 2y - 7)² + (2x + y - 5)²", booth,
        (-5.0, 5.0), _square(10), _at((1, 3)), description="A tilted quadratic of condition number 9.",
    ),
    FunctionSpec(
        "matyas", "Matyas", "0.26 (x² + y²) - 0.48 x y", matyas,
        (8.0, -4.0), _square(10), _at((0, 0)), description="A tilted quadratic of condition number 25.",
    ),
    FunctionSpec(
        "three_hump_camel", "Three-hump camel", "2 x² - 1.05 x⁴ + x⁶/6 + x y + y²", three_hump_camel,
        (-2.0, 1.5), _square(5), _at((0, 0)), description="One global and two local minima.",
    ),
    FunctionSpec(
        "six_hump_camel", "Six-hump camel", "(4 - 2.1 x² + x⁴/3) x² + x y + (4 y² - 4) y²", six_hump_camel,
        (-1.5, 1.2), ((-3, 3), (-2, 2)), _at(_CAMEL, (-_CAMEL[0], -_CAMEL[1]), f=-1.0316284534898774),
        description="Six minima, two of them global.",
    ),
    FunctionSpec(
        "rastrigin", "Rastrigin", "20 + x² - 10 cos(2πx) + y² - 10 cos(2πy)", rastrigin,
        (3.3, -2.4), _square(5.12), _at((0, 0)), description="A bowl covered with regular local minima.",
    ),
    FunctionSpec(
        "ackley", "Ackley", "-20 exp(-0.2 √((x² + y²)/2)) - exp((cos 2πx + cos 2πy)/2) + e + 20", ackley,
        (-3.3, 2.4), _square(5), _at((0, 0), note="not differentiable at the minimum"),
        description="A nearly flat rippled plain around a funnel with a kink at its bottom.",
    ),
    FunctionSpec(
        "levy", "Lévy", "sin²(πu) + (u-1)² (1 + 10 sin²(πu + 1)) + (v-1)² (1 + sin²(2πv)), "
        "u = 1 + (x-1)/4, v = 1 + (y-1)/4", levy,
        (-6.0, 5.0), _square(10), _at((1, 1)), description="Ridges of local minima.",
    ),
    FunctionSpec(
        "styblinski_tang", "Styblinski-Tang", "(x⁴ - 16 x² + 5x + y⁴ - 16 y² + 5y) / 2", styblinski_tang,
        (0.5, -0.5), _square(5), _at((_TANG, _TANG), f=-78.33233140754282),
        description="Four basins of different depth.",
    ),
    FunctionSpec(
        "goldstein_price", "Goldstein-Price",
        "(1 + (x + y + 1)² (19 - 14x + 3x² - 14y + 6xy + 3y²)) "
        "(30 + (2x - 3y)² (18 - 32x + 12x² + 48y - 36xy + 27y²))", goldstein_price,
        (-1.2, 0.8), _square(2), _at((0, -1), f=3.0), description="Values from 3 to a million.",
    ),
    FunctionSpec(
        "mccormick", "McCormick", "sin(x + y) + (x - y)² - 1.5x + 2.5y + 1", mccormick,
        (3.0, 3.0), ((-1.5, 4), (-3, 4)),
        _at((-0.5471975511965977, -1.5471975511965979), f=-1.9132229549810364),
        description="A straight valley with one minimum inside its domain.",
    ),
    FunctionSpec(
        "easom", "Easom", "-cos x cos y exp(-((x - π)² + (y - π)²))", easom,
        (1.8, 2.0), ((0, 6), (0, 6)), _at((np.pi, np.pi), f=-1.0),
        description="A needle in a flat plain: the gradient vanishes nearly everywhere.",
    ),
    FunctionSpec(
        "eggholder", "Eggholder", "-(y + 47) sin √|x/2 + y + 47| - x sin √|x - (y + 47)|", eggholder,
        (100.0, 100.0), _square(512),
        _at((512, 404.2318051137578), f=-959.6406627208509,
            note="on the boundary x = 512; only df/dy is zero there"),
        description="Many deep basins; the lowest point lies on the boundary.",
    ),
    FunctionSpec(
        "griewank", "Griewank", "1 + (x² + y²)/4000 - cos x cos(y/√2)", griewank,
        (7.0, -6.0), _square(10), _at((0, 0)), description="Regular waves on a very shallow bowl.",
    ),
    FunctionSpec(
        "schwefel", "Schwefel", "837.9658 - x sin √|x| - y sin √|y|", schwefel,
        (100.0, -100.0), _square(500), _at((420.96874635998205,) * 2, f=2.5455132587450428e-05),
        description="The second-best basins lie far from the best one.",
    ),
    FunctionSpec(
        "drop_wave", "Drop wave", "-(1 + cos(12 √(x² + y²))) / ((x² + y²)/2 + 2)", drop_wave,
        (1.4, 1.1), _square(5.12), _at((0, 0), f=-1.0),
        description="Rings around one deep minimum.",
    ),
    FunctionSpec(
        "bohachevsky", "Bohachevsky", "x² + 2y² - 0.3 cos 3πx - 0.4 cos 4πy + 0.7", bohachevsky,
        (-70.0, 60.0), _square(100), _at((0, 0)), description="A bowl with fine ripples near the bottom.",
    ),
    FunctionSpec(
        "sphere", "Sphere", "x² + y²", sphere,
        (-4.0, 3.0), _square(5), _at((0, 0)), description="The simplest bowl: every direction alike.",
    ),
    FunctionSpec(
        "zakharov", "Zakharov", "x² + y² + (x/2 + y)² + (x/2 + y)⁴", zakharov,
        (8.0, 6.0), ((-5, 10), (-5, 10)), _at((0, 0)),
        description="A quartic gutter: steep far away, flat near the bottom.",
    ),
    FunctionSpec(
        "dixon_price", "Dixon-Price", "(x - 1)² + 2 (2y² - x)²", dixon_price,
        (-5.0, 6.0), _square(10), _at((1, 0.5**0.5), (1, -(0.5**0.5))),
        description="Two minima joined by a curved valley.",
    ),
    FunctionSpec(
        "michalewicz", "Michalewicz", "-sin x sin²⁰(x²/π) - sin y sin²⁰(2y²/π)", michalewicz,
        (2.0, 1.4), ((0, 3.1415), (0, 3.1415)),
        _at((2.2029055201726093, np.pi / 2), f=-1.8013034100985525),
        description="Steep valleys between plateaus where the gradient vanishes.",
    ),
)  # fmt: skip
