"""Policies as plain JSON values and back."""

from __future__ import annotations

from typing import Any

from dpqr.privacy.policy import Policy


def policy_document(policy: Policy | None) -> dict[str, Any]:
    """Every field, null where nothing is stated. ValueError for no policy."""
    if policy is None:
        raise ValueError("an entry of a policy states it")
    return {
        "records": policy.records,
        "bytes": policy.bytes,
        "memory": policy.memory,
        "delimiter": policy.delimiter,
        "counts": policy.counts,
        "fail": policy.fail,
    }


def read_policy(document: dict[str, Any]) -> Policy:
    """The inverse. Errors: ValueError, KeyError, TypeError or DpqrError."""
    texts = [document["delimiter"], document["counts"]]
    if not isinstance(document["fail"], bool) or not all(text is None or isinstance(text, str) for text in texts):
        raise ValueError("no policy")
    policy = Policy(
        records=document["records"],
        bytes=document["bytes"],
        memory=document["memory"],
        delimiter=document["delimiter"],
        counts=document["counts"],
        fail=document["fail"],
    )
    if policy_document(policy) != document:
        raise ValueError("not the text of a policy")
    return policy
