"""One place that answers "what does the summary say, and how large is it"."""

from __future__ import annotations

from typing import NamedTuple

from compactlab.config.schema import Summary
from compactlab.memory.template import truncate_sections
from compactlab.summaries.facts import gather
from compactlab.summaries.stub import stub
from compactlab.tokens.session import Session

_OPENING = (
    "This session is being continued from a previous conversation that ran out of context. "
    "The summary below covers the earlier portion of the conversation."
)
_TRANSCRIPT = "If you need details from before the compaction, read the full transcript: {path}"
_VERBATIM = "Recent messages are preserved verbatim."
_CONTINUE = "Continue the conversation from where it left off without asking the user any further questions."
_CUT_NOTICE = "Some sections were cut for length. The full session memory is in: {path}"


class SummaryText(NamedTuple):
    """The summary message's text, and its estimate in tokens where the source fixes the size instead."""

    text: str
    estimate: int | None


def make_summary(
    session: Session,
    settings: Summary,
    *,
    covers: list[int],
    replaced_estimate: int,
    memory: bool,
    automatic: bool,
    verbatim: bool,
    max_section_tokens: int,
) -> SummaryText:
    """The message that a compaction writes. `covers` are the message ids that it speaks for.

    `replaced_estimate` (tokens) is the size of what it replaces, for `ratio:R`.
    """
    if settings.fixed_tokens is not None:
        return SummaryText("[summary of fixed size]", settings.fixed_tokens)
    if settings.ratio is not None:
        return SummaryText("[summary by ratio]", max(1, round(settings.ratio * replaced_estimate)))
    body = stub(gather(session, covers), memory=memory, size=settings.size)
    parts = [_OPENING]
    if memory:
        body, cut = truncate_sections(body, max_section_tokens)
        if cut:
            body += "\n\n" + _CUT_NOTICE.format(path="session-memory/summary.md")
    parts += [body, _TRANSCRIPT.format(path=f"{session.transcript.session_id or 'session'}.jsonl")]
    if verbatim:
        parts.append(_VERBATIM)
    if automatic:
        parts.append(_CONTINUE)
    return SummaryText("\n\n".join(parts), None)
