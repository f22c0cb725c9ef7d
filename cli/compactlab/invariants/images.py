"""CL601: how many images and documents the API takes in one request."""

from __future__ import annotations

from collections.abc import Iterable

from compactlab.invariants.invariant import Broken
from compactlab.model.transcript import Message

#: The API's documented limit of images in one request.
MAX_IMAGES = 100


def check_images(messages: list[Message], items: Iterable[int]) -> list[Broken]:
    """One warning where the request holds more images and documents than the API takes."""
    count = sum([block.images for item in items for block in messages[item].blocks])
    if count <= MAX_IMAGES:
        return []
    return [Broken("CL601", "count", -1, f"{count} images and documents, the API takes {MAX_IMAGES}")]
