"""Reading tables: local spellings load right, broken files are refused with line, column and the way to mend them."""

import gzip

import numpy as np
import pytest

from core.problems.array_files import dataset_from_arrays
from core.problems.datasets import dataset_names, load_dataset
from core.problems.from_table import dataset_from_table
from core.problems.tables import TableCancelled, TableError, read_table

GOOD = "a,b,c\n1,2,x\n3,4.5,y\n"


def write(folder, content, name="data.csv"):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    return path


# content -> column a, column b (numbers) that must come out
SPELLINGS = {
    "comma": "a,b\n1,2.5\n3,4\n",
    "semicolon and decimal comma": "a;b\n1;2,5\n3;4\n",
    "decimal commas in every cell": "a;b\n1,0;2,5\n3,0;4,0\n",
    "tab": "a\tb\n1\t2.5\n3\t4\n",
    "bar": "a|b\n1|2.5\n3|4\n",
    "spaces": "a b\n1  2.5\n3   4\n",
    "quoted": '"a","b"\n"1","2.5"\n"3","4"\n',
    "byte order mark": "\ufeffa,b\n1,2.5\n3,4\n",
    "windows line ends": "a,b\r\n1,2.5\r\n3,4\r\n",
    "old macintosh line ends": "a,b\r1,2.5\r3,4\r",
    "blank lines": "\n\na,b\n1,2.5\n\n3,4\n\n",
    "comments first": "# made by hand\n# twice\na,b\n1,2.5\n3,4\n",
    "excel's sep line": "sep=;\na;b\n1;2,5\n3;4\n",
    "trailing delimiter": "a,b,\n1,2.5,\n3,4,\n",
    "trailing delimiter, not in the header": "a,b\n1,2.5,\n3,4,\n",
    "no line end at the end": "a,b\n1,2.5\n3,4",
    "blanks after delimiters": "a, b\n1, 2.5\n3, 4\n",
    "exponents": "a,b\n1e0,25E-1\n.3e1,+4.\n",
    "decimal comma in quotes": 'a,b\n1,"2,5"\n3,"4"\n',
}


@pytest.mark.parametrize("name", SPELLINGS)
def test_spellings_that_load_right(tmp_path, name):
    table = read_table(write(tmp_path, SPELLINGS[name]))
    assert table.names == ("a", "b")
    np.testing.assert_array_equal(table.column("a").values, [1, 3])
    np.testing.assert_array_equal(table.column("b").values, [2.5, 4])


def test_utf16_latin_and_gzip(tmp_path):
    np.testing.assert_array_equal(
        read_table(write(tmp_path, "a,b\n1,2\n3,4\n".encode("utf-16"))).column("b").values, [2, 4]
    )
    latin = read_table(write(tmp_path, "größe,b\n1,2\n3,4\n".encode("cp1252")))
    assert latin.names == ("größe", "b")
    assert "Windows-1252" in latin.notes[0]
    packed = read_table(write(tmp_path, gzip.compress(GOOD.encode()), "data.csv.gz"))
    assert packed.column("c").categories == ("x", "y")


def test_headers_found_out(tmp_path):
    bare = read_table(write(tmp_path, "1,2\n3,4\n"))
    assert bare.names == ("column 1", "column 2")
    assert len(bare) == 2
    words = read_table(write(tmp_path, "colour,size\nred,big\nblue,big\n"))
    assert words.names == ("colour", "size")
    values = read_table(write(tmp_path, "red,big\nblue,big\nred,small\n"))
    assert values.names == ("column 1", "column 2")
    doubled = read_table(write(tmp_path, "a,a,\n1,2,3\n4,5,6\n"))
    assert doubled.names == ("a", "a_2", "column 3")
    row_names = read_table(write(tmp_path, '"w" "h"\n"r1" 1 2\n"r2" 3 4\n', "r.txt"), delimiter=" ")
    assert row_names.names == ("column 1", '"w"', '"h"')
    forced = read_table(write(tmp_path, "1,2\n3,4\n"), header=True)
    assert forced.names == ("1", "2")


