"""The extractive stand-in for a summary: deterministic, its sections filled from the transcript.

It says less than a model would; what matters is that its size and what it names follow from the session.
"""

from __future__ import annotations

from collections.abc import Callable

from compactlab.memory.template import SECTIONS as MEMORY_SECTIONS
from compactlab.summaries.facts import Facts

SUMMARY_SECTIONS = (
    "Primary Request and Intent",
    "Key Technical Concepts",
    "Files and Code Sections",
    "Errors and fixes",
    "Problem Solving",
    "All user messages",
    "Pending Tasks",
    "Current Work",
    "Optional Next Step",
)


def _counted(counts: dict[str, int], newest: int = 40) -> list[str]:
    return [f"{key} ({count}x)" if count > 1 else key for key, count in list(counts.items())[-newest:]]


def _files(facts: Facts) -> list[str]:
    return [f"edited {name}" for name in _counted(facts.written)] + [
        f"read {name}" for name in _counted(facts.read)
    ]


def _request(facts: Facts) -> list[str]:
    return facts.prompts[:1]


def _work(facts: Facts) -> list[str]:
    return facts.prompts[-1:] + ([facts.last_text] if facts.last_text else [])


_FILL: dict[str, Callable[[Facts], list[str]]] = {
    "Session Title": lambda f: [prompt[:80] for prompt in f.prompts[:1]],
    "Current State": _work,
    "Current Work": _work,
    "Task specification": _request,
    "Primary Request and Intent": _request,
    "Files and Functions": _files,
    "Files and Code Sections": _files,
    "Workflow": lambda f: _counted(f.commands, 20),
    "Problem Solving": lambda f: _counted(f.commands, 20),
    "Errors & Corrections": lambda f: f.errors[-20:],
    "Errors and fixes": lambda f: f.errors[-20:],
    "All user messages": lambda f: f.prompts[-40:],
    "Key Technical Concepts": lambda f: _counted(f.tools),
    "Codebase and System Documentation": lambda f: _counted(f.tools),
    "Learnings": lambda f: f.errors[-5:],
    "Key results": lambda f: [f.last_text] if f.last_text else [],
    "Worklog": lambda f: f.prompts[-20:],
    "Pending Tasks": lambda f: f.todos,
    "Optional Next Step": lambda f: f.todos[:1],
}


def stub(facts: Facts, *, memory: bool, size: int) -> str:
    """The text, at most `size` tokens by length/4; sections give way in turn, so that none is lost whole.

    `memory`: the ten sections of a session memory instead of the nine of a summary.
    """
    sections = MEMORY_SECTIONS if memory else SUMMARY_SECTIONS
    budget = size * 4
    lines = {name: [f"- {line}" for line in _FILL[name](facts)] for name in sections}
    heads = {
        name: (f"# {name}" if memory else f"{number}. {name}:") for number, name in enumerate(sections, 1)
    }
    left = budget - sum(len(head) + 2 for head in heads.values())
    parts = []
    for position, name in enumerate(sections):
        share = left // (len(sections) - position)
        taken: list[str] = []
        used = 0
        for line in reversed(lines[name]):
            if used + len(line) + 1 > share:
                break
            taken.append(line)
            used += len(line) + 1
        left -= used
        parts.append("\n".join([heads[name], *reversed(taken)]))
    return ("\n\n".join(parts))[:budget]
