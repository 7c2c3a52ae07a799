"""Everything a problem needs stands in the experiment file, and is built as the problem would be directly."""

import numpy as np
import pytest

from core.problems import problem
from core.problems.datasets import load_dataset
from core.simulation import Experiment, ExperimentError, ProblemSettings, Simulation
from core.simulation.build import NotTrusted, build_objective

TABLE = "height;weight;kind\n1,5;60;a\n1,8;;b\n1,6;70;a\n1,9;95;b\n1,7;80;b\n1,4;50;a\n"


def built(**settings):
    """By way of the file, as a saved experiment comes back."""
    experiment = Experiment(problem=ProblemSettings(**settings))
    return build_objective(Experiment.from_bytes(experiment.to_bytes()))


def test_an_expression_with_values_order_and_bounds():
    text = "(a - x)**2 + b*(y - x**2)**2"
    made = built(
        name="expression", expression=text, values={"a": 2.0, "b": 3.0}, variables=["y", "x"],
        bounds=((-4.0, 4.0), (-1.0, 9.0)),
    )  # fmt: skip
    assert made.component_names == ("y", "x")
    assert made.bounds == ((-4.0, 4.0), (-1.0, 9.0))
    y, x = 0.7, -1.3
    assert made.value(np.array([y, x])) == pytest.approx((2 - x) ** 2 + 3 * (y - x**2) ** 2, rel=1e-14)
    assert built(expression=text, values={"a": 2.0, "b": 3.0}).component_names == ("x", "y")


def test_model_options_are_those_of_the_problem_itself():
    options = {"layers": [5, 3], "activation": "relu", "init": "he_normal", "norm": "batch", "test_fraction": 0.25}
    made = built(name="mlp", data="moons(rows=120, noise=0.2, seed=1)", options=options, values={"batch_size": 16})
    direct = problem("mlp", data="moons(rows=120, noise=0.2, seed=1)", batch_size=16, **options)
    assert made.shape_text == "2-5-3-1"
    assert made.size == 2 * 5 + 5 + 10 + 15 + 3 + 6 + 3 + 1
    assert len(made.samples.test_y) == 30
    weights = direct.initial_weights(4)
    assert made.value_and_gradient(weights, 3, 4)[0] == direct.value_and_gradient(weights, 3, 4)[0]


def test_made_up_data_have_their_settings():
    made = built(name="mlp", data="moons(rows=500, noise=.2, seed=1)", options={"test_fraction": 0.0})
    assert np.array_equal(made.samples.dataset.features, load_dataset("moons(rows=500, noise=0.2, seed=1)").features)
    assert len(made.samples.train_y) == 500


def test_a_table_with_chosen_columns_and_missing_values(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text(TABLE)
    fields = {"name": "linear_regression", "data": str(path), "target": "weight", "features": ["height"],
              "options": {"test_fraction": 0.0, "standardise": False, "standardise_target": False}}  # fmt: skip
    made = built(**fields)
    assert made.samples.train_x[:, 0].tolist() == [1.5, 1.6, 1.9, 1.7, 1.4]
    assert made.samples.train_y.tolist() == [60, 70, 95, 80, 50]
    with pytest.raises(ExperimentError, match="line 3"):
        built(**fields, missing="refuse")
    other = built(
        name="logistic_regression", data=str(path), target="kind", missing="mean",
        options={"test_fraction": 0.0, "standardise": False},
    )  # fmt: skip
    assert other.samples.train_x[1].tolist() == [1.8, (60 + 70 + 95 + 80 + 50) / 5]
    assert other.samples.dataset.classes == ("a", "b")


def test_tab_separated_and_numpy_files(tmp_path):
    (tmp_path / "t.tsv").write_text("u\tv\n1\t2\n2\t4\n3\t6\n")
    np.savez(tmp_path / "n.npz", x=np.arange(6.0).reshape(3, 2), y=np.array([1.0, 2.0, 4.0]))
    plain = {"test_fraction": 0.0, "standardise": False, "standardise_target": False}
    tsv = built(name="linear_regression", data=str(tmp_path / "t.tsv"), options=plain)
    npz = built(name="linear_regression", data=str(tmp_path / "n.npz"), options=plain)
    assert (tsv.samples.train_x.ravel().tolist(), tsv.samples.train_y.tolist()) == ([1, 2, 3], [2, 4, 6])
    assert (npz.samples.train_x.tolist(), npz.samples.train_y.tolist()) == ([[0, 1], [2, 3], [4, 5]], [1, 2, 4])


def test_data_beside_the_experiment_file_are_found(tmp_path, monkeypatch):
    (tmp_path / "t.csv").write_text("u,v\n1,2\n2,4\n3,6\n")
    Experiment(problem=ProblemSettings("linear_regression", data="t.csv")).save(tmp_path / "e.json")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    assert len(build_objective(Experiment.load(tmp_path / "e.json")).samples.dataset) == 3


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"expression": "x**2", "data": "iris"}, ["problem.data", "leave it out"]),
        ({"expression": "x**2", "options": {"layers": [3]}}, ["problem.options"]),
        ({"expression": "x**2 +"}, ["problem"]),
        ({"expression": "start*x**2", "values": {"start": 1.0}}, ["start", "another name"]),
        ({"name": "mlp", "values": {"layers": [3]}, "options": {"layers": [4]}}, ["layers", "keep one"]),
        ({"name": "mlp", "options": {"norm": "bach"}}, ["norm", "batch"]),
        ({"name": "mlp", "data": "iris", "target": "smell"}, ["smell", "species"]),
        ({"name": "rosenbrock", "data": "iris"}, ["data"]),
        ({"name": "mlp", "data": "moon"}, ["moon", "moons"]),
    ],
)
def test_what_cannot_be_built_is_told(settings, words):
    with pytest.raises(ExperimentError) as caught:
        built(**settings)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize("text", ['{"problem": {"missing": "ignore"}}', '{"problem": {"features": "a"}}'])
def test_wrong_fields_are_refused_when_the_file_is_read(text):
    with pytest.raises(ExperimentError, match=r"at problem\.(missing|features)"):
        Experiment.from_bytes(text.encode())


def test_a_python_file_never_runs_unasked(tmp_path):
    path = tmp_path / "own.py"
    path.write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()\ndef loss(x, y, a=2.0):\n    return a*x**2 + y**2\n")
    experiment = Experiment(problem=ProblemSettings(python=str(path), values={"a": 3.0}), start=[1.0, 2.0])
    with pytest.raises(NotTrusted) as caught:
        Simulation(experiment)
    assert not (tmp_path / "ran").exists()
    simulation = Simulation(experiment, trusted=frozenset([caught.value.path]))
    assert (tmp_path / "ran").exists()
    simulation.advance(3)
    assert simulation.history.scalar("loss")[0] == 7.0
    assert simulation.fork(1).trusted == simulation.trusted