def test_missing_values_and_categories(tmp_path):
    path = write(tmp_path, "age,colour,y\n30,red,1\n,blue,0\n41,NA,1\n50,red,?\n28,green,0\n")
    table = read_table(path)
    np.testing.assert_array_equal(table.column("age").missing, [False, True, False, False, False])
    assert table.column("colour").categories == ("blue", "green", "red")
    dropped = dataset_from_table(table)
    assert dropped.feature_names == ("age", "colour=blue", "colour=green", "colour=red")
    np.testing.assert_array_equal(dropped.features, [[30, 0, 0, 1], [28, 0, 1, 0]])
    assert "3 of 5 rows" in dropped.notes[0]
    filled = dataset_from_table(table, missing="mean")
    np.testing.assert_allclose(filled.features[1], [(30 + 41 + 28) / 3, 1, 0, 0])
    np.testing.assert_array_equal(filled.features[2, 1:], [0, 0, 0])
    with pytest.raises(TableError, match=r"line 3, column 1.*'age' is missing \(1 of 5"):
        dataset_from_table(table, missing="refuse", features=["age"], target="colour")


def test_quoted_cells_may_hold_everything(tmp_path):
    table = read_table(write(tmp_path, 'name,v\n"a, b",1\n"say ""hi""",2\n"two\nlines",3\nplain,4\n'))
    assert set(table.column("name").categories) == {"a, b", 'say "hi"', "two\nlines", "plain"}
    np.testing.assert_array_equal(table.lines, [2, 3, 4, 6])


def test_thousands_signs(tmp_path):
    table = read_table(write(tmp_path, 'a,b\n"1,234.5",1\n"12,000",2\n7.5,3\n'))
    np.testing.assert_array_equal(table.column("a").values, [1234.5, 12000, 7.5])
    german = read_table(write(tmp_path, "a;b\n1.234,5;1,5\n7,25;2\n"))
    np.testing.assert_array_equal(german.column("a").values, [1234.5, 7.25])


# what could be read as thousands -> the numbers that were meant
AMBIGUOUS = {
    "three decimals everywhere": ("a;b\n-1,463;2,925\n1,018;3,250\n", [-1.463, 1.018]),
    "a leading zero": ("a\tb\n0,018\t1\n-0,125\t2\n", [0.018, -0.125]),
    "a point elsewhere": ("a;b\n1,463;2.5\n2,925;3\n", [1463, 2925]),
    "two groups": ("a;b\n1,463;1,234,567\n2,925;3\n", [1463, 2925]),
    "groups and a point in one cell": ("a;b\n1,463;1,234.5\n2,925;3\n", [1463, 2925]),
}


@pytest.mark.parametrize("name", AMBIGUOUS)
def test_a_comma_before_three_digits(tmp_path, name):
    content, meant = AMBIGUOUS[name]
    np.testing.assert_array_equal(read_table(write(tmp_path, content)).column("a").values, meant)


