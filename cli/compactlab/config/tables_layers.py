"""The settings of the layers, in the order in which a request passes through them.

One frozen class a TOML table, attribute names as in the file. Not here: what concerns the run as a whole
(`tables_run`), nor what the layers do with these numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from compactlab.config.fields import IntTable, key

#: Short replies without substance, compared without case, outer white space and closing punctuation.
ACKNOWLEDGEMENTS = (
    "ok", "okay", "k", "yes", "y", "yep", "yeah", "sure", "fine", "good", "great", "nice", "perfect", "cool",
    "thanks", "thank you", "thx", "got it", "continue", "go on", "go ahead", "keep going", "proceed", "next",
    "do it", "please continue", "lgtm", "done",
    "好", "好的", "是", "是的", "对", "可以", "行", "继续", "请继续", "谢谢", "明白", "收到", "嗯",
    "はい", "続けて", "お願いします", "了解", "ありがとう",
    "네", "예", "계속", "계속해", "좋아", "감사합니다",
    "ja", "gut", "weiter", "mach weiter", "danke", "passt", "oui", "d'accord", "vas-y", "merci",
    "sí", "si", "vale", "sigue", "continúa", "continua", "gracias", "sim", "certo", "obrigado", "obrigada",
    "va bene", "grazie", "да", "хорошо", "продолжай", "спасибо", "ок", "так", "добре",
    "tak", "dalej", "dobrze",
    "evet", "devam", "tamam", "हाँ", "ठीक है", "जारी रखें", "نعم", "حسنا", "تابع",
)  # fmt: skip

COMPACTABLE_TOOLS = (
    "Read", "Bash", "BashOutput", "PowerShell", "Grep", "Glob", "WebSearch", "WebFetch",
    "Edit", "MultiEdit", "Write", "NotebookEdit",
)  # fmt: skip

TOOL_LIMITS = IntTable(Bash=30_000, Grep=20_000)

CACHED_MODELS = (
    "claude-opus-4", "claude-sonnet-4", "claude-haiku-4",
    "claude-opus-5", "claude-sonnet-5", "claude-fable-5",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Budget:
    """[budget]: large tool results become previews of what was written to disk."""

    enabled: bool = key(True, "Whether the layer runs")
    per_result_chars: int = key(50_000, "Largest result that any tool may send", "characters", low=1)
    per_message_chars: int = key(200_000, "Largest sum of the results of one message", "characters", low=1)
    preview_bytes: int = key(2_000, "Length of a preview", "bytes")
    tool_limits: Mapping[str, int] = key(
        TOOL_LIMITS, "Lower limits of single tools, by name", "characters", low=1
    )
    exempt_tools: tuple[str, ...] = key(("Read",), "Tools whose results are never replaced", "tool names")


@dataclass(frozen=True, slots=True)
class Snip:
    """[snip]: messages of little value are left out; off as in public builds."""

    enabled: bool = key(False, "Whether the layer runs")
    protect_last: int = key(6, "Newest messages that are never left out", "messages")
    acknowledgements: tuple[str, ...] = key(ACKNOWLEDGEMENTS, "Replies without substance", "phrases")
    max_trivial_chars: int = key(200, "Longest result of a trivially successful tool", "characters")


@dataclass(frozen=True, slots=True)
class MicroTime:
    """[micro.time]: old results are cleared after a pause."""

    enabled: bool = key(False, "Whether the path runs")
    gap_minutes: float = key(60.0, "Age of the last response from which it fires", "minutes", low=0)
    keep_recent: int = key(5, "Newest results that stay", "results", low=1)


@dataclass(frozen=True, slots=True)
class MicroCached:
    """[micro.cached]: old results are deleted by a cache edit, so that the cached prefix stays valid."""

    enabled: bool = key(False, "Whether the path runs")
    trigger_threshold: int = key(12, "Results not yet deleted at which it fires", "results", low=1)
    keep_recent: int = key(3, "Newest results that stay", "results")
    models: tuple[str, ...] = key(CACHED_MODELS, "Beginnings of the names of models that can do it", "names")


@dataclass(frozen=True, slots=True)
class MicroTokens:
    """[micro.tokens]: old results are cleared by size, as recorded in 2.1.12 to 2.1.22.

    It fires from `window.warning_buffer` below the auto threshold on.
    """

    enabled: bool = key(False, "Whether the path runs; set by the profile")
    keep_recent: int = key(3, "Newest results that are never cleared", "results")
    target_tokens: int = key(40_000, "Results are cleared until no more than this remains", "tokens")
    min_saving: int = key(20_000, "It is done only if it saves as much", "tokens")


@dataclass(frozen=True, slots=True)
class MicroApi:
    """[micro.api]: context management by the API; the defaults are its documented ones."""

    enabled: bool = key(False, "Whether the path runs")
    trigger_tokens: int = key(100_000, "Input from which tool results are cleared", "tokens")
    keep: int = key(3, "Newest tool uses whose results stay", "tool uses")
    clear_at_least: int = key(0, "It is done only if it clears as much; 0 is no limit", "tokens")
    exclude_tools: tuple[str, ...] = key((), "Tools that are never cleared", "tool names")
    clear_tool_inputs: bool = key(False, "Whether the inputs of the tools are cleared too")
    keep_thinking_turns: int = key(0, "Newest turns whose thinking stays; 0 keeps all", "turns")


@dataclass(frozen=True, slots=True)
class Micro:
    """[micro]: old tool results are cleared, by the first of four paths that fires."""

    compactable_tools: tuple[str, ...] = key(
        COMPACTABLE_TOOLS, "Tools whose results may be cleared", "tool names"
    )
    time: MicroTime = field(default=MicroTime())
    cached: MicroCached = field(default=MicroCached())
    tokens: MicroTokens = field(default=MicroTokens())
    api: MicroApi = field(default=MicroApi())


@dataclass(frozen=True, slots=True)
class Collapse:
    """[collapse]: old rounds become spans with a summary each; suppresses auto-compact while on."""

    enabled: bool = key(False, "Whether the layer runs")
    stage_at: float = key(0.8, "Fill from which spans are staged", "share of the effective window", above=0,
                          high=1)  # fmt: skip
    commit_at: float = key(0.9, "Fill from which spans are committed, oldest first",
                           "share of the effective window", above=0, high=1)  # fmt: skip
    block_at: float = key(0.95, "Fill from which all staged spans are committed before the call",
                          "share of the effective window", above=0, high=1)  # fmt: skip
    keep_rounds: int = key(2, "Newest rounds that are never staged", "rounds")


@dataclass(frozen=True, slots=True)
class SessionMemory:
    """[auto.session_memory]: compaction by session memory. A size of 0 or less never replaces another."""

    force_enable: bool = key(False, "On whatever the flags say; wins over force_disable")
    force_disable: bool = key(False, "Off whatever the flags say")
    flag_session_memory: bool = key(True, "The flag tengu_session_memory")
    flag_sm_compact: bool = key(True, "The flag tengu_sm_compact")
    min_tokens: int = key(
        10_000, "Least that is kept, together with the messages", "padded tokens", only_positive=True
    )
    min_text_block_messages: int = key(
        5, "Least messages with text that are kept", "messages", only_positive=True
    )
    max_tokens: int = key(40_000, "Size from which no more is kept", "padded tokens", only_positive=True)
    max_section_tokens: int = key(2_000, "Longest section of a memory", "tokens", only_positive=True)
    count: str = key(
        "padded", "What measures the kept part: padded estimate or counter", choices=("padded", "counter")
    )
    preserve_invariants: bool = key(True, "Whether the cut is moved for tool pairs and split responses")


@dataclass(frozen=True, slots=True)
class Full:
    """[auto.full]: compaction by a summary of everything, and what is restored after it."""

    max_ptl_retries: int = key(3, "Tries with fewer rounds when the summary request does not fit", "tries")
    max_files: int = key(5, "Files that are restored", "files")
    file_tokens: int = key(5_000, "Longest restored file", "tokens")
    files_budget: int = key(50_000, "Sum of the restored files", "tokens")
    skill_tokens: int = key(5_000, "Longest restored skill", "tokens")
    skills_budget: int = key(25_000, "Sum of the restored skills", "tokens")


@dataclass(frozen=True, slots=True)
class Auto:
    """[auto]: compaction of the whole conversation when the window fills up."""

    enabled: bool = key(True, "Whether it runs by itself")
    max_failures: int = key(3, "Failures in a row that stop it for the session", "failures", low=1)
    thrash_guard: bool = key(True, "Whether it stops when compaction after compaction does not last")
    thrash_calls: int = key(
        3, "A window that is full again within so many calls was refilled", "calls", low=1
    )
    thrash_times: int = key(3, "Refills in a row that stop it", "times", low=1)
    manual_at: tuple[int, ...] = key((), "Calls before which /compact is given, from 0", "call numbers")
    session_memory: SessionMemory = field(default=SessionMemory())
    full: Full = field(default=Full())
