"""Settings that scripts keep apart from the optimizer's line: argparse, absl flags, namespaces, YAML in quotes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from core.optim.dialects.values import Call, Name, Record

PARSERS = ("ArgumentParser", "ArgParser", "HfArgumentParser")
PARSED = ("parse_args", "parse_known_args", "parse_args_into_dataclasses")
NAMESPACES = ("Namespace", "SimpleNamespace", "AttrDict", "EasyDict", "edict", "DotMap", "Munch", "Box", "ConfigDict")
CREATED = ("OmegaConf.create", "omegaconf.OmegaConf.create", "ml_collections.ConfigDict")
FLAGS = re.compile(r"DEFINE_(float|integer|bool|boolean|string|enum|list)$")
LOADED = ("yaml.safe_load", "yaml.load", "yaml.full_load", "json.loads", "toml.loads", "tomllib.loads")
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$")


class Arguments:
    """The arguments that ``add_argument`` calls of the text declare, with their defaults."""

    def __init__(self) -> None:
        self.known: dict[str, Any] = {}
        self.flags: dict[str, str] = {}
        self.required: dict[str, Call] = {}
        self.lines: dict[str, int] = {}

    def declare(self, call: Call) -> None:
        """One ``parser.add_argument('--lr', type=float, default=0.1)``."""
        names = [name for name in call.args if isinstance(name, str)]
        if not names:
            return
        long = next((name for name in names if name.startswith("--")), names[0])
        key = call.kwargs.get("dest") or long.lstrip("-").replace("-", "_")
        if not isinstance(key, str):
            return
        self.flags.update(dict.fromkeys(names, key))
        self.lines[key] = call.line
        action, default = call.kwargs.get("action"), call.kwargs.get("default")
        needed = not names[0].startswith("-") and "default" not in call.kwargs
        if needed or call.kwargs.get("required") is True:
            self.required[key] = call
            return
        if action in ("store_true", "store_false") and default is None:
            default = action == "store_false"
        elif action == "store_const" and default is None:
            default = None
        self.known[key] = _typed(default, call.kwargs.get("type"))

    def defaults(self, call: Call) -> None:
        """``parser.set_defaults(lr=0.1)``."""
        self.known.update(call.kwargs)

    def parsed(self, call: Call) -> Record | None:
        """The namespace that ``parse_args()`` gives when nothing is typed on the command line."""
        given = call.args[0] if call.args else call.kwargs.get("args")
        found = dict(self.known)
        if given is not None:
            if not isinstance(given, list | tuple) or not all(isinstance(item, str) for item in given):
                return None
            words = [part for item in given for part in item.split("=", 1)]
            for flag, value in zip(words, [*words[1:], ""], strict=True):
                key = self.flags.get(flag)
                if key is not None:
                    found[key] = True if isinstance(found.get(key), bool) else _typed(value, Name("float"))
        return Record(found, call.text, call.place)


def _typed(value: Any, kind: Any) -> Any:
    """A default in quotes is converted as what is typed would be."""
    if isinstance(value, str) and isinstance(kind, Name) and kind.text in ("float", "int") and NUMBER.match(value):
        return float(value) if kind.text == "float" else int(float(value))
    return value


def settings_record(call: Call) -> Record | None:
    """The object that ``SimpleNamespace(lr=0.1)`` and its kin make; None for other calls."""
    if call.receiver is not None or (call.name not in NAMESPACES and call.dotted not in CREATED):
        return None
    fields: dict[str, Any] = {}
    for given in (*call.args, call.kwargs.get("**")):
        if isinstance(given, Mapping):
            fields.update({str(key): nested(value) for key, value in given.items()})
        elif isinstance(given, Record):
            fields.update(given.fields)
        elif given is not None:
            return None
    fields.update({key: nested(value) for key, value in call.kwargs.items() if key != "**"})
    return Record(fields, call.text, call.place)


def nested(value: Any) -> Any:
    """A dict inside such an object is one itself."""
    if isinstance(value, Mapping):
        return Record(
            {str(key): nested(item) for key, item in value.items()},
            "",
        )
    return value


def loaded(call: Call) -> Any:
    """What ``yaml.safe_load`` reads from a text that stands in the code; None for anything else."""
    if call.receiver is not None or call.dotted not in LOADED or not call.args or not isinstance(call.args[0], str):
        return None
    lines = [line for line in call.args[0].splitlines() if line.strip() and not line.lstrip().startswith("#")]
    found, rest = _block(lines, 0)
    return found if found is not None and not rest else None


def _block(lines: Sequence[str], depth: int) -> tuple[dict[str, Any] | None, Sequence[str]]:
    """(the mapping that the first lines at one indentation spell, the lines behind it)."""
    result: dict[str, Any] = {}
    indent = len(lines[0]) - len(lines[0].lstrip()) if lines else 0
    while lines:
        line = lines[0]
        own = len(line) - len(line.lstrip())
        if own < indent:
            return result, lines
        match = re.match(r"\s*([\w-]+):(?:\s+(.*?))?\s*(?:#.*)?$", line)
        if own > indent or match is None or depth > 8:
            return None, lines
        key, text = match.group(1), match.group(2) or ""
        lines = lines[1:]
        if text:
            result[key] = _scalar(text)
        else:
            inner, lines = _block(lines, depth + 1)
            result[key] = inner
    return result, lines


def _scalar(text: str) -> Any:
    """One value of YAML; as there, 1e-3 without a point is text."""
    if text.startswith("[") and text.endswith("]"):
        return [_scalar(part.strip()) for part in text[1:-1].split(",") if part.strip()]
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    if text.lower() in ("null", "~", "none"):
        return None
    if re.fullmatch(r"[-+]?\d+", text):
        return int(text)
    if re.fullmatch(r"[-+]?(\d+\.\d*|\.\d+)([eE][-+]\d+)?", text):
        return float(text)
    return text