# content, line, column, words of the message
BROKEN = {
    "text in a number column": ("a,b\n1,2\n3,oops\n5,6\n", 3, 2, "'oops' is not a number.*'b'"),
    "a row too long": ("a,b\n1,2\n3,4,5\n5,6\n", 3, 3, "3 cells, the others have 2"),
    "a row too short": ("a,b,c\n1,2,3\n4,5\n6,7,8\n", 3, 3, "2 cells, the others have 3"),
    "open quotation mark": ('a,b\n1,"2\n3,4\n5,6\n', 2, 2, "never closed"),
    "text after a quotation mark": ('a,b\n1,"2"x\n3,4\n', 2, 2, "written? a mark inside a cell twice|write a mark"),
    "too large a number": ("a,b\n1,2\n1e999,3\n", 3, 1, "too large"),
    "infinity": ("a,b\n1,2\n2,3\ninf,3\n", 4, 1, "'inf' is not a number"),
    "two decimal points": ("a,b\n1,2\n1.2.3,3\n4,4\n", 3, 1, "'1.2.3' is not a number"),
    "date in a number column": ("a,b\n1,2\n2,2\n2024-01-02,3\n", 4, 1, "'2024-01-02' is not a number"),
    "spaces inside a number": ("a,b\n1,2\n1 2,3\n4,4\n", 3, 1, "'1 2' is not a number"),
    "only a header": ("a,b\n", 1, 0, "no row of data below"),
    "empty": ("", 0, 0, "empty"),
    "blank lines only": ("\n\n  \n", 0, 0, "no rows of data"),
    "comments only": ("# nothing\n", 0, 0, "no rows of data"),
    "zero bytes": (b"a,b\n1,2\n\x00\x00,3\n", 3, 1, "zero bytes"),
    "a spreadsheet": (b"PK\x03\x04rest of it", 0, 0, "Excel"),
    "a picture": (b"\x89PNG\r\n\x1a\n....", 0, 0, "picture"),
    "parquet": (b"PAR1....PAR1", 0, 0, "Parquet"),
    "gzip cut off": (gzip.compress(("a,b\n" + "1,2\n" * 9000).encode())[:60], 0, 0, "damaged or cut off"),
    "gzip damaged": (b"\x1f\x8b\x08\x00garbage that is no gzip", 0, 0, "damaged|cut off"),
    "not UTF-8 later than the sample": (
        b"a,b\n" + b"1,2\n" * 20000 + b"3,\xff\xfe\n", 20002, 2, "is not a number",
    ),
    "bytes that no encoding has": (b"a,b\n" + b"1,2\n" * 20000 + b"3,\x81\n", 20002, 2, "0x81 is no text"),
    "huge cell": ('a,b\n1,"' + "z" * (1 << 21) + '"\n', 2, 2, "longer than"),
    "open quotation mark below others": ('a,b,c\n"1\n1",2,"x\n3,4,5\n', 3, 3, "never closed"),
    "open quotation mark far above the end": ('a,b\n1,2\n3,"4\n' + "5,6\n" * 5000, 3, 2, "never closed"),
    "text after a mark on a later line": ('a;b;c\n1;"2\n\n2" x;3\n', 4, 2, "write a mark"),
    "zero bytes far into the file": (b"a;b\n" + b"1;2\n" * 30000 + b"3;\x00\n", 30002, 2, "zero bytes"),
    "the same in the target": ("a,b\n" + "1,2\n" * 2000 + "1,x\n", 2002, 2, "'x' is not a number"),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_broken_files_say_where_and_how_to_mend(tmp_path, name):
    content, line, column, words = BROKEN[name]
    with pytest.raises(TableError, match=words) as caught:
        read_table(write(tmp_path, content))
    assert (caught.value.line, caught.value.column) == (line, column)
    assert str(caught.value).startswith("data.csv")
    if line:
        assert f"line {line}" in str(caught.value)


def test_at_least_twenty_broken_files_are_held():
    assert len(BROKEN) >= 20


def test_missing_file_and_folder(tmp_path):
    with pytest.raises(TableError, match="no such file"):
        read_table(tmp_path / "nothing.csv")
    with pytest.raises(TableError, match="folder"):
        read_table(tmp_path)
    with pytest.raises(ValueError, match="no data set 'irsi'; there are: breast_cancer, iris"):
        load_dataset("irsi")


def test_text_beyond_the_sample_is_still_found(tmp_path):
    rows = "".join(f"{i},{i}.5\n" for i in range(5000))
    with pytest.raises(TableError, match="line 5002, column 2"):
        read_table(write(tmp_path, "a,b\n" + rows + "5000,five\n"))


def test_choosing_target_and_features(tmp_path):
    table = read_table(write(tmp_path, "id,a,b,kind\nr1,1,2,x\nr2,3,4,y\nr3,5,6,x\n"))
    data = dataset_from_table(table, features=["a", "b"])
    assert (data.target_name, data.classes) == ("kind", ("x", "y"))
    np.testing.assert_array_equal(data.targets, [0, 1, 0])
    number = dataset_from_table(table, target="b", features=["a"])
    assert number.classes == ()
    with pytest.raises(TableError, match="no column 'c'; it has: id, a, b, kind"):
        dataset_from_table(table, target="c")
    with pytest.raises(TableError, match="target and feature at once"):
        dataset_from_table(table, features=["a", "kind"])
    with pytest.raises(TableError, match="3 different values in 3 rows"):
        dataset_from_table(table, target="id")
    with pytest.raises(ValueError, match="is text"):
        data.as_numbers()
    with pytest.raises(ValueError, match="not a class"):
        dataset_from_table(read_table(write(tmp_path, "a,b\n1,0.5\n2,1.7\n"))).as_classes()


def test_progress_and_cancel(tmp_path):
    path = write(tmp_path, "a,b\n" + "1,2\n" * 60_000)
    seen = []
    table = read_table(path, progress=lambda part: seen.append(part))
    assert len(table) == 60_000
    assert seen == sorted(seen)
    assert seen[-1] == 1.0
    with pytest.raises(TableCancelled):
        read_table(path, progress=lambda part: part < 0.5)


def test_no_row_is_lost_at_the_chunks_edges(tmp_path):
    count = 41_003
    table = read_table(write(tmp_path, "a,b\n" + "".join(f"{i},{i % 7}\n" for i in range(count))))
    np.testing.assert_array_equal(table.column("a").values, np.arange(count))
    np.testing.assert_array_equal(table.lines, np.arange(count) + 2)


def test_preview(tmp_path):
    table = read_table(write(tmp_path, "a,b,c\n1,2,x\n3,,y\n"))
    assert table.preview(5) == [["1", "2", "x"], ["3", "", "y"]]


@pytest.mark.parametrize(
    ("name", "shape", "classes"),
    [("breast_cancer", (569, 30), 2), ("iris", (150, 4), 3), ("diabetes", (442, 10), 0), ("digits", (1797, 64), 10)],
)
def test_built_in_data(name, shape, classes):
    data = load_dataset(name)
    assert data.features.shape == shape
    assert len(data.classes) == classes
    assert data.source
    if name == "breast_cancer":  # as counted by its authors
        assert dict(zip(data.classes, np.bincount(data.targets.astype(int)), strict=True)) == {
            "benign": 357, "malignant": 212,
        }  # fmt: skip
    if name == "iris":
        np.testing.assert_array_equal(np.bincount(data.targets.astype(int)), [50, 50, 50])
        np.testing.assert_allclose(data.features.mean(axis=0), [5.8433, 3.0573, 3.758, 1.1993], atol=1e-4)


def test_made_up_data_repeats_by_seed():
    for name in dataset_names()[4:]:
        first, again, other = (load_dataset(f"{name}(rows=50, seed={seed})") for seed in (3, 3, 4))
        np.testing.assert_array_equal(first.features, again.features)
        assert not np.array_equal(first.features, other.features)
        assert len(first) == 50
    clean = load_dataset("circles(noise=0)")
    np.testing.assert_allclose(np.hypot(*clean.features.T), np.where(clean.targets == 0, 1.0, 0.5))
    line = load_dataset("linear(noise=0)")
    np.testing.assert_allclose(line.targets, 2 * line.features[:, 0] + 1)
    with pytest.raises(ValueError, match="settings rows, noise and seed, not 'size'"):
        load_dataset("moons(size=3)")
    with pytest.raises(ValueError, match="rows must be a whole number"):
        load_dataset("moons(rows=many)")


def test_numpy_files(tmp_path):
    x, y = np.random.default_rng(0).normal(size=(8, 3)), np.arange(8) % 2
    path = tmp_path / "d.npz"
    np.savez(path, X=x, y=y, feature_names=np.array(["p", "q", "r"]))
    data = dataset_from_arrays(path)
    np.testing.assert_array_equal(data.features, x)
    assert (data.feature_names, data.classes) == (("p", "q", "r"), ("0", "1"))
    np.savez_compressed(path, data=np.asfortranarray(x), labels=np.array(["no", "yes"])[y])
    named = load_dataset(path)
    assert named.classes == ("no", "yes")
    np.testing.assert_array_equal(named.features, x)
    np.save(tmp_path / "d.npy", np.column_stack([x, x[:, 0]]))
    np.testing.assert_array_equal(load_dataset(tmp_path / "d.npy").targets, x[:, 0])


def test_numpy_files_that_are_refused(tmp_path):
    path = tmp_path / "d.npz"
    np.savez(path, x=np.array([{}, {}], dtype=object), y=np.zeros(2))
    with pytest.raises(TableError, match="Python objects, which are never loaded"):
        dataset_from_arrays(path)
    np.savez(path, x=np.zeros((2, 2)))
    with pytest.raises(TableError, match=r"no array of targets \(y\); it holds x"):
        dataset_from_arrays(path)
    np.savez(path, x=np.zeros((2, 2)), y=np.zeros(3))
    with pytest.raises(TableError, match="are needed"):
        dataset_from_arrays(path)
    np.savez(path, x=np.array([[1.0, np.nan]]), y=np.zeros(1))
    with pytest.raises(TableError, match=r"not finite at index \[0, 1\]"):
        dataset_from_arrays(path)
    path.write_bytes(b"no zip at all")
    with pytest.raises(TableError, match=r"not an \.npz file"):
        dataset_from_arrays(path)
    # a header that promises far more than the file holds must not be believed
    lying = tmp_path / "d.npy"
    np.save(lying, np.zeros((4, 2)))
    content = lying.read_bytes()
    lying.write_bytes(content.replace(b"(4, 2), }   ", b"(4000, 2), }"))
    with pytest.raises(TableError, match="promises 64000 bytes"):
        dataset_from_arrays(lying)
    lying.write_bytes(content.replace(b"(4, 2), }         ", b"(4000000000, 2), }"))
    with pytest.raises(TableError, match="GiB; at most"):
        dataset_from_arrays(lying)
