"""Letters by which the entries of a menu are chosen, given out so that no two of one menu share one."""

from __future__ import annotations

from collections.abc import Sequence


def with_mnemonics(texts: Sequence[str]) -> list[str]:
    """The texts with an '&' before a letter each; capitals first, and none twice ('' of letters: left without)."""
    taken: set[str] = set()
    marked = []
    for text in texts:
        places = sorted(range(len(text)), key=lambda k: (not (text[k].isupper() or k == 0), k))
        place = next((k for k in places if text[k].isalnum() and text[k].lower() not in taken), None)
        if place is None:
            marked.append(text)
            continue
        taken.add(text[place].lower())
        marked.append(f"{text[:place]}&{text[place:]}")
    return marked
