"""Every invariant by its code: what it says, what the API says when it is broken, what to do. Codes are stable."""

from __future__ import annotations

from typing import NamedTuple


class Invariant(NamedTuple):
    """`severity`: error, warning or info. `api_error`: the API's own words, "" where it would not refuse."""

    code: str
    name: str
    severity: str
    rule: str
    api_error: str
    remedy: str


_PAIR = "Move the cut to a position between whole rounds (auto.session_memory.preserve_invariants = true)."
_LAYER = "Report it: a layer of this lab should never do this."
_RECORDING = "Nothing to do: the file lacks it. Sizes near this place carry that uncertainty."

CATALOG: tuple[Invariant, ...] = (
    Invariant(
        "CL101",
        "orphan-tool-result",
        "error",
        "Each tool_result's id is in the assistant message directly before.",
        "unexpected `tool_use_id` found in `tool_result` blocks: each `tool_result` block must have a "
        "corresponding `tool_use` block in the previous message",
        _PAIR,
    ),
    Invariant(
        "CL102",
        "unanswered-tool-use",
        "error",
        "Each tool_use is answered in the next message; the last message may be open.",
        "`tool_use` ids were found without `tool_result` blocks immediately after",
        _PAIR,
    ),
    Invariant(
        "CL103",
        "duplicate-tool-use",
        "error",
        "tool_use ids are unique.",
        "`tool_use` ids must be unique",
        _LAYER,
    ),
    Invariant(
        "CL104",
        "duplicate-tool-result",
        "error",
        "There is one tool_result for an id.",
        "each tool_use must have a single result. Found multiple `tool_result` blocks with id",
        _LAYER,
    ),
    Invariant(
        "CL105",
        "result-not-first",
        "error",
        "tool_result blocks come before other blocks of their message.",
        "`tool_use` ids were found without `tool_result` blocks immediately after",
        "Put the results first when user records are merged into one message.",
    ),
    Invariant(
        "CL106",
        "first-not-user",
        "error",
        "The first message of a request is a user message.",
        'messages: first message must use the "user" role',
        "Begin with the summary, or with a marker, when the oldest messages are dropped.",
    ),
    Invariant(
        "CL107",
        "role-run",
        "error",
        "After merging no two neighbouring messages share a role.",
        'messages: roles must alternate between "user" and "assistant"',
        "Leave a user message (a marker) where one was taken out between two responses.",
    ),
    Invariant(
        "CL108",
        "empty-content",
        "error",
        "There is no empty text block and no empty message.",
        "messages: text content blocks must be non-empty",
        "Drop the block or the whole message instead of emptying it.",
    ),
    Invariant(
        "CL201",
        "split-response",
        "error",
        "Lines that share a message.id are one response: kept or dropped together.",
        "",
        _PAIR,
    ),
    Invariant(
        "CL202",
        "thinking-changed",
        "error",
        "The thinking blocks of the last response stay byte for byte, in their place.",
        "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified",
        "Keep the newest turn's thinking (micro.api.keep_thinking_turns of at least 1, or 0 for all).",
    ),
    Invariant(
        "CL203",
        "thinking-missing",
        "error",
        "While a tool loop is open its last response begins with the thinking that it was recorded with.",
        "Expected `thinking` or `redacted_thinking`, but found `tool_use`. When `thinking` is enabled, a final "
        "`assistant` message must start with a thinking block",
        _PAIR,
    ),
    Invariant(
        "CL301",
        "over-window",
        "error",
        "The request fits the window; over the blocking limit it is a warning.",
        "prompt is too long",
        "Compact earlier (window.pct_override), or let the reactive path run.",
    ),
    Invariant(
        "CL302",
        "still-over-threshold",
        "error",
        "After a compaction the size is under the threshold, overhead included.",
        "",
        "Lower auto.session_memory.max_tokens or summary.size; see how large the overhead is.",
    ),
    Invariant(
        "CL303",
        "no-progress",
        "error",
        "A compaction makes the context smaller.",
        "",
        "Lower the kept part: auto.session_memory.min_tokens and max_tokens.",
    ),
    Invariant(
        "CL304",
        "thrashing",
        "error",
        "The context is not refilled within a few calls of a compaction, again and again.",
        "",
        "Lower what is kept, or raise the threshold: the work needs a larger window.",
    ),
    Invariant(
        "CL401",
        "boundary-crossed",
        "error",
        "Nothing is kept from before an earlier boundary, beyond what tool pairs need (then a warning).",
        "",
        "Look at the pair that pulled the cut back: it spans an earlier compaction.",
    ),
    Invariant(
        "CL402",
        "stale-boundary-kept",
        "error",
        "No old boundary record is among the kept messages.",
        "",
        _LAYER,
    ),
    Invariant(
        "CL403",
        "segment-broken",
        "error",
        "The preserved segment can be walked from head to tail and hangs on its anchor.",
        "",
        _LAYER,
    ),
    Invariant("CL404", "summary-missing", "error", "Exactly one summary follows a boundary.", "", _LAYER),
    Invariant(
        "CL501",
        "instruction-lost",
        "warning",
        "The user's last message is in the kept part or in the summary.",
        "",
        "Keep more text messages: auto.session_memory.min_text_block_messages.",
    ),
    Invariant(
        "CL502",
        "plan-lost",
        "warning",
        "A plan that was there before a compaction is kept or attached after it.",
        "",
        _LAYER,
    ),
    Invariant(
        "CL503",
        "skills-lost",
        "warning",
        "Skills that were invoked before a compaction are kept or attached after it.",
        "",
        "Session memory does not bring them back: a full summary does (auto.full.skills_budget).",
    ),
    Invariant(
        "CL504",
        "agents-lost",
        "warning",
        "Agents that ran before a compaction are kept or attached after it.",
        "",
        "Session memory does not bring them back: a full summary does.",
    ),
    Invariant(
        "CL505",
        "tools-lost",
        "warning",
        "Tools that tool search discovered before a compaction are named on its boundary.",
        "",
        _LAYER,
    ),
    Invariant(
        "CL506",
        "budget-exceeded",
        "error",
        "Restored files and skills stay within their caps.",
        "",
        "See auto.full: max_files, file_tokens, files_budget.",
    ),
    Invariant(
        "CL507",
        "dangling-unchanged-stub",
        "warning",
        "No result says that a file is unchanged since it was last read while that reading is gone.",
        "",
        "Keep more (auto.session_memory.min_tokens), or let the file be read anew.",
    ),
    Invariant(
        "CL508",
        "protected-tool-cleared",
        "error",
        "Micro-compact clears results of compactable tools only.",
        "",
        "Add the tool to micro.compactable_tools, or leave its results alone.",
    ),
    Invariant(
        "CL601",
        "images",
        "warning",
        "The request holds no more images and documents than the API takes.",
        "too many images",
        "Compact earlier: a full summary replaces images by a word.",
    ),
    Invariant("CL901", "missing-parent", "info", "A record's parent is not in the file.", "", _RECORDING),
    Invariant("CL902", "parent-cycle", "info", "The parent links run in a circle.", "", _RECORDING),
    Invariant(
        "CL903",
        "duplicate-uuid",
        "info",
        "Records repeat a uuid (a copied or resumed session); the first occurrence counts.",
        "",
        "Nothing to do.",
    ),
    Invariant(
        "CL904",
        "lost-result",
        "info",
        "A tool_use has no result in the file, or a result no tool_use before it.",
        "",
        _RECORDING,
    ),
    Invariant(
        "CL905",
        "time-backwards",
        "info",
        "A timestamp is older than the one before it.",
        "",
        "Nothing to do: the order of the file counts, not the clock.",
    ),
    Invariant(
        "CL906", "malformed-line", "info", "A line could not be read, or not as it stands.", "", _RECORDING
    ),
    Invariant(
        "CL907",
        "lost-tail",
        "info",
        "The message that a compaction names as the last before it is not in the file.",
        "",
        _RECORDING,
    ),
    Invariant(
        "CL908",
        "recorded-shape",
        "info",
        "The recording itself breaks a rule of the request's shape, before any layer touched it.",
        "",
        _RECORDING,
    ),
)

BY_CODE = {invariant.code: invariant for invariant in CATALOG}


def severity(code: str) -> str:
    """The severity of a code. Raises KeyError for an unknown one."""
    return BY_CODE[code].severity
